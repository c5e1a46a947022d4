//! The command and the examples, as a user runs them, and the parts of the command by themselves.

#![cfg(test)]

#[cfg(unix)]
mod answers;
#[cfg(unix)]
mod arguments;
mod bench;
mod budget;
#[cfg(unix)]
mod cache;
#[cfg(unix)]
mod cached;
#[cfg(unix)]
mod clamped;
mod command;
mod csdf;
mod deadline;
#[cfg(unix)]
mod documentation;
mod documents;
mod examples;
mod explain;
mod fetch;
#[cfg(unix)]
mod fetching;
mod fits;
#[cfg(unix)]
mod fresh;
#[cfg(unix)]
mod help;
#[cfg(unix)]
mod inputs;
mod io;
mod memories;
#[cfg(unix)]
mod open_extents;
mod operator_profiles;
mod page;
mod plan;
mod report;
#[cfg(unix)]
mod setup;
#[cfg(unix)]
mod shells;
#[cfg(target_os = "linux")]
mod terminal;
mod tune;
mod warnings;

#[path = "../../../../tests/support/onnx_model.rs"]
mod onnx_model;

/// The repository's root, which has the models and records of the tests.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A path at which nothing can be on any machine, since it is below a file.
const ABSENT: &str = concat!(env!("CARGO_BIN_EXE_texpool"), "/absent");
