//! Importing `.onnx` files.

#![cfg(test)]

mod cases;
mod fold;
mod hostile;
mod layout;
mod matrix;
mod options;
mod refusals;
mod seeds;
mod support;
mod zoo;
