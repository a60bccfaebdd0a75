//! `assetc convert`: one source to its runtime files, without a project.

use super::Session;
use super::output_files::{OutputFile, report_written, write_files};
use ::assetc::config::{Config, KEYS};
use ::assetc::convert::{Convert, Converted, ConvertedFile};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use kiln_cli::limits::LimitArgs;
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK};
use kiln_engine::{Code, Diag, Json, RelPath};
use kiln_format::{Format, by_path};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The largest standard input, in bytes.
const MAX_STDIN: u64 = 1 << 30;

/// The arguments of `assetc convert`.
#[derive(Args, Debug)]
#[command(
    after_help = "-o OUT is a file, a directory for all outputs, or - for standard output [default: beside IN].\n\
                  -o FILE.glb (or .gltf, with its buffer in FILE.bin) writes a model as optimised glTF 2.0.\n\
                  The settings are those of assetc.yml; the project file itself is not read."
)]
pub(super) struct ConvertArgs {
    /// Source file or folder, or - for an image on standard input
    #[arg(value_name = "IN")]
    source: PathBuf,
    /// Directory that references between files are relative to, as the input directory of a project [default: that of IN]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// File name of standard input, whose suffix selects the recipe, such as wall.n.png
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Replace files of other formats; symbolic links are never replaced
    #[arg(long)]
    overwrite: bool,
    /// Number of threads [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    settings: SettingArgs,
}

/// One flag for each setting of `assetc.yml`: `--texture-max-size` is `texture.max_size`.
#[derive(Debug, Default)]
struct SettingArgs(Vec<(usize, String)>);

/// The names of the flags, in the order of [`KEYS`].
static FLAGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    KEYS.iter().map(|key| format!("{}-{}", key.section, key.name.replace('_', "-"))).collect()
});

