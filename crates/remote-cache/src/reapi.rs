//! The Remote Execution API, version 2, which BuildGrid, Buildbarn, BuildBuddy, bazel-remote and NativeLink implement: records
//! in the `ActionCache`, blobs in the `ContentAddressableStorage`, large ones through `ByteStream`.
//!
//! A record is an `ActionResult`. Its body is the standard output, which clients upload as a blob; a server may return it
//! inline.

mod execution;
mod grpc;
mod message;

pub use execution::ReapiExecution;

use crate::{ClientOptions, Credentials, DeadlineBudget};
use grpc::{Server, messages};
use kiln_engine::Hash;
use kiln_engine::remote::{Address, Blob, Fault, Name, Remote};
use message::*;
use prost::Message;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The largest total size of a batch in bytes: the default message limit of servers, less the overhead around the blobs.
const LONGEST_BATCH: u64 = (4 << 20) - (64 << 10);

/// The chunk size of a streamed blob in bytes.
const CHUNK: usize = 1 << 20;

/// The size in the digest of an action, whose message is not stored anywhere.
const KEY_LEN: u64 = 32;

const GET_ACTION: &str = "/build.bazel.remote.execution.v2.ActionCache/GetActionResult";
const UPDATE_ACTION: &str = "/build.bazel.remote.execution.v2.ActionCache/UpdateActionResult";
const FIND_MISSING: &str = "/build.bazel.remote.execution.v2.ContentAddressableStorage/FindMissingBlobs";
const BATCH_UPDATE: &str = "/build.bazel.remote.execution.v2.ContentAddressableStorage/BatchUpdateBlobs";
const BATCH_READ: &str = "/build.bazel.remote.execution.v2.ContentAddressableStorage/BatchReadBlobs";
const CAPABILITIES: &str = "/build.bazel.remote.execution.v2.Capabilities/GetCapabilities";
const READ: &str = "/google.bytestream.ByteStream/Read";
const WRITE: &str = "/google.bytestream.ByteStream/Write";

/// The gRPC status code `NOT_FOUND`.
const NOT_FOUND: i32 = 5;

/// A server of the Remote Execution API.
pub struct Reapi {
    server: Server,
    address: Address,
    instance: String,
    capabilities: OnceLock<Result<Capabilities, Fault>>,
    uploads: AtomicU64,
}

/// The capabilities of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Capabilities {
    batch: u64,
    updates: bool,
}

impl Reapi {
    /// Makes a client of the server at an address, whose path is the instance name. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// The address, a header or a certificate cannot be used with gRPC.
    pub fn new(
        address: Address,
        credentials: Option<&Credentials>,
        options: &ClientOptions,
    ) -> Result<Reapi, String> {
        Ok(Reapi {
            server: Server::new(&address, credentials.map(Credentials::authorization), options)?,
            instance: address.path.trim_matches('/').to_owned(),
            address,
            capabilities: OnceLock::new(),
            uploads: AtomicU64::new(0),
        })
    }

    /// Returns the capabilities of the server. They are requested once; other threads wait for the response.
    fn capabilities(&self) -> Result<Capabilities, Fault> {
        let request = || {
            let request = GetCapabilitiesRequest { instance_name: self.instance.clone() };
            let capabilities: Option<ServerCapabilities> =
                self.server.unary(CAPABILITIES, request, self.small())?;
            let cache = capabilities.and_then(|all| all.cache_capabilities);
            parse_capabilities(&cache.ok_or(Fault::Garbled("the server is not a cache"))?)
        };
        self.capabilities.get_or_init(request).clone()
    }

    /// Returns the budget of a request whose messages have a few bytes.
    fn small(&self) -> DeadlineBudget {
        DeadlineBudget::new(self.server.timeout, 0, Duration::ZERO)
    }

    /// Returns the budget of a request with one message of this length, whose progress cannot be observed.
    fn message(&self, len: u64) -> DeadlineBudget {
        DeadlineBudget::for_message(self.server.timeout, len)
    }

    fn resource(&self, within: &str, blob: Blob) -> String {
        let slash = if self.instance.is_empty() { "" } else { "/" };
        format!("{}{slash}{within}blobs/{}/{}", self.instance, blob.hash, blob.len)
    }

