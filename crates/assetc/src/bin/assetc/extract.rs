//! `assetc extract`: runtime files back to files that other programs read.

use super::Session;
use super::output_files::{OutputFile, write_files};
use ::assetc::extract::{self, TextureFormat};
use clap::ValueEnum;
use kiln_cli::limits::LimitArgs;
use kiln_cli::progress::Verbosity;
use kiln_cli::render;
use kiln_cli::reporter::OK;
use kiln_engine::{Code, Diag, Json};
use std::path::{Path, PathBuf};

/// The arguments of `assetc extract`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "-o OUT is the folder of a pack [default: <FILE>-extracted], or a file [default: beside FILE].\n\
                  Its extension selects the format: .png, .exr or .ktx2 for textures, .glb for meshes."
)]
pub(super) struct ExtractArgs {
    /// Pack, texture or mesh
    file: PathBuf,
    /// Format of the result [default: by the extension of OUT, or png, exr for RGBA16F, glb for meshes]
    #[arg(long, value_enum)]
    format: Option<ExtractFormat>,
    /// Mip level of a texture to extract
    #[arg(long, value_name = "N", default_value = "0")]
    level: u32,
    /// Replace existing files; symbolic links are never replaced
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

/// The format of an extracted file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExtractFormat {
    /// PNG, 8 bits per channel
    Png,
    /// OpenEXR, half floats
    Exr,
    /// KTX2 without supercompression
    Ktx2,
    /// Binary glTF
    Glb,
}

pub(super) fn extract(session: &Session, args: &ExtractArgs) -> Result<u8, Diag> {
    let path = session.dir.join(&args.file);
    let Some(format) = ::assetc::file_format(&path) else { return unpack(session, args, &path) };
    let runtime = ::assetc::RuntimeFiles::open(&path, &|| session.waiting())?;
    let unreadable = |e: std::io::Error| {
        Diag::new(Code::Unreadable, format!("cannot read the file: {e}")).path(args.file.display())
    };
    let (name, _) = runtime.files().next().ok_or_else(|| unreadable(std::io::ErrorKind::NotFound.into()))?;
    let bytes = runtime.read(name).map_err(unreadable)?;
    let limits = args.limits.over(*session.user()?.limits());
    let by_extension = || {
        let extension = session.output.as_deref()?.extension()?.to_str()?.to_ascii_lowercase();
        ExtractFormat::from_str(&extension, false).ok()
    };
    let wanted = args.format.or_else(by_extension);
    let single = |suffix: &str, bytes| vec![(suffix.to_owned(), bytes)];
    let files = match (format.name(), wanted) {
        ("ktx2", Some(ExtractFormat::Ktx2)) => {
            extract::without_supercompression(&bytes, &limits).map(|bytes| single(".raw.ktx2", bytes))
        }
        ("ktx2", None | Some(ExtractFormat::Png | ExtractFormat::Exr)) => {
            let format = wanted.map(|wanted| match wanted {
                ExtractFormat::Exr => TextureFormat::Exr,
                _ => TextureFormat::Png,
            });
            let images = extract::images(&bytes, args.level, format, &limits);
            images.map(|images| images.into_iter().map(|image| (image.suffix, image.bytes)).collect())
        }
        ("hmesh", None | Some(ExtractFormat::Glb)) => {
            let table = std::fs::read(path.with_extension("hmat")).ok();
            extract::glb(&bytes, table.as_deref()).map(|bytes| single(".glb", bytes))
        }
        (name, _) => {
            let message = format!("a .{name} file cannot be extracted to this format");
            let hint = "extract packs, textures (png, exr, ktx2) and meshes (glb)";
            return Err(Diag::new(Code::Usage, message).path(args.file.display()).hint(hint));
        }
    };
    let files = files.map_err(|diag| diag.or_path(args.file.display()))?;
    write(session, args, &path, files)
}

/// Writes the files of a texture or a mesh.
fn write(
    session: &Session,
    args: &ExtractArgs,
    path: &Path,
    files: Vec<(String, Vec<u8>)>,
) -> Result<u8, Diag> {
    let stem = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let single = files.len() == 1;
    let target = |suffix: &str| match &session.output {
        None => path.with_file_name(format!("{stem}{suffix}")),
        Some(out) if out.is_dir() => out.join(format!("{stem}{suffix}")),
        Some(out) if single => out.clone(),
        // The name of each face, layer or slice is added before the extension.
        Some(out) => {
            let stem = out.file_stem().unwrap_or_default().to_string_lossy();
            out.with_file_name(format!("{stem}{suffix}"))
        }
    };
    let files: Vec<OutputFile> = files
        .into_iter()
        .map(|(suffix, bytes)| OutputFile { path: target(&suffix), bytes, magic: None })
        .collect();
    write_files(&files, args.overwrite)?;
    super::output_files::report_written(session, &files, &[]);
    Ok(OK)
}

fn unpack(session: &Session, args: &ExtractArgs, pack: &Path) -> Result<u8, Diag> {
    let beside = || {
        let stem = pack.file_stem().unwrap_or("pack".as_ref()).to_string_lossy().into_owned();
        pack.with_file_name(format!("{stem}-extracted"))
    };
    let dir = session.output.clone().unwrap_or_else(beside);
    let count = extract::unpack(pack, &dir, args.overwrite, &|| session.waiting())?;
    if session.reporter.json {
        let json = Json::object([("written", dir.display().to_string().into()), ("files", count.into())]);
        session.reporter.print_json(json);
    } else if session.reporter.verbosity > Verbosity::Quiet {
        let mut out = session.reporter.out();
        out.line(&format!("{} -> {}", render::count(count, "file", "files"), session.shown(&dir)));
    }
    Ok(OK)
}
