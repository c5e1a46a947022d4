//! Importing `.onnx` files.

#![cfg(test)]

mod attention;
mod bits;
mod branches;
mod cases;
mod doubles;
mod einsum;
mod empty;
mod expanded;
mod fold;
mod found;
mod fourier;
mod functions;
mod hostile;
mod index_casts;
mod integer;
mod large;
mod layout;
mod limits;
mod loop_end;
mod loops;
mod matrix;
mod metadata;
mod names;
mod nbits;
mod node_order;
mod open_caches;
mod open_extents;
mod open_images;
mod options;
mod outline;
mod qlinear;
mod quanta;
mod quantised;
mod recurrent;
mod refusals;
mod resize;
mod roi_align;
mod sampling;
mod seeds;
mod support;
mod tuples;
mod volumes;
mod written_back;
mod zoo;