    fn record(&self, key: Hash, limit: u64) -> Result<Option<Vec<u8>>, Fault> {
        self.capabilities()?;
        let request = GetActionResultRequest {
            instance_name: self.instance.clone(),
            action_digest: Some(action(key)),
            inline_stdout: true,
            digest_function: SHA256,
        };
        let Some(mut result) = self.server.unary::<_, ActionResult>(GET_ACTION, request, self.small())?
        else {
            return Ok(None);
        };
        if let Some(digest) = result.stdout_digest.take().filter(|_| result.stdout_raw.is_empty()) {
            let blob = blob_of(&digest).filter(|blob| blob.len <= limit);
            let blob = blob.ok_or(Fault::Damaged("the record was not written by Kiln"))?;
            let Some(bytes) = self.get_blobs(&[blob], Duration::ZERO)?.pop().flatten() else {
                return Ok(None);
            };
            result.stdout_raw = bytes;
        }
        Ok(Some(result.encode_to_vec()))
    }

    /// Streams a blob; returns whether the server has it.
    fn read(&self, blob: Blob, into: &mut dyn Write, worth: Duration) -> Result<bool, Fault> {
        let request = ReadRequest { resource_name: self.resource("", blob) };
        let (budget, mut left) = (DeadlineBudget::new(self.server.timeout, blob.len, worth), blob.len);
        let read = self.server.receive(READ, request, budget, |part: ReadResponse| {
            left = left
                .checked_sub(part.data.len() as u64)
                .ok_or(Fault::Damaged("the blob is longer than expected"))?;
            into.write_all(&part.data).map_err(|e| Fault::Disk(e.to_string()))?;
            Ok(part.data.len())
        })?;
        Ok(read.is_some())
    }

    /// Streams a blob to the server; each chunk is read when it is sent.
    fn write(&self, blob: Blob, mut from: impl Read + Send + 'static) -> Result<(), Fault> {
        let mut name = Some(self.resource(&format!("uploads/{}/", self.upload()), blob));
        let (mut offset, mut finished) = (0, false);
        let requests = std::iter::from_fn(move || {
            if finished {
                return None;
            }
            let mut data = Vec::new();
            // A read error ends the upload early, and the server rejects it.
            let _ = (&mut from).take(CHUNK as u64).read_to_end(&mut data);
            let write_offset = offset as i64;
            offset += data.len() as u64;
            finished = offset >= blob.len || data.is_empty();
            let resource_name = name.take().unwrap_or_default();
            Some(WriteRequest { resource_name, write_offset, finish_write: finished, data })
        });
        let budget = self.message(blob.len);
        let written: Option<WriteResponse> = self.server.send(WRITE, messages(requests), budget)?;
        match written {
            // A server that already has the blob returns -1.
            Some(written) if written.committed_size == blob.len as i64 || written.committed_size == -1 => {
                Ok(())
            }
            _ => Err(Fault::Garbled("the server did not accept the whole blob")),
        }
    }

    /// Returns a unique name of an upload, as a UUID.
    fn upload(&self) -> String {
        let now = std::time::SystemTime::now()
            .duration_since(std::time::SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let (n, at) = (self.uploads.fetch_add(1, Relaxed), std::ptr::from_ref(self) as usize);
        let text = format!("{} {} {n} {at}", now.as_nanos(), std::process::id());
        let hex = Hash::of(text.as_bytes()).to_string();
        format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
    }
}

impl Remote for Reapi {
    fn get(&self, name: Name, limit: u64, worth: Duration) -> Result<Option<Vec<u8>>, Fault> {
        match name {
            Name::Record(key) => self.record(key, limit),
            Name::Blob(blob) => Ok(self.get_blobs(&[blob], worth)?.pop().flatten()),
        }
    }

    fn has(&self, name: Name) -> Result<bool, Fault> {
        match name {
            Name::Record(key) => {
                self.capabilities()?;
                let request = GetActionResultRequest {
                    instance_name: self.instance.clone(),
                    action_digest: Some(action(key)),
                    inline_stdout: false,
                    digest_function: SHA256,
                };
                Ok(self.server.unary::<_, ActionResult>(GET_ACTION, request, self.small())?.is_some())
            }
            Name::Blob(blob) => Ok(self.missing(&[blob])?.is_empty()),
        }
    }

