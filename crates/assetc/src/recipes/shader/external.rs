//! External shader compilers, `slangc` and `dxc`, and the tools `spirv-opt` and `spirv-val`.
//!
//! A compiler sees copies of the files that a source includes, directly or not, and no others: each was read through the
//! action's inputs, so it is a dependency, and a name that leads out of the input directory is rejected before the
//! compiler could open it. The compiler runs in the directory of the copies with relative paths, so neither messages nor
//! modules contain the path of the project.

use super::{Build, Job, include_dirs, includes, text};
use crate::config::{Optimize, Settings};
use crate::tools::{Program, Scratch, Tool, Tools};
use kiln_engine::{ActionContext, Code, Diag, RelPath};
use kiln_shader::{Findings, Language, Reference, Stage, references};
use std::collections::{BTreeMap, VecDeque};

/// The output file in the scratch directory; no source is hidden, so none has this name.
const OUT: &str = ".out.spv";
/// The input file of the optimiser and the validator.
const IN: &str = ".in.spv";
/// Most files that a source may include, directly or not.
const MAX_FILES: usize = 4096;

/// Compiles an entry point with an external compiler.
pub(super) fn compile(
    cx: &mut ActionContext<'_>,
    build: &Build<'_>,
    program: &Program,
) -> Result<Vec<u8>, Diag> {
    let job = build.job;
    let include_dirs = include_dirs(build.settings);
    let texts = gather(cx, job, &include_dirs)?;
    let scratch = build.tools.scratch()?;
    for (path, text) in &texts {
        scratch.write(path, text.as_bytes())?;
    }
    let folders = std::iter::once(cx.source().to_string()).chain(include_dirs.iter().map(RelPath::to_string));
    let search = folders.chain([".".to_owned()]).flat_map(|folder| ["-I".to_owned(), folder]);
    let args = match program.name() {
        "dxc" => dxc(build, search),
        _ => slangc(build, search),
    };
    let done =
        program.run(scratch.dir(), &args, cx.inputs.deadline()).map_err(|diag| diag.path(&job.path))?;
    let findings = Findings::parse(&done.text, job.path.as_str());
    let text_of = |file: &str| texts.get(&RelPath::new(file).ok()?).cloned();
    let root = job.path.as_str();
    match scratch.read(OUT).filter(|_| done.ok) {
        Some(module) => {
            for warning in findings.warnings(root, &text_of) {
                if !cx.has_warned(&warning) {
                    cx.warn(warning);
                }
            }
            Ok(module)
        }
        None if findings.0.iter().any(|finding| finding.error) => Err(findings.error(root, &text_of)),
        None => {
            let output = done.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let output: String = output.chars().take(300).collect();
            Err(Diag::new(Code::ShaderTool, format!("{} failed: {output}", program.name())).path(&job.path))
        }
    }
}

/// Reads a source and all files that it includes or imports, by path.
fn gather(
    cx: &mut ActionContext<'_>,
    job: &Job,
    include_dirs: &[RelPath],
) -> Result<BTreeMap<RelPath, String>, Diag> {
    let slang = job.language == Language::Slang;
    let folder = cx.source();
    let mut texts = BTreeMap::from([(job.path.clone(), text(cx, &job.path)?)]);
    let mut queue = VecDeque::from([job.path.clone()]);
    while let Some(from) = queue.pop_front() {
        let beside = from.parent();
        let mut dirs = vec![beside.as_ref(), Some(folder)];
        dirs.extend(include_dirs.iter().map(Some));
        dirs.push(None);
        for reference in references(&texts[&from], slang) {
            let names = match reference {
                Reference::Include(name) => vec![name],
                // `import a_b` is also satisfied by `a-b.slang`.
                Reference::Import(name) => vec![name.clone(), name.replace('_', "-")],
                Reference::Computed { line } => {
                    let message = "cannot resolve an include whose file name is computed by the preprocessor";
                    return Err(Diag::new(Code::ShaderInclude, message).path(&from).at(line));
                }
            };
            for name in names {
                // A file that is not found may be a module that is built into the compiler; otherwise the compiler
                // reports it.
                let Some((path, text)) = includes::find(cx, &from, &dirs, &name)? else { continue };
                if texts.insert(path.clone(), text).is_none() {
                    queue.push_back(path);
                }
                break;
            }
            if texts.len() > MAX_FILES {
                let message = format!("the shader includes more than {MAX_FILES} files");
                return Err(Diag::new(Code::ShaderInclude, message).path(&job.path));
            }
        }
    }
    Ok(texts)
}

