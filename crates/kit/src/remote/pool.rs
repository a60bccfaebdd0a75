//! Connections to one server: its name is looked up once, and connections are kept open for the next request.

use super::Fault;
use super::address::Address;
use super::patience::Patience;
use super::wire::{Tls, Wire};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// Connections that are kept open.
const IDLE: usize = 16;

/// The connections to a server.
pub(crate) struct Pool {
    address: Address,
    tls: Tls,
    found: OnceLock<Vec<SocketAddr>>,
    idle: Mutex<Vec<Wire>>,
}

impl Pool {
    pub(crate) fn new(address: Address) -> Pool {
        Pool { address, tls: Tls::default(), found: OnceLock::new(), idle: Mutex::default() }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// A connection that was kept. The server may have closed it meanwhile.
    pub(crate) fn take(&self) -> Option<Wire> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps a connection on which nothing is left over.
    pub(crate) fn keep(&self, wire: Wire) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if wire.is_clear() && idle.len() < IDLE {
            idle.push(wire);
        }
    }

    /// A new connection.
    pub(crate) fn connect(&self, patience: &mut Patience) -> Result<Wire, Fault> {
        let addresses = match self.found.get() {
            Some(found) => found,
            None => {
                let found = self.look_up(patience)?;
                self.found.get_or_init(|| found)
            }
        };
        let mut last = Fault::Unreachable("its name leads nowhere".to_owned());
        for address in addresses {
            let until = patience.until().ok_or(Fault::Slow)?;
            match Wire::connect(address, &self.address, &self.tls, until) {
                Ok(wire) => return Ok(wire),
                Err(fault) => last = fault,
            }
        }
        Err(last)
    }

    /// Does something on a connection that was kept; and if that turns out to be broken, once more on a new one: that
    /// the server closed a connection that it had kept open says nothing about the next one.
    pub(crate) fn on_wire<T>(
        &self,
        patience: &mut Patience,
        mut what: impl FnMut(&mut Wire, &mut Patience) -> Result<T, Fault>,
    ) -> Result<(T, Wire), Fault> {
        if let Some(mut wire) = self.take() {
            match what(&mut wire, patience) {
                Err(Fault::Broken(_)) => {}
                done => return done.map(|done| (done, wire)),
            }
        }
        let mut wire = self.connect(patience)?;
        what(&mut wire, patience).map(|done| (done, wire))
    }

    /// Looks the name up on a thread of its own: the system's lookup cannot be given a limit.
    fn look_up(&self, patience: &mut Patience) -> Result<Vec<SocketAddr>, Fault> {
        let until = patience.until().ok_or(Fault::Slow)?;
        let (tell, told) = mpsc::channel();
        let name = (self.address.host.clone(), self.address.port);
        let started = std::thread::Builder::new().name("kiln-lookup".to_owned()).spawn(move || {
            let _ = tell.send(name.to_socket_addrs().map(Vec::from_iter));
        });
        started.map_err(|e| Fault::Unreachable(e.to_string()))?;
        match told.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(found) => found.map_err(|e| Fault::Unreachable(e.to_string())),
            Err(_) => Err(Fault::Slow),
        }
    }
}
