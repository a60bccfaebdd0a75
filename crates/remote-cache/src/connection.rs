//! Connections to a cache server: TCP, TLS and proxies from the connector chain of `ureq`, with the deadline budget of the
//! request enforced on every read and write, below the encryption. A TLS handshake, the response of a proxy and a body
//! that trickle all end in time.
//!
//! `ureq` runs a request on the thread that asks for it, so the request in progress is known by its thread: a
//! connection from the pool draws on the budget of whichever request uses it.

use crate::budget::DeadlineBudget;
use kiln_engine::remote::Fault;
use std::cell::RefCell;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use ureq::unversioned::transport::{
    Buffers, ConnectProxyConnector, ConnectionDetails, Connector, NextTimeout, RustlsConnector,
    SocksConnector, TcpConnector, Transport,
};
use ureq::{Error, Timeout};

thread_local! {
    static ACTIVE: RefCell<Option<Exchange>> = const { RefCell::new(None) };
}

/// One request and its response, as the connection that carries them sees it.
#[derive(Clone, Debug)]
pub(crate) struct Exchange(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    budget: DeadlineBudget,
    /// True if a new connection was opened for this request, and none was taken from the pool.
    opened: bool,
    /// True if anything was sent.
    sent: bool,
    exhausted: bool,
}

impl Exchange {
    pub(crate) fn new(budget: DeadlineBudget) -> Exchange {
        Exchange(Arc::new(Mutex::new(State { budget, opened: false, sent: false, exhausted: false })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a connection was opened for this request.
    pub(crate) fn opened(&self) -> bool {
        self.lock().opened
    }

    /// Runs a step of the request on this thread: connections draw on its budget.
    pub(crate) fn run<T>(&self, step: impl FnOnce() -> T) -> T {
        struct Restore(Option<Exchange>);
        impl Drop for Restore {
            fn drop(&mut self) {
                ACTIVE.set(self.0.take());
            }
        }
        let _restore = Restore(ACTIVE.replace(Some(self.clone())));
        step()
    }

    fn active() -> Option<Exchange> {
        ACTIVE.with_borrow(Clone::clone)
    }

    /// Caps a timeout at the deadline of the budget.
    fn cap(&self, mut timeout: NextTimeout) -> Result<NextTimeout, Error> {
        let mut state = self.lock();
        let Some(deadline) = state.budget.deadline() else {
            state.exhausted = true;
            return Err(Error::Timeout(Timeout::PerRead));
        };
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        if left < *timeout.after {
            (timeout.after, timeout.reason) = (left.into(), Timeout::PerRead);
        }
        Ok(timeout)
    }

    fn credit(&self, bytes: usize) {
        self.lock().budget.credit(bytes);
    }

    /// Converts an error of the client to a failure of the server.
    pub(crate) fn fault(&self, error: Error) -> Fault {
        let state = self.lock();
        let exhausted = state.exhausted;
        match error {
            Error::Timeout(_) => Fault::Slow,
            _ if exhausted => Fault::Slow,
            Error::Protocol(_) | Error::LargeResponseHeader(..) => Fault::Garbled("the response is not HTTP"),
            Error::Io(error) => match error.kind() {
                ErrorKind::TimedOut | ErrorKind::WouldBlock => Fault::Slow,
                // TLS rejects the peer.
                ErrorKind::InvalidData => Fault::Unreachable(error.to_string()),
                _ if !state.sent => Fault::Unreachable(error.to_string()),
                _ => Fault::Broken(error.to_string()),
            },
            Error::BodyStalled => Fault::Broken("unexpected end of the response".to_owned()),
            other => Fault::Unreachable(other.to_string()),
        }
    }
}

/// Returns the connector chain: a proxy or TCP, the budget, and TLS where the scheme asks for it.
pub(crate) fn chain() -> impl Connector<(), Out = Box<dyn Transport>> {
    ().chain(SocksConnector::default())
        .chain(ConnectProxyConnector::default())
        .chain(TcpConnector::default())
        .chain(BudgetConnector)
        .chain(RustlsConnector::default())
        .chain(BoxConnector)
}

#[derive(Debug)]
struct BudgetConnector;

impl<In: Transport> Connector<In> for BudgetConnector {
    type Out = BudgetTransport<In>;

    fn connect(&self, _: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Self::Out>, Error> {
        if let Some(exchange) = Exchange::active() {
            exchange.lock().opened = true;
        }
        Ok(chained.map(BudgetTransport))
    }
}

#[derive(Debug)]
struct BoxConnector;

impl<In: Transport> Connector<In> for BoxConnector {
    type Out = Box<dyn Transport>;

    fn connect(&self, _: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Self::Out>, Error> {
        Ok(chained.map(|transport| Box::new(transport) as Box<dyn Transport>))
    }
}

/// A transport whose every wait is capped by the deadline budget of the request in progress.
#[derive(Debug)]
struct BudgetTransport<T>(T);

impl<T: Transport> Transport for BudgetTransport<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.0.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let Some(exchange) = Exchange::active() else { return self.0.transmit_output(amount, timeout) };
        let timeout = exchange.cap(timeout)?;
        exchange.lock().sent = true;
        self.0.transmit_output(amount, timeout)?;
        exchange.credit(amount);
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let Some(exchange) = Exchange::active() else { return self.0.await_input(timeout) };
        let timeout = exchange.cap(timeout)?;
        let before = self.0.buffers().input().len();
        let got = self.0.await_input(timeout)?;
        exchange.credit(self.0.buffers().input().len().saturating_sub(before));
        Ok(got)
    }

    fn is_open(&mut self) -> bool {
        self.0.is_open()
    }

    fn is_tls(&self) -> bool {
        self.0.is_tls()
    }
}
