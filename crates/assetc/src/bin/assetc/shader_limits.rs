//! Limits of the shader worker processes, and the command that starts one.
//!
//! `KILN_SHADER_TIMEOUT` and `KILN_SHADER_MEMORY` set the limits; invalid values are errors.

use super::args::SERVE_SHADERS;
use kiln_cli::environment::Var;
use kiln_engine::store::settings::parse_size;
use kiln_engine::{Code, Diag};
use std::ffi::OsString;
use std::time::Duration;

/// The limits of one worker process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShaderLimits {
    /// The timeout of one source.
    pub(super) timeout: Duration,
    /// The limit of mapped memory in bytes, including stacks.
    memory: u64,
}

impl ShaderLimits {
    /// Reads the limits from the environment; unset variables have defaults.
    pub(super) fn read(var: Var<'_>) -> Result<ShaderLimits, Diag> {
        let read = |name: &str| var(name).map(|value| value.to_string_lossy().into_owned());
        let refuse = |name: &str, value: &str, expected: &str| {
            Diag::new(Code::ShaderVariable, format!("{name} must be {expected}, got {value:?}"))
        };
        let timeout = match read("KILN_SHADER_TIMEOUT") {
            None => Duration::from_secs(30),
            Some(text) => {
                let seconds = text.parse().ok().filter(|seconds| (0.001..=86_400.0).contains(seconds));
                let seconds = seconds.map(Duration::from_secs_f64);
                seconds.ok_or_else(|| {
                    refuse("KILN_SHADER_TIMEOUT", &text, "a number of seconds from 0.001 to 86400")
                })?
            }
        };
        let memory = match read("KILN_SHADER_MEMORY") {
            None => 2 << 30,
            // The stack of glslang takes half a gigabyte of address space.
            Some(text) => parse_size(&text).filter(|bytes| *bytes >= 1 << 30).ok_or_else(|| {
                refuse("KILN_SHADER_MEMORY", &text, "a size of at least 1 GB, such as 4 GB")
            })?,
        };
        Ok(ShaderLimits { timeout, memory })
    }

    /// Returns the arguments that start this program as a worker.
    pub(super) fn args(&self) -> Vec<OsString> {
        vec![SERVE_SHADERS.into(), self.memory.to_string().into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_sets_limits_and_invalid_values_are_rejected() {
        let with = |name: &'static str, value: &'static str| {
            ShaderLimits::read(&|asked: &str| (asked == name).then(|| value.into()))
        };
        let defaults = ShaderLimits { timeout: Duration::from_secs(30), memory: 2 << 30 };
        assert_eq!(with("HOME", "x").unwrap(), defaults);
        let half = ShaderLimits { timeout: Duration::from_millis(500), ..defaults };
        assert_eq!(with("KILN_SHADER_TIMEOUT", "0.5").unwrap(), half);
        assert_eq!(with("KILN_SHADER_MEMORY", "3 GB").unwrap(), ShaderLimits { memory: 3 << 30, ..defaults });
        for (name, value) in [
            ("KILN_SHADER_TIMEOUT", "soon"),
            ("KILN_SHADER_TIMEOUT", "0"),
            ("KILN_SHADER_TIMEOUT", "NaN"),
            ("KILN_SHADER_TIMEOUT", "1e300"),
            ("KILN_SHADER_MEMORY", "1 MB"),
            ("KILN_SHADER_MEMORY", "much"),
        ] {
            let refused = with(name, value).unwrap_err();
            assert_eq!(refused.code, Code::ShaderVariable);
            assert!(refused.message.contains(name) && refused.message.contains(value), "{refused}");
        }
    }
}
