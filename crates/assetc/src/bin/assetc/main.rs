//! The `assetc` executable: parses the command line and runs one command.

mod args;
mod build;
mod cache;
mod check;
mod convert;
mod depfile;
mod dry_run;
mod explain;
mod extract;
mod inspect;
mod notify_server;
mod output_files;
mod pack_info;
mod report;
mod report_tiles;
mod shader_limits;
mod stats;
mod timings;
mod trust;
mod watch;

use ::assetc::config::{self, Config, Preset, Roots};
use ::assetc::schema;
use ::assetc::tools::{Tools, serve_shaders};
use args::{BuildArgs, Cli, Command, Common, PackCommand, SchemaName};
use clap::CommandFactory;
use kiln_cli::diagnostics::parse_arguments;
use kiln_cli::progress::Verbosity;
use kiln_cli::reporter::{OK, Reporter};
use kiln_cli::user;
use kiln_config::user::UserConfig;
use kiln_engine::{Code, Diag, Json};
use shader_limits::ShaderLimits;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Parses the arguments, runs the command and returns its exit code.
fn main() -> ExitCode {
    kiln_cli::quiet_panics();
    let cli: Cli = match parse_arguments() {
        Ok(cli) => cli,
        Err(exit_code) => return exit_code,
    };
    let reporter = Reporter::from(cli.common.flags.clone());
    let session = match Session::new(cli.common, reporter.clone()) {
        Ok(session) => session,
        Err(diag) => return reporter.run("assetc", |diag| reporter.say(diag), || Err::<u8, Diag>(diag)),
    };
    reporter.run("assetc", |diag| session.report(diag), || dispatch(&session, cli.command, cli.build))
}

fn dispatch(session: &Session, command: Option<Command>, build: BuildArgs) -> Result<u8, Diag> {
    let foreign = match &command {
        None | Some(Command::Build(_)) => None,
        Some(Command::Watch(_)) => build.given_beyond_watch(),
        Some(_) => build.given(),
    };
    if let Some(flag) = foreign {
        let message = format!("{flag} is a flag of `assetc build` and cannot be used with this command");
        return Err(Diag::new(Code::Usage, message).hint(format!("remove {flag}")));
    }
    match command {
        None => build::build(session, &build, &[]),
        Some(Command::Build(command)) => build::build(session, &command.args.and(build), &command.paths),
        Some(Command::Init) => init(session),
        Some(Command::Info { paths }) => inspect::info(session, paths),
        Some(Command::Check { paths }) => check::check(session, paths),
        Some(Command::Convert(args)) => convert::convert(session, &args),
        Some(Command::Extract(args)) => extract::extract(session, &args),
        Some(Command::Report(args)) => report::report(session, args),
        Some(Command::Pack(PackCommand::Info { file })) => pack_info::pack_info(session, file),
        Some(Command::Cache(command)) => cache::cache(session, &command),
        Some(Command::Watch(args)) => watch::watch(session, args.and(&build)),
        Some(Command::Clean) => build::clean(session),
        Some(Command::Trust(args)) => trust::trust(session, &args),
        Some(Command::Explain { source }) => explain::explain(session, &source),
        Some(Command::Graph { path }) => explain::graph(session, path.as_deref()),
        Some(Command::Schema { name }) => {
            let schema = match name {
                SchemaName::AssetcYml => schema::assetc_yml(),
                SchemaName::Mat => schema::mat(),
                SchemaName::Tex => schema::tex(),
            };
            session.reporter.out().line(schema.pretty().trim_end());
            Ok(OK)
        }
        Some(Command::Manual(manual)) => manual.run(&session.reporter, Cli::command()),
        Some(Command::RunAction) => ::assetc::run_action(Path::new(".")).map(|()| OK),
        Some(Command::ServeShaders { memory }) => {
            kiln_cli::interrupt::ignore();
            let served = serve_shaders(io::stdin(), io::stdout(), memory);
            served.map(|()| OK).map_err(|e| Diag::new(Code::ShaderCompiler, e.to_string()))
        }
    }
}

/// The state that all commands share: the working directory, the common arguments and the reporter.
#[derive(Clone)]
struct Session {
    /// The working directory, which relative arguments are relative to.
    dir: PathBuf,
    output: Option<PathBuf>,
    preset: Option<String>,
    /// True if the project is trusted for this run, regardless of the recorded trust.
    trust: bool,
    reporter: Reporter,
    shader_limits: ShaderLimits,
}

