//! Limits on the pixels, memory and time of one asset.
//!
//! A few bytes of a valid file can expand to gigabytes (a decompression bomb), so every size in a header is compared with
//! these limits before memory is allocated. Limits never change a result: an asset is built as usual, or rejected with an
//! error that has the limit, the value and the flag that raises it.

use crate::{Code, Diag};
use std::cell::Cell;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// The limits on one asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of pixels of an image.
    pub max_pixels: u64,
    /// The largest memory of one decoded asset, in bytes. Assets in flight share it by estimate: an asset waits until the
    /// others leave room for it.
    pub max_memory: u64,
    /// The longest processing time of one asset; `None` for no limit.
    pub max_time: Option<Duration>,
}

/// The largest texture size of common graphics hardware: images may be that wide or high regardless of `max_pixels`.
const COMMON_SIDE: u32 = 16384;

/// 2^28 pixels, which is a 16384² image; 2 GiB, which is that image in RGBA8 with its mip chain; ten minutes.
impl Default for Limits {
    fn default() -> Limits {
        Limits { max_pixels: 1 << 28, max_memory: 2 << 30, max_time: Some(Duration::from_secs(600)) }
    }
}

impl Limits {
    /// Checks the dimensions of an image, and returns its number of pixels. A side may be as long as that of the largest
    /// square image, or 16384.
    ///
    /// # Errors
    /// `image-too-large` if the image has more than `max_pixels`, or a longer side.
    pub fn check_pixels(&self, width: u32, height: u32) -> Result<u64, Diag> {
        let pixels = u64::from(width) * u64::from(height);
        let (longer, limit) = (u64::from(width.max(height)), self.max_pixels);
        let longest = limit.isqrt().max(COMMON_SIDE.into());
        let (message, enough) = if pixels > limit {
            (format!("{width}x{height} = {pixels} pixels; the limit max_pixels is {limit}"), pixels)
        } else if longer > longest {
            let message = format!(
                "{width}x{height} pixels; with the limit max_pixels of {limit} a side may have {longest}"
            );
            (message, longer * longer)
        } else {
            return Ok(pixels);
        };
        Err(Diag::new(Code::ImageTooLarge, format!("the image has {message}")).hint(format!(
            "scale the image down, or raise the limit with --max-pixels {enough}; if the image should not be that large, the file is damaged"
        )))
    }

    /// Checks an allocation for `what`, a plural noun such as "the vertices".
    ///
    /// # Errors
    /// `memory-limit` if `bytes` is more than `max_memory`.
    pub fn check_memory(&self, bytes: u64, what: impl Display) -> Result<(), Diag> {
        if bytes <= self.max_memory {
            return Ok(());
        }
        let message = format!(
            "{what} need {bytes} bytes ({}); the limit max_memory is {} ({})",
            rounded(bytes),
            self.max_memory,
            rounded(self.max_memory)
        );
        let enough = bytes.div_ceil(1 << 20);
        Err(Diag::new(Code::MemoryLimit, message).hint(format!(
            "reduce the asset, or raise the limit with --max-memory {enough}M; if it should not be that large, the file is damaged"
        )))
    }

    /// Returns the error of an asset that took longer than `max_time`.
    pub fn out_of_time(&self) -> Diag {
        let seconds = self.max_time.unwrap_or_default().as_secs_f64();
        let message = format!("the asset exceeded the time limit max_time of {seconds} s");
        Diag::new(Code::TimeLimit, message)
            .hint("simplify the asset, or raise the limit with --time-limit SECONDS (0 for no limit)")
    }

    /// Checks a deadline.
    ///
    /// # Errors
    /// `time-limit` if the deadline has passed.
    pub fn check_time(&self, deadline: Option<Instant>) -> Result<(), Diag> {
        match deadline {
            Some(deadline) if Instant::now() > deadline => Err(self.out_of_time()),
            _ => Ok(()),
        }
    }

    /// Returns the deadline of an asset that starts now.
    pub fn deadline(&self) -> Option<Instant> {
        self.max_time.and_then(|time| Instant::now().checked_add(time))
    }
}

fn rounded(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        _ => format!("{} MiB", bytes.div_ceil(1 << 20)),
    }
}

/// The memory that one asset has allocated so far, counted before each allocation.
#[derive(Debug)]
pub struct MemoryBudget {
    limits: Limits,
    used: Cell<u64>,
}

impl MemoryBudget {
    /// Makes an unused budget.
    pub fn new(limits: Limits) -> MemoryBudget {
        MemoryBudget { limits, used: Cell::new(0) }
    }

    /// Counts memory that is about to be allocated for `what`, a plural noun.
    ///
    /// # Errors
    /// `memory-limit` if the asset would need more than `max_memory`; nothing is counted then.
    pub fn charge(&self, bytes: u64, what: impl Display) -> Result<(), Diag> {
        let used = self.used.get().saturating_add(bytes);
        self.limits.check_memory(used, what)?;
        self.used.set(used);
        Ok(())
    }

    /// Returns the number of bytes that may still be allocated.
    pub fn left(&self) -> u64 {
        self.limits.max_memory.saturating_sub(self.used.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_accept_16384_squared_and_nothing_larger() {
        let limits = Limits::default();
        assert_eq!(limits.check_pixels(16384, 16384), Ok(1 << 28));
        let error = limits.check_pixels(16385, 16384).unwrap_err();
        assert_eq!(error.code, Code::ImageTooLarge);
        for part in ["16385x16384", "268451840", "max_pixels", "268435456"] {
            assert!(error.message.contains(part), "{error}");
        }
        assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("--max-pixels 268451840")), "{error}");
        assert!(limits.check_pixels(u32::MAX, u32::MAX).is_err());
        let error = limits.check_pixels(20_000, 1).unwrap_err();
        assert!(error.message.contains("a side may have 16384"), "{error}");
        assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("--max-pixels 400000000")), "{error}");
        let raised = Limits { max_pixels: 400_000_000, ..limits };
        assert_eq!(raised.check_pixels(20_000, 1), Ok(20_000));
        let lowered = Limits { max_pixels: 100, ..limits };
        assert_eq!(lowered.check_pixels(100, 1), Ok(100));
    }

    #[test]
    fn charges_memory_up_to_the_limit() {
        let limits = Limits { max_memory: 3 << 20, ..Limits::default() };
        let budget = MemoryBudget::new(limits);
        assert_eq!(budget.charge(1 << 20, "the vertices"), Ok(()));
        assert_eq!(budget.left(), 2 << 20);
        let error = budget.charge((2 << 20) + 1, "the vertices").unwrap_err();
        assert_eq!(error.code, Code::MemoryLimit);
        assert!(error.message.starts_with("the vertices need 3145729 bytes (4 MiB)"), "{error}");
        assert!(error.message.ends_with("max_memory is 3145728 (3 MiB)"), "{error}");
        assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("--max-memory 4M")), "{error}");
        assert_eq!(budget.charge(2 << 20, "the vertices"), Ok(()));
        assert!(budget.charge(u64::MAX, "the vertices").is_err());
    }
}
