//! Importers: model files to [`Graph`](crate::graph::Graph). Knows the format and the graph, and nothing above.
//!
//! A `.tflite` file is verified whole before it is read. What the file states is never trusted further: every shape is
//! inferred again, every constant is measured, and the graph is checked at the end.

mod context;
mod error;
mod lower;
mod map;
mod opcode;
mod reader;
mod schema;
mod sparse;
mod tensors;
mod tflite;

pub use error::{ImportError, Refusal};
pub use tflite::{from_bytes, open};
