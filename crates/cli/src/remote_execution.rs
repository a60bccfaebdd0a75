//! Remote execution as the tools configure it: command-line flags and environment variables, documented in
//! `docs/reference/remote-execution.md`.
//!
//! Project files have no such setting: a server receives sources and returns outputs, so only the user names one.

use crate::environment::Var;
use crate::store::text;
use crate::{cache_client, render};
use clap::Args;
use kiln_engine::remote::{Address, ExecutionFigures, ExecutionLimits, RemoteExecution, Scheme};
use kiln_engine::{Code, Diag, Json};
use std::ffi::OsString;
#[cfg(any(feature = "reapi", test))]
use std::path::PathBuf;
use std::time::Duration;

/// The flags of remote execution.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Remote execution")]
pub struct RemoteExecutionArgs {
    /// Build on the workers of a server, grpcs://HOST[:PORT][/INSTANCE], beside this machine [env: KILN_REMOTE_EXECUTION]
    #[arg(long, value_name = "URL")]
    remote_execution: Option<String>,
    /// Number of assets that are sent to the server at a time [default: 32]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    remote_jobs: Option<u16>,
    /// Require a platform property of workers, such as OSFamily=linux; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = property)]
    remote_property: Vec<(String, String)>,
}

/// The longest accepted deadline of an asset, in seconds.
const MAX_DEADLINE: f64 = 86_400.0;

/// The stall deadline of requests unless `KILN_REMOTE_TIMEOUT` is set. A cache that takes longer is of no use; an execution
/// server may.
#[cfg(feature = "reapi")]
const STALL_DEADLINE: Duration = Duration::from_secs(10);

