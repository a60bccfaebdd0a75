//! The signature file of a pak: SHA-256 digests of its header with the index and of every block, signed with Ed25519.
//!
//! This crate has no dependencies and verifies neither digests nor the signature. Rejected are an unknown version and any
//! length other than that of the digests.

use crate::bytes::Le;
use crate::pod::pod;
use crate::{Array, Error};

/// The magic number of signature files.
pub const MAGIC: [u8; 4] = *b"KPSG";
/// The only supported version.
pub const VERSION: u32 = 1;
/// The size of a signature in bytes.
pub const SIGNATURE_LEN: usize = 64;

/// A SHA-256 digest.
pub type Digest = [u8; 32];

pod! {
    /// The start of the file; the digests of the blocks follow, then the signature of everything before it.
    pub struct SignatureHead {
        /// The magic number, `KPSG`.
        pub magic: [u8; 4],
        /// Version of the format.
        pub version: u32,
        /// Number of blocks of the pak.
        pub blocks: u32,
        /// Reserved; zero in every valid file.
        pub reserved: u32,
        /// The Ed25519 public key that verifies the signature.
        pub public_key: [u8; 32],
        /// The digest of the header of the pak, followed by its index.
        pub index_digest: [u8; 32],
    }
}

/// A checked signature file.
#[derive(Clone, Copy, Debug)]
pub struct SignatureView<'a> {
    /// The start of the file.
    pub head: SignatureHead,
    /// The digests of the stored bytes of all blocks, in the order of the index.
    pub blocks: Array<'a, Digest>,
    /// The bytes that the signature covers.
    pub signed: &'a [u8],
    /// The signature.
    pub signature: [u8; SIGNATURE_LEN],
}

impl<'a> SignatureView<'a> {
    /// Checks the layout of a signature file.
    ///
    /// # Errors
    ///
    /// [`Error`] if the file is truncated, has trailing bytes or holds an invalid value.
    pub fn read(bytes: &'a [u8]) -> Result<SignatureView<'a>, Error> {
        let needed = (SignatureHead::SIZE + SIGNATURE_LEN) as u64;
        let short = Error::Truncated { at: 0, field: "head", needed, len: bytes.len() as u64 };
        let (signed, signature) = bytes.split_last_chunk::<SIGNATURE_LEN>().ok_or(short.clone())?;
        let head = SignatureHead::get(signed).ok_or(short)?;
        if head.magic != MAGIC {
            return Err(Error::Magic { found: head.magic, format: "signature" });
        }
        if head.version != VERSION || head.reserved != 0 {
            return Err(Error::Value { at: 4, field: "version", found: head.version.into(), expected: "1" });
        }
        let blocks = signed.get(SignatureHead::SIZE..).unwrap_or_default();
        let (found, expected) = (blocks.len() as u64, u64::from(head.blocks) * 32);
        if found != expected {
            return Err(Error::Mismatch { at: 8, field: "blocks", found, expected });
        }
        Ok(SignatureView { head, blocks: Array::new(blocks), signed, signature: *signature })
    }
}

/// Encodes the part of a signature file that the signature covers.
#[cfg(feature = "tools")]
pub fn write_signed(public_key: [u8; 32], index_digest: Digest, blocks: &[Digest]) -> alloc::vec::Vec<u8> {
    let mut out = alloc::vec::Vec::new();
    let blocks_len = blocks.len() as u32;
    let head = SignatureHead {
        magic: MAGIC,
        version: VERSION,
        blocks: blocks_len,
        reserved: 0,
        public_key,
        index_digest,
    };
    head.put(&mut out);
    blocks.iter().for_each(|digest| out.extend_from_slice(digest));
    out
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;

    #[test]
    fn signature_round_trips_and_other_lengths_are_rejected() {
        let mut bytes = write_signed([1; 32], [2; 32], &[[3; 32], [4; 32]]);
        bytes.extend([5; SIGNATURE_LEN]);
        let view = SignatureView::read(&bytes).unwrap();
        assert_eq!((view.head.public_key, view.head.index_digest), ([1; 32], [2; 32]));
        assert!(view.blocks.iter().eq([[3; 32], [4; 32]]));
        assert_eq!((view.signed.len(), view.signature), (bytes.len() - 64, [5; 64]));
        for len in 0..bytes.len() {
            assert!(SignatureView::read(&bytes[..len]).is_err(), "{len}");
        }
        for at in [0, 4, 8, 12] {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            assert!(SignatureView::read(&bad).is_err(), "{at}");
        }
    }
}
