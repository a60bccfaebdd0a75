//! Placeholder head, replaced as the crate is written.