impl Session {
    fn new(common: Common, reporter: Reporter) -> Result<Session, Diag> {
        let fault = |message: String| Diag::new(Code::Directory, message);
        let mut dir = std::env::current_dir()
            .map_err(|e| fault(format!("the working directory does not exist or cannot be read: {e}")))?;
        if let Some(other) = &common.directory {
            dir.push(other);
            let entered = std::fs::canonicalize(&dir).and_then(|dir| std::fs::read_dir(&dir).map(|_| dir));
            dir =
                entered.map_err(|e| fault(format!("cannot change to directory {}: {e}", other.display())))?;
        }
        let output = common.output.map(|output| dir.join(output));
        let shader_limits = ShaderLimits::read(&kiln_cli::environment::env)?;
        let trust = common.trust || trust::by_environment()?;
        let preset = common.preset;
        Ok(Session { dir, output, preset, trust, reporter, shader_limits })
    }

    /// Loads the configuration of the project, trusted if the user trusts it, and reports its warnings.
    fn config(&self) -> Result<Config, Diag> {
        let mut config = Config::discover(&self.dir)?;
        match trust::is_trusted(self, &config) {
            Ok(true) => config.trust(),
            Ok(false) => {}
            Err(warning) => self.report(&warning),
        }
        self.reporter.diagnostics.set_project_levels(config.lints());
        for warning in config.warnings() {
            self.report(warning);
        }
        Ok(config)
    }

    /// Loads the configuration of the user and reports its warnings.
    fn user(&self) -> Result<UserConfig, Diag> {
        let user = user::load_config(&kiln_cli::environment::env)?;
        for warning in user.warnings() {
            self.report(warning);
        }
        Ok(user)
    }

    fn preset<'a>(&self, config: &'a Config) -> Result<Option<&'a Preset>, Diag> {
        config.select_preset(self.preset.as_deref())
    }

    /// Loads the configuration and determines the directories of the build.
    fn project(&self) -> Result<(Config, Roots), Diag> {
        let config = self.config()?;
        let roots = Roots::locate(&config, self.preset(&config)?, self.output.as_deref())?;
        self.reporter.diagnostics.set_path_bases(&[&roots.input, &roots.output]);
        Ok((config, roots))
    }

    /// Finds external programs: those that a trusted project or the user's configuration names, on the PATH, or in an
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
        // A relative directory may be inside an untrusted project, whose programs must not run.
        search.retain(|dir| dir.is_absolute());
        let tools = Tools::find(config, user, &search, std::env::temp_dir());
        match std::env::current_exe() {
            Ok(program) => {
                tools.with_shader_workers(program, self.shader_limits.args(), self.shader_limits.timeout)
            }
            Err(_) => tools,
        }
    }

    /// Prints a diagnostic to standard error, with its path relative to the working directory.
    fn report(&self, diag: &Diag) {
        self.reporter.say(&self.with_shown_path(diag));
    }

    /// Returns a diagnostic with its path relative to the working directory.
    fn with_shown_path(&self, diag: &Diag) -> Diag {
        let mut diag = diag.clone();
        diag.path = diag.path.map(|path| self.shown(Path::new(&path)));
        diag
    }

    /// Formats a path relative to the working directory, if it is below it.
    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.dir) {
            Ok(short) if short.as_os_str().is_empty() => ".".to_owned(),
            Ok(short) => short.display().to_string(),
            _ => path.display().to_string(),
        }
    }

    /// Reports that another process holds the lock of the output directory.
    fn waiting(&self) {
        self.reporter.note("waiting for another build to release the output directory");
    }
}

fn init(session: &Session) -> Result<u8, Diag> {
    let created = config::init(&session.dir)?;
    let path = |path: &Path| Json::from(path.display().to_string());
    if session.reporter.json {
        let result = Json::object([
            ("written", path(&created.file)),
            ("schema", path(&created.schema)),
            ("input", path(&created.input)),
            ("gitignore", created.gitignore.as_deref().map(path).into()),
        ]);
        session.reporter.print_json(result);
    } else if session.reporter.verbosity > Verbosity::Quiet {
        let mut out = session.reporter.out();
        let (file, input) = (session.shown(&created.file), session.shown(&created.input));
        let schema = session.shown(&created.schema);
        out.line(&match &created.gitignore {
            Some(gitignore) => {
                format!("created {file}, {schema}, {input}/ and entries in {}", session.shown(gitignore))
            }
            None => format!(
                "created {file}, {schema} and {input}/; .gitignore is not a regular file and was not changed"
            ),
        });
        out.line(&format!("next: add sources to {input}/ and run assetc"));
    }
    Ok(OK)
}
