//! The command line of `assetc`.

mod args;
mod audience;
mod build;
mod cache;
mod inspect;
mod report;
mod shader_limits;
mod trust;
mod watch;

use ::assetc::config::{self, Config, Preset, Roots};
use ::assetc::tools::{Tools, serve_shaders};
use args::{BuildArgs, Cli, Command, Common, PackCommand};
use clap::{CommandFactory, Parser};
use kiln_cli::progress::Verbosity;
use kiln_cli::user;
use kiln_cli::voice::{OK, TROUBLE, Voice};
use kiln_config::user::UserConfig;
use kiln_engine::{Code, Diag, Json};
use shader_limits::ShaderLimits;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs the program.
fn main() -> ExitCode {
    kiln_cli::quiet_panics();
    let cli = Cli::parse();
    let voice = Voice::from(cli.common.flags);
    let session = match Session::new(cli.common) {
        Ok(session) => session,
        Err(diag) => {
            voice.say(&diag);
            return TROUBLE.into();
        }
    };
    voice.run("assetc", |diag| session.say(diag), || dispatch(&session, cli.command, cli.build))
}

fn dispatch(session: &Session, command: Option<Command>, build: BuildArgs) -> Result<u8, Diag> {
    let foreign = match &command {
        None | Some(Command::Build(_)) => None,
        Some(Command::Watch(_)) => build.given_beyond_watch(),
        Some(_) => build.given(),
    };
    if let Some(flag) = foreign {
        return Err(Diag::new(Code::Usage, format!("{flag} belongs to a build, not to this command")));
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
        Some(Command::Trust(args)) => trust::trust(session, &args),
        Some(Command::Explain { source }) => inspect::explain(session, &source),
        Some(Command::Graph { path }) => inspect::graph(session, path.as_deref()),
        Some(Command::Manual(manual)) => manual.run(&session.voice, Cli::command()),
        Some(Command::ServeShaders { memory }) => {
            let served = serve_shaders(io::stdin(), io::stdout(), memory);
            served.map(|()| OK).map_err(|e| Diag::new(Code::ShaderCompiler, e.to_string()))
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
    /// Whether the project is trusted for this run, whatever is recorded.
    trust: bool,
    voice: Voice,
    shader_limits: ShaderLimits,
}

impl Session {
    fn new(common: Common) -> Result<Session, Diag> {
        let trouble = |message: String| Diag::new(Code::Directory, message);
        let mut dir =
            std::env::current_dir().map_err(|e| trouble(format!("the working directory is gone: {e}")))?;
        if let Some(other) = &common.directory {
            dir.push(other);
            let entered = std::fs::canonicalize(&dir).and_then(|dir| std::fs::read_dir(&dir).map(|_| dir));
            dir = entered.map_err(|e| trouble(format!("cannot work in {}: {e}", other.display())))?;
        }
        let output = common.output.map(|output| dir.join(output));
        let shader_limits = ShaderLimits::read(&kiln_cli::environment::env)?;
        let trust = common.trust || trust::by_environment()?;
        let (preset, voice) = (common.preset, common.flags.into());
        Ok(Session { dir, output, preset, trust, voice, shader_limits })
    }

    /// The project's configuration, trusted if the user trusts it; its warnings are printed.
    fn config(&self) -> Result<Config, Diag> {
        let mut config = Config::discover(&self.dir)?;
        match trust::is_trusted(self, &config) {
            Ok(true) => config.trust(),
            Ok(false) => {}
            Err(warning) => self.say(&warning),
        }
        for warning in config.warnings() {
            self.say(warning);
        }
        Ok(config)
    }

    /// The user's configuration; its warnings are printed.
    fn user(&self) -> Result<UserConfig, Diag> {
        let user = user::load_config(&kiln_cli::environment::env)?;
        for warning in user.warnings() {
            self.say(warning);
        }
        Ok(user)
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

    /// The programs beside Kiln: those that a trusted project or the user's configuration names, on the PATH, or in an
    /// SDK that the environment names.
    fn tools(&self, config: &Config, user: &UserConfig) -> Tools {
        let mut search: Vec<PathBuf> = Vec::new();
        search.extend(kiln_cli::environment::env("PATH").iter().flat_map(std::env::split_paths));
        search.extend(
            ["SLANG_DIR", "VULKAN_SDK"]
                .iter()
                .filter_map(|name| kiln_cli::environment::env(name))
                .map(|sdk| Path::new(&sdk).join("bin")),
        );
        // Relative to the working directory, which may be a stranger's project, nothing should run by chance.
        search.retain(|dir| dir.is_absolute());
        let tools = Tools::find(config, user, &search, std::env::temp_dir());
        match std::env::current_exe() {
            Ok(program) => {
                tools.compile_apart(program, self.shader_limits.args(), self.shader_limits.timeout)
            }
            Err(_) => tools,
        }
    }

    /// Says something on standard error, with its path as the user would write it.
    fn say(&self, diag: &Diag) {
        let mut diag = diag.clone();
        diag.path = diag.path.map(|path| self.shown(Path::new(&path)));
        self.voice.say(&diag);
    }

    /// A path as the user would write it here.
    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.dir) {
            Ok(short) if short.as_os_str().is_empty() => ".".to_owned(),
            Ok(short) => short.display().to_string(),
            _ => path.display().to_string(),
        }
    }

    /// Called when another build has to end first.
    fn waiting(&self) {
        self.voice.note("waiting for a build of this output to end");
    }
}

fn init(session: &Session) -> Result<u8, Diag> {
    let file = config::init(&session.dir)?;
    if session.voice.json {
        session.voice.out().line(&Json::object([("written", file.display().to_string().into())]).to_string());
    } else if session.voice.verbosity > Verbosity::Quiet {
        let shown = session.shown(&file);
        session.voice.out().line(&format!("wrote {shown}; put sources under assets/ and run assetc"));
    }
    Ok(OK)
}
