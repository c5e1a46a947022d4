//! Importing `.onnx` files.

#![cfg(test)]

#[path = "../support/reference.rs"]
mod reference;

mod matrix;
mod real;
