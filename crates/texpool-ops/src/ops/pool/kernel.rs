//! Kernel of pools: the maximum, the mean or the norm of a window.

use std::ops::Range;

use super::{IMAGE, Pool2d};
use crate::{
    graph::{Graph, Node, Padding, PoolKind, ReduceKind, Shape},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        loops::loops,
        shader::helpers::ONE_TEXEL,
        wgsl::{shader_params, shared_constants},
    },
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, around, category, pairs, plain},
        reduce,
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Pool2d {
    const SHADERS: &'static [Shader] = &[SHADER, reduce::kernel::MEAN, reduce::kernel::WIDE];
}

impl Operator for Pool2d {
    category!(one_operand_with_properties);

    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        let pool = self;
        let counted = pool.counted.unwrap_or_default();
        let attributes = [
            &pairs("window", pool.window)[..],
            &pairs("stride", pool.stride),
            &pairs("dilation", pool.dilation),
            &around(pool.padding),
            &around(counted),
        ]
        .concat();
        Properties { attributes, ..plain(ConstantOperands::AfterFirst) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.window(self.window[0], [self.stride[0], self.dilation[0], self.padding.top])
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Pool, self.window[0] * self.window[1], 1)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        match step.node.inputs.first() {
            // Uses the kernel of means, because `rewrite::row_means` relies on its order of addition.
            Some(&x) if self.is_mean_of(step.graph.shape(x)) => {
                reduce::kernel::dispatches(step, ReduceKind::Mean, IMAGE)
            }
            _ => dispatches(step, self),
        }
    }
}

pub(crate) const SHADER: Shader = Shader::new("pool", texpool_shaders::POOL)
    .chosen_if("it is no mean over the whole picture, which a kernel of means computes")
    .constants(&[KINDS])
    .params::<Params>()
    .helpers(&[ONE_TEXEL])
    .loops(loops![y[x]]);

shared_constants! {
    /// Functions of a window.
    KINDS:
    POOL_MAX = 0,
    POOL_AVERAGE = 1,
    POOL_NORM = 2,
}

shader_params! {
    struct Params {
        window: [usize; 2],
        stride: [usize; 2],
        padding: [usize; 2],
        dilation: [usize; 2],
        counted: [isize; 4],
        power: u32,
    }
}

/// Returns the ranges `first..end` of rows and of columns that count in a mean, relative to the corner of the image
/// with its whole border.
fn counted(around: Padding, counted: Padding, image: Shape) -> [isize; 4] {
    let first = |padding: usize, border: usize| padding as isize - border as isize;
    let [y, x] = [first(around.top, counted.top), first(around.left, counted.left)];
    let end = |padding: usize, extent: usize, border: usize| (padding + extent + border) as isize;
    [y, end(around.top, image.h, counted.bottom), x, end(around.left, image.w, counted.right)]
}

/// Computes one texel per invocation.
pub(crate) fn dispatches(step: &StepContext<'_>, pool: &Pool2d) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step);
    let items = common::texels(step);
    let (kind, power) = match pool.kind {
        PoolKind::Max => (POOL_MAX, 0),
        PoolKind::Average => (POOL_AVERAGE, 0),
        PoolKind::Lp { p } => (POOL_NORM, p),
    };
    let params = KernelParams::new(step, &epilogue, items).input(input).params(&Params {
        window: pool.window,
        stride: pool.stride,
        padding: [pool.padding.top, pool.padding.left],
        dilation: pool.dilation,
        counted: counted(pool.padding, pool.counted.unwrap_or_default(), input.shape),
        power,
    });
    let constants = vec![("KIND", f64::from(kind)), ("COUNTED", common::flag(pool.counted.is_some()))];
    // A window never covers more than the image.
    let extents = [("y", pool.window[0].min(input.shape.h)), ("x", pool.window[1].min(input.shape.w))];
    Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, constants, &extents).reading(input)])
}
