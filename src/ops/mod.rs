//! Operators: for each, in one folder, all that the rest of the library asks of it.
//!
//! `mod.rs` says what it is: its attributes, its name and the shape of its result (`OpSchema`). `lowering.rs` says how
//! it is run (`Operator`): which rows of its operands a row of its result reads, which operands may be constants, what
//! it costs, its weights and its dispatches, for which `kernel.rs` has the Rust side of its shader. `reference.rs` is
//! what it computes, in plain Rust, and uses nothing of the kernel.
//!
//! An operator is its folder, and its row in the table below. The traits have no defaults and nothing that is written
//! from the table has a `_`: what an operator leaves unsaid does not compile.

/// The table of operators: those with attributes, then those without.
macro_rules! operators {
    ($written:ident) => {
        $written! {
            attributes {
                conv::Conv2d,
                depthwise::DepthwiseConv2d,
                transpose_conv::TransposeConv,
                pool::Pool2d,
                reduce::Reduce,
                binary::Binary,
                unary::Unary,
                pad::Pad,
                gather::Gather,
                gather_elements::GatherElements,
                concat::Concat,
                strided_slice::StridedSlice,
                transpose::Transpose,
                depth_to_space::DepthToSpace,
                space_to_depth::SpaceToDepth,
                resize::Resize,
                grid_sample::GridSample,
                softmax::Softmax,
                matmul::MatMul,
                top_k::TopK,
                lrn::Lrn,
                normalize::Normalize,
                cum_sum::CumSum,
            }
            none {
                fully_connected::FullyConnected,
                prelu::Prelu,
                tile::Tile,
                reshape::Reshape,
            }
        }
    };
}

pub(crate) mod binary;
mod bounds;
pub(crate) mod concat;
pub(crate) mod conv;
pub(crate) mod cum_sum;
pub(crate) mod depth_to_space;
pub(crate) mod depthwise;
pub(crate) mod fully_connected;
pub(crate) mod gather;
pub(crate) mod gather_elements;
pub(crate) mod grid_sample;
mod integers;
mod lookup;
mod lower;
pub(crate) mod lrn;
pub(crate) mod matmul;
pub(crate) mod normalize;
pub(crate) mod op;
mod operator;
pub(crate) mod pad;
pub(crate) mod pool;
pub(crate) mod prelu;
pub(crate) mod reduce;
pub mod reference;
pub(crate) mod reshape;
pub(crate) mod resize;
mod rows;
mod same_weights;
pub(crate) mod schema;
pub(crate) mod softmax;
pub(crate) mod space_to_depth;
pub(crate) mod strided_slice;
pub(crate) mod tile;
pub(crate) mod top_k;
pub(crate) mod transpose;
pub(crate) mod transpose_conv;
pub(crate) mod unary;
mod weights;
mod words;
mod work;

pub use bounds::check;
pub(crate) use integers::input_ranges;
pub(crate) use lookup::properties;
pub use lookup::{dispatch_rows, input_rows, shaders, work};
pub use lower::dispatches;
pub(crate) use lower::lower;
pub(crate) use operator::ConstantOperands;
pub(crate) use same_weights::same_weights;
pub use weights::{PACKING, weight_sections, weight_texels, weights};
pub use words::{WeightWords, packed_weight_texels};
pub(crate) use words::{channel_weights, has_channel_scales, stored_packing};
pub use work::{CostClass, Work};
