//! Fault injection for Kiln's executables: checks the guarantees of `docs/internals/reliability.md` end to end.
//!
//! [`faults`] has one module per suite: kills, system call failures, concurrent runs, sources modified during a read,
//! corruption, model-based random edits, unusual file trees, path traversal, untrusted projects, decompression bombs and
//! a soak test. The suites trace system calls with `strace` and use symbolic links, named pipes and user ids, and
//! therefore need Linux. [`test_dir`], [`file_contents`] and [`random`] are also used by the tests of other crates.

#[cfg(target_os = "linux")]
pub mod faults;
pub mod file_contents;
pub mod random;
pub mod test_dir;
