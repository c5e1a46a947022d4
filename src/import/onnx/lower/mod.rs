//! From the file's nodes to the graph's: one file a group of operators, which also holds its rows of the table.
//! Names no other operator than its own.

mod align;
mod antialias;
mod basic;
mod concat;
mod conv;
mod gather;
mod image;
mod matmul;
mod max_indices;
mod norm;
mod pool;
mod quant;
mod reduce;
mod shapes;
mod slice;
mod softmax;
mod unary;

pub(super) use shapes::reshaped;

use super::op_registry::OnnxOpEntry;

/// All operators, group by group.
pub(super) static OPERATORS: [&[OnnxOpEntry]; 14] = [
    conv::OPERATORS,
    pool::OPERATORS,
    matmul::OPERATORS,
    norm::OPERATORS,
    softmax::OPERATORS,
    reduce::OPERATORS,
    basic::OPERATORS,
    unary::OPERATORS,
    concat::OPERATORS,
    slice::OPERATORS,
    shapes::OPERATORS,
    gather::OPERATORS,
    image::OPERATORS,
    quant::OPERATORS,
];