fn slangc(build: &Build<'_>, search: impl Iterator<Item = String>) -> Vec<String> {
    let Build { job, settings, .. } = build;
    let (major, minor) = settings.shader.target.spirv();
    let stage = match job.stage {
        Stage::TessControl => "hull",
        Stage::TessEval => "domain",
        Stage::Task => "amplification",
        Stage::Raygen => "raygeneration",
        stage => stage.name(),
    };
    let profile = format!("spirv_{major}_{minor}");
    let fixed = [
        job.path.as_str(),
        "-target",
        "spirv",
        "-profile",
        &profile,
        "-entry",
        &job.entry,
        "-stage",
        stage,
        "-matrix-layout-row-major",
        "-o",
        OUT,
    ];
    let mut args: Vec<String> = fixed.map(str::to_owned).to_vec();
    args.extend(search);
    if settings.shader.debug {
        args.push("-g".into());
    }
    args.extend(macros(build));
    args
}

fn dxc(build: &Build<'_>, search: impl Iterator<Item = String>) -> Vec<String> {
    let Build { job, settings, .. } = build;
    let profile = match job.stage {
        Stage::Vertex => "vs_6_6",
        Stage::Fragment => "ps_6_6",
        Stage::Compute => "cs_6_6",
        Stage::Geometry => "gs_6_6",
        Stage::TessControl => "hs_6_6",
        Stage::TessEval => "ds_6_6",
        Stage::Task => "as_6_6",
        Stage::Mesh => "ms_6_6",
        _ => "lib_6_6",
    };
    let environment = format!("-fspv-target-env={}", settings.shader.target.name());
    let fixed = ["-spirv", &environment, "-T", profile, "-E", &job.entry, "-Fo", OUT];
    let mut args: Vec<String> = fixed.map(str::to_owned).to_vec();
    if job.entry != "main" {
        // The entry point of every module has the same name, whatever it is called in the source.
        args.push("-fspv-entrypoint-name=main".into());
    }
    args.extend(search);
    if settings.shader.debug {
        args.push("-Zi".into());
    }
    args.extend(macros(build));
    args.push(job.path.to_string());
    args
}

fn macros(build: &Build<'_>) -> impl Iterator<Item = String> {
    build.defines.iter().map(|(name, value)| match value.as_str() {
        "" => format!("-D{name}"),
        value => format!("-D{name}={value}"),
    })
}

/// Optimises a module according to `shader.optimize`.
pub(super) fn optimize(
    cx: &ActionContext<'_>,
    tools: &Tools,
    settings: &Settings,
    module: Vec<u8>,
) -> Result<Vec<u8>, Diag> {
    let passes = match settings.shader.optimize {
        Optimize::None => return Ok(module),
        Optimize::Size => "-Os",
        Optimize::Speed => "-O",
    };
    let program = tools.require(Tool::SpirvOpt, "shader.optimize")?;
    let scratch = input(tools, &module)?;
    let environment = format!("--target-env={}", settings.shader.target.name());
    let args =
        [environment.as_str(), passes, "--preserve-bindings", "--preserve-spec-constants", IN, "-o", OUT];
    let done = program.run(scratch.dir(), &args.map(str::to_owned), cx.inputs.deadline())?;
    scratch.read(OUT).filter(|_| done.ok).ok_or_else(|| failed(program, &done.text))
}

/// Validates a module; returns `false` if `spirv-val` was not found.
pub(super) fn validate(
    cx: &ActionContext<'_>,
    tools: &Tools,
    settings: &Settings,
    module: &[u8],
) -> Result<bool, Diag> {
    let Some(program) = tools.get(Tool::SpirvVal) else { return Ok(false) };
    let scratch = input(tools, module)?;
    let args = ["--target-env", settings.shader.target.name(), IN];
    let done = program.run(scratch.dir(), &args.map(str::to_owned), cx.inputs.deadline())?;
    if done.ok { Ok(true) } else { Err(failed(program, &done.text)) }
}

fn input(tools: &Tools, module: &[u8]) -> Result<Scratch, Diag> {
    let scratch = tools.scratch()?;
    let path = RelPath::new(IN).map_err(|e| Diag::new(Code::Scratch, e.to_string()))?;
    scratch.write(&path, module)?;
    Ok(scratch)
}

fn failed(program: &Program, output: &str) -> Diag {
    let line = output.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no error message");
    Diag::new(Code::ShaderTool, format!("{} rejected the module: {line}", program.name()))
}
