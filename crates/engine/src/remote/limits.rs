//! Limits on the use of a server.

use std::time::Duration;

/// The stall deadline unless the user sets another one.
pub const STALL_DEADLINE: Duration = Duration::from_secs(1);

/// The longest blob that is transferred unless the user sets another limit.
const MAX_BLOB: u64 = 4 << 30;

/// The number of requests in flight unless the user sets another one.
const CONNECTIONS: usize = 16;

/// Limits on the use of a server.
#[derive(Clone, Copy, Debug)]
pub struct RemoteLimits {
    /// The stall deadline: the longest time in which a request makes no progress.
    pub timeout: Duration,
    /// The longest blob that is transferred, in bytes.
    pub max_blob: u64,
    /// The number of lookups in flight.
    pub connections: usize,
}

impl Default for RemoteLimits {
    fn default() -> RemoteLimits {
        RemoteLimits { timeout: STALL_DEADLINE, max_blob: MAX_BLOB, connections: CONNECTIONS }
    }
}
