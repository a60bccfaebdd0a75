//! The command line of `assetc`.

mod args;
mod audience;
mod build;
mod cache;
mod inspect;
mod report;
mod watch;

use ::assetc::config::{self, Config, Preset, Roots};
use ::assetc::tools::{Tools, serve_shaders};
use args::{BuildArgs, Cli, Command, Common, PackCommand, SERVE_SHADERS};
use clap::{CommandFactory, Parser};
use kiln_cli::guarded;
use kiln_cli::manual;
use kiln_cli::progress::Verbosity;
use kiln_cli::render;
use kiln_cli::terminal::{Color, Out, Style, lost};
use kiln_kit::{Diag, Json, Severity};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Fine.
const OK: u8 = 0;
/// An asset failed, or a runtime file is damaged.
const FAILED: u8 = 1;
/// Usage, configuration or environment.
const TROUBLE: u8 = 2;

/// Runs the program.
fn main() -> ExitCode {
    kiln_cli::quiet_panics();
    let cli = Cli::parse();
    let session = match Session::new(cli.common) {
        Ok(session) => session,
        Err((diag, color)) => {
            say(&diag, color);
            return TROUBLE.into();
        }
    };
    let done = guarded("assetc", || dispatch(&session, cli.command, cli.build));
    let code = done.unwrap_or_else(|diag: Diag| {
        if session.json {
            session.out().line(&Json::object([("error", render::diag_json(&diag))]).to_string());
        }
        session.say(&diag);
        if diag.code == "check-broken" { FAILED } else { TROUBLE }
    });
    match lost() {
        None => code.into(),
        Some(diag) => {
            session.say(&diag);
            TROUBLE.into()
        }
    }
}

fn dispatch(session: &Session, command: Option<Command>, build: BuildArgs) -> Result<u8, Diag> {
    let foreign = match &command {
        None | Some(Command::Build(_)) => None,
        Some(Command::Watch(_)) => build.given_beyond_watch(),
        Some(_) => build.given(),
    };
    if let Some(flag) = foreign {
        return Err(Diag::error("usage", format!("{flag} belongs to a build, not to this command")));
    }
    match command {
        None => build::build(session, &build),
        Some(Command::Build(args)) => build::build(session, &args.and(build)),
        Some(Command::Init) => init(session),
        Some(Command::Info { path }) => inspect::info(session, path),
        Some(Command::Check { path }) => inspect::check(session, path),
        Some(Command::Report(args)) => report::report(session, args),
        Some(Command::Pack(PackCommand::Info { file })) => inspect::pack_info(session, file),
        Some(Command::Cache(command)) => cache::cache(session, &command),
        Some(Command::Watch(args)) => watch::watch(session, args.and(&build)),
        Some(Command::Clean) => build::clean(session),
        Some(Command::Explain { source }) => inspect::explain(session, &source),
        Some(Command::Graph { path }) => inspect::graph(session, path.as_deref()),
        Some(Command::Completions { shell }) => {
            manual::completions(&mut session.out(), Cli::command(), shell);
            Ok(OK)
        }
        Some(Command::Man { dir }) => {
            manual::man(&mut session.out(), Cli::command(), dir.as_deref(), session.json).map(|()| OK)
        }
        Some(Command::ServeShaders) => {
            let served = serve_shaders(io::stdin(), io::stdout());
            served.map(|()| OK).map_err(|e| Diag::error("shader-compiler", e.to_string()))
        }
    }
}

/// What all commands share: where we are and how to speak.
#[derive(Clone)]
struct Session {
    /// The directory that relative arguments are relative to.
    dir: PathBuf,
    output: Option<PathBuf>,
    preset: Option<String>,
    json: bool,
    color: Color,
    verbosity: Verbosity,
}

impl Session {
    fn new(common: Common) -> Result<Session, (Diag, Color)> {
        let trouble = |message: String| (Diag::error("directory", message), common.color);
        let mut dir =
            std::env::current_dir().map_err(|e| trouble(format!("the working directory is gone: {e}")))?;
        if let Some(other) = &common.directory {
            dir.push(other);
            let entered = std::fs::canonicalize(&dir).and_then(|dir| std::fs::read_dir(&dir).map(|_| dir));
            dir = entered.map_err(|e| trouble(format!("cannot work in {}: {e}", other.display())))?;
        }
        let verbosity = match (common.quiet, common.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        let output = common.output.map(|output| dir.join(output));
        Ok(Session { dir, output, preset: common.preset, json: common.json, color: common.color, verbosity })
    }

    /// The configuration; what is odd about it is said.
    fn config(&self) -> Result<Config, Diag> {
        let config = Config::discover(&self.dir)?;
        for warning in config.warnings() {
            self.say(warning);
        }
        Ok(config)
    }

    fn preset<'a>(&self, config: &'a Config) -> Result<Option<&'a Preset>, Diag> {
        config.select_preset(self.preset.as_deref())
    }

    /// The configuration, the directories it asks for, and the preset's name.
    fn project(&self) -> Result<(Config, Roots), Diag> {
        let config = self.config()?;
        let roots = Roots::locate(&config, self.preset(&config)?, self.output.as_deref())?;
        Ok((config, roots))
    }

    /// The programs beside Kiln: where the configuration says, on the PATH, or in an SDK that the environment names.
    fn tools(&self, config: &Config) -> Tools {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let mut search: Vec<PathBuf> = Vec::new();
        // An empty entry of the PATH is the working directory, where nothing should run by chance.
        search.extend(var("PATH").iter().flat_map(std::env::split_paths).filter(|dir| dir.is_absolute()));
        search.extend(
            ["SLANG_DIR", "VULKAN_SDK"]
                .iter()
                .filter_map(|name| var(name))
                .map(|sdk| Path::new(&sdk).join("bin")),
        );
        let tools = Tools::find(config, &search, std::env::temp_dir());
        match std::env::current_exe() {
            Ok(program) => tools.compile_apart(program, vec![SERVE_SHADERS.into()]),
            Err(_) => tools,
        }
    }

    /// Says something on standard error, unless warnings are not wanted.
    fn say(&self, diag: &Diag) {
        if diag.severity == Severity::Error || self.verbosity > Verbosity::Quiet {
            let path = self.shown(Path::new(&diag.path));
            say(&Diag { path, ..diag.clone() }, self.color);
        }
    }

    fn out(&self) -> Out {
        Out::new(self.color)
    }

    /// A path as the user would write it here.
    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.dir) {
            Ok(short) if short.as_os_str().is_empty() => ".".to_owned(),
            Ok(short) => short.display().to_string(),
            _ => path.display().to_string(),
        }
    }

    /// Says something on standard error that is neither error nor warning.
    fn note(&self, line: &str) {
        if self.verbosity > Verbosity::Quiet {
            let _ = writeln!(io::stderr(), "{line}");
        }
    }

    /// Called when another build has to end first.
    fn waiting(&self) {
        self.note("waiting for a build of this output to end");
    }
}

fn say(diag: &Diag, color: Color) {
    let stderr = io::stderr();
    let _ = writeln!(&stderr, "{}", render::diag(diag, Style::of(&stderr, color)));
}

fn init(session: &Session) -> Result<u8, Diag> {
    let file = config::init(&session.dir)?;
    if session.json {
        session.out().line(&Json::object([("written", file.display().to_string().into())]).to_string());
    } else if session.verbosity > Verbosity::Quiet {
        let shown = session.shown(&file);
        session.out().line(&format!("wrote {shown}; put sources under assets/ and run assetc"));
    }
    Ok(OK)
}
