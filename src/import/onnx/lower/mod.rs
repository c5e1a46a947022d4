//! From the file's nodes to the graph's: one file a group of operators, which also states what is known of them.
//! Names no other operator than its own.

mod align;
mod basic;
mod conv;
mod image;
mod matmul;
mod moves;
mod norm;
mod pick;
mod places;
mod pool;
mod quant;
mod reduce;
mod shapes;
mod smooth;
mod softmax;
mod unary;

use super::facts::Fact;
pub(super) use reduce::{named_axes, reduced_dims};
pub(super) use shapes::reshaped;

/// All operators, group by group.
pub(super) static FACTS: [&[Fact]; 13] = [
    conv::FACTS,
    pool::FACTS,
    matmul::FACTS,
    norm::FACTS,
    softmax::FACTS,
    reduce::FACTS,
    basic::FACTS,
    unary::FACTS,
    moves::FACTS,
    shapes::FACTS,
    pick::FACTS,
    image::FACTS,
    quant::FACTS,
];
