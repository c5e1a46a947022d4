//! Tests of the library without a device: all layers below the executor, and the modules beside them.

#![cfg(test)]

mod blazeface;
mod blocks;

mod delegate;
mod documents;
mod errors;

mod graph;
mod import;
mod import_onnx;
mod integers;

mod circles;
mod loops;
mod order;
mod packing;
mod precision;
mod promises;
mod published_totals;
mod real_models_import;
mod real_models_rewrite;
mod reference_goldens;
mod references;
mod tiling;

mod rewrite;
mod saved;
mod schedule;

mod shaders;
mod support;
mod tensor;
mod texture_layout;
mod threads;
mod views;
mod weight_formats;
