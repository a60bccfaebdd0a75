//! Object stores: S3, Google Cloud Storage, Azure Blob Storage and compatible services, with the objects `<prefix>/ac/<key>`
//! and `<prefix>/cas/<digest>`.
//!
//! `object_store` implements the services, request signing and credential providers. Its requests go through the HTTP client
//! of this crate, with the same deadline budget, limits, certificates and proxy. Nothing is retried: the cache is an
//! optimisation, and a miss is built. Large blobs are streamed, and uploaded in parts.

use crate::{Client, ClientOptions, Request, RequestBody, Response, ResponseBody};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use kiln_engine::remote::{Address, Blob, Fault, Name, Remote, Scheme};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{
    Error, Extensions, GetOptions, ObjectStore, PutMultipartOptions, PutOptions, RetryConfig,
};
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// The longest response to requests of `object_store` itself, for credentials.
const LONGEST_OTHER: u64 = 1 << 20;

/// The size of a body frame in bytes.
const FRAME: usize = 64 << 10;

/// The part size of a multipart upload in bytes; services require at least 5 MiB.
const PART: usize = 8 << 20;

/// A bucket of an object store, as a cache server.
pub struct Bucket {
    store: Box<dyn ObjectStore>,
    runtime: Runtime,
    address: Address,
}

impl Bucket {
    /// Makes a client of the bucket at an address. Region, endpoint, account and credentials come from `vars`, under the
    /// names that the tools of the services use, and from their credential providers. `allow_plaintext` admits endpoints
    /// without TLS. Headers of the options do not apply. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// The settings are invalid, or the address is not that of a bucket.
    pub fn new(
        address: Address,
        vars: impl IntoIterator<Item = (String, String)>,
        allow_plaintext: bool,
        options: ClientOptions,
    ) -> Result<Bucket, String> {
        let connector = Connector { allow_plaintext, options };
        let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        let vars = vars.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
        let name = address.host.as_str();
        // The messages of the library may repeat secret values.
        let unusable = |_| "the settings of the object store in the environment are invalid".to_owned();
        let store: Box<dyn ObjectStore> = match address.scheme {
            Scheme::S3 => {
                let mut builder = AmazonS3Builder::new();
                for (name, value) in vars.filter(|(name, _)| name.starts_with("aws_")) {
                    builder = name.parse().map_or(builder.clone(), |key| builder.with_config(key, value));
                }
                let builder = builder.with_bucket_name(name).with_retry(retry).with_http_connector(connector);
                Box::new(builder.build().map_err(unusable)?)
            }
            Scheme::Gcs => {
                let mut builder = GoogleCloudStorageBuilder::new();
                for (name, value) in vars.filter(|(name, _)| name.starts_with("google_")) {
                    builder = match name.as_str() {
                        // The path of a file, as for the tools of Google.
                        "google_application_credentials" => builder.with_application_credentials(value),
                        name => name.parse().map_or(builder.clone(), |key| builder.with_config(key, value)),
                    };
                }
                let builder = builder.with_bucket_name(name).with_retry(retry).with_http_connector(connector);
                Box::new(builder.build().map_err(unusable)?)
            }
            Scheme::Azure => {
                let mut builder = MicrosoftAzureBuilder::new();
                for (name, value) in vars.filter(|(name, _)| name.starts_with("azure_")) {
                    builder = name.parse().map_or(builder.clone(), |key| builder.with_config(key, value));
                }
                let builder =
                    builder.with_container_name(name).with_retry(retry).with_http_connector(connector);
                Box::new(builder.build().map_err(unusable)?)
            }
            _ => return Err("the URL is not that of a bucket".to_owned()),
        };
        let runtime = Builder::new_current_thread().enable_time().build().map_err(|e| e.to_string())?;
        Ok(Bucket { store, runtime, address })
    }

    fn path(&self, name: Name) -> Path {
        let prefix = self.address.path.trim_start_matches('/');
        Path::from(format!("{prefix}/{}/{}", name.kind(), name.hash()))
    }

    fn get_or_head(&self, name: Name, bounds: &Arc<Bounds>, head: bool) -> Result<Option<Vec<u8>>, Fault> {
        let options = GetOptions { head, extensions: bounds.extensions(), ..GetOptions::default() };
        let path = self.path(name);
        let got = self.runtime.block_on(async {
            let found = self.store.get_opts(&path, options).await?;
            if head { Ok(Vec::new()) } else { found.bytes().await.map(Vec::from) }
        });
        match got {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(bounds.fault(&error)),
        }
    }
}

