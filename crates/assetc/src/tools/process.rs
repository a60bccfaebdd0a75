//! One run of an external program, with a timeout and a bounded amount of output.

use kiln_engine::{Code, Diag};
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Most bytes of standard output, and of standard error, that are kept.
const MAX_OUTPUT: u64 = 1 << 20;
/// The timeout for draining the pipes of a program that has ended.
const PIPE_TIMEOUT: Duration = Duration::from_secs(2);

/// The exit status and the output of a program.
#[derive(Debug)]
pub(crate) struct ProcessOutput {
    /// True if the exit code is 0.
    pub(crate) ok: bool,
    /// Standard output, followed by standard error.
    pub(crate) text: String,
}

/// Runs a program to its end. A non-zero exit code is no error; a crash or a timeout is.
pub(super) fn run(
    name: &str,
    program: &Path,
    dir: &Path,
    args: &[String],
    timeout: Duration,
) -> Result<ProcessOutput, Diag> {
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
                .hint(format!("correct the path of {name} under `tools:` in assetc.yml, or reinstall {name}"))
        })?;
    let (out, err) = (read_pipe(child.stdout.take()), read_pipe(child.stderr.take()));
    let deadline = Instant::now() + timeout;
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
                    _ => failed(format!("{name} did not finish within {} seconds", timeout.as_secs())),
                });
            }
        }
    };
    let text = [out, err].map(|pipe| pipe.recv_timeout(PIPE_TIMEOUT).unwrap_or_default()).concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    if crashed(status) {
        let message = format!("{name} crashed ({status})");
        return Err(failed(message).hint(format!("this is a bug in {name}; try another version")));
    }
    Ok(ProcessOutput { ok: status.success(), text })
}

/// Reads a pipe to its end on a thread of its own, so that the program never blocks on a full pipe.
fn read_pipe(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    if let Some(mut pipe) = pipe {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.by_ref().take(MAX_OUTPUT).read_to_end(&mut bytes);
            let _ = sender.send(bytes);
            let _ = io::copy(&mut pipe, &mut io::sink());
        });
    }
    receiver
}

/// Returns whether the system ended the process: by a signal, or on Windows with an NTSTATUS error code.
fn crashed(status: ExitStatus) -> bool {
    status.code().is_none_or(|code| (code as u32) >= 0xc000_0000)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sh(script: &str, timeout: Duration) -> Result<ProcessOutput, Diag> {
        run("sh", Path::new("/bin/sh"), Path::new("/"), &["-c".into(), script.into()], timeout)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn returns_output_and_exit_status() {
        let done = sh("echo out; echo err >&2; exit 3", LONG).unwrap();
        assert_eq!((done.ok, done.text.as_str()), (false, "out\nerr\n"));
        assert!(sh("true", LONG).unwrap().ok);
        let crash = sh("kill -SEGV $$", LONG).unwrap_err();
        assert!(crash.message.starts_with("sh crashed"), "{crash}");
        let none = run("x", Path::new("/nowhere/x"), Path::new("/"), &[], LONG).unwrap_err();
        assert!(none.message.contains("cannot be started"), "{none}");
    }

    #[test]
    fn kills_program_after_timeout() {
        let start = Instant::now();
        let slow = sh("exec sleep 600", Duration::from_millis(50)).unwrap_err();
        assert!(slow.message.contains("did not finish"), "{slow}");
        assert!(start.elapsed() < LONG);
    }

    #[test]
    fn truncates_excessive_output() {
        let done = sh("yes | head -c 5000000", LONG).unwrap();
        assert_eq!(done.text.len() as u64, MAX_OUTPUT);
    }
}
