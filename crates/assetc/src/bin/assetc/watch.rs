//! `assetc watch`: rebuilds whenever something changes, until Ctrl-C.

use super::Session;
use super::args::WatchArgs;
use super::build::{report_diagnostics, summary};
use super::notify_server::NotifyServer;
use super::trust;
use ::assetc::config::Config;
use ::assetc::watch::{BuildCycle, DebounceConfig, PlatformEvents, WakeSignal, Watch};
use kiln_cli::diagnostics::MessageFormat;
use kiln_cli::json_events::JSON_VERSION;
use kiln_cli::progress::{Progress, Verbosity};
use kiln_cli::reporter::OK;
use kiln_cli::store::{self, Sources};
use kiln_cli::terminal::stdout_is_closed;
use kiln_engine::{Code, Diag, Json, Severity, temporary};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time that jobs in flight have to finish after Ctrl-C. After that they are abandoned: the journal records which
/// jobs are finished.
const GRACE_PERIOD: Duration = Duration::from_secs(3);

/// An event that ends the watch.
enum StopEvent {
    /// Ctrl-C, `SIGTERM` or `SIGHUP`.
    Interrupt,
    /// The watch loop has ended.
    Ended,
}

/// Sends [`StopEvent::Ended`] on drop, also if the watch loop panics.
struct EndGuard(Sender<StopEvent>);

impl Drop for EndGuard {
    fn drop(&mut self) {
        let _ = self.0.send(StopEvent::Ended);
    }
}

pub(super) fn watch(session: &Session, args: WatchArgs) -> Result<u8, Diag> {
    if session.reporter.diagnostics.format() == MessageFormat::Sarif {
        let message = "watch cannot write SARIF: a document has an end, a watch has none";
        return Err(Diag::new(Code::Usage, message).hint("use --message-format json"));
    }
    let (sender, stop_events) = channel();
    let interrupt = sender.clone();
    ctrlc::set_handler(move || _ = interrupt.send(StopEvent::Interrupt))
        .map_err(|e| Diag::new(Code::WatchSignals, format!("cannot install the handler for Ctrl-C: {e}")))?;
    let server = match &args.notify {
        Some(address) => {
            let status = status_line(0, true, &[], &[], &[]);
            Some(Arc::new(NotifyServer::start(&session.dir, address, &status)?))
        }
        None => None,
    };
    if let Some(server) = &server {
        let address = server.address.as_str();
        match session.reporter.json {
            true => session.reporter.print_json(Json::object([("listening", address.into())])),
            false => session.reporter.note(&format!("listening for clients on {address}")),
        }
    }

    // The loop has a thread of its own, so that a long build does not delay the response to Ctrl-C.
    let wake = WakeSignal::default();
    let (loop_session, loop_wake, loop_server) = (session.clone(), wake.clone(), server.clone());
    let work = move || {
        let _end = EndGuard(sender);
        run_loop(&loop_session, &args, &loop_wake, loop_server.as_deref())
    };
    let worker = std::thread::Builder::new().name("watch".to_owned()).spawn(work);
    let worker = worker.map_err(|e| Diag::new(Code::Threads, format!("cannot start a thread: {e}")))?;
    let done = wait(&stop_events, &wake, worker);
    // An abandoned loop still holds the server, so dropping it here would not remove the socket.
    if let Some(server) = &server {
        server.remove_socket();
    }
    // The exit code of a watch does not depend on its builds.
    session.reporter.diagnostics.reset_denied();
    match done {
        Some(result) => {
            result?;
            session.reporter.note("stopped");
        }
        None => {
            temporary::remove_all();
            session.reporter.note("stopped during a build; the next build resumes from there");
        }
    }
    Ok(OK)
}

