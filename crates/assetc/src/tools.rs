//! External programs that some recipes run, and the pool of shader workers.
//!
//! A result depends on the program that produced it, so the version that a program prints is part of the fingerprint of
//! every source that needs it; its path is not. A program reads copies of the files that the recipe has read, in a
//! temporary directory, and has a timeout.

mod memory_limit;
mod process;
mod scratch;
mod shader_worker;

pub(crate) use process::ProcessOutput;
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

/// The timeout of a program.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Most characters of a version that are part of a fingerprint.
const MAX_VERSION_CHARS: usize = 120;

/// An external program that recipes can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tool {
    /// The Slang compiler.
    Slangc,
    /// The DirectX Shader Compiler, for HLSL.
    Dxc,
    /// The SPIR-V optimiser.
    SpirvOpt,
    /// The SPIR-V validator.
    SpirvVal,
}

impl Tool {
    /// All external programs, in the order of the documentation.
    pub const ALL: [Tool; 4] = [Tool::Slangc, Tool::Dxc, Tool::SpirvOpt, Tool::SpirvVal];

    /// Returns the name of the executable, which is also the key under `tools:`.
    pub const fn name(self) -> &'static str {
        match self {
            Tool::Slangc => "slangc",
            Tool::Dxc => "dxc",
            Tool::SpirvOpt => "spirv-opt",
            Tool::SpirvVal => "spirv-val",
        }
    }

    /// Returns the flag that prints the version.
    const fn version_flag(self) -> &'static str {
        match self {
            Tool::Slangc => "-v",
            _ => "--version",
        }
    }

    /// Returns where to get the program, for hints.
    const fn origin(self) -> &'static str {
        match self {
            Tool::Slangc => "the Vulkan SDK or github.com/shader-slang/slang/releases",
            Tool::Dxc => "the Vulkan SDK or github.com/microsoft/DirectXShaderCompiler/releases",
            Tool::SpirvOpt | Tool::SpirvVal => "the package spirv-tools or the Vulkan SDK",
        }
    }
}

/// The external programs that were found, and the shader workers.
#[derive(Debug, Default)]
pub struct Tools {
    found: Vec<Program>,
    scratch: PathBuf,
    shader_workers: Option<shader_worker::Workers>,
}

/// An external program that was found.
#[derive(Debug)]
pub(crate) struct Program {
    tool: Tool,
    path: PathBuf,
    version: OnceLock<String>,
}

impl Tools {
    /// Finds the programs that a trusted project or the user's configuration names, or else those in the directories
    /// `search`, which are absolute. Directories inside an untrusted project are skipped, because its author could have
    /// put programs there. `scratch` is the parent of the temporary directories of programs.
    pub fn find(config: &Config, user: &UserConfig, search: &[PathBuf], scratch: PathBuf) -> Tools {
        let may_run = |path: &PathBuf| path.is_file() && (config.is_trusted() || !config.contains(path));
        let locate = |tool: Tool| {
            let file = format!("{}{}", tool.name(), std::env::consts::EXE_SUFFIX);
            let on_path = || search.iter().map(|dir| dir.join(&file)).find(may_run);
            let users = || user.tool(tool.name()).map(Path::to_path_buf);
            let path = config.tool(tool.name()).or_else(users).or_else(on_path)?;
            Some(Program { tool, path, version: OnceLock::new() })
        };
        Tools { found: Tool::ALL.into_iter().filter_map(locate).collect(), scratch, shader_workers: None }
    }

    /// Compiles shaders in worker processes of a program that calls [`serve_shaders`] when it is started with these
    /// arguments. A source that crashes its compiler, or exceeds `timeout` or the time limit of its asset, then fails
    /// alone.
    ///
    /// Without workers, shaders are compiled in this process, which a deeply nested source aborts by overflowing the
    /// stack.
    #[must_use]
    pub fn with_shader_workers(self, program: PathBuf, args: Vec<OsString>, timeout: Duration) -> Tools {
        Tools { shader_workers: Some(shader_worker::Workers::new(program, args, timeout)), ..self }
    }