    fn put(&self, name: Name, bytes: &[u8]) -> Result<(), Fault> {
        let key = match name {
            Name::Blob(blob) => return self.put_blobs(&[(blob, bytes.to_vec())]),
            Name::Record(key) => key,
        };
        if !self.capabilities()?.updates {
            return Err(Fault::Refused("the server does not allow uploads".to_owned()));
        }
        let mut result =
            ActionResult::decode(bytes).map_err(|_| Fault::Garbled("the record is not an ActionResult"))?;
        let stdout = std::mem::take(&mut result.stdout_raw);
        let blob = Blob::of(&stdout);
        self.put_blobs(&[(blob, stdout)])?;
        result.stdout_digest = Some(blob.into());
        let request = UpdateActionResultRequest {
            instance_name: self.instance.clone(),
            action_digest: Some(action(key)),
            action_result: Some(result),
            digest_function: SHA256,
        };
        self.server.unary::<_, ActionResult>(UPDATE_ACTION, request, self.small()).map(drop)
    }

    fn get_blobs(&self, blobs: &[Blob], worth: Duration) -> Result<Vec<Option<Vec<u8>>>, Fault> {
        let total = blobs.iter().fold(0u64, |total, blob| total.saturating_add(blob.len));
        if total > self.capabilities()?.batch {
            let read = |blob: &Blob| {
                let mut bytes = Vec::new();
                Ok(self.read(*blob, &mut bytes, worth)?.then_some(bytes))
            };
            return blobs.iter().map(read).collect();
        }
        let request = BatchReadBlobsRequest {
            instance_name: self.instance.clone(),
            digests: blobs.iter().map(|blob| Digest::from(*blob)).collect(),
            digest_function: SHA256,
        };
        let response: Option<BatchReadBlobsResponse> =
            self.server.unary(BATCH_READ, request, self.message(total))?;
        let mut found = HashMap::new();
        for BlobRead { digest, data, status } in response.map(|all| all.responses).unwrap_or_default() {
            match status.map_or((0, String::new()), |status| (status.code, status.message)) {
                (0, _) => _ = digest.map(|digest| found.insert(digest.hash, data)),
                (NOT_FOUND, _) => {}
                (code, message) => {
                    let status = tonic::Status::new(code.into(), message);
                    return Err(grpc::fault(&status)
                        .unwrap_or(Fault::Garbled("the response for a blob is contradictory")));
                }
            }
        }
        Ok(blobs.iter().map(|blob| found.get(&blob.hash.to_string()).cloned()).collect())
    }

    fn missing(&self, blobs: &[Blob]) -> Result<Vec<Blob>, Fault> {
        self.capabilities()?;
        if blobs.is_empty() {
            return Ok(vec![]);
        }
        let request = FindMissingBlobsRequest {
            instance_name: self.instance.clone(),
            blob_digests: blobs.iter().map(|blob| Digest::from(*blob)).collect(),
            digest_function: SHA256,
        };
        let response: Option<FindMissingBlobsResponse> =
            self.server.unary(FIND_MISSING, request, self.small())?;
        let missing = response.map(|all| all.missing_blob_digests).unwrap_or_default();
        Ok(blobs.iter().filter(|blob| missing.contains(&Digest::from(**blob))).copied().collect())
    }

    fn put_blobs(&self, blobs: &[(Blob, Vec<u8>)]) -> Result<(), Fault> {
        let total = blobs.iter().fold(0u64, |total, (blob, _)| total.saturating_add(blob.len));
        if total > self.capabilities()?.batch {
            return blobs.iter().try_for_each(|(blob, bytes)| self.write(*blob, Cursor::new(bytes.clone())));
        }
        let data =
            |(blob, bytes): &(Blob, Vec<u8>)| BlobData { digest: Some((*blob).into()), data: bytes.clone() };
        let request = BatchUpdateBlobsRequest {
            instance_name: self.instance.clone(),
            requests: blobs.iter().map(data).collect(),
            digest_function: SHA256,
        };
        let response: Option<BatchUpdateBlobsResponse> =
            self.server.unary(BATCH_UPDATE, request, self.message(total))?;
        for BlobStored { status, .. } in response.map(|all| all.responses).unwrap_or_default() {
            if let Some(Status { code, message }) = status.filter(|status| status.code != 0) {
                return Err(Fault::Refused(format!("{:?}: {message:.120}", tonic::Code::from(code))));
            }
        }
        Ok(())
    }

