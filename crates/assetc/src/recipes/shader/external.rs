//! Compilers that are programs of their own: `slangc` and `dxc`; and `spirv-opt` and `spirv-val` after them.
//!
//! A compiler sees a copy of the files that a source refers to, directly or not, and no others: each was read through
//! the cook, so that it is a dependency, and a name that leads out of the input directory is refused before the
//! compiler could follow it. It runs in the directory of the copies and is given relative paths, so that neither
//! messages nor modules tell where the project lies.

use super::{Job, defines, includes, text};
use crate::config::{Optimize, Settings};
use crate::tools::{Program, Scratch, Tool, Tools};
use kiln_engine::{ActionContext, Code, Diag, RelPath};
use kiln_shader::{Findings, Language, Reference, Stage, references};
use std::collections::{BTreeMap, VecDeque};

/// What a compiler writes to, in its directory; no source has such a name.
const OUT: &str = ".out.spv";
/// What it reads from, where that is a module.
const IN: &str = ".in.spv";
/// How many files a source may refer to.
const MAX_FILES: usize = 4096;

/// Compiles a stage with a program.
pub(super) fn compile(
    cx: &mut ActionContext<'_>,
    job: &Job,
    settings: &Settings,
    tools: &Tools,
    program: &Program,
) -> Result<Vec<u8>, Diag> {
    let texts = gather(cx, job)?;
    let scratch = tools.scratch()?;
    for (path, text) in &texts {
        scratch.put(path, text.as_bytes())?;
    }
    let folder = cx.source().to_string();
    let args = match program.name() {
        "dxc" => dxc(job, &folder, settings),
        _ => slangc(job, &folder, settings),
    };
    let ran = program.run(scratch.dir(), &args, cx.inputs.deadline()).map_err(|diag| diag.path(&job.path))?;
    let findings = Findings::parse(&ran.said, job.path.as_str());
    let text_of = |file: &str| texts.get(&RelPath::new(file).ok()?).cloned();
    let root = job.path.as_str();
    match scratch.take(OUT).filter(|_| ran.ok) {
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
            let said = ran.said.split_whitespace().collect::<Vec<_>>().join(" ");
            let said: String = said.chars().take(300).collect();
            Err(Diag::new(Code::ShaderTool, format!("{} failed: {said}", program.name())).path(&job.path))
        }
    }
}

/// A source and all that it refers to, by path.
fn gather(cx: &mut ActionContext<'_>, job: &Job) -> Result<BTreeMap<RelPath, String>, Diag> {
    let slang = job.language == Language::Slang;
    let folder = cx.source();
    let mut texts = BTreeMap::from([(job.path.clone(), text(cx, &job.path)?)]);
    let mut queue = VecDeque::from([job.path.clone()]);
    while let Some(from) = queue.pop_front() {
        let beside = from.parent();
        let dirs = [beside.as_ref(), Some(folder), None];
        for reference in references(&texts[&from], slang) {
            let names = match reference {
                Reference::Include(name) => vec![name],
                // `import a_b` is also satisfied by `a-b.slang`.
                Reference::Import(name) => vec![name.clone(), name.replace('_', "-")],
                Reference::Computed { line } => {
                    let message = "an include whose file only the preprocessor knows cannot be followed";
                    return Err(Diag::new(Code::ShaderInclude, message).path(&from).at(line));
                }
            };
            for name in names {
                // What is not found may be a module that the compiler brings along; it will say so if it is not.
                let Some((path, text)) = includes::find(cx, &from, &dirs, &name)? else { continue };
                if texts.insert(path.clone(), text).is_none() {
                    queue.push_back(path);
                }
                break;
            }
            if texts.len() > MAX_FILES {
                let message = format!("it refers to more than {MAX_FILES} files");
                return Err(Diag::new(Code::ShaderInclude, message).path(&job.path));
            }
        }
    }
    Ok(texts)
}

fn slangc(job: &Job, folder: &str, settings: &Settings) -> Vec<String> {
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
        "main",
        "-stage",
        stage,
        "-matrix-layout-row-major",
        "-I",
        folder,
        "-I",
        ".",
        "-o",
        OUT,
    ];
    let mut args: Vec<String> = fixed.map(str::to_owned).to_vec();
    if settings.shader.debug {
        args.push("-g".into());
    }
    args.extend(macros(settings));
    args
}

fn dxc(job: &Job, folder: &str, settings: &Settings) -> Vec<String> {
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
    let fixed = ["-spirv", &environment, "-T", profile, "-E", "main", "-I", folder, "-I", ".", "-Fo", OUT];
    let mut args: Vec<String> = fixed.map(str::to_owned).to_vec();
    if settings.shader.debug {
        args.push("-Zi".into());
    }
    args.extend(macros(settings));
    args.push(job.path.to_string());
    args
}

fn macros(settings: &Settings) -> impl Iterator<Item = String> {
    defines(settings).into_iter().map(|(name, value)| match value.as_str() {
        "" => format!("-D{name}"),
        value => format!("-D{name}={value}"),
    })
}

/// The module as `shader.optimize` wants it.
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
    let program = tools.need(Tool::SpirvOpt, "shader.optimize")?;
    let scratch = input(tools, &module)?;
    let environment = format!("--target-env={}", settings.shader.target.name());
    let args =
        [environment.as_str(), passes, "--preserve-bindings", "--preserve-spec-constants", IN, "-o", OUT];
    let ran = program.run(scratch.dir(), &args.map(str::to_owned), cx.inputs.deadline())?;
    scratch.take(OUT).filter(|_| ran.ok).ok_or_else(|| failed(program, &ran.said))
}

/// Whether the module is valid; `false` when nothing is here to tell.
pub(super) fn validate(
    cx: &ActionContext<'_>,
    tools: &Tools,
    settings: &Settings,
    module: &[u8],
) -> Result<bool, Diag> {
    let Some(program) = tools.get(Tool::SpirvVal) else { return Ok(false) };
    let scratch = input(tools, module)?;
    let args = ["--target-env", settings.shader.target.name(), IN];
    let ran = program.run(scratch.dir(), &args.map(str::to_owned), cx.inputs.deadline())?;
    if ran.ok { Ok(true) } else { Err(failed(program, &ran.said)) }
}

fn input(tools: &Tools, module: &[u8]) -> Result<Scratch, Diag> {
    let scratch = tools.scratch()?;
    let path = RelPath::new(IN).map_err(|e| Diag::new(Code::Scratch, e.to_string()))?;
    scratch.put(&path, module)?;
    Ok(scratch)
}

fn failed(program: &Program, said: &str) -> Diag {
    let line = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it does not say why");
    Diag::new(Code::ShaderTool, format!("{} refuses the module: {line}", program.name()))
}
