//! Calls to a gRPC server that end in time, whatever the server does.

use crate::{ClientOptions, DeadlineBudget};
use kiln_engine::remote::{Address, Fault};
use prost::Message;
use std::future::Future;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout_at;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::tokio_stream::{self, Stream};
use tonic::metadata::{Ascii, MetadataKey, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, IntoRequest, Request, Status};
use tonic_prost::ProstCodec;

/// How much of what a server says is repeated.
const LONGEST_WORD: usize = 120;

/// A server, and the thread that its connections live on.
pub(super) struct Server {
    runtime: Runtime,
    channel: Channel,
    /// Headers of every request, `authorization` among them.
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
        let mut endpoint = endpoint.connect_timeout(timeout).user_agent("kiln").map_err(|e| text(&e))?;
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
            let key = key.map_err(|_| "a header has a name that gRPC does not send")?;
            let mut value: MetadataValue<Ascii> =
                value.parse().map_err(|_| "its credentials cannot be sent")?;
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

    /// A question with one answer; `None` when what it asks for is not there.
    pub(super) fn ask<Q, A>(
        &self,
        path: &'static str,
        question: Q,
        budget: DeadlineBudget,
    ) -> Result<Option<A>, Fault>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        self.within(budget, async {
            let mut grpc = self.grpc().await?;
            let request = self.request(question);
            grpc.unary(request, PathAndQuery::from_static(path), ProstCodec::<Q, A>::default())
                .await
                .map(|a| a.into_inner())
        })
    }

    /// Many questions with one answer.
    pub(super) fn send<Q, A>(
        &self,
        path: &'static str,
        questions: impl Stream<Item = Q> + Send + 'static,
        budget: DeadlineBudget,
    ) -> Result<Option<A>, Fault>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        self.within(budget, async {
            let mut grpc = self.grpc().await?;
            let request = self.request(questions);
            let codec = ProstCodec::<Q, A>::default();
            grpc.client_streaming(request, PathAndQuery::from_static(path), codec)
                .await
                .map(|a| a.into_inner())
        })
    }

    /// One question with many answers; each goes to `take`, which says how many bytes it was or what is wrong.
    pub(super) fn receive<Q, A>(
        &self,
        path: &'static str,
        question: Q,
        mut budget: DeadlineBudget,
        mut take: impl FnMut(A) -> Result<usize, Fault>,
    ) -> Result<Option<()>, Fault>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let call = async {
            let start = async {
                let mut grpc = self.grpc().await?;
                let codec = ProstCodec::<Q, A>::default();
                grpc.server_streaming(self.request(question), PathAndQuery::from_static(path), codec).await
            };
            let mut answers = match in_time(&mut budget, start).await? {
                Some(started) => started.into_inner(),
                None => return Ok(None),
            };
            loop {
                let next = async { answers.message().await };
                match in_time(&mut budget, next).await? {
                    Some(Some(answer)) => budget.credit(take(answer)?),
                    Some(None) => return Ok(Some(())),
                    None => return Ok(None),
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

    fn request<Q>(&self, question: Q) -> Request<Q> {
        let mut request = question.into_request();
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
        Ok(Ok(answer)) => Ok(Some(answer)),
        Ok(Err(status)) => fault(&status).map_or(Ok(None), Err),
    }
}

/// What is wrong, if it is more than that something is not there.
pub(super) fn fault(status: &Status) -> Option<Fault> {
    let words =
        || status.message().chars().filter(|c| !c.is_control()).take(LONGEST_WORD).collect::<String>();
    Some(match status.code() {
        Code::Ok | Code::NotFound => return None,
        Code::DeadlineExceeded | Code::Cancelled => Fault::Slow,
        Code::Unavailable
            if status.message().contains("connect") || status.message().contains("transport") =>
        {
            Fault::Unreachable(cause(status))
        }
        Code::Unavailable | Code::Internal | Code::Unknown | Code::Aborted | Code::DataLoss => {
            Fault::Broken(format!("{:?}: {}", status.code(), words()))
        }
        code => Fault::Refused(format!("{code:?}: {}", words())),
    })
}

/// The innermost of what led to an error: "transport error" says nothing.
fn cause(status: &Status) -> String {
    let mut error: &dyn std::error::Error = status;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Returns messages one after the other, each made when it is sent.
pub(super) fn messages<Q>(items: impl Iterator<Item = Q>) -> impl Stream<Item = Q> {
    tokio_stream::iter(items)
}