impl Remote for Bucket {
    fn get(&self, name: Name, limit: u64, worth: Duration) -> Result<Option<Vec<u8>>, Fault> {
        self.get_or_head(name, &Bounds::new(limit, worth), false)
    }

    fn has(&self, name: Name) -> Result<bool, Fault> {
        self.get_or_head(name, &Bounds::new(LONGEST_OTHER, Duration::ZERO), true).map(|found| found.is_some())
    }

    fn get_to(&self, blob: Blob, into: &mut dyn Write, worth: Duration) -> Result<bool, Fault> {
        let bounds = Bounds::new(blob.len, worth);
        let options = GetOptions { extensions: bounds.extensions(), ..GetOptions::default() };
        let path = self.path(Name::Blob(blob));
        self.runtime.block_on(async {
            let mut chunks = match self.store.get_opts(&path, options).await {
                Ok(found) => found.into_stream(),
                Err(Error::NotFound { .. }) => return Ok(false),
                Err(error) => return Err(bounds.fault(&error)),
            };
            while let Some(chunk) = chunks.next().await {
                let chunk = chunk.map_err(|error| bounds.fault(&error))?;
                into.write_all(&chunk).map_err(|e| Fault::Disk(e.to_string()))?;
            }
            Ok(true)
        })
    }

    fn put(&self, name: Name, bytes: &[u8]) -> Result<(), Fault> {
        let bounds = Bounds::new(LONGEST_OTHER, Duration::ZERO);
        let options = PutOptions { extensions: bounds.extensions(), ..PutOptions::default() };
        let path = self.path(name);
        let put = self.runtime.block_on(self.store.put_opts(&path, bytes.to_vec().into(), options));
        put.map(drop).map_err(|error| bounds.fault(&error))
    }

    fn put_from(&self, blob: Blob, mut file: &File) -> Result<(), Fault> {
        let disk = |e: std::io::Error| Fault::Disk(e.to_string());
        file.seek(SeekFrom::Start(0)).map_err(disk)?;
        if blob.len <= PART as u64 {
            let mut bytes = Vec::new();
            file.take(blob.len).read_to_end(&mut bytes).map_err(disk)?;
            return self.put(Name::Blob(blob), &bytes);
        }
        let bounds = Bounds::new(LONGEST_OTHER, Duration::ZERO);
        let options =
            PutMultipartOptions { extensions: bounds.extensions(), ..PutMultipartOptions::default() };
        let path = self.path(Name::Blob(blob));
        self.runtime.block_on(async {
            let upload = self.store.put_multipart_opts(&path, options).await;
            let mut upload = upload.map_err(|error| bounds.fault(&error))?;
            let parts = async {
                let mut left = blob.len;
                while left > 0 {
                    let n = usize::try_from(left).unwrap_or(usize::MAX).min(PART);
                    let mut part = vec![0; n];
                    file.read_exact(&mut part).map_err(disk)?;
                    upload.put_part(part.into()).await.map_err(|error| bounds.fault(&error))?;
                    left -= n as u64;
                }
                upload.complete().await.map(drop).map_err(|error| bounds.fault(&error))
            };
            let done = parts.await;
            if done.is_err() {
                // The service would keep, and charge for, the parts of an unfinished upload.
                let _ = upload.abort().await;
            }
            done
        })
    }

    fn name(&self) -> String {
        self.address.to_string()
    }
}

/// The limits of a request, attached to it as an extension, and the failure that the client recorded.
struct Bounds {
    limit: u64,
    worth: Duration,
    fault: Mutex<Option<Fault>>,
}

impl Bounds {
    fn new(limit: u64, worth: Duration) -> Arc<Bounds> {
        Arc::new(Bounds { limit, worth, fault: Mutex::default() })
    }

    fn extensions(self: &Arc<Bounds>) -> Extensions {
        let mut extensions = Extensions::new();
        extensions.insert(self.clone());
        extensions
    }

    fn record(&self, fault: Fault) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
    }

    /// Returns the failure of a request. The message of the library is not repeated, because it may contain signed URLs.
    fn fault(&self, error: &Error) -> Fault {
        let known = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take();
        let known = known.map(|fault| if fault == Fault::Status(413) { Fault::TooLarge } else { fault });
        known.unwrap_or_else(|| match error {
            Error::Unauthenticated { .. } => Fault::Status(401),
            Error::PermissionDenied { .. } => Fault::Status(403),
            _ => Fault::Refused("the credentials are missing or invalid".to_owned()),
        })
    }
}

