//! `assetc watch`: builds whenever something changed, until Ctrl-C.

use super::Session;
use super::args::WatchArgs;
use super::audience::Audience;
use super::build::{cores, say_all, summary};
use super::trust;
use ::assetc::config::Config;
use ::assetc::watch::{Bell, Listener, Pace, Turn, Watch};
use kiln_cli::progress::{Progress, Verbosity};
use kiln_cli::store::{self, Sources};
use kiln_cli::terminal::reader_is_gone;
use kiln_cli::voice::OK;
use kiln_engine::{Code, Diag, Json, Severity, State};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the assets in hand may take after Ctrl-C. After that they are left where they are: the journal knows what is
/// done.
const GRACE: Duration = Duration::from_secs(3);

/// What the thread that waits is told.
enum News {
    /// Ctrl-C, or its like.
    Interrupt,
    /// The loop has ended.
    Ended,
}

/// Says that the loop has ended when it is dropped, however that came about.
struct End(Sender<News>);

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.0.send(News::Ended);
    }
}

pub(super) fn watch(session: &Session, args: WatchArgs) -> Result<u8, Diag> {
    let (sender, news) = channel();
    let interrupt = sender.clone();
    ctrlc::set_handler(move || _ = interrupt.send(News::Interrupt))
        .map_err(|e| Diag::new(Code::WatchSignals, format!("Ctrl-C cannot be waited for: {e}")))?;
    let audience = match &args.notify {
        Some(address) => {
            Some(Arc::new(Audience::open(&session.dir, address, &line(0, true, &[], &[], &[]))?))
        }
        None => None,
    };
    if let Some(audience) = &audience {
        match session.voice.json {
            true => session
                .voice
                .out()
                .line(&Json::object([("listening", audience.address.as_str().into())]).to_string()),
            false => session.voice.note(&format!("clients may listen at {}", audience.address)),
        }
    }

    // The loop has a thread of its own, so that a long build does not keep Ctrl-C waiting.
    let bell = Bell::default();
    let (own, heard, told) = (session.clone(), bell.clone(), audience.clone());
    let work = move || {
        let _end = End(sender);
        follow(&own, &args, &heard, told.as_deref())
    };
    let worker = std::thread::Builder::new().name("watch".to_owned()).spawn(work);
    let worker = worker.map_err(|e| Diag::new(Code::Threads, format!("cannot start a thread: {e}")))?;
    let done = wait(&news, &bell, worker);
    // Others have a hold on it while the loop runs on.
    if let Some(audience) = &audience {
        audience.leave();
    }
    match done {
        Some(result) => {
            result?;
            session.voice.note("stopped");
        }
        None => session.voice.note("stopped in the middle of a build; the next one goes on from there"),
    }
    Ok(OK)
}

/// Waits until the loop has ended, or does not end when it is told to.
fn wait(
    news: &Receiver<News>,
    bell: &Bell,
    worker: JoinHandle<Result<(), Diag>>,
) -> Option<Result<(), Diag>> {
    if let Ok(News::Interrupt) = news.recv() {
        bell.stop();
        if matches!(news.recv_timeout(GRACE), Ok(News::Interrupt) | Err(RecvTimeoutError::Timeout)) {
            return None;
        }
    }
    Some(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

fn follow(session: &Session, args: &WatchArgs, bell: &Bell, audience: Option<&Audience>) -> Result<(), Diag> {
    let progress = Progress::new(session.voice.verbosity, session.voice.color);
    let home = std::env::home_dir();
    // Where results are is asked once; a configuration that cannot be read yet has nothing to say about it.
    // Quietly: the first build says what is odd about it.
    let user = session.user()?;
    let is_trusted = |config: &Config| trust::is_trusted(session, config).unwrap_or(false);
    let config = Config::discover(&session.dir).ok().map(|mut config| {
        match trust::is_trusted(session, &config) {
            Ok(true) => config.trust(),
            Ok(false) => {}
            Err(warning) => session.say(&warning),
        }
        config
    });
    let place = store::place(
        Sources { user: &user, project: config.as_ref().map(Config::project_cache) },
        &kiln_cli::environment::env,
    )?;
    place.iter().flat_map(|place| &place.warnings).for_each(|warning| session.say(warning));
    let kept = place.as_ref().and_then(|place| place.open("assetc").map_err(|why| session.say(&why)).ok());
    let watch = Watch {
        start: &session.dir,
        preset: session.preset.as_deref(),
        output: session.output.as_deref(),
        home: home.as_deref(),
        is_trusted: &is_trusted,
        tools: &|config: &Config| session.tools(config, &user),
        jobs: args.jobs.map_or_else(cores, usize::from),
        pack: args.pack,
        overwrite: args.overwrite,
        store: kept.as_ref(),
        limits: args.limits.over(*user.limits()),
        pace: Pace { sweep: Duration::from_secs_f64(args.interval), ..Pace::default() },
        events: &progress,
    };
    let done = watch.run(bell, &mut Listener::new(bell.clone()), &mut |turn| {
        progress.clear();
        tell(session, turn, audience)
    });
    if let (Some(kept), Some(place)) = (&kept, &place) {
        place.finish(kept, None).iter().for_each(|warning| session.say(warning));
    }
    done
}

fn tell(session: &Session, turn: &Turn, audience: Option<&Audience>) -> ControlFlow<()> {
    if turn.quiet {
        if session.voice.verbosity == Verbosity::Verbose {
            session.voice.note("looked: nothing changed");
        }
        return ControlFlow::Continue(());
    }
    turn.warnings.iter().for_each(|warning| session.say(warning));
    match &turn.outcome {
        // An error is said until it is mended; a warning when it comes up.
        Ok(report) => say_all(session, report, |asset| turn.number == 1 || asset.state != State::Fresh),
        Err(diag) => session.say(diag),
    }
    let text = line(turn.number, turn.is_ok(), &turn.changed, &turn.removed, &turn.errors());
    // Before it is said here: whoever reads that and connects is not told again.
    if let Some(audience) = audience {
        let standing = line(turn.number, turn.is_ok(), &[], &[], &turn.errors());
        audience.tell(&text, &standing);
    }
    if session.voice.json {
        session.voice.out().line(&text);
    } else if session.voice.verbosity > Verbosity::Quiet {
        if let (Ok(report), Some(roots)) = (&turn.outcome, &turn.roots) {
            summary(session, report, roots, None, turn.took);
        }
        if turn.mended {
            let mut out = session.voice.out();
            let line = out.style.good("mended: no errors left");
            out.line(&line);
        }
        if turn.number == 1 {
            session.voice.note("watching for changes; Ctrl-C ends it");
        }
    }
    // A program that reads the lines and goes away has no further use for them.
    if session.voice.json && reader_is_gone() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// What a program is told of a build, on one line.
fn line(number: u64, ok: bool, changed: &[String], removed: &[String], errors: &[(&str, &Diag)]) -> String {
    let paths = |paths: &[String]| Json::list(paths.iter().map(String::as_str));
    let failed =
        errors.iter().filter(|(_, diag)| diag.severity() == Severity::Error).map(|(source, diag)| {
            Json::object([("source", (*source).into()), ("message", diag.message.as_str().into())])
        });
    Json::object([
        ("build", number.into()),
        ("ok", ok.into()),
        ("changed", paths(changed)),
        ("removed", paths(removed)),
        ("failed", Json::list(failed)),
    ])
    .to_string()
}
