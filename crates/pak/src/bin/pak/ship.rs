//! The commands for shipping: `pak keygen`, `sign`, `patch`, `apply`, `merge` and `append`.

use super::{damaged, open, options};
use ::pak::bake::{make_patch, merge as merge_paks};
use ::pak::{Overlay, PakBuf, PublicKey, SecretKey, signature_path};
use kiln_cli::progress::Verbosity;
use kiln_cli::publish::publish_file;
use kiln_cli::render;
use kiln_cli::reporter::{OK, Reporter};
use kiln_engine::ownership::{Replace, admit};
use kiln_engine::{Code, Diag, Fs, Json, Real, RelPath};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Creates a key pair: the secret key at `path`, the public key at `path.pub`.
pub(super) fn keygen(reporter: &Reporter, path: &Path) -> Result<u8, Diag> {
    let mut public_path = path.as_os_str().to_owned();
    public_path.push(".pub");
    let public_path = PathBuf::from(public_path);
    let secret = SecretKey::from_seed(*ed25519_compact::Seed::generate());
    let fault = |path: &Path, e: &io::Error| {
        Diag::new(Code::Unwritable, format!("cannot write the key: {e}"))
            .path(path.display())
            .hint("an existing key is never replaced")
    };
    for (path, key) in [(path, secret.to_text()), (&public_path, secret.public_key().to_text())] {
        let mut options = std::fs::File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(
            &mut options,
            if path == public_path { 0o644 } else { 0o600 },
        );
        let mut file = options.open(path).map_err(|e| fault(path, &e))?;
        writeln!(file, "{key}").map_err(|e| fault(path, &e))?;
    }
    let (secret, public) = (path.display().to_string(), public_path.display().to_string());
    let line = format!("{secret} is the secret key, {public} the public key");
    result(reporter, &line, [("secret_key", secret.into()), ("public_key", public.into())]);
    Ok(OK)
}

fn read_key<T>(path: &Path, parse: impl Fn(&str) -> Option<T>, what: &str) -> Result<T, Diag> {
    let bad =
        |message: String, hint: &str| Diag::new(Code::PakKeyFile, message).path(path.display()).hint(hint);
    let create = "create a key pair with `pak keygen`";
    let text =
        std::fs::read_to_string(path).map_err(|e| bad(format!("cannot read the {what}: {e}"), create))?;
    parse(&text).ok_or_else(|| {
        let (found, hint) = if SecretKey::parse(&text).is_some() {
            ("a secret key", "`pak keygen` wrote the public key beside it, with the extension .pub")
        } else if PublicKey::parse(&text).is_some() {
            ("a public key", "`pak keygen` wrote the secret key beside it, without the extension .pub")
        } else {
            ("no key", create)
        };
        bad(format!("expected a {what}; the file is {found}"), hint)
    })
}

pub(super) fn public_key(path: &Path) -> Result<PublicKey, Diag> {
    read_key(path, PublicKey::parse, "public key")
}

/// Rejects an output that would replace the input that it could not be made from again.
fn keep_input(input: &Path, out: &Path) -> Result<(), Diag> {
    let is_same = std::fs::canonicalize(out)
        .is_ok_and(|out| std::fs::canonicalize(input).is_ok_and(|input| input == out));
    match is_same {
        true => Err(Diag::new(Code::Unwritable, "the output would replace one of the inputs")
            .path(out.display())
            .hint("write it to another path")),
        false => Ok(()),
    }
}

/// Writes the signature file of a pak.
pub(super) fn sign(reporter: &Reporter, path: &Path, key: &Path) -> Result<u8, Diag> {
    let secret = read_key(key, SecretKey::parse, "secret key")?;
    let pak = open(path)?;
    let signature = secret.sign(&pak).map_err(|error| damaged(path, &error))?;
    let out = signature_path(path);
    publish_file(&out, &signature, "signature")?;
    let len = signature.len() as u64;
    let line = format!("{} written, {}", out.display(), render::size(len));
    result(reporter, &line, [written_member(&out), ("bytes", len.into())]);
    Ok(OK)
}

/// Writes a patch that turns one pak into another.
pub(super) fn patch(
    reporter: &Reporter,
    old: &Path,
    new: &Path,
    out: &Path,
    overwrite: bool,
) -> Result<u8, Diag> {
    [old, new].into_iter().try_for_each(|input| keep_input(input, out))?;
    // The diagnostic of a damaged file names it.
    open(old)?;
    let new_len = open(new)?.file_len();
    let patch = make_patch(old, new).map_err(|error| damaged(new, &error))?;
    write_pak(out, overwrite, &mut |file| file.write_all(&patch.bytes))?;
    let len = patch.bytes.len() as u64;
    let line =
        format!("{} written: {} for a pak of {}", out.display(), render::size(len), render::size(new_len));
    let members = [
        written_member(out),
        ("bytes", len.into()),
        ("new", patch.new_len.into()),
        ("copied", patch.copied_len.into()),
    ];
    result(reporter, &line, members);
    Ok(OK)
}

