//! The command and the examples, as a user runs them.

#![cfg(test)]

#[cfg(unix)]
mod arguments;
mod budget;
#[cfg(unix)]
mod cached;
#[cfg(unix)]
mod clamped;
mod command;
mod csdf;
mod deadline;
mod examples;
mod explain;
#[cfg(unix)]
mod fetching;
#[cfg(unix)]
mod fresh;
#[cfg(unix)]
mod inputs;
mod plan;
mod warnings;

#[path = "../support/onnx_model.rs"]
mod onnx_model;

/// A path at which nothing can be on any machine, since it is below a file.
const ABSENT: &str = concat!(env!("CARGO_BIN_EXE_texpool"), "/absent");
