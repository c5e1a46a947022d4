//! Operators: for each, in one file, all that the rest of the library asks of it once its shape is known.
//!
//! An operator is a variant of [`Op`](crate::graph::Op) with the shape of its result (`graph/infer`), and an `Operator`
//! here: which rows of its operands a row of its result reads, which operands may be constants, what it costs, its
//! weights, its dispatches and its CPU reference. The trait has no defaults and the table of operators no `_`, so that
//! nothing is decided for an operator that does not say it itself.

mod binary;
mod bounds;
mod concat;
mod conv;
mod cum_sum;
mod depth_to_space;
mod depthwise;
mod fully_connected;
mod gather;
mod gather_elements;
mod grid_sample;
mod lower;
mod lrn;
mod matmul;
mod normalize;
mod operator;
mod pad;
mod pool;
mod prelu;
mod reduce;
pub mod reference;
mod reshape;
mod resize;
mod rows;
mod softmax;
mod space_to_depth;
mod strided_slice;
mod table;
mod tile;
mod top_k;
mod transpose;
mod transpose_conv;
mod unary;
mod work;

pub use bounds::check;
pub(crate) use lower::lower;
pub use lower::{dispatches, weights};
pub(crate) use operator::ConstantOperands;
pub(crate) use table::properties;
pub use table::{dispatch_rows, input_rows, work};
pub use work::{Family, Work};
