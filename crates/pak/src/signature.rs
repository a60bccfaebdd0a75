//! Signed paks (feature `signature`): Ed25519 over SHA-256 digests of header, index and every block.
//!
//! The signature of `game.pak` is the file `game.pak.sig` beside it; the pak itself is unchanged. A signed pak verifies
//! the digest of each block when it is read, in place of the checksum, which detects damage but not tampering.

use crate::error::{Error, Fault};
use crate::{Options, PakBuf};
use ed25519_compact::{KeyPair, Seed, Signature};
use kiln_format::pak::signature::{Digest, SignatureView, write_signed};
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

const PUBLIC: &str = "kiln-public-ed25519";
const SECRET: &str = "kiln-secret-ed25519";

/// An Ed25519 public key, which verifies signatures. Its text form is `kiln-public-ed25519` and 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; 32]);

/// An Ed25519 secret key, which signs. Its text form is `kiln-secret-ed25519` and 64 hexadecimal digits. Keep it out of
/// repositories and builds of the game.
#[derive(Clone)]
pub struct SecretKey([u8; 32]);

fn parse(text: &str, name: &str) -> Option<[u8; 32]> {
    let digits = text.trim().strip_prefix(name)?.trim();
    let mut bytes = [0; 32];
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    for (n, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * n..2 * n + 2)?, 16).ok()?;
    }
    Some(bytes)
}

fn text(bytes: &[u8; 32], name: &str) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name} {digits}")
}

impl PublicKey {
    /// Returns the key with these bytes, for example from `include_bytes!`.
    pub const fn new(bytes: [u8; 32]) -> PublicKey {
        PublicKey(bytes)
    }

    /// Parses the text form; `None` if it is not one.
    pub fn parse(key: &str) -> Option<PublicKey> {
        parse(key, PUBLIC).map(PublicKey)
    }

    /// Returns the text form.
    pub fn to_text(&self) -> String {
        text(&self.0, PUBLIC)
    }

    /// Returns the bytes of the key.
    pub const fn bytes(&self) -> [u8; 32] {
        self.0
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey")
    }
}

impl SecretKey {
    /// Returns the key of a seed, which must come from a random number generator of the operating system.
    pub const fn from_seed(seed: [u8; 32]) -> SecretKey {
        SecretKey(seed)
    }

    /// Parses the text form; `None` if it is not one.
    pub fn parse(key: &str) -> Option<SecretKey> {
        parse(key, SECRET).map(SecretKey)
    }

    /// Returns the text form.
    pub fn to_text(&self) -> String {
        text(&self.0, SECRET)
    }

    fn pair(&self) -> KeyPair {
        KeyPair::from_seed(Seed::new(self.0))
    }

    /// Returns the public key of this key.
    pub fn public_key(&self) -> PublicKey {
        PublicKey(*self.pair().pk)
    }

    /// Returns the signature file of a pak. Reads every block and verifies its checksum.
    ///
    /// # Errors
    /// [`Error::Asset`] if a block is damaged, [`Error::Io`] if the pak cannot be read.
    pub fn sign(&self, pak: &PakBuf) -> Result<Vec<u8>, Error> {
        let mut blocks = Vec::new();
        pak.for_each_stored_block(&mut |bytes| blocks.push(digest(bytes)))?;
        let mut file = write_signed(self.public_key().0, index_digest(pak)?, &blocks);
        let signature = self.pair().sk.sign(&file, None);
        file.extend_from_slice(signature.as_ref());
        Ok(file)
    }
}

fn digest(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

/// Returns the digest of the header, followed by the index.
fn index_digest(pak: &PakBuf) -> Result<Digest, Error> {
    let mut hash = Sha256::new();
    hash.update(pak.header_bytes()?);
    hash.update(pak.index_bytes());
    Ok(hash.finalize().into())
}

/// The verified digests of the blocks of a pak.
pub(crate) struct BlockDigests(Vec<Digest>);

impl BlockDigests {
    /// Verifies the stored bytes of the block with this number in the index; `block` is its number in the asset.
    pub(crate) fn verify(&self, number: usize, block: usize, bytes: &[u8]) -> Result<(), Fault> {
        match self.0.get(number) {
            Some(expected) if *expected == digest(bytes) => Ok(()),
            _ => Err(Fault::Signature { block }),
        }
    }
}

/// Returns the path of the signature file of a pak: its path and `.sig`.
pub fn signature_path(pak: &Path) -> PathBuf {
    let mut path = pak.as_os_str().to_owned();
    path.push(".sig");
    path.into()
}

impl PakBuf {
    /// Verifies a signature file: the signature itself and the digests of header and index now, those of blocks when they
    /// are read.
    ///
    /// Where an attacker can write to the file while the game runs, open it with [`Options::mapped`] `false`: mapped
    /// content can change after it was verified.
    ///
    /// # Errors
    /// [`Error::Signature`] if the signature is not one of this pak by this key.
    pub fn with_signature(mut self, signature: &[u8], key: &PublicKey) -> Result<PakBuf, Error> {
        let refused = |why: &str| Error::Signature { why: why.to_owned() };
        let view = SignatureView::read(signature).map_err(|error| refused(&error.to_string()))?;
        if view.head.public_key != key.0 {
            return Err(refused("the pak is signed with another key"));
        }
        let public = ed25519_compact::PublicKey::new(key.0);
        let is_valid = public.verify(view.signed, &Signature::new(view.signature)).is_ok();
        if !is_valid {
            return Err(refused("the signature is not valid"));
        }
        if view.head.index_digest != index_digest(&self)? || view.blocks.len() != self.all_blocks().count() {
            return Err(refused("the signature is that of another pak"));
        }
        self.set_digests(BlockDigests(view.blocks.iter().collect()));
        Ok(self)
    }

    /// Opens a pak file and verifies the signature file beside it.
    ///
    /// # Errors
    /// As for [`PakBuf::open`] and [`PakBuf::with_signature`], and [`Error::Signature`] if there is no signature file.
    pub fn open_signed(path: impl AsRef<Path>, key: &PublicKey, options: Options) -> Result<PakBuf, Error> {
        let path = path.as_ref();
        let file = signature_path(path);
        let signature = crate::source::open(&file).and_then(|mut file| {
            let mut bytes = Vec::new();
            // 32 bytes for each of at most 2³² blocks would be too many; a pak of 256 GiB has 8 MiB of digests.
            std::io::Read::read_to_end(&mut std::io::Read::take(&mut file, 1 << 30), &mut bytes)
                .map(|_| bytes)
        });
        let signature = signature.map_err(|error| Error::Signature {
            why: format!("the signature file {} cannot be read: {error}", file.display()),
        })?;
        PakBuf::open_with(path, options)?.with_signature(&signature, key)
    }
}
