//! Clients for the servers of a shared build cache, behind the trait [`kiln_engine::remote::Remote`].
//!
//! - [`Http`]: the HTTP cache protocol of Bazel (nginx, bazel-remote, BuildBuddy and others).
//! - [`Redis`]: Redis and servers with its protocol.
//! - `Bucket` (feature `object-store`): S3, Google Cloud Storage and Azure Blob Storage.
//! - `Reapi` (feature `reapi`): the Remote Execution API over gRPC. `ReapiExecution` runs commands on such a server, behind the
//!   trait [`kiln_engine::remote::ExecutionServer`].
//!
//! Every request has a [`DeadlineBudget`]: a transfer that keeps its rate may take its time, one that stalls ends after the
//! stall deadline (one second unless configured). So an unresponsive server costs a build about three seconds at most.
//!
//! All network code and all asynchronous code of Kiln is in this crate, and only the executables depend on it.
//!
//! ```
//! use kiln_engine::Hash;
//! use kiln_engine::remote::{Address, Fault, Name, Remote};
//! use kiln_remote_cache::Http;
//! use std::time::Duration;
//!
//! // No server listens on this port, so the lookup fails; a build would continue without the server.
//! let address = Address::parse("http://127.0.0.1:1/kiln", false).unwrap();
//! let server = Http::new(address, None);
//! let record = server.get(Name::Record(Hash::of(b"key")), 1024, Duration::ZERO);
//! assert!(matches!(record, Err(Fault::Unreachable(_))));
//! ```

mod budget;
mod connection;
mod credentials;
mod http;
mod http_client;
mod options;
mod redis;

#[cfg(feature = "object-store")]
mod bucket;
#[cfg(feature = "reapi")]
mod reapi;

pub use budget::DeadlineBudget;
pub use credentials::Credentials;
pub use http::Http;
pub use http_client::{Client, Request, RequestBody, Response, ResponseBody};
pub use options::ClientOptions;
pub use redis::Redis;

#[cfg(feature = "object-store")]
pub use bucket::Bucket;
#[cfg(feature = "reapi")]
pub use reapi::{Reapi, ReapiExecution};
