//! Importing `.onnx` files.

#![cfg(test)]

mod matrix;
mod real;
mod support;
mod zoo;
