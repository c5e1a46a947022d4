//! The official tests of ONNX's operators, each through the importer, the CPU references and the device.
//!
//! What does not pass is listed with its reason in `tests/data/onnx_nodes.json`; what passes is counted in
//! `src/import/onnx/official.csv`, which the support matrix shows.

#![cfg(test)]

mod binding;
mod case;
mod listed;
mod package;
mod proto;
mod report;
mod run;
