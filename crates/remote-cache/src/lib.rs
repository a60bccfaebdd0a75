//! Clients of the servers that a shared cache can be on, behind [`kiln_engine::remote::Remote`]: [`Http`] and [`Redis`]
//! always, buckets (feature `object-store`) and the Remote Execution API (feature `reapi`) where asked for. All network
//! code and all asynchronous code of Kiln is in this crate, and nothing but the executables depends on it.

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
pub use reapi::Reapi;
