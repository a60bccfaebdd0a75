//! Recomputes the checksums of mutated files, as an attacker would.

/// The length of the header of a journal, in bytes.
const JOURNAL_HEADER: usize = 16;

/// Offsets in the state file of a Unity index, and the sizes of its header and blocks.
const DB_LEN: usize = 16;
const DB_CRC: usize = 40;
const TABLE_CRC: usize = 44;
const TABLE: usize = 48;
const HEAD: usize = 512;
const BLOCK: usize = 16 << 10;

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// Recomputes the checksums of all records of a journal, up to the first truncated one.
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

/// Recomputes the checksums of the header and of every block of a state file, and binds it to this database.
pub(crate) fn state(bytes: &[u8], db: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().max(HEAD), 0);
    let end = u64::from_le_bytes(std::array::from_fn(|n| bytes[TABLE + n]));
    let end = usize::try_from(end).ok().filter(|end| (HEAD..=bytes.len()).contains(end));
    bytes.truncate(end.unwrap_or(bytes.len()));
    let end = bytes.len();
    // The header has its own checksum.
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

    /// Fails if the layout of the journal or the state file changes.
    #[test]
    fn valid_files_stay_unchanged() {
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