/// Waits until the loop has ended; returns `None` if it does not end within the grace period after an interrupt.
fn wait(
    stop_events: &Receiver<StopEvent>,
    wake: &WakeSignal,
    worker: JoinHandle<Result<(), Diag>>,
) -> Option<Result<(), Diag>> {
    if let Ok(StopEvent::Interrupt) = stop_events.recv() {
        wake.stop();
        let stopped = stop_events.recv_timeout(GRACE_PERIOD);
        if matches!(stopped, Ok(StopEvent::Interrupt) | Err(RecvTimeoutError::Timeout)) {
            return None;
        }
    }
    Some(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

fn run_loop(
    session: &Session,
    args: &WatchArgs,
    wake: &WakeSignal,
    server: Option<&NotifyServer>,
) -> Result<(), Diag> {
    let progress = Progress::new(session.reporter.verbosity, session.reporter.color);
    let home = std::env::home_dir();
    // The cache is opened once; a configuration that is still invalid does not affect it. Its warnings are reported by
    // the first build.
    let user = session.user()?;
    let is_trusted = |config: &Config| trust::is_trusted(session, config).unwrap_or(false);
    let config = Config::discover(&session.dir).ok().map(|mut config| {
        match trust::is_trusted(session, &config) {
            Ok(true) => config.trust(),
            Ok(false) => {}
            Err(warning) => session.report(&warning),
        }
        config
    });
    let place = store::place(
        Sources { user: &user, project: config.as_ref().map(Config::project_cache) },
        &kiln_cli::environment::env,
    )?;
    place.iter().flat_map(|place| &place.warnings).for_each(|warning| session.report(warning));
    let cache =
        place.as_ref().and_then(|place| place.open("assetc").map_err(|why| session.report(&why)).ok());
    let tools = |config: &Config| session.tools(config, &user);
    let mut watch = Watch::new(&session.dir)
        .preset(session.preset.as_deref())
        .output(session.output.as_deref())
        .home(home.as_deref())
        .is_trusted(&is_trusted)
        .tools(&tools)
        .pack(args.pack)
        .overwrite(args.overwrite)
        .cache(cache.as_ref())
        .limits(args.limits.over(*user.limits()))
        .debounce(DebounceConfig::default().poll_interval(Duration::from_secs_f64(args.interval)))
        .events(&progress);
    if let Some(jobs) = args.jobs {
        watch = watch.jobs(jobs.into());
    }
    let done = watch.run(wake, &mut PlatformEvents::new(wake.clone()), &mut |cycle| {
        progress.clear();
        report_cycle(session, cycle, server)
    });
    if let (Some(cache), Some(place)) = (&cache, &place) {
        place.finish(cache, None).iter().for_each(|warning| session.report(warning));
    }
    done
}

/// Reports a cycle to the user and to connected clients.
fn report_cycle(session: &Session, cycle: &BuildCycle, server: Option<&NotifyServer>) -> ControlFlow<()> {
    if cycle.is_unchanged {
        if session.reporter.verbosity == Verbosity::Verbose {
            session.reporter.note("polled: nothing changed");
        }
        return ControlFlow::Continue(());
    }
    session.reporter.diagnostics.set_project_levels(&cycle.lints);
    if let Some(roots) = &cycle.roots {
        session.reporter.diagnostics.set_path_bases(&[&roots.input, &roots.output]);
    }
    cycle.warnings.iter().for_each(|warning| session.report(warning));
    match &cycle.outcome {
        // Errors are reported by every build until they are fixed, warnings only when their source is built.
        Ok(report) => report_diagnostics(session, report),
        Err(diag) => session.report(diag),
    }
    let line = status_line(cycle.number, cycle.is_ok(), &cycle.changed, &cycle.removed, &cycle.errors());
    // Sent before it is printed: a client that connects after reading the printed line gets the status only.
    if let Some(server) = server {
        let status = status_line(cycle.number, cycle.is_ok(), &[], &[], &cycle.errors());
        server.broadcast(&line, &status);
    }
    if session.reporter.json {
        session.reporter.out().line(&line);
    } else if session.reporter.verbosity > Verbosity::Quiet {
        if let (Ok(report), Some(roots)) = (&cycle.outcome, &cycle.roots) {
            summary(session, report, roots, None, cycle.duration);
        }
        if cycle.recovered {
            let mut out = session.reporter.out();
            let line = out.style.good("recovered: all errors are fixed");
            out.line(&line);
        }
        if cycle.number == 1 {
            session.reporter.note("watching for changes; press Ctrl-C to stop");
        }
    }
    // The watch ends when the reader of its standard output has closed it.
    if session.reporter.json && stdout_is_closed() {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// Formats the result of a build as one line of JSON, for clients and `--json`.
fn status_line(
    number: u64,
    ok: bool,
    changed: &[String],
    removed: &[String],
    errors: &[(&str, &Diag)],
) -> String {
    let paths = |paths: &[String]| Json::list(paths.iter().map(String::as_str));
    let failed =
        errors.iter().filter(|(_, diag)| diag.severity() == Severity::Error).map(|(source, diag)| {
            Json::object([
                ("source", (*source).into()),
                ("code", diag.code.as_str().into()),
                ("message", diag.message.as_str().into()),
                ("hint", diag.hint.as_deref().unwrap_or_default().into()),
                ("path", diag.path.as_deref().unwrap_or_default().into()),
                ("at", diag.at.as_deref().unwrap_or_default().into()),
            ])
        });
    Json::object([
        ("version", JSON_VERSION.into()),
        ("build", number.into()),
        ("ok", ok.into()),
        ("changed", paths(changed)),
        ("removed", paths(removed)),
        ("failed", Json::list(failed)),
    ])
    .to_string()
}