    /// Starts a worker process, unless there is one, and warms it up for a GLSL source with this head.
    pub(crate) fn start_compiler(&self, head: impl FnOnce() -> String, stage: Stage, target: Target) {
        if let Some(workers) = &self.shader_workers {
            workers.warm_up(head, stage, target);
        }
    }

    /// Compiles one stage of a shader. A worker process is killed at the deadline.
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

    /// Lists the entry points of a WGSL source, each with stage and name. A worker process is killed at the deadline.
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

    /// Returns the programs that were found, with their paths.
    pub(crate) fn programs(&self) -> Vec<(Tool, &Path)> {
        self.found.iter().map(|program| (program.tool, program.path.as_path())).collect()
    }

    /// Returns a program, if it was found.
    pub(crate) fn get(&self, tool: Tool) -> Option<&Program> {
        self.found.iter().find(|program| program.tool == tool)
    }

    /// Returns a program, or an error that names the feature which requires it.
    pub(crate) fn require(&self, tool: Tool, feature: &str) -> Result<&Program, Diag> {
        self.get(tool).ok_or_else(|| {
            let name = tool.name();
            let hint = format!(
                "install {name} from {}, and add it to the PATH or set `tools: {{{name}: …}}` in your config.yml, \
                 or in the assetc.yml of a project that you trust",
                tool.origin()
            );
            Diag::new(Code::ShaderToolMissing, format!("{feature} requires {name}, which was not found"))
                .hint(hint)
        })
    }

    /// Returns the version that a program prints, `none` if it was not found, and `unknown` if it prints none. The
    /// program is run once.
    pub fn version(&self, tool: Tool) -> &str {
        self.get(tool).map_or("none", |program| {
            program.version.get_or_init(|| program.query_version().unwrap_or_else(|| "unknown".to_owned()))
        })
    }

    /// Creates an empty temporary directory for a program.
    pub(crate) fn scratch(&self) -> Result<Scratch, Diag> {
        Scratch::new(&self.scratch)
    }
}

/// Runs a worker process of [`Tools::with_shader_workers`] until its input ends. From then on the process may map `memory`
/// bytes at most, where the system supports such a limit.
///
/// # Errors
///
/// A request cannot be read, or a response cannot be written.
pub fn serve_shaders(input: impl Read + Send, output: impl Write + Send, memory: u64) -> io::Result<()> {
    memory_limit::limit_memory(memory);
    kiln_shader::serve(input, output)
}

/// Returns `timeout`, or the time until the deadline if that is shorter.
fn time_left(timeout: Duration, deadline: Option<Instant>) -> Duration {
    deadline.map_or(timeout, |deadline| timeout.min(deadline.saturating_duration_since(Instant::now())))
}

impl Program {
    pub(crate) fn name(&self) -> &'static str {
        self.tool.name()
    }

    /// Runs the program in a directory. It is killed at the deadline.
    pub(crate) fn run(
        &self,
        dir: &Path,
        args: &[String],
        deadline: Option<Instant>,
    ) -> Result<ProcessOutput, Diag> {
        process::run(self.name(), &self.path, dir, args, time_left(TIMEOUT, deadline))
    }

    /// Runs the program to print its version; returns the first line.
    fn query_version(&self) -> Option<String> {
        let dir = self.path.parent()?;
        let done = self.run(dir, &[self.tool.version_flag().to_owned()], None).ok()?;
        let line = done.text.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.chars().filter(|c| !c.is_control()).take(MAX_VERSION_CHARS).collect())
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
    fn prefers_configured_programs_to_those_on_the_path() {
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
        let missing = tools.require(Tool::SpirvOpt, "shader.optimize").unwrap_err();
        assert!(missing.hint.as_deref().is_some_and(|hint| hint.contains("spirv-tools")), "{missing}");
        assert_eq!(tools.version(Tool::SpirvOpt), "none");
    }

    #[cfg(unix)]
    #[test]
    fn prefers_user_programs_and_skips_those_inside_the_project() {
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
