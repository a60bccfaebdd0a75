//! The Protobuf messages of the Remote Execution API, version 2, and of ByteStream that a client of cache and execution needs, with the fields
//! that are used. They are written by hand and not generated, so that the build needs no `protoc`.
//!
//! <https://github.com/bazelbuild/remote-apis/blob/main/build/bazel/remote/execution/v2/remote_execution.proto>

use kiln_engine::remote::Blob;
use prost::Message;

/// `DigestFunction.SHA256`.
pub(super) const SHA256: i32 = 1;

#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(super) struct Digest {
    #[prost(string, tag = "1")]
    pub(super) hash: String,
    #[prost(int64, tag = "2")]
    pub(super) size_bytes: i64,
}

impl From<Blob> for Digest {
    fn from(blob: Blob) -> Digest {
        Digest { hash: blob.hash.to_string(), size_bytes: blob.len.try_into().unwrap_or(i64::MAX) }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ActionResult {
    #[prost(message, repeated, tag = "2")]
    pub(super) output_files: Vec<OutputFile>,
    #[prost(int32, tag = "4")]
    pub(super) exit_code: i32,
    #[prost(bytes = "vec", tag = "5")]
    pub(super) stdout_raw: Vec<u8>,
    #[prost(message, optional, tag = "6")]
    pub(super) stdout_digest: Option<Digest>,
    /// The signature of a record of the cache.
    #[prost(bytes = "vec", tag = "7")]
    pub(super) stderr_raw: Vec<u8>,
    #[prost(message, optional, tag = "8")]
    pub(super) stderr_digest: Option<Digest>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OutputFile {
    #[prost(string, tag = "1")]
    pub(super) path: String,
    #[prost(message, optional, tag = "2")]
    pub(super) digest: Option<Digest>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct GetActionResultRequest {
    #[prost(string, tag = "1")]
    pub(super) instance_name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) action_digest: Option<Digest>,
    #[prost(bool, tag = "3")]
    pub(super) inline_stdout: bool,
    #[prost(int32, tag = "6")]
    pub(super) digest_function: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct UpdateActionResultRequest {
    #[prost(string, tag = "1")]
    pub(super) instance_name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) action_digest: Option<Digest>,
    #[prost(message, optional, tag = "3")]
    pub(super) action_result: Option<ActionResult>,
    #[prost(int32, tag = "5")]
    pub(super) digest_function: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FindMissingBlobsRequest {
    #[prost(string, tag = "1")]
    pub(super) instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub(super) blob_digests: Vec<Digest>,
    #[prost(int32, tag = "3")]
    pub(super) digest_function: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FindMissingBlobsResponse {
    #[prost(message, repeated, tag = "2")]
    pub(super) missing_blob_digests: Vec<Digest>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct BatchUpdateBlobsRequest {
    #[prost(string, tag = "1")]
    pub(super) instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub(super) requests: Vec<BlobData>,
    #[prost(int32, tag = "5")]
    pub(super) digest_function: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct BlobData {
    #[prost(message, optional, tag = "1")]
    pub(super) digest: Option<Digest>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct BatchUpdateBlobsResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) responses: Vec<BlobStored>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct BlobStored {
    #[prost(message, optional, tag = "1")]
    pub(super) digest: Option<Digest>,
    #[prost(message, optional, tag = "2")]
    pub(super) status: Option<Status>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct BatchReadBlobsRequest {
    #[prost(string, tag = "1")]
    pub(super) instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub(super) digests: Vec<Digest>,
    #[prost(int32, tag = "4")]
    pub(super) digest_function: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct BatchReadBlobsResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) responses: Vec<BlobRead>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct BlobRead {
    #[prost(message, optional, tag = "1")]
    pub(super) digest: Option<Digest>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) data: Vec<u8>,
    #[prost(message, optional, tag = "3")]
    pub(super) status: Option<Status>,
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Status {
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
    #[prost(string, tag = "2")]
    pub(super) message: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct GetCapabilitiesRequest {
    #[prost(string, tag = "1")]
    pub(super) instance_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ServerCapabilities {
    #[prost(message, optional, tag = "1")]
    pub(super) cache_capabilities: Option<CacheCapabilities>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CacheCapabilities {
    #[prost(int32, repeated, tag = "1")]
    pub(super) digest_functions: Vec<i32>,
    #[prost(message, optional, tag = "2")]
    pub(super) action_cache_update_capabilities: Option<ActionCacheUpdateCapabilities>,
    #[prost(int64, tag = "4")]
    pub(super) max_batch_total_size_bytes: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ActionCacheUpdateCapabilities {
    #[prost(bool, tag = "1")]
    pub(super) update_enabled: bool,
}

/// `google.bytestream.ReadRequest`; the next three are of the same package.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ReadRequest {
    #[prost(string, tag = "1")]
    pub(super) resource_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ReadResponse {
    #[prost(bytes = "vec", tag = "10")]
    pub(super) data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WriteRequest {
    #[prost(string, tag = "1")]
    pub(super) resource_name: String,
    #[prost(int64, tag = "2")]
    pub(super) write_offset: i64,
    #[prost(bool, tag = "3")]
    pub(super) finish_write: bool,
    #[prost(bytes = "vec", tag = "10")]
    pub(super) data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WriteResponse {
    #[prost(int64, tag = "1")]
    pub(super) committed_size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Action {
    #[prost(message, optional, tag = "1")]
    pub(super) command_digest: Option<Digest>,
    #[prost(message, optional, tag = "2")]
    pub(super) input_root_digest: Option<Digest>,
    #[prost(message, optional, tag = "6")]
    pub(super) timeout: Option<Seconds>,
    #[prost(message, optional, tag = "10")]
    pub(super) platform: Option<Platform>,
}

/// `google.protobuf.Duration`, in whole seconds.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Seconds {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
}

/// `Command`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CommandMessage {
    #[prost(string, repeated, tag = "1")]
    pub(super) arguments: Vec<String>,
    #[prost(message, repeated, tag = "2")]
    pub(super) environment_variables: Vec<Property>,
    #[prost(string, repeated, tag = "3")]
    pub(super) output_files: Vec<String>,
    #[prost(message, optional, tag = "5")]
    pub(super) platform: Option<Platform>,
    #[prost(string, repeated, tag = "7")]
    pub(super) output_paths: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Platform {
    #[prost(message, repeated, tag = "1")]
    pub(super) properties: Vec<Property>,
}

/// `Platform.Property`, and `Command.EnvironmentVariable`, which has the same fields.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Property {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Directory {
    #[prost(message, repeated, tag = "1")]
    pub(super) files: Vec<FileNode>,
    #[prost(message, repeated, tag = "2")]
    pub(super) directories: Vec<DirectoryNode>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FileNode {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) digest: Option<Digest>,
    #[prost(bool, tag = "4")]
    pub(super) is_executable: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DirectoryNode {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) digest: Option<Digest>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ExecuteRequest {
    #[prost(string, tag = "1")]
    pub(super) instance_name: String,
    #[prost(message, optional, tag = "6")]
    pub(super) action_digest: Option<Digest>,
    #[prost(int32, tag = "9")]
    pub(super) digest_function: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WaitExecutionRequest {
    #[prost(string, tag = "1")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ExecuteResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) result: Option<ActionResult>,
    #[prost(message, optional, tag = "3")]
    pub(super) status: Option<Status>,
}

/// `google.longrunning.Operation`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Operation {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(bool, tag = "3")]
    pub(super) done: bool,
    #[prost(message, optional, tag = "4")]
    pub(super) error: Option<Status>,
    #[prost(message, optional, tag = "5")]
    pub(super) response: Option<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Any {
    #[prost(string, tag = "1")]
    pub(super) type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
}
