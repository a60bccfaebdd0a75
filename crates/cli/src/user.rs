//! The user's configuration directory, which no project can write to: `config.yml` and the list of trusted projects.

use crate::environment::Var;
use kiln_config::user::{FILE_NAME, UserConfig};
use kiln_engine::Diag;
use std::path::PathBuf;

/// Returns the configuration directory: `KILN_CONFIG_DIR`, or the default of the platform.
pub fn config_dir(var: Var<'_>) -> Option<PathBuf> {
    if let Some(dir) = var("KILN_CONFIG_DIR") {
        return Some(std::path::absolute(&dir).unwrap_or_else(|_| dir.into()));
    }
    // The XDG specification requires relative paths to be ignored.
    let absolute = |name: &str| var(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let configs = match cfg!(windows) {
        true => absolute("APPDATA"),
        false => absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config"))),
    };
    configs.map(|dir| dir.join("kiln"))
}

/// Loads the user's configuration; the defaults if there is none.
///
/// # Errors
///
/// The file cannot be read, is not YAML, or gives a key a value that the key does not accept.
pub fn load_config(var: Var<'_>) -> Result<UserConfig, Diag> {
    config_dir(var).map_or_else(|| Ok(UserConfig::default()), |dir| UserConfig::load(&dir.join(FILE_NAME)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::path::Path;

    #[test]
    #[cfg(unix)]
    fn uses_the_variable_or_the_platform_default() {
        let check = |vars: &[(&str, &str)], expected: Option<&str>| {
            let var = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
            assert_eq!(config_dir(&var).as_deref(), expected.map(Path::new), "{vars:?}");
        };
        let home = ("HOME", "/home/me");
        check(&[], None);
        check(&[home], Some("/home/me/.config/kiln"));
        check(&[home, ("XDG_CONFIG_HOME", "/etc/me")], Some("/etc/me/kiln"));
        check(&[home, ("XDG_CONFIG_HOME", "relative")], Some("/home/me/.config/kiln"));
        check(&[home, ("XDG_CONFIG_HOME", "/etc/me"), ("KILN_CONFIG_DIR", "/mine")], Some("/mine"));
    }
}
