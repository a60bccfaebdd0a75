//! Programs beside Kiln that some recipes run: which there are, where they were found, and what they are.
//!
//! A result depends on the program that made it, so what a program says of its version is part of the fingerprint of
//! every source that needs it; where it lies is not. A program reads copies of the files that the recipe has read, in
//! a directory of its own that is gone afterwards, and has a limited time.

mod process;
mod scratch;
mod shader_worker;

pub(crate) use process::Ran;
pub(crate) use scratch::Scratch;

use crate::config::Config;
use kiln_config::user::UserConfig;
use kiln_engine::{Code, Diag};
use kiln_shader::{Compiled, Includes, Options, Source, Stage, Target};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How much of what a program says of itself is kept.
const IDENTITY: usize = 120;

/// A program that recipes can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The compiler of Slang.
    Slangc,
    /// Microsoft's compiler of HLSL.
    Dxc,
    /// The optimiser of SPIR-V.
    SpirvOpt,
    /// The validator of SPIR-V.
    SpirvVal,
}

impl Tool {
    /// All of them.
    pub const ALL: [Tool; 4] = [Tool::Slangc, Tool::Dxc, Tool::SpirvOpt, Tool::SpirvVal];

    /// The name of its executable, which is also its key under `tools:`.
    pub const fn name(self) -> &'static str {
        match self {
            Tool::Slangc => "slangc",
            Tool::Dxc => "dxc",
            Tool::SpirvOpt => "spirv-opt",
            Tool::SpirvVal => "spirv-val",
        }
    }

    /// What makes it tell its version.
    const fn version_flag(self) -> &'static str {
        match self {
            Tool::Slangc => "-v",
            _ => "--version",
        }
    }

    /// Where it comes from.
    const fn origin(self) -> &'static str {
        match self {
            Tool::Slangc => "the Vulkan SDK or github.com/shader-slang/slang/releases",
            Tool::Dxc => "the Vulkan SDK or github.com/microsoft/DirectXShaderCompiler/releases",
            Tool::SpirvOpt | Tool::SpirvVal => "the package spirv-tools or the Vulkan SDK",
        }
    }
}

/// The programs that were found.
#[derive(Debug, Default)]
pub struct Tools {
    found: Vec<Program>,
    scratch: PathBuf,
    shader_workers: Option<shader_worker::Workers>,
}

/// A program that was found.
#[derive(Debug)]
pub(crate) struct Program {
    tool: Tool,
    path: PathBuf,
    identity: OnceLock<String>,
}

impl Tools {
    /// Looks for the programs that a trusted project or the user names, or else in these directories, which are
    /// absolute. Directories inside a project that is not trusted are passed over: whoever wrote the project could have
    /// put programs there. `scratch` is where programs get their directories.
    pub fn find(config: &Config, user: &UserConfig, search: &[PathBuf], scratch: PathBuf) -> Tools {
        let may_run = |path: &PathBuf| path.is_file() && (config.is_trusted() || !config.contains(path));
        let locate = |tool: Tool| {
            let file = format!("{}{}", tool.name(), std::env::consts::EXE_SUFFIX);
            let on_path = || search.iter().map(|dir| dir.join(&file)).find(may_run);
            let users = || user.tool(tool.name()).map(Path::to_path_buf);
            let path = config.tool(tool.name()).or_else(users).or_else(on_path)?;
            Some(Program { tool, path, identity: OnceLock::new() })
        };
        Tools { found: Tool::ALL.into_iter().filter_map(locate).collect(), scratch, shader_workers: None }
    }

    /// Compiles shaders in worker processes: those of a program that calls [`serve_shaders`] when it is started with
    /// these arguments. A source that makes its compiler crash, or takes longer than `timeout` or than its asset may,
    /// then fails alone.
    ///
    /// Without this, shaders are compiled in this process, which a source that nests deep enough aborts.
    #[must_use]
    pub fn compile_apart(self, program: PathBuf, args: Vec<OsString>, timeout: Duration) -> Tools {
        Tools { shader_workers: Some(shader_worker::Workers::new(program, args, timeout)), ..self }
    }

    /// Starts a worker process, unless there is one, so that it is ready for a GLSL source that starts so.
    pub(crate) fn start_compiler(&self, head: impl FnOnce() -> String, stage: Stage, target: Target) {
        if let Some(workers) = &self.shader_workers {
            workers.warm_up(head, stage, target);
        }
    }

    /// Compiles one stage of a shader. A worker process is stopped at the deadline.
    pub(crate) fn compile_shader(
        &self,
        source: &Source<'_>,
        options: &Options<'_>,
        includes: &mut dyn Includes,
        deadline: Option<Instant>,
    ) -> Result<Compiled, Diag> {
        match &self.shader_workers {
            Some(workers) => workers.compile(source, options, includes, deadline),
            None => kiln_shader::compile(source, options, includes),
        }
    }

    /// Lists the entry points of a WGSL source: stage and name. A worker process is stopped at the deadline.
    pub(crate) fn wgsl_stages(
        &self,
        path: &str,
        text: &str,
        deadline: Option<Instant>,
    ) -> Result<Vec<(Stage, String)>, Diag> {
        match &self.shader_workers {
            Some(workers) => workers.wgsl_stages(path, text, deadline),
            None => kiln_shader::wgsl_stages(path, text),
        }
    }

