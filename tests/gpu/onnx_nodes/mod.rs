//! The official tests of ONNX's operators, each through the importer, the CPU references and the device.
//!
//! Failing cases are listed with their reasons in `tests/data/onnx_nodes.json`. Passing cases are counted in
//! `crates/texpool-model/src/import/onnx/official.csv`, which the support matrix shows.

#![cfg(test)]

mod binding;
mod case;
mod listed;
mod package;
mod proto;
mod report;
mod run;