/// Applies a patch: writes the new pak.
pub(super) fn apply(
    reporter: &Reporter,
    old: &Path,
    patch: &Path,
    out: &Path,
    overwrite: bool,
) -> Result<u8, Diag> {
    keep_input(patch, out)?;
    let base = open(old)?;
    let new = PakBuf::patched(base, open(patch)?, options()).map_err(|error| match error {
        error @ ::pak::Error::Patch { .. } => Diag::new(Code::PakPatch, error.to_string())
            .path(patch.display())
            .hint("apply the patch to the pak that it was made for"),
        error => damaged(patch, &error).hint("get the patch again"),
    })?;
    if !new.validate_hash().map_err(|error| damaged(old, &error))? {
        return Err(Diag::new(
            Code::PakDamaged,
            "the pak is damaged: the patched pak does not match its checksums",
        )
        .path(old.display()));
    }
    write_pak(out, overwrite, &mut |file| new.copy_to(file).map_err(io::Error::from))?;
    let line = format!("{} written, {}", out.display(), render::size(new.file_len()));
    result(reporter, &line, [written_member(out), ("bytes", new.file_len().into())]);
    Ok(OK)
}

/// Merges paks; later ones override earlier ones.
pub(super) fn merge(reporter: &Reporter, paks: &[PathBuf], out: &Path, overwrite: bool) -> Result<u8, Diag> {
    let mut overlay = Overlay::new();
    for path in paks {
        let pak = open(path)?;
        if pak.is_patch() {
            return Err(Diag::new(Code::PakPatch, "the pak is a delta patch, which cannot be merged")
                .path(path.display())
                .hint("apply it with `pak apply`, and merge the result"));
        }
        overlay.push(pak);
    }
    let mut keys = 0;
    let mut failed = None;
    let written = write_pak(out, overwrite, &mut |file| {
        let mut file = io::BufWriter::with_capacity(1 << 20, file);
        match merge_paks(&overlay, &mut file) {
            Ok(count) => keys = count,
            Err(::pak::Error::Io(error)) => return Err(error),
            Err(error) => {
                let message = error.to_string();
                failed = Some(error);
                return Err(io::Error::other(message));
            }
        }
        file.flush()
    });
    if let Some(error) = failed {
        return Err(damaged(paks.last().map_or(out, |path| path), &error));
    }
    written?;
    let len = std::fs::metadata(out).map_or(0, |metadata| metadata.len());
    let count = render::count(keys, "key", "keys");
    let line = format!("{} written: {count}, {}", out.display(), render::size(len));
    result(reporter, &line, [written_member(out), ("bytes", len.into()), ("keys", keys.into())]);
    Ok(OK)
}

/// Prints the result of a command: a line for people, or its members as JSON.
fn result<const N: usize>(reporter: &Reporter, line: &str, members: [(&str, Json); N]) {
    if reporter.json {
        reporter.print_json(Json::object(members));
    } else if reporter.verbosity > Verbosity::Quiet {
        reporter.out().line(line);
    }
}

fn written_member(path: &Path) -> (&'static str, Json) {
    ("written", path.display().to_string().into())
}

/// Writes a pak under a temporary name and renames it into place. A file that is not a pak is replaced with `overwrite`
/// only, a symbolic link never.
fn write_pak(
    path: &Path,
    overwrite: bool,
    fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Diag> {
    let fault =
        |e: io::Error| Diag::new(Code::Unwritable, format!("cannot write the pak: {e}")).path(path.display());
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| RelPath::new(name).ok());
    let name = name.ok_or_else(|| fault(io::Error::other("the file name is not portable")))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = Real::named(parent, name.as_str()).map_err(fault)?;
    let staged = dir.stage(fill).map_err(fault)?;
    let replace = Replace { overwrite, magic: Some(b"KPAK"), owned: &|| false };
    admit(&dir, &name, None, replace).map_err(|diag| diag.path(path.display()))?;
    let placed = dir.publish(vec![(staged, name)]).pop();
    placed.unwrap_or_else(|| Err(io::ErrorKind::Other.into())).map(drop).map_err(fault)
}
