//! The HTTP cache protocol of Bazel, which nginx, bazel-remote, BuildBuddy and others implement: `GET`, `PUT` and `HEAD` of
//! `/ac/<key>` and `/cas/<digest>`.

use crate::credentials::Credentials;
use crate::http_client::{Client, LONGEST_ERROR_BODY, Request, RequestBody, Response};
use crate::options::ClientOptions;
use kiln_engine::remote::Address;
use kiln_engine::remote::{Blob, Fault, Name, Remote};
use std::fs::File;
use std::io::Write;
use std::time::Duration;

/// A server of the HTTP cache protocol.
pub struct Http {
    client: Client,
    authorization: Option<String>,
}

impl Http {
    /// Makes a client of the server at an address, with the default options. Nothing is sent yet.
    pub fn new(address: Address, credentials: Option<Credentials>) -> Http {
        Http::with_options(address, credentials, ClientOptions::default())
    }

    /// Makes a client of the server at an address. Nothing is sent yet.
    pub fn with_options(address: Address, credentials: Option<Credentials>, options: ClientOptions) -> Http {
        let authorization = credentials.map(|given| given.authorization());
        Http { client: Client::new(address, options), authorization }
    }

    fn send(
        &self,
        method: &str,
        name: Name,
        body: RequestBody<'_>,
        limit: u64,
        worth: Duration,
    ) -> Result<Response, Fault> {
        let target = format!("{}/{}/{}", self.client.address().path, name.kind(), name.hash());
        let mut headers = Vec::new();
        headers.extend(self.authorization.iter().map(|value| ("Authorization", value.as_str())));
        headers.extend((method == "PUT").then_some(("Content-Type", "application/octet-stream")));
        headers.extend(self.client.options().headers());
        let request = Request { method, target: &target, headers: &headers, body, limit, worth };
        let response = self.client.send(&request)?;
        match self.retry_delay(&response) {
            Some(delay) => {
                std::thread::sleep(delay);
                self.client.send(&request)
            }
            None => Ok(response),
        }
    }

    /// Returns the `Retry-After` delay of an overloaded server, if it is at most two stall deadlines. A request is retried once.
    fn retry_delay(&self, response: &Response) -> Option<Duration> {
        if !matches!(response.status, 429 | 503) {
            return None;
        }
        let (_, value) = response.headers.iter().find(|(name, _)| name == "retry-after")?;
        let delay = Duration::from_secs(value.trim().parse().ok()?);
        (delay <= 2 * self.client.options().limits.timeout).then_some(delay)
    }

    fn upload(&self, name: Name, body: RequestBody<'_>) -> Result<(), Fault> {
        let mut response = self.send("PUT", name, body, LONGEST_ERROR_BODY, Duration::ZERO)?;
        match response.status {
            // The whole response is read, so that the connection can be reused.
            200..=299 => response.body.read_all().map(drop),
            413 => Err(Fault::TooLarge),
            status => Err(Fault::Status(status)),
        }
    }

    fn download(&self, name: Name, limit: u64, worth: Duration) -> Result<Option<Response>, Fault> {
        let response = self.send("GET", name, RequestBody::Bytes(&[]), limit, worth)?;
        match response.status {
            200 => Ok(Some(response)),
            404 | 410 => Ok(None),
            status => Err(Fault::Status(status)),
        }
    }
}

impl Remote for Http {
    fn get(&self, name: Name, limit: u64, worth: Duration) -> Result<Option<Vec<u8>>, Fault> {
        self.download(name, limit, worth)?.map(|mut response| response.body.read_all()).transpose()
    }

    fn get_to(&self, blob: Blob, into: &mut dyn Write, worth: Duration) -> Result<bool, Fault> {
        let response = self.download(Name::Blob(blob), blob.len, worth)?;
        response.map_or(Ok(false), |mut response| response.body.copy_to(into).map(|_| true))
    }

    fn has(&self, name: Name) -> Result<bool, Fault> {
        match self.send("HEAD", name, RequestBody::Bytes(&[]), 0, Duration::ZERO)?.status {
            200 | 204 => Ok(true),
            404 | 410 => Ok(false),
            status => Err(Fault::Status(status)),
        }
    }

    fn put(&self, name: Name, bytes: &[u8]) -> Result<(), Fault> {
        self.upload(name, RequestBody::Bytes(bytes))
    }

    fn put_from(&self, blob: Blob, file: &File) -> Result<(), Fault> {
        self.upload(Name::Blob(blob), RequestBody::File(file, blob.len))
    }

    fn name(&self) -> String {
        self.client.address().to_string()
    }
}
