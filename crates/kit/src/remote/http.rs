//! The HTTP cache protocol of Bazel, which nginx, bazel-remote, BuildBuddy and others speak: `GET`, `PUT` and `HEAD` of
//! `/ac/<key>` and `/cas/<digest>`.

use super::address::Address;
use super::client::{Client, LONGEST_REST, Request};
use super::credentials::Credentials;
use super::{Fault, Name, Remote};
use std::time::Duration;

/// A server that speaks the protocol.
pub struct Http {
    client: Client,
    authorization: Option<String>,
}

impl Http {
    /// A server at an address. Nothing is sent yet.
    pub fn new(address: Address, credentials: Option<Credentials>) -> Http {
        let authorization = credentials.map(|given| given.authorization());
        Http { client: Client::new(address), authorization }
    }

    fn ask(
        &self,
        method: &str,
        name: Name,
        body: &[u8],
        limit: u64,
        worth: Duration,
    ) -> Result<(u16, Vec<u8>), Fault> {
        let target = format!("{}/{}/{}", self.client.address().path, name.kind(), name.hash());
        let mut headers = Vec::new();
        headers.extend(self.authorization.iter().map(|value| ("Authorization", value.as_str())));
        headers.extend((method == "PUT").then_some(("Content-Type", "application/octet-stream")));
        let request = Request { method, target: &target, headers: &headers, body, limit, worth };
        self.client.ask(&request).map(|response| (response.status, response.body))
    }
}

impl Remote for Http {
    fn get(&self, name: Name, limit: u64, worth: Duration) -> Result<Option<Vec<u8>>, Fault> {
        match self.ask("GET", name, &[], limit, worth)? {
            (200, bytes) => Ok(Some(bytes)),
            (404 | 410, _) => Ok(None),
            (status, _) => Err(Fault::Status(status)),
        }
    }

    fn has(&self, name: Name) -> Result<bool, Fault> {
        match self.ask("HEAD", name, &[], 0, Duration::ZERO)?.0 {
            200 | 204 => Ok(true),
            404 | 410 => Ok(false),
            status => Err(Fault::Status(status)),
        }
    }

    fn put(&self, name: Name, bytes: &[u8]) -> Result<(), Fault> {
        match self.ask("PUT", name, bytes, LONGEST_REST, Duration::ZERO)?.0 {
            200..=299 => Ok(()),
            status => Err(Fault::Status(status)),
        }
    }

    fn name(&self) -> String {
        self.client.address().to_string()
    }
}
