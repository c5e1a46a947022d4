//! The graph that texpool computes, and its operators: attributes, shapes, kernels and references on the CPU.
//!
//! A part of [texpool](https://docs.rs/texpool), which exports the stable part of it.

pub mod graph;
pub mod kernels;
pub mod ops;
