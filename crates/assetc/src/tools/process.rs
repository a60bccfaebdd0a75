//! One run of a program: bounded in time and in what it may say, and never waited for without end.

use kiln_engine::{Code, Diag};
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How much of what a program says is kept.
const SAID: u64 = 1 << 20;
/// How long the last words of a program that has ended are waited for.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Whether it says that it succeeded.
    pub(crate) ok: bool,
    /// What it said: standard output, then standard error.
    pub(crate) said: String,
}

/// Runs a program to its end. That it failed is no error here; that it crashed or did not end is one.
pub(super) fn run(
    name: &str,
    program: &Path,
    dir: &Path,
    args: &[String],
    patience: Duration,
) -> Result<Ran, Diag> {
    let failed = |message: String| Diag::new(Code::ShaderTool, message);
    let mut child = Command::new(program)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| {
            failed(format!("{name} cannot be started from {}: {e}", program.display()))
                .hint("correct its path under `tools:` in assetc.yml, or install it again")
        })?;
    let (out, err) = (listen(child.stdout.take()), listen(child.stderr.take()));
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(1);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => {
                thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            waited => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(match waited {
                    Err(e) => failed(format!("{name} cannot be waited for: {e}")),
                    _ => failed(format!("{name} did not end within {} seconds", patience.as_secs())),
                });
            }
        }
    };
    let said = [out, err].map(|listener| listener.recv_timeout(LAST_WORDS).unwrap_or_default()).concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    if crashed(status) {
        let message = format!("{name} crashed ({status})");
        return Err(failed(message).hint("this is a defect of that program; another version may do"));
    }
    Ok(Ran { ok: status.success(), said })
}

/// Reads a pipe to its end on a thread of its own, so that the program never waits for us.
fn listen(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (told, listener) = mpsc::channel();
    if let Some(mut pipe) = pipe {
        thread::spawn(move || {
            let mut said = Vec::new();
            let _ = pipe.by_ref().take(SAID).read_to_end(&mut said);
            let _ = told.send(said);
            let _ = io::copy(&mut pipe, &mut io::sink());
        });
    }
    listener
}

/// Whether it was ended by the system: a signal, or on Windows one of the large codes.
fn crashed(status: ExitStatus) -> bool {
    status.code().is_none_or(|code| (code as u32) >= 0xc000_0000)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sh(script: &str, patience: Duration) -> Result<Ran, Diag> {
        run("sh", Path::new("/bin/sh"), Path::new("/"), &["-c".into(), script.into()], patience)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_it_says_and_how_it_ends_is_told() {
        let ran = sh("echo out; echo err >&2; exit 3", LONG).unwrap();
        assert_eq!((ran.ok, ran.said.as_str()), (false, "out\nerr\n"));
        assert!(sh("true", LONG).unwrap().ok);
        let crash = sh("kill -SEGV $$", LONG).unwrap_err();
        assert!(crash.message.starts_with("sh crashed"), "{crash}");
        let none = run("x", Path::new("/nowhere/x"), Path::new("/"), &[], LONG).unwrap_err();
        assert!(none.message.contains("cannot be started"), "{none}");
    }

    #[test]
    fn one_that_does_not_end_is_ended() {
        let start = Instant::now();
        let slow = sh("sleep 600", Duration::from_millis(50)).unwrap_err();
        assert!(slow.message.contains("did not end"), "{slow}");
        assert!(start.elapsed() < LONG);
    }

    #[test]
    fn one_that_never_stops_talking_is_heard_in_part() {
        let ran = sh("yes | head -c 5000000", LONG).unwrap();
        assert_eq!(ran.said.len() as u64, SAID);
    }
}
