//! The `.tflite` importer on files written by the tests themselves.

#![cfg(test)]

mod boxes;
mod branches;
mod cases;
mod constants;
mod eval;
mod fourier;
mod hostile;
mod kinds;
mod landmarks;
mod large;
mod layout;
mod loops;
mod micro;
mod one;
mod open;
mod operators;
mod outline;
mod outputs;
mod products;
mod quantised;
mod recurrent;
mod refusals;
mod rows;
mod seeds;
mod shaped;
mod tiny;
mod variables;
mod wide;

use std::sync::Arc;

use texpool_model::import::{ImportError, from_bytes};
use texpool_ops::graph::Graph;

/// Imports a file of bytes.
fn import(bytes: Vec<u8>) -> Result<Graph, ImportError> {
    from_bytes(Arc::new(bytes))
}
