//! gRPC calls with a deadline budget.

use crate::{ClientOptions, DeadlineBudget};
use kiln_engine::remote::{Address, Fault};
use prost::Message;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout_at;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::tokio_stream::{self, Stream};
use tonic::metadata::{Ascii, MetadataKey, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, IntoRequest, Request, Status};
use tonic_prost::ProstCodec;

/// The longest part of a server message that is repeated, in characters.
const MAX_MESSAGE_CHARS: usize = 120;

/// The idle time after which the system checks whether the host of a connection is there: a command may take long.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// The delays before the first and before the last retry of a call that an overloaded server rejects; they double. Together
/// they are shorter than the default stall deadline, so that the last rejection is what the user sees.
const RETRY_DELAYS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(25)..=Duration::from_millis(400);

/// A gRPC channel with its runtime thread.
pub(super) struct Server {
    runtime: Runtime,
    channel: Channel,
    /// The metadata of every request, including `authorization`.
    metadata: Vec<(MetadataKey<Ascii>, MetadataValue<Ascii>)>,
    pub(super) timeout: Duration,
}

impl Server {
    pub(super) fn new(
        address: &Address,
        authorization: Option<String>,
        options: &ClientOptions,
    ) -> Result<Server, String> {
        let timeout = options.limits.timeout;
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let scheme = if address.tls { "https" } else { "http" };
        let endpoint =
            Endpoint::from_shared(format!("{scheme}://{}", address.authority())).map_err(|e| text(&e))?;
        let mut endpoint = endpoint
            .connect_timeout(timeout)
            .tcp_keepalive(Some(KEEPALIVE))
            .user_agent("kiln")
            .map_err(|e| text(&e))?;
        if address.tls {
            let mut tls = match options.ca() {
                Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)),
                None => ClientTlsConfig::new().with_native_roots(),
            };
            if let Some((chain, key)) = options.client_certificate() {
                tls = tls.identity(Identity::from_pem(chain, key));
            }
            endpoint = endpoint.tls_config(tls).map_err(|e| text(&e))?;
        }
        let mut metadata = Vec::new();
        let authorization = authorization.as_deref().map(|value| ("authorization", value));
        for (name, value) in authorization.into_iter().chain(options.headers()) {
            let key = MetadataKey::from_bytes(name.to_ascii_lowercase().as_bytes());
            let key = key.map_err(|_| "a header name is invalid in gRPC")?;
            let mut value: MetadataValue<Ascii> =
                value.parse().map_err(|_| "a header value is invalid in gRPC")?;
            value.set_sensitive(true);
            metadata.push((key, value));
        }
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name("kiln-grpc").enable_all().build();
        let runtime = runtime.map_err(|e| text(&e))?;
        let channel = {
            let _inside = runtime.enter();
            endpoint.connect_lazy()
        };
        Ok(Server { runtime, channel, metadata, timeout })
    }

    /// Makes a unary call; `None` if the object does not exist.
    pub(super) fn unary<Q, A>(
        &self,
        path: &'static str,
        message: Q,
        budget: DeadlineBudget,
    ) -> Result<Option<A>, Fault>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let call = async || {
            let mut grpc = self.grpc().await?;
            let request = self.request(message.clone());
            grpc.unary(request, PathAndQuery::from_static(path), ProstCodec::<Q, A>::default())
                .await
                .map(|a| a.into_inner())
        };
        self.within(budget, retried(call))
    }

    /// Makes a client-streaming call.
    pub(super) fn send<Q, A>(
        &self,
        path: &'static str,
        messages: impl Stream<Item = Q> + Send + 'static,
        budget: DeadlineBudget,
    ) -> Result<Option<A>, Fault>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        self.within(budget, async {
            let mut grpc = self.grpc().await?;
            let request = self.request(messages);
            let codec = ProstCodec::<Q, A>::default();
            grpc.client_streaming(request, PathAndQuery::from_static(path), codec)
                .await
                .map(|a| a.into_inner())
        })
    }

    /// Makes a server-streaming call; `take` receives each response and returns its length in bytes.
    pub(super) fn receive<Q, A>(
        &self,
        path: &'static str,
        message: Q,
        mut budget: DeadlineBudget,
        mut take: impl FnMut(A) -> Result<usize, Fault>,
    ) -> Result<Option<()>, Fault>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let call = async {
            let start = async || {
                let mut grpc = self.grpc().await?;
                let (request, codec) = (self.request(message.clone()), ProstCodec::<Q, A>::default());
                grpc.server_streaming(request, PathAndQuery::from_static(path), codec).await
            };
            let mut responses = match in_time(&mut budget, retried(start)).await? {
                Some(started) => started.into_inner(),
                None => return Ok(None),
            };
            loop {
                let next = async { responses.message().await };
                match in_time(&mut budget, next).await? {
                    Some(Some(response)) => budget.credit(take(response)?),
                    Some(None) => return Ok(Some(())),
                    None => return Ok(None),
                }
            }
        };
        self.runtime.block_on(call)
    }

    /// Makes a server-streaming call that may stay silent until a deadline; `take` receives each response, and returns whether
    /// it was the last one that is needed.
    pub(super) fn watch<Q, A>(
        &self,
        path: &'static str,
        message: Q,
        deadline: Instant,
        is_cancelled: &(dyn Fn() -> bool + Sync),
        mut take: impl FnMut(A) -> bool,
    ) -> Result<Watched, Fault>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let call = async {
            let start = async || {
                let mut grpc = self.grpc().await?;
                let (request, codec) = (self.request(message.clone()), ProstCodec::<Q, A>::default());
                grpc.server_streaming(request, PathAndQuery::from_static(path), codec).await
            };
            let mut responses = match watched(deadline, is_cancelled, retried(start)).await? {
                Ok(started) => started.into_inner(),
                Err(watched) => return Ok(watched),
            };
            loop {
                match watched(deadline, is_cancelled, responses.message()).await? {
                    Ok(Some(response)) => {
                        if take(response) {
                            return Ok(Watched::Ended);
                        }
                    }
                    Ok(None) => return Ok(Watched::Ended),
                    Err(watched) => return Ok(watched),
                }
            }
        };
        self.runtime.block_on(call)
    }

    async fn grpc(&self) -> Result<Grpc<Channel>, Status> {
        let mut grpc = Grpc::new(self.channel.clone());
        grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
        Ok(grpc)
    }

    fn request<Q>(&self, message: Q) -> Request<Q> {
        let mut request = message.into_request();
        for (key, value) in &self.metadata {
            request.metadata_mut().append(key.clone(), value.clone());
        }
        request
    }

    fn within<A>(
        &self,
        mut budget: DeadlineBudget,
        call: impl Future<Output = Result<A, Status>>,
    ) -> Result<Option<A>, Fault> {
        self.runtime.block_on(in_time(&mut budget, call))
    }
}

