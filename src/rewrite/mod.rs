//! The rewriter: a graph to a smaller graph that computes the same. Knows no device and no memory.

mod views;

pub use views::{Views, texels_agree};