    fn get_to(&self, blob: Blob, into: &mut dyn Write, worth: Duration) -> Result<bool, Fault> {
        self.capabilities()?;
        self.read(blob, into, worth)
    }

    fn put_from(&self, blob: Blob, mut file: &File) -> Result<(), Fault> {
        self.capabilities()?;
        let disk = |e: std::io::Error| Fault::Disk(e.to_string());
        file.seek(SeekFrom::Start(0)).map_err(disk)?;
        self.write(blob, file.try_clone().map_err(disk)?)
    }

    fn name(&self) -> String {
        self.address.to_string()
    }
}

fn action(key: Hash) -> Digest {
    Blob { hash: key, len: KEY_LEN }.into()
}

fn blob_of(digest: &Digest) -> Option<Blob> {
    let mut hash = [0; 32];
    if digest.hash.len() != 64 || !digest.hash.is_ascii() {
        return None;
    }
    for (n, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digest.hash[2 * n..2 * n + 2], 16).ok()?;
    }
    Some(Blob { hash: Hash(hash), len: digest.size_bytes.try_into().ok()? })
}

fn parse_capabilities(cache: &CacheCapabilities) -> Result<Capabilities, Fault> {
    if !cache.digest_functions.contains(&SHA256) {
        return Err(Fault::Refused("the server does not support SHA-256".to_owned()));
    }
    let batch = match u64::try_from(cache.max_batch_total_size_bytes) {
        Ok(0) | Err(_) => LONGEST_BATCH,
        Ok(most) => most.min(LONGEST_BATCH),
    };
    let updates = cache.action_cache_update_capabilities.as_ref().is_some_and(|can| can.update_enabled);
    Ok(Capabilities { batch, updates })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_valid_digests_only() {
        let blob = Blob::of(b"abc");
        let digest = Digest::from(blob);
        assert_eq!(digest.hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(blob_of(&digest), Some(blob));
        for (hash, size_bytes) in [("", 1), ("zz", 1), (&*"é".repeat(32), 1), (&*"0".repeat(64), -1)] {
            assert_eq!(blob_of(&Digest { hash: hash.to_owned(), size_bytes }), None);
        }
    }

    #[test]
    fn requires_sha_256_and_respects_the_batch_limit() {
        let can = |digest_functions: &[i32], max: i64| {
            let update = ActionCacheUpdateCapabilities { update_enabled: true };
            parse_capabilities(&CacheCapabilities {
                digest_functions: digest_functions.to_vec(),
                action_cache_update_capabilities: Some(update),
                max_batch_total_size_bytes: max,
            })
        };
        assert!(matches!(can(&[2, 9], 0), Err(Fault::Refused(_))));
        assert_eq!(can(&[1], 0), Ok(Capabilities { batch: LONGEST_BATCH, updates: true }));
        assert_eq!(can(&[9, 1], 1000).unwrap().batch, 1000);
        assert_eq!(can(&[1], i64::MAX).unwrap().batch, LONGEST_BATCH);
    }

    /// The bytes of `protoc --encode`, for the message that two crates encode.
    #[test]
    fn decodes_the_records_of_the_engine() {
        let digest = Digest { hash: "ab".to_owned(), size_bytes: 300 };
        let file = OutputFile { path: "o".to_owned(), digest: Some(digest) };
        let result =
            ActionResult { output_files: vec![file], stdout_raw: b"xyz".to_vec(), ..ActionResult::default() };
        let expected = [
            0x12, 12, 0x0a, 1, b'o', 0x12, 7, 0x0a, 2, b'a', b'b', 0x10, 0xac, 0x02, 0x2a, 3, b'x', b'y',
            b'z',
        ];
        assert_eq!(result.encode_to_vec(), expected);
        assert_eq!(ActionResult::decode(expected.as_slice()), Ok(result));
    }
}
