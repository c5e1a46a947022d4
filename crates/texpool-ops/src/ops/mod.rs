//! Operators. Each one has a folder with everything that the rest of the library needs of it.
//!
//! `mod.rs` defines the operator: its attributes, its name, the shape of its result and the origin of the result's
//! values (`OpSchema`). `kernel.rs` defines how it runs on the device (`Operator`): the operand rows that a result row
//! reads, the operands that may be constants, its cost, its weights and its dispatches, with the Rust side of its
//! shader. `reference.rs` computes its result in plain Rust (`Reference`), independently of the kernel. An operator
//! that runs in the shader of another has both in `execution.rs`.
//!
//! An operator consists of its folder and its row in the table below. The traits have no default methods; methods
//! that a whole category of operators shares are written by `operator::category!`. No match generated from the table
//! has a `_` arm, so an incomplete operator does not compile.

/// The table of operators: first those with attributes, then those without.
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
                quantized_add::QuantizedAdd,
                dynamic_quantize::DynamicQuantize,
                unary::Unary,
                pad::Pad,
                gather::Gather,
                gather_elements::GatherElements,
                concat::Concat,
                strided_slice::StridedSlice,
                transpose::Transpose,
                depth_to_space::DepthToSpace,
                space_to_depth::SpaceToDepth,
                rearrange::Rearrange,
                resize::Resize,
                grid_sample::GridSample,
                softmax::Softmax,
                matmul::MatMul,
                top_k::TopK,
                lrn::Lrn,
                normalize::Normalize,
                cum_sum::CumSum,
                segment_reduce::SegmentReduce,
                recurrent::Recurrent,
                non_max_suppression::NonMaxSuppression,
                winograd::WinogradInput,
                winograd::WinogradOutput,
                separable::SeparableConv2d,
            }
            none {
                dynamic_quantize::DynamicScale,
                dynamic_quantize::Extremes,
                fully_connected::FullyConnected,
                locate::Locate,
                prelu::Prelu,
                tile::Tile,
                reshape::Reshape,
            }
        }
    };
}

pub(crate) mod binary;
mod bounds;
mod byte_grids;
pub(crate) mod concat;
pub(crate) mod conv;
pub(crate) mod cum_sum;
pub(crate) mod depth_to_space;
pub(crate) mod depthwise;
pub(crate) mod dynamic_quantize;
pub(crate) mod fully_connected;
pub(crate) mod gather;
pub(crate) mod gather_elements;
pub(crate) mod grid_sample;
mod integers;
mod layer_block;
pub(crate) mod locate;
mod lookup;
mod lower;
pub(crate) mod lrn;
pub(crate) mod matmul;
mod needed;
pub(crate) mod non_max_suppression;
pub(crate) mod normalize;
pub(crate) mod op;
mod operator;
pub(crate) mod pad;
pub(crate) mod pool;
pub(crate) mod prelu;
pub(crate) mod quantized_add;
pub(crate) mod rearrange;
pub(crate) mod recurrent;
pub mod reduce;
pub mod reference;
pub(crate) mod reshape;
pub(crate) mod resize;
mod rows;
pub(crate) mod schema;
pub(crate) mod segment_reduce;
pub(crate) mod separable;
pub(crate) mod softmax;
pub(crate) mod space_to_depth;
pub(crate) mod strided_slice;
pub(crate) mod tile;
pub(crate) mod top_k;
pub(crate) mod transpose;
pub(crate) mod transpose_conv;
pub(crate) mod unary;
mod weight_groups;
mod weights;
pub(crate) mod winograd;
mod words;
mod work;

pub use bounds::check;
pub use byte_grids::byte_storages;
pub use integers::input_ranges;
pub use layer_block::layer_block;
pub use lookup::{dispatch_rows, input_rows, operations, properties, shaders, work};
pub use lower::{dispatches, lower};
pub use needed::{Needed, NeededPart};
pub use operator::ConstantOperands;
pub use separable::kernel::separable_parts;
pub use weight_groups::{GroupSection, NodeSections, WeightGroup, WeightGroups};
pub use weights::{PACKING, weight_sections, weight_texels, weights};
pub use words::{
    WeightWords, channel_weights, has_channel_scales, multiplies_by_weights, packed_weight_texels, section_texels,
    stored_packing,
};
pub use work::{CostClass, Work};