    /// A program, if it was found.
    pub(crate) fn get(&self, tool: Tool) -> Option<&Program> {
        self.found.iter().find(|program| program.tool == tool)
    }

    /// A program that has to be there.
    pub(crate) fn need(&self, tool: Tool, what_for: &str) -> Result<&Program, Diag> {
        self.get(tool).ok_or_else(|| {
            let name = tool.name();
            let hint = format!(
                "get it from {}, and put it on the PATH or name it under `tools: {{{name}: …}}` in your config.yml, \
                 or in the assetc.yml of a project that you trust",
                tool.origin()
            );
            Diag::new(Code::ShaderToolMissing, format!("{what_for} needs {name}, which was not found"))
                .hint(hint)
        })
    }

    /// What a program says of its version, for fingerprints; it is asked once.
    pub fn identity(&self, tool: Tool) -> &str {
        self.get(tool).map_or("none", |program| {
            program.identity.get_or_init(|| program.ask().unwrap_or_else(|| "unknown".to_owned()))
        })
    }

    /// An empty directory for a program to work in.
    pub(crate) fn scratch(&self) -> Result<Scratch, Diag> {
        Scratch::new(&self.scratch)
    }
}

/// Runs a worker process of [`Tools::compile_apart`] until its input ends. The process may map this many bytes of
/// memory from then on, where the system has such limits.
///
/// # Errors
/// When a request cannot be read or a response cannot be written.
pub fn serve_shaders(input: impl Read + Send, output: impl Write + Send, memory: u64) -> io::Result<()> {
    kiln_shader::limit_memory(memory);
    kiln_shader::serve(input, output)
}

/// The time until a deadline, if that is less than `timeout`.
fn time_left(timeout: Duration, deadline: Option<Instant>) -> Duration {
    deadline.map_or(timeout, |deadline| timeout.min(deadline.saturating_duration_since(Instant::now())))
}

impl Program {
    pub(crate) fn name(&self) -> &'static str {
        self.tool.name()
    }

    /// Runs it in a directory, until the deadline at the longest.
    pub(crate) fn run(&self, dir: &Path, args: &[String], deadline: Option<Instant>) -> Result<Ran, Diag> {
        process::run(self.name(), &self.path, dir, args, time_left(PATIENCE, deadline))
    }

    /// The first line that it says of itself.
    fn ask(&self) -> Option<String> {
        let dir = self.path.parent()?;
        let ran = self.run(dir, &[self.tool.version_flag().to_owned()], None).ok()?;
        let line = ran.said.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.chars().filter(|c| !c.is_control()).take(IDENTITY).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_configuration_names_every_tool() {
        assert_eq!(Tool::ALL.map(Tool::name).as_slice(), kiln_config::user::TOOLS);
    }

    #[test]
    fn configured_programs_come_before_those_on_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let file = |tool: Tool| format!("{}{}", tool.name(), std::env::consts::EXE_SUFFIX);
        std::fs::write(dir.path().join(file(Tool::Slangc)), "").unwrap();
        std::fs::write(dir.path().join(file(Tool::Dxc)), "").unwrap();
        let mut config = Config::parse("tools: {dxc: sdk/dxc}", "assetc.yml").unwrap();
        let find = |config: &Config, user: &UserConfig| {
            Tools::find(config, user, &[dir.path().to_owned()], PathBuf::new())
        };
        let user = UserConfig::default();
        let on_path = dir.path().join(file(Tool::Dxc));
        assert_eq!(find(&config, &user).get(Tool::Dxc).unwrap().path, on_path, "the project is not trusted");
        config.trust();
        let tools = find(&config, &user);
        assert_eq!(tools.get(Tool::Slangc).unwrap().path, dir.path().join(file(Tool::Slangc)));
        assert_eq!(tools.get(Tool::Dxc).unwrap().path, Path::new("sdk/dxc"));
        assert!(tools.get(Tool::SpirvOpt).is_none());
        let missing = tools.need(Tool::SpirvOpt, "shader.optimize").unwrap_err();
        assert!(missing.hint.as_deref().is_some_and(|hint| hint.contains("spirv-tools")), "{missing}");
        assert_eq!(tools.identity(Tool::SpirvOpt), "none");
    }

    #[cfg(unix)]
    #[test]
    fn the_users_programs_come_before_those_on_the_path_and_a_projects_own_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("game");
        std::fs::create_dir_all(project.join("bin")).unwrap();
        std::fs::write(project.join("bin/dxc"), "").unwrap();
        std::os::unix::fs::symlink("game/bin", dir.path().join("link")).unwrap();
        std::fs::create_dir(dir.path().join("sdk")).unwrap();
        std::os::unix::fs::symlink("../game/bin/dxc", dir.path().join("sdk/dxc")).unwrap();
        let mut config = Config::built_in(&project);
        let user = UserConfig::parse("tools: {slangc: /opt/slangc}", "config.yml").unwrap();
        for name in ["game/bin", "link", "sdk"] {
            let tools = Tools::find(&config, &user, &[dir.path().join(name)], PathBuf::new());
            assert_eq!(tools.get(Tool::Slangc).unwrap().path, Path::new("/opt/slangc"));
            assert!(tools.get(Tool::Dxc).is_none(), "{name}");
        }
        config.trust();
        assert!(Tools::find(&config, &user, &[project.join("bin")], PathBuf::new()).get(Tool::Dxc).is_some());
    }
}