fn property(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl RemoteExecutionArgs {
    /// Merges these flags with those given before the subcommand, which have lower precedence.
    pub fn and(self, outer: RemoteExecutionArgs) -> RemoteExecutionArgs {
        let remote_property = match self.remote_property.is_empty() {
            true => outer.remote_property,
            false => self.remote_property,
        };
        RemoteExecutionArgs {
            remote_execution: self.remote_execution.or(outer.remote_execution),
            remote_jobs: self.remote_jobs.or(outer.remote_jobs),
            remote_property,
        }
    }

    /// Returns whether one of the flags was given.
    pub fn is_given(&self) -> bool {
        *self != RemoteExecutionArgs::default()
    }

    /// Makes the client of the server that the flags or the environment name; `None` if they name none. `command` is the
    /// hidden command of this program that runs one action.
    ///
    /// # Errors
    ///
    /// The URL or an environment variable is invalid, or this program was built without the client.
    pub fn open(&self, command: &str, var: Var<'_>) -> Result<Option<RemoteExecution>, Diag> {
        // The variables of the cache client, under names of their own: its credentials are not sent to another server.
        let own = |name: &str| var(&name.replacen("KILN_CACHE_", "KILN_REMOTE_", 1));
        let renamed = |mut diag: Diag| {
            diag.message = diag.message.replace("KILN_CACHE_", "KILN_REMOTE_");
            diag
        };
        self.client(command, var, &own).map_err(renamed)
    }

    fn client(
        &self,
        command: &str,
        var: Var<'_>,
        own: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Option<RemoteExecution>, Diag> {
        let Some(url) = self
            .remote_execution
            .clone()
            .map_or_else(|| text(var, "KILN_REMOTE_EXECUTION"), |url| Ok(Some(url)))?
        else {
            return Ok(None);
        };
        let allow_plaintext = crate::store::server::boolean(own, "KILN_CACHE_ALLOW_HTTP")?.unwrap_or(false);
        // The message does not repeat the URL, which may be rejected because it contains a secret.
        let bad = |why: String| {
            Diag::new(Code::RemoteExecutionAddress, format!("the URL of --remote-execution is invalid: {why}")).hint(
                "use grpcs://host:port/instance; grpc:// needs a loopback address or KILN_REMOTE_ALLOW_HTTP=1",
            )
        };
        let address = Address::parse(&url, allow_plaintext).map_err(|why| bad(why.to_string()))?;
        if address.scheme != Scheme::Grpc {
            return Err(bad("expected a URL that starts with grpcs:// or grpc://".to_owned()));
        }
        let mut limits = ExecutionLimits::default();
        if let Some(jobs) = self.remote_jobs {
            limits.jobs = jobs.into();
        }
        if let Some(seconds) = text(var, "KILN_REMOTE_DEADLINE")? {
            let deadline = seconds.parse::<f64>().ok().filter(|n| (1.0..=MAX_DEADLINE).contains(n));
            let accepts = "a number of seconds between 1 and 86400";
            let deadline =
                deadline.ok_or_else(|| crate::store::bad("KILN_REMOTE_DEADLINE", &seconds, accepts))?;
            limits.timeout = Duration::from_secs_f64(deadline);
        }
        let options = cache_client::options(&address, own)?;
        let credentials = crate::store::server::credentials(own)?;
        self.connect(
            command,
            (address, credentials, options),
            limits,
            text(own, "KILN_CACHE_TIMEOUT")?.is_some(),
        )
        .map(Some)
    }

    #[cfg(feature = "reapi")]
    fn connect(
        &self,
        command: &str,
        (address, credentials, mut options): Server,
        limits: ExecutionLimits,
        has_stall_deadline: bool,
    ) -> Result<RemoteExecution, Diag> {
        use kiln_engine::remote::Program;
        use kiln_remote_cache::{Reapi, ReapiExecution};

        if !has_stall_deadline {
            options.limits.timeout = STALL_DEADLINE;
        }
        let unusable = |why: String| Diag::new(Code::RemoteExecutionAddress, why);
        let executable = std::env::current_exe().and_then(std::fs::canonicalize);
        let executable =
            executable.map_err(|e| unusable(format!("the path of this program is unknown: {e}")))?;
        let server = Reapi::new(address, credentials.as_ref(), &options).map_err(unusable)?;
        let server = ReapiExecution::new(server, self.remote_property.clone());
        let program = Program { executable, libraries: libraries(), arguments: vec![command.to_owned()] };
        Ok(RemoteExecution::new(Box::new(server), program, limits))
    }

    #[cfg(not(feature = "reapi"))]
    fn connect(&self, _: &str, _: Server, _: ExecutionLimits, _: bool) -> Result<RemoteExecution, Diag> {
        let message = "--remote-execution needs a program that was built with the feature `reapi`";
        Err(Diag::new(Code::RemoteExecutionAddress, message)
            .hint("build it with `cargo build --release --features reapi`"))
    }
}

/// A server with its credentials and client options.
type Server = (Address, Option<kiln_remote_cache::Credentials>, kiln_remote_cache::ClientOptions);

/// Returns the libraries that this process has loaded, with their names, apart from those of the C library: a worker has its
/// own, which must be used with its own loader.
#[cfg(feature = "reapi")]
fn libraries() -> Vec<(String, PathBuf)> {
    loaded_libraries(&std::fs::read_to_string("/proc/self/maps").unwrap_or_default())
}

#[cfg(any(feature = "reapi", test))]
fn loaded_libraries(maps: &str) -> Vec<(String, PathBuf)> {
    const C_LIBRARY: [&str; 9] =
        ["ld-linux", "ld-musl", "libc.", "libm.", "libdl.", "libpthread.", "librt.", "libresolv.", "libnss_"];
    let library = |line: &str| {
        let path = &line[line.find('/')?..];
        let name = path.rsplit('/').next()?;
        // The loader looks for a name with one number, which is a link to the file with all of them.
        let (stem, version) = name.split_once(".so")?;
        let number = version.split('.').nth(1).map(|number| format!(".{number}")).unwrap_or_default();
        let is_own = !C_LIBRARY.iter().any(|prefix| name.starts_with(prefix));
        is_own.then(|| (format!("{stem}.so{number}"), PathBuf::from(path)))
    };
    let mut libraries: Vec<_> = maps.lines().filter_map(library).collect();
    libraries.sort();
    libraries.dedup();
    libraries
}

/// Formats the counters of remote execution as one line.
pub fn line(figures: &ExecutionFigures) -> String {
    let local = match figures.fallbacks {
        0 => String::new(),
        n => format!(", {n} fell back to this machine"),
    };
    format!(
        "remote execution: {} built{local}; {} uploaded, {} downloaded",
        render::count(figures.executed as usize, "asset", "assets"),
        render::size(figures.bytes_up),
        render::size(figures.bytes_down),
    )
}

/// Converts the counters of remote execution to a JSON object.
pub fn json(figures: &ExecutionFigures) -> Json {
    Json::object([
        ("executed", figures.executed.into()),
        ("fallbacks", figures.fallbacks.into()),
        ("commands", figures.commands.into()),
        ("bytes_up", figures.bytes_up.into()),
        ("bytes_down", figures.bytes_down.into()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(url: &str, vars: &[(&str, &str)]) -> Result<Option<RemoteExecution>, Diag> {
        let args = RemoteExecutionArgs { remote_execution: Some(url.to_owned()), ..Default::default() };
        let var = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value));
        args.open("run-action", &var)
    }

    #[test]
    fn rejects_other_protocols_and_plaintext() {
        for url in ["https://host", "redis://127.0.0.1", "grpc://host", "grpcs://user:hush@host", "host"] {
            let error = open(url, &[]).err().unwrap();
            assert_eq!(error.code, Code::RemoteExecutionAddress, "{url}");
            assert!(!error.to_string().contains("hush"), "{error}");
        }
    }

    #[test]
    fn messages_name_the_variables_of_remote_execution() {
        for (name, value) in [
            ("KILN_REMOTE_TIMEOUT", "0"),
            ("KILN_REMOTE_ALLOW_HTTP", "maybe"),
            ("KILN_REMOTE_DEADLINE", "0"),
            ("KILN_REMOTE_CA", "/no/such/file"),
        ] {
            let error = open("grpcs://host", &[(name, value)]).err().unwrap();
            assert!(error.message.contains(name), "{error}");
        }
        // The credentials of the cache are not those of this server.
        let other = open("grpcs://host", &[("KILN_CACHE_TIMEOUT", "0")]);
        assert!(other.err().is_none_or(|error| error.code == Code::RemoteExecutionAddress));
    }

    #[test]
    fn sends_libraries_apart_from_the_c_library() {
        let maps = "7f0-7f1 r-xp 0 fe:00 1  /lib/x86_64-linux-gnu/libstdc++.so.6.0.30\n\
                    7f1-7f2 r--p 0 fe:00 1  /lib/x86_64-linux-gnu/libstdc++.so.6.0.30\n\
                    7f2-7f3 r-xp 0 fe:00 2  /lib/x86_64-linux-gnu/libc.so.6\n\
                    7f3-7f4 r-xp 0 fe:00 3  /lib/x86_64-linux-gnu/ld-linux-x86-64.so.2\n\
                    7f4-7f5 r-xp 0 fe:00 4  /usr/bin/assetc\n\
                    7f5-7f6 rw-p 0 00:00 0  [heap]\n";
        let file = PathBuf::from("/lib/x86_64-linux-gnu/libstdc++.so.6.0.30");
        assert_eq!(loaded_libraries(maps), [("libstdc++.so.6".to_owned(), file)]);
    }

    #[test]
    fn properties_have_a_name() {
        assert_eq!(property("OSFamily=linux"), Ok(("OSFamily".to_owned(), "linux".to_owned())));
        assert_eq!(property("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(property("OSFamily").is_err() && property("=linux").is_err());
    }
}
