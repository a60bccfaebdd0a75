//! The command-line flags that limit the pixels, memory and time of each asset.

use clap::Args;
use kiln_engine::Limits;
use kiln_engine::store::settings::parse_size;
use std::time::Duration;

/// The limits given on the command line; each overrides the user's configuration.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Limits on each asset")]
pub struct LimitArgs {
    /// Reject images with more pixels than this [default: 268435456, which is 16384x16384]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_pixels: Option<u64>,
    /// Reject assets that need more memory than this, for example 4G; also the limit for all assets in flight together [default: 2G]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_memory: Option<u64>,
    /// Fail an asset that takes longer than this; 0 for no limit [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time_limit: Option<Duration>,
}

impl LimitArgs {
    /// Merges these flags with those given before the subcommand, which have lower precedence.
    pub fn and(self, outer: LimitArgs) -> LimitArgs {
        LimitArgs {
            max_pixels: self.max_pixels.or(outer.max_pixels),
            max_memory: self.max_memory.or(outer.max_memory),
            time_limit: self.time_limit.or(outer.time_limit),
        }
    }

    /// Returns the name of the first flag that was given.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.max_pixels.is_some(), "--max-pixels"),
            (self.max_memory.is_some(), "--max-memory"),
            (self.time_limit.is_some(), "--time-limit"),
        ];
        flags.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }

    /// Returns the limits, with `base` for the flags that were not given.
    pub fn over(&self, base: Limits) -> Limits {
        let time = |time: Duration| (!time.is_zero()).then_some(time);
        Limits {
            max_pixels: self.max_pixels.unwrap_or(base.max_pixels),
            max_memory: self.max_memory.unwrap_or(base.max_memory),
            max_time: self.time_limit.map_or(base.max_time, time),
        }
    }
}

fn size(text: &str) -> Result<u64, String> {
    parse_size(text)
        .filter(|size| *size > 0)
        .ok_or_else(|| "expected a size, for example 512M or 4G".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "expected a number of seconds, for example 90".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_flags_override_the_base_limits() {
        let base = Limits::default();
        assert_eq!(LimitArgs::default().over(base), base);
        let args =
            LimitArgs { max_memory: size("3G").ok(), time_limit: seconds("0").ok(), ..LimitArgs::default() };
        assert_eq!(args.over(base), Limits { max_memory: 3 << 30, max_time: None, ..base });
        assert_eq!(args.given(), Some("--max-memory"));
        let both = LimitArgs { max_pixels: Some(7), ..LimitArgs::default() }.and(args);
        assert_eq!(both.over(base), Limits { max_pixels: 7, max_memory: 3 << 30, max_time: None });
        assert!(size("0").is_err() && size("2 giga").is_err());
        assert!(seconds("-1").is_err() && seconds("NaN").is_err() && seconds("1e99").is_err());
    }
}
