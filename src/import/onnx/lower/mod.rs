//! From the file's nodes to the graph's: one file a group of operators, which also holds its rows of the table.
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

pub(super) use reduce::named_axes;
pub(super) use shapes::reshaped;

use super::op_registry::OnnxOpEntry;

/// All operators, group by group.
pub(super) static OPERATORS: [&[OnnxOpEntry]; 13] = [
    conv::OPERATORS,
    pool::OPERATORS,
    matmul::OPERATORS,
    norm::OPERATORS,
    softmax::OPERATORS,
    reduce::OPERATORS,
    basic::OPERATORS,
    unary::OPERATORS,
    moves::OPERATORS,
    shapes::OPERATORS,
    pick::OPERATORS,
    image::OPERATORS,
    quant::OPERATORS,
];
