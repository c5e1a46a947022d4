//! Lowers nodes of the file to nodes of the graph. There is one file per group of operators, which also contains
//! their rows of the operator table and mentions no operators of other groups.

mod affine;
mod align;
mod antialias;
mod attention;
mod basic;
mod bits;
mod branch;
mod causal_conv;
mod center;
mod col2im;
mod concat;
mod conv;
mod conv3d;
mod conv_product;
mod cum_prod;
mod deform;
mod det;
mod dynamic;
mod einsum;
mod flex_attention;
mod found;
mod fourier;
mod fourier_steps;
mod fused;
mod gather;
mod gather_nd;
mod grid_sample;
mod grid_taps;
mod image;
mod integer;
mod linear_attention;
mod loop_end;
mod loops;
mod losses;
mod matmul;
mod max_indices;
mod mel;
mod ml;
mod nbits;
mod norm;
mod optional;
mod pool;
mod pool3d;
mod qlinear;
mod quant;
mod random;
mod recurrent;
mod reduce;
mod roi_align;
mod rotary;
mod runtime_attention;
mod scatter;
mod scatter_nd;
mod shapes;
mod slice;
mod softmax;
mod tensor_scatter;
mod tuples;
mod unary;
mod unpool;
mod volumes;
mod windows;
mod wrap;

pub(super) use basic::{one, two};
pub(super) use concat::joined;
pub(super) use dynamic::are_zero_behind;
pub(super) use einsum::indices as einsum_indices;
pub(super) use gather::{expanded, picked_by};
pub(super) use image::{is_old as resize_is_old, resized_axes};
pub(super) use reduce::reduced_over;
pub(super) use shapes::{kept_range, reshaped};
pub(super) use windows::{Auto, spatial, stated_window};
pub(super) use wrap::wrapped;

use super::{model::own_domain, op_registry::OnnxOpEntry};

/// All operators, by group.
static OPERATORS: [&[OnnxOpEntry]; 50] = [
    conv::OPERATORS,
    pool::OPERATORS,
    matmul::OPERATORS,
    einsum::OPERATORS,
    nbits::OPERATORS,
    attention::OPERATORS,
    runtime_attention::OPERATORS,
    rotary::OPERATORS,
    norm::OPERATORS,
    softmax::OPERATORS,
    reduce::OPERATORS,
    basic::OPERATORS,
    unary::OPERATORS,
    bits::OPERATORS,
    concat::OPERATORS,
    slice::OPERATORS,
    shapes::OPERATORS,
    gather::OPERATORS,
    gather_nd::OPERATORS,
    found::OPERATORS,
    image::OPERATORS,
    roi_align::OPERATORS,
    quant::OPERATORS,
    dynamic::OPERATORS,
    qlinear::OPERATORS,
    fused::OPERATORS,
    integer::OPERATORS,
    recurrent::OPERATORS,
    branch::OPERATORS,
    loops::OPERATORS,
    scatter::OPERATORS,
    scatter_nd::OPERATORS,
    random::OPERATORS,
    fourier::OPERATORS,
    mel::OPERATORS,
    affine::OPERATORS,
    causal_conv::OPERATORS,
    center::OPERATORS,
    col2im::OPERATORS,
    cum_prod::OPERATORS,
    deform::OPERATORS,
    det::OPERATORS,
    flex_attention::OPERATORS,
    grid_sample::OPERATORS,
    linear_attention::OPERATORS,
    losses::OPERATORS,
    ml::OPERATORS,
    optional::OPERATORS,
    tensor_scatter::OPERATORS,
    unpool::OPERATORS,
];

/// Iterates over all operators.
pub(in crate::import) fn operators() -> impl Iterator<Item = &'static OnnxOpEntry> {
    OPERATORS.iter().copied().flatten()
}

/// Finds an operator by domain and name.
pub(in crate::import::onnx) fn find(domain: &str, name: &str) -> Option<&'static OnnxOpEntry> {
    let domain = own_domain(domain);
    operators().find(|entry| entry.name == name && entry.domain == domain)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::import::onnx::NEWEST;

    #[test]
    fn every_name_occurs_once_and_is_of_an_operator_set_that_is_read() {
        let mut names = BTreeSet::new();
        for entry in operators() {
            assert!(names.insert(entry.full_name()), "{} occurs twice", entry.full_name());
            assert!((1..=NEWEST).contains(&entry.since), "{} since {}", entry.name, entry.since);
        }
    }
}