impl Args for SettingArgs {
    fn augment_args(command: Command) -> Command {
        KEYS.iter().zip(FLAGS.iter()).fold(command, |command, (key, flag)| {
            let help = format!("{} [{}]", key.doc().trim_end_matches('.'), key.accepts().replace('`', ""));
            let arg = Arg::new(flag.as_str()).long(flag.as_str()).value_name("VALUE").help(help);
            command.arg(arg.help_heading("Settings").allow_hyphen_values(true))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<SettingArgs, clap::Error> {
        let given = |key: usize| Some((key, matches.get_one::<String>(&FLAGS[key])?.clone()));
        Ok(SettingArgs((0..KEYS.len()).filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = SettingArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

pub(super) fn convert(session: &Session, args: &ConvertArgs) -> Result<u8, Diag> {
    let mut config = Config::built_in(&session.dir);
    for (key, value) in &args.settings.0 {
        config.set(*key, value).map_err(|expected| {
            let message = format!("--{} expects {expected}, got '{value}'", FLAGS[*key]);
            Diag::new(Code::Usage, message).hint("run `assetc convert --help` for the settings")
        })?;
    }
    let is_given = |key: usize| args.settings.0.iter().any(|(given, _)| *given == key);
    let mesh_format = KEYS.iter().position(|key| (key.section, key.name) == ("mesh", "format"));
    if let Some(key) = mesh_format.filter(|key| is_gltf(session, &["glb", "gltf"]) && !is_given(*key)) {
        config.set(key, "gltf").map_err(|expected| Diag::new(Code::Usage, expected.to_string()))?;
    }
    let user = session.user()?;
    let tools = session.tools(&config, &user);
    let mut conversion = Convert::new(&config).tools(&tools).limits(args.limits.over(*user.limits()));
    if let Some(jobs) = args.jobs {
        conversion = conversion.jobs(jobs.into());
    }
    let from_stdin = args.source.as_os_str() == "-";
    let located = match from_stdin {
        true => None,
        false => Some(locate(session, args)?),
    };
    let converted = match &located {
        Some((root, source)) => conversion.path(root, source),
        None => stdin(args, &conversion),
    };
    let converted = match converted {
        Err(diag) if is_failure(diag.code) => {
            if session.reporter.json {
                session.reporter.print_json(Json::object([("error", render::diag_json(&diag))]));
            }
            session.report(&diag);
            return Ok(FAILED);
        }
        converted => converted?,
    };
    let name = session.output.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    let converted = match name.filter(|_| is_gltf(session, &["gltf"])) {
        Some(name) => converted.split_gltf(name)?,
        None => converted,
    };
    converted.warnings.iter().for_each(|warning| session.report(warning));
    let to_stdout =
        session.output.as_deref() == Some(&session.dir.join("-")) || from_stdin && session.output.is_none();
    if to_stdout {
        return to_standard_output(session, &converted);
    }
    let beside = match &located {
        Some((root, _)) => root.clone(),
        None => session.dir.clone(),
    };
    let paths = place(session, &converted, &beside)?;
    let file = |(path, file): (PathBuf, ConvertedFile)| {
        // A model may be a source, too.
        let format = by_path(file.path.as_str()).filter(|format| format.ext() != "glb");
        let magic = format.map(Format::magic);
        OutputFile { path, bytes: file.bytes, magic }
    };
    let Converted { files, warnings, .. } = converted;
    let files: Vec<OutputFile> = paths.into_iter().zip(files).map(file).collect();
    write_files(&files, args.overwrite)?;
    report_written(session, &files, &warnings);
    Ok(OK)
}

/// Returns whether the output is a file with one of these extensions.
fn is_gltf(session: &Session, extensions: &[&str]) -> bool {
    let extension = session.output.as_deref().and_then(Path::extension).and_then(|e| e.to_str());
    extension.is_some_and(|found| extensions.contains(&found))
}

/// Returns whether an error is about the content of the source, and not about the arguments.
fn is_failure(code: Code) -> bool {
    !matches!(code, Code::NotASource | Code::FileMissing | Code::Usage | Code::Threads)
}

/// Returns the root of the conversion and the source relative to it.
fn locate(session: &Session, args: &ConvertArgs) -> Result<(PathBuf, RelPath), Diag> {
    let path = session.dir.join(&args.source);
    let missing = |e: std::io::Error| {
        Diag::new(Code::FileMissing, format!("cannot read the source: {e}")).path(args.source.display())
    };
    let full = std::fs::canonicalize(&path).map_err(missing)?;
    let root = match &args.root {
        Some(root) => session.dir.join(root),
        None => path.parent().map_or_else(|| session.dir.clone(), Path::to_path_buf),
    };
    let root = std::fs::canonicalize(&root).map_err(missing)?;
    let inside = full.strip_prefix(&root).ok().and_then(Path::to_str).map(|inside| inside.replace('\\', "/"));
    let source = inside.and_then(|inside| RelPath::new(inside).ok()).ok_or_else(|| {
        Diag::new(
            Code::Usage,
            format!("the source is not inside the root directory {}", session.shown(&root)),
        )
        .path(args.source.display())
        .hint("give a --root above the source, and no symbolic link out of it")
    })?;
    Ok((root, source))
}

/// Converts an image from standard input.
fn stdin(args: &ConvertArgs, conversion: &Convert<'_>) -> Result<Converted, Diag> {
    let fault = |message: String| Diag::new(Code::Unreadable, message).path("-");
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_STDIN + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| fault(format!("cannot read standard input: {e}")))?;
    if bytes.len() as u64 > MAX_STDIN {
        return Err(fault(format!("standard input has more than {MAX_STDIN} bytes, which is the limit")));
    }
    let guessed = match &bytes {
        bytes if bytes.starts_with(b"#?") => "stdin.hdr",
        bytes if bytes.starts_with(&[0x76, 0x2f, 0x31, 0x01]) => "stdin.exr",
        _ => "stdin.png",
    };
    let name = args.name.as_deref().unwrap_or(guessed);
    let name = RelPath::new(name)
        .map_err(|bad| Diag::new(Code::Usage, format!("--name is not a file name: {bad}")))?;
    conversion.bytes(&name, bytes)
}

fn to_standard_output(session: &Session, converted: &Converted) -> Result<u8, Diag> {
    match &converted.files[..] {
        [file] if !session.reporter.json => {
            let mut out = std::io::stdout().lock();
            let written = out.write_all(&file.bytes).and_then(|()| out.flush());
            written.map_err(|e| Diag::new(Code::Stdout, format!("cannot write to standard output: {e}")))?;
            Ok(OK)
        }
        files => {
            let message = format!("standard output takes one file, and this source has {}", files.len());
            let message =
                if session.reporter.json { "--json needs standard output".to_owned() } else { message };
            Err(Diag::new(Code::Usage, message).hint("give an output file or directory with -o"))
        }
    }
}

/// Returns the path of each file: below a directory, or the main file as it is named and the others beside it.
fn place(session: &Session, converted: &Converted, beside: &Path) -> Result<Vec<PathBuf>, Diag> {
    let below = |dir: &Path| converted.files.iter().map(|file| file.path.below(dir)).collect();
    let Some(out) = &session.output else { return Ok(below(beside)) };
    let Some(main) = converted.files.first() else { return Ok(vec![]) };
    let ends_with_slash = out.as_os_str().to_string_lossy().ends_with(['/', std::path::MAIN_SEPARATOR]);
    if out.is_dir() || ends_with_slash {
        return Ok(below(out));
    }
    let wanted = by_path(main.path.as_str()).map_or("", |format| format.ext());
    if !wanted.is_empty() && out.extension().is_none_or(|ext| ext != wanted) {
        let message = format!("this source is converted to a .{wanted} file, not to {}", session.shown(out));
        return Err(
            Diag::new(Code::Usage, message).hint(format!("name the output *.{wanted}, or give a directory"))
        );
    }
    if converted.files.len() == 1 {
        return Ok(vec![out.clone()]);
    }
    // References between the files contain the name.
    if out.file_name().and_then(|name| name.to_str()) != Some(main.path.file_name()) {
        let message = format!(
            "the {} files of this source refer to each other by name, so the first has to be named {}",
            converted.files.len(),
            main.path.file_name()
        );
        return Err(Diag::new(Code::Usage, message).hint("give a directory with -o, or rename the source"));
    }
    let dir = out.parent().unwrap_or(Path::new("."));
    let base = main.path.parent();
    let inside = |file: &ConvertedFile| match &base {
        Some(base) => {
            file.path.as_str().strip_prefix(base.as_str()).map_or(file.path.as_str(), |p| &p[1..]).to_owned()
        }
        None => file.path.to_string(),
    };
    Ok(converted.files.iter().map(|file| dir.join(inside(file))).collect())
}