async fn in_time<A>(
    budget: &mut DeadlineBudget,
    call: impl Future<Output = Result<A, Status>>,
) -> Result<Option<A>, Fault> {
    let until = budget.deadline().ok_or(Fault::Slow)?;
    match timeout_at(until.into(), call).await {
        Err(_) => Err(Fault::Slow),
        Ok(Ok(response)) => Ok(Some(response)),
        Ok(Err(status)) => fault(&status).map_or(Ok(None), Err),
    }
}

/// The end of a stream that was [watched](Server::watch).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watched {
    /// The stream ended, or its last response was received.
    Ended,
    /// The server does not know the object of the call.
    NotFound,
    /// The server lacks what the call needs (`FAILED_PRECONDITION`).
    Precondition,
}

/// The interval in which a call checks for cancellation.
const CANCELLATION_INTERVAL: Duration = Duration::from_millis(100);

/// Waits for a part of a call until the deadline, or until the run is cancelled.
async fn watched<A>(
    deadline: Instant,
    is_cancelled: &(dyn Fn() -> bool + Sync),
    call: impl Future<Output = Result<A, Status>>,
) -> Result<Result<A, Watched>, Fault> {
    let mut call = std::pin::pin!(call);
    loop {
        let until = deadline.min(Instant::now() + CANCELLATION_INTERVAL);
        match timeout_at(until.into(), call.as_mut()).await {
            Ok(Ok(response)) => return Ok(Ok(response)),
            Ok(Err(status)) if status.code() == Code::FailedPrecondition => {
                return Ok(Err(Watched::Precondition));
            }
            Ok(Err(status)) => return fault(&status).map_or(Ok(Err(Watched::NotFound)), Err),
            Err(_) if Instant::now() >= deadline || is_cancelled() => return Err(Fault::Slow),
            Err(_) => {}
        }
    }
}

/// Makes a call again while the server rejects it with `RESOURCE_EXHAUSTED`, the counterpart of the HTTP status 429.
async fn retried<A>(mut call: impl AsyncFnMut() -> Result<A, Status>) -> Result<A, Status> {
    let mut delay = *RETRY_DELAYS.start();
    loop {
        match call().await {
            Err(status) if status.code() == Code::ResourceExhausted && RETRY_DELAYS.contains(&delay) => {
                tokio::time::sleep(delay).await;
                delay *= 2;
            }
            result => return result,
        }
    }
}

/// Converts a gRPC status to a failure; `None` if the object does not exist.
pub(super) fn fault(status: &Status) -> Option<Fault> {
    let message =
        || status.message().chars().filter(|c| !c.is_control()).take(MAX_MESSAGE_CHARS).collect::<String>();
    Some(match status.code() {
        Code::Ok | Code::NotFound => return None,
        Code::DeadlineExceeded | Code::Cancelled => Fault::Slow,
        Code::Unavailable
            if status.message().contains("connect") || status.message().contains("transport") =>
        {
            Fault::Unreachable(cause(status))
        }
        Code::Unavailable | Code::Internal | Code::Unknown | Code::Aborted | Code::DataLoss => {
            Fault::Broken(format!("{:?}: {}", status.code(), message()))
        }
        code => Fault::Refused(format!("{code:?}: {}", message())),
    })
}

/// Returns the innermost source of an error, because the outer message is only "transport error".
fn cause(status: &Status) -> String {
    let mut error: &dyn std::error::Error = status;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Converts an iterator to a stream; each message is made when it is sent.
pub(super) fn messages<Q>(items: impl Iterator<Item = Q>) -> impl Stream<Item = Q> {
    tokio_stream::iter(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs calls whose first `rejections` results are the status `code`; returns the result and the number of calls.
    fn calls(code: Code, rejections: usize) -> (Result<&'static str, Code>, usize) {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let mut made = 0;
        let result = runtime.block_on(retried(async || {
            made += 1;
            if made > rejections { Ok("response") } else { Err(Status::new(code, "rejected")) }
        }));
        (result.map_err(|status| status.code()), made)
    }

    #[test]
    fn retries_what_an_overloaded_server_rejects() {
        assert_eq!(calls(Code::ResourceExhausted, 0), (Ok("response"), 1));
        assert_eq!(calls(Code::ResourceExhausted, 3), (Ok("response"), 4));
        assert_eq!(calls(Code::ResourceExhausted, 100), (Err(Code::ResourceExhausted), 6));
        assert_eq!(calls(Code::PermissionDenied, 1), (Err(Code::PermissionDenied), 1));
    }
}
