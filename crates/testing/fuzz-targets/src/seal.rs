//! Makes the checksums of a file right again: they keep accidents out, and whoever means harm can add, too.

/// The header of a journal.
const JOURNAL_HEADER: usize = 16;

/// Places in the state of a Unity database, and the sizes of its head and blocks.
const DB_LEN: usize = 16;
const DB_CRC: usize = 40;
const TABLE_CRC: usize = 44;
const TABLE: usize = 48;
const HEAD: usize = 512;
const BLOCK: usize = 16 << 10;

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// A journal whose changes are all whole, up to the first that is cut off.
pub(crate) fn journal(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut at = JOURNAL_HEADER;
    while let Some(prefix) = bytes.get(at..at + 8) {
        let len = u32::from_le_bytes(std::array::from_fn(|n| prefix[n])) as usize;
        let Some(body) = bytes.get(at + 8..).and_then(|rest| rest.get(..len)) else { break };
        let crc = crc32fast::hash(body);
        put(&mut bytes, at + 4, &crc.to_le_bytes());
        at += 8 + len;
    }
    bytes
}

/// A state that belongs to this database, with the checksums of its head and of every block.
pub(crate) fn state(bytes: &[u8], db: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().max(HEAD), 0);
    let end = u64::from_le_bytes(std::array::from_fn(|n| bytes[TABLE + n]));
    let end = usize::try_from(end).ok().filter(|end| (HEAD..=bytes.len()).contains(end));
    bytes.truncate(end.unwrap_or(bytes.len()));
    let end = bytes.len();
    // The head has a checksum of its own.
    let blocks = bytes.chunks(BLOCK).enumerate();
    let table: Vec<u8> = blocks
        .flat_map(|(n, block)| crc32fast::hash(if n == 0 { &block[HEAD..] } else { block }).to_le_bytes())
        .collect();
    bytes.extend(&table);
    put(&mut bytes, DB_LEN, &(db.len() as u64).to_le_bytes());
    put(&mut bytes, DB_CRC, &crc32fast::hash(db).to_le_bytes());
    put(&mut bytes, TABLE_CRC, &crc32fast::hash(&table).to_le_bytes());
    put(&mut bytes, TABLE, &(end as u64).to_le_bytes());
    let crc = crc32fast::hash(&bytes[..HEAD - 4]);
    put(&mut bytes, HEAD - 4, &crc.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// If a layout changes, this is where to say so.
    #[test]
    fn nothing_changes_in_a_good_file() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        let good = fs::read(corpus.join("journal/small.journal")).unwrap();
        assert_eq!(super::journal(&good), good);
        let mut bad = good.clone();
        bad[20] ^= 1;
        assert_eq!(super::journal(&bad), good);
        crate::unity::with_good_state(|good, db| {
            assert_eq!(super::state(good, db), good);
            let mut bad = good.to_vec();
            let end = bad.len();
            bad[end - 1] ^= 1;
            bad[super::HEAD - 1] ^= 1;
            assert_eq!(super::state(&bad, db), good);
        });
    }
}
