//! Model files as graphs: importers, rewriter, selection of nodes for delegates, and the caller's tensors.
//!
//! A part of [texpool](https://docs.rs/texpool), which exports the stable part of it.

pub mod delegate;
pub mod import;
pub mod rewrite;
pub mod tensor;
