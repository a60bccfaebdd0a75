//! Hash-partitioned shards of a build: the sources that one machine of a build farm builds. See `docs/reference/cache.md`.

use crate::{Hash, RelPath};
use std::fmt;
use std::str::FromStr;

/// Shard `number` of `count`, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    count: u32,
}

impl Shard {
    /// Returns whether a source belongs to this shard. The shard depends on the path alone, so it is the same on every machine,
    /// and a new source moves no other one.
    pub fn has(self, source: &RelPath) -> bool {
        let hash = Hash::of(source.as_str().as_bytes()).0;
        let number = u64::from_le_bytes(std::array::from_fn(|n| hash[n]));
        number % u64::from(self.count) == u64::from(self.number - 1)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

/// Parses `2/4`, the second of four shards.
impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(number, count)| {
            let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok());
            Some(Shard { number: digits(number)??, count: digits(count)?? })
        });
        match parts {
            Some(shard) if (1..=shard.count).contains(&shard.number) => Ok(shard),
            _ => Err("expected a shard and the number of shards, such as 1/4 or 4/4".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_belongs_to_one_shard() {
        for count in [1, 2, 4, 7] {
            let shards: Vec<Shard> = (1..=count).map(|n| format!("{n}/{count}").parse().unwrap()).collect();
            let mut sizes = vec![0; shards.len()];
            for n in 0..1000 {
                let source = RelPath::new(format!("dir/{n}.png")).unwrap();
                let owners: Vec<usize> = (0..shards.len()).filter(|&at| shards[at].has(&source)).collect();
                assert_eq!(owners.len(), 1, "{source}");
                sizes[owners[0]] += 1;
            }
            assert!(sizes.iter().all(|size| size * count as usize > 700), "{sizes:?}");
        }
    }

    #[test]
    fn shards_are_counted_from_one() {
        assert_eq!("2/4".parse::<Shard>().unwrap().to_string(), "2/4");
        for bad in ["", "1", "/", "0/4", "5/4", "1/0", "0/0", "+1/4", "1/4/2", "a/b", "1/99999999999"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
