//! Mesh algorithms on slices.