/// Makes HTTP clients for `object_store`.
struct Connector {
    allow_plaintext: bool,
    options: ClientOptions,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _: &object_store::ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Service {
            allow_plaintext: self.allow_plaintext,
            options: self.options.clone(),
            clients: Mutex::default(),
            credential_fault: OnceLock::new(),
        }))
    }
}

/// The HTTP clients, one for each server: that of the bucket, and those of the credential providers.
struct Service {
    allow_plaintext: bool,
    options: ClientOptions,
    clients: Mutex<HashMap<String, Arc<Client>>>,
    /// The failure of the credential provider, which is not asked again after that.
    credential_fault: OnceLock<Fault>,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Service")
    }
}

impl Service {
    fn client(&self, origin: &str, host: &str) -> Result<Arc<Client>, Fault> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(origin) {
            return Ok(client.clone());
        }
        // Cloud machines get credentials from the metadata server of their host, which has no TLS.
        let is_metadata_server = matches!(
            host,
            "169.254.169.254" | "169.254.170.2" | "169.254.170.23" | "metadata.google.internal"
        );
        let address = Address::parse(origin, self.allow_plaintext || is_metadata_server);
        let address = address.map_err(|why| Fault::Refused(format!("the endpoint is invalid: {why}")))?;
        let client = Arc::new(Client::new(address, self.options.clone()));
        clients.insert(origin.to_owned(), client.clone());
        Ok(client)
    }

    async fn send(&self, request: HttpRequest, limit: u64, worth: Duration) -> Result<Response, Fault> {
        let (parts, body) = request.into_parts();
        let invalid = || Fault::Refused("the endpoint is invalid".to_owned());
        let (scheme, authority) = parts.uri.scheme_str().zip(parts.uri.authority()).ok_or_else(invalid)?;
        let client = self.client(&format!("{scheme}://{authority}"), authority.host())?;
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
        let mut headers = Vec::new();
        for (name, value) in &parts.headers {
            headers.push((name.as_str(), value.to_str().map_err(|_| invalid())?));
        }
        let body = body.collect().await.map_err(|_| invalid())?.to_bytes();
        let method = parts.method.as_str();
        let body = RequestBody::Bytes(&body);
        client.send(&Request { method, target, headers: &headers, body, limit, worth })
    }
}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let bounds = request.extensions().get::<Arc<Bounds>>().cloned();
        let (limit, worth) =
            bounds.as_ref().map_or((LONGEST_OTHER, Duration::ZERO), |bounds| (bounds.limit, bounds.worth));
        let response = match self.credential_fault.get().filter(|_| bounds.is_none()) {
            Some(fault) => Err(fault.clone()),
            None => self.send(request, limit, worth).await,
        };
        let response = response.map_err(|fault| {
            match &bounds {
                Some(bounds) => bounds.record(fault.clone()),
                None => _ = self.credential_fault.set(fault.clone()),
            }
            let kind = match fault {
                Fault::Slow => HttpErrorKind::Timeout,
                Fault::Unreachable(_) => HttpErrorKind::Connect,
                _ => HttpErrorKind::Interrupted,
            };
            HttpError::new(kind, fault)
        })?;
        if let Some(bounds) = bounds.as_ref().filter(|_| response.status >= 300 && response.status != 404) {
            bounds.record(Fault::Status(response.status));
        }
        let mut converted = http::Response::builder().status(response.status);
        for (name, value) in &response.headers {
            converted = converted.header(name, value);
        }
        converted
            .body(HttpResponseBody::new(StreamBody::new(stream::iter(frames(response.body, bounds)))))
            .map_err(|error| HttpError::new(HttpErrorKind::Decode, error))
    }
}

/// Iterates over the frames of a body as they arrive. Reading a frame blocks the thread, which has no other work.
fn frames(
    mut body: ResponseBody,
    bounds: Option<Arc<Bounds>>,
) -> impl Iterator<Item = Result<Frame<Bytes>, HttpError>> + Send + Sync {
    let mut ended = false;
    std::iter::from_fn(move || {
        if ended {
            return None;
        }
        let mut buffer = vec![0; FRAME];
        match body.next(&mut buffer) {
            Ok(0) => None,
            Ok(n) => {
                buffer.truncate(n);
                Some(Ok(Frame::data(Bytes::from(buffer))))
            }
            Err(fault) => {
                ended = true;
                bounds.iter().for_each(|bounds| bounds.record(fault.clone()));
                Some(Err(HttpError::new(HttpErrorKind::Interrupted, fault)))
            }
        }
    })
}
