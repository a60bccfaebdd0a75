//! Attacks on Kiln's tools: what `docs/reliability.md` says holds, tried out on the executables.
//!
//! [`faults`] has the attacks. They need system calls to be traced, links, pipes and users, and so run on Linux.

pub mod contents;
#[cfg(target_os = "linux")]
pub mod faults;
pub mod random;
pub mod room;
