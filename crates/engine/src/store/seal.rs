//! The envelope of a record: an `ActionResult` message of the Remote Execution API, because servers validate it and keep the
//! referenced blobs as long as the record exists.
//!
//! The body is in `stdout_raw`, after a hash of the key and the body: a record that is damaged or belongs to another key is
//! rejected. The signature, if there is a [`SigningKey`], is in `stderr_raw`.

use super::signing::SigningKey;
use crate::hash::Hash;
use crate::remote::Blob;

/// The version of the record layout; incremented with every change of it.
pub(super) const FORMAT: &[u8] = b"kiln store 4";

/// Field numbers of `ActionResult`.
const OUTPUT_FILES: u64 = 2;
const STDOUT_RAW: u64 = 5;
const STDERR_RAW: u64 = 7;

/// The domain separator of signatures.
const SIGNED: &[u8] = b"kiln cache record, signed with HMAC-SHA256\n";

/// The reason that a record is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadRecord {
    /// The record is damaged, or belongs to another key.
    Damaged,
    /// The record has no valid signature.
    Unsigned,
}

/// Wraps the body of a record without a signature, as anyone with write access to a server can. Fuzz targets forge records
/// with it.
pub fn seal_record(key: Hash, body: &[u8]) -> Vec<u8> {
    Seal::default().seal(key, body, &[])
}

/// Wraps and unwraps records, with signatures if there is a key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seal(pub(crate) Option<SigningKey>);

impl Seal {
    /// Wraps a body as an `ActionResult` with these files.
    pub(super) fn seal(&self, key: Hash, body: &[u8], files: &[(&str, Blob)]) -> Vec<u8> {
        let mut message = Vec::new();
        for (path, blob) in files {
            let mut digest = Vec::new();
            put_field(&mut digest, 1, blob.hash.to_string().as_bytes());
            put_varint(&mut digest, 2 << 3);
            put_varint(&mut digest, blob.len);
            let mut file = Vec::new();
            put_field(&mut file, 1, path.as_bytes());
            put_field(&mut file, 2, &digest);
            put_field(&mut message, OUTPUT_FILES, &file);
        }
        let raw = [check(key, body).0.as_slice(), body].concat();
        put_field(&mut message, STDOUT_RAW, &raw);
        if let Some(signer) = &self.0 {
            put_field(&mut message, STDERR_RAW, &signer.sign(&[SIGNED, &key.0, body]));
        }
        message
    }

    /// Returns the body of a record after verifying its hash and, with a signing key, its signature.
    pub(super) fn unseal<'m>(&self, key: Hash, message: &'m [u8]) -> Result<&'m [u8], BadRecord> {
        let (body, signature) = body_and_signature(key, message).ok_or(BadRecord::Damaged)?;
        match &self.0 {
            Some(signer) if !signer.verify(&[SIGNED, &key.0, body], signature) => Err(BadRecord::Unsigned),
            _ => Ok(body),
        }
    }
}

fn body_and_signature(key: Hash, mut message: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mut found, mut signature) = (None, [].as_slice());
    while !message.is_empty() {
        let tag = take_varint(&mut message)?;
        match tag & 7 {
            0 => _ = take_varint(&mut message)?,
            2 => {
                let len = usize::try_from(take_varint(&mut message)?).ok()?;
                let (bytes, rest) = message.split_at_checked(len)?;
                message = rest;
                match tag >> 3 {
                    STDOUT_RAW => found = Some(bytes),
                    STDERR_RAW => signature = bytes,
                    _ => {}
                }
            }
            _ => return None,
        }
    }
    let (sum, body) = found?.split_first_chunk::<32>()?;
    (check(key, body).0 == *sum).then_some((body, signature))
}

fn check(key: Hash, body: &[u8]) -> Hash {
    Hash::of_fields([FORMAT, &key.0, body])
}

fn put_field(message: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    put_varint(message, number << 3 | 2);
    put_varint(message, bytes.len() as u64);
    message.extend_from_slice(bytes);
}

fn put_varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

fn take_varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed(secret: u8) -> Seal {
        Seal(SigningKey::new(&[secret; 32]))
    }

    #[test]
    fn rejects_records_without_a_valid_signature() {
        let (key, other) = (Hash::of(b"key"), Hash::of(b"other"));
        let (ours, theirs, none) = (signed(1), signed(2), Seal::default());
        let record = ours.seal(key, b"body", &[]);
        assert_eq!(ours.unseal(key, &record), Ok(b"body".as_slice()));
        assert_eq!(ours.unseal(other, &record), Err(BadRecord::Damaged));
        assert_eq!(theirs.unseal(key, &record), Err(BadRecord::Unsigned));
        // Without a key signed records are accepted as well.
        assert_eq!(none.unseal(key, &record), Ok(b"body".as_slice()));
        assert_eq!(ours.unseal(key, &none.seal(key, b"body", &[])), Err(BadRecord::Unsigned));
        // A signature is not valid for another body or another key.
        let signature = &record[record.len() - 34..];
        for (key, body) in [(key, b"nody"), (other, b"body")] {
            let forged = [none.seal(key, body, &[]).as_slice(), signature].concat();
            assert_eq!(ours.unseal(key, &forged), Err(BadRecord::Unsigned));
            assert_eq!(none.unseal(key, &forged), Ok(body.as_slice()));
        }
        for at in 0..record.len() {
            let mut flipped = record.clone();
            flipped[at] ^= 4;
            assert!(ours.unseal(key, &flipped).is_err(), "{at}");
        }
    }

    /// A server of the Remote Execution API may store other fields of the message, for example `exit_code` (4, a varint) and
    /// `execution_metadata` (9, a message).
    #[test]
    fn ignores_other_fields_of_an_action_result() {
        let key = Hash::of(b"key");
        let record =
            [&[4 << 3, 0x80, 0x01], seal_record(key, b"body").as_slice(), &[9 << 3 | 2, 2, 8, 1, 4 << 3, 0]]
                .concat();
        assert_eq!(Seal::default().unseal(key, &record), Ok(b"body".as_slice()));
        // An incomplete varint, and a wire type that no field of the message has.
        for tail in [&[4 << 3, 0x80][..], &[4 << 3 | 5, 0, 0, 0, 0]] {
            let record = [&record, tail].concat();
            assert_eq!(Seal::default().unseal(key, &record), Err(BadRecord::Damaged));
        }
    }

    /// The bytes as `protoc --encode=build.bazel.remote.execution.v2.ActionResult` would lay them out.
    #[test]
    fn encodes_an_action_result() {
        let (key, blob) = (Hash::of(b"key"), Blob { hash: Hash::of(b"x"), len: 300 });
        let record = signed(1).seal(key, b"body", &[("o", blob)]);
        let mut expected = vec![0x12, 3 + 2 + 69, 0x0a, 1, b'o', 0x12, 69, 0x0a, 64];
        expected.extend(blob.hash.to_string().bytes());
        expected.extend([0x10, 0xac, 0x02]);
        expected.extend([0x2a, 32 + 4]);
        expected.extend(check(key, b"body").0);
        expected.extend(b"body");
        expected.extend([0x3a, 32]);
        assert_eq!(record[..expected.len()], expected);
        assert_eq!(record.len(), expected.len() + 32);
    }
}
