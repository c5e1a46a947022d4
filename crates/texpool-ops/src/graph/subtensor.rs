//! Tensors that share the texels of another tensor: either the same texels under other extents, or a part of them.
//! Works on shapes only and does not know where tensors are placed in the pool.

use super::{Concat, DepthOrder, DepthToSpace, Graph, Node, Op, Pad, PadMode, Shape, SpaceToDepth, TensorId};
use texpool_plan::printable;

/// Returns whether two shapes put every element, in dense order, into the same texel and lane, and use the same
/// number of texels. This describes whole tensors, stored row after row. The lanes past the last channel are then the
/// same, too.
///
/// Element `e` of a shape with one column or one slice lies at `e / C * 4 * ceil(C / 4) + e % C` lanes, whatever its
/// rows: two such *linear* shapes agree where they have the same channels, or where neither leaves a gap before its
/// last element. In any other shape channel 4 of the first pixel lies `W` texels on, and the second pixel starts one
/// texel on, which no linear shape and no other `W` or `C` repeats.
///
/// ```
/// use texpool_ops::graph::{Shape, texels_agree};
///
/// // A reshape between the first two moves nothing; each pixel of the third leaves two lanes empty.
/// assert!(texels_agree(Shape::new(1, 4, 1, 8), Shape::new(1, 1, 1, 32)));
/// assert!(!texels_agree(Shape::new(1, 4, 4, 2), Shape::new(1, 1, 1, 32)));
/// ```
pub fn texels_agree(a: Shape, b: Shape) -> bool {
    let linear = |s: Shape| s.w == 1 || s.c <= 4;
    let gapless = |s: Shape| s.c.is_multiple_of(4) || s.pixels() == 1;
    let same_rows = a.w == b.w && a.c == b.c;
    let both_linear = linear(a) && linear(b) && (a.c == b.c || gapless(a) && gapless(b));
    a.checked_len() == b.checked_len() && (same_rows || both_linear)
}

/// Returns whether an operator leaves every texel of its operand, of shape `from`, where its result, of shape `to`, has
/// it. Such a node needs no step. Channels that are divided among rows, as among the heads of an attention, stay where
/// they are if every row has whole slices: slices of one pixel row follow each other as rows do.
///
/// ```
/// use texpool::graph::{DepthOrder, DepthToSpace, Op, Shape, keeps_texels};
///
/// // Twelve heads of 32 channels for 20 tokens, and of 30 channels, which end within a texel.
/// let heads = Op::DepthToSpace(DepthToSpace { block: [12, 1], order: DepthOrder::Dcr });
/// assert!(keeps_texels(&heads, Shape::new(1, 1, 20, 384), Shape::new(1, 12, 20, 32)));
/// assert!(!keeps_texels(&heads, Shape::new(1, 1, 20, 360), Shape::new(1, 12, 20, 30)));
/// ```
pub fn keeps_texels(op: &Op, from: Shape, to: Shape) -> bool {
    match op {
        Op::Reshape => texels_agree(from, to),
        Op::DepthToSpace(DepthToSpace { block: [_, 1], order: DepthOrder::Dcr }) => to.c.is_multiple_of(4),
        Op::SpaceToDepth(SpaceToDepth { block: [_, 1] }) => from.c.is_multiple_of(4),
        _ => false,
    }
}

/// Position of a part within the tensor that contains it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubtensorOffset {
    /// Row of the tensor.
    pub row: usize,
    /// Slice of each row.
    pub slice: usize,
    /// Pixel of each slice.
    pub x: usize,
}

/// Reason why an operand cannot share the texels of the result.
///
/// ```
/// use texpool_ops::graph::{GraphBuilder, NodeId, SubtensorError, subtensor_offsets};
///
/// let mut b = GraphBuilder::new("side by side");
/// let (x, y) = (b.input("x", &[1, 8, 8, 3])?, b.input("y", &[1, 8, 8, 5])?);
/// let z = b.concat("z", 3, &[x, y])?;
/// let graph = b.finish(&[z])?;
/// // The three channels of `x` leave a lane of their texel free, in which `y` begins.
/// let error = subtensor_offsets(&graph, &graph.nodes[NodeId::new(0)]).unwrap_err();
/// assert_eq!(error, SubtensorError::Unaligned { tensor: "y".to_owned() });
/// assert_eq!(error.to_string(), "`y` does not begin at a texel of the result's rows");
/// # Ok::<(), texpool_ops::graph::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubtensorError {
    /// The result is not put together from the operands.
    #[error("{op} is neither a concatenation nor a pad")]
    NoParts {
        /// The operator.
        op: &'static str,
    },
    /// Padding that repeats elements, or cuts some off.
    #[error("it puts no border of one value around")]
    NotABorder,
    /// A part that does not begin where a texel does, or whose rows would not lie behind each other.
    #[error("`{}` does not begin at a texel of the result's rows", printable(tensor))]
    Unaligned {
        /// Name of the part.
        tensor: String,
    },
}

/// Returns whether the operands of this kind of node can be parts of its result.
pub const fn may_be_in_place(op: &Op) -> bool {
    matches!(op, Op::Concat(_) | Op::Pad(_))
}

/// Returns the offset in the result of each operand of a concatenation, or of the operand of a pad. Along the
/// channels a part must begin at a texel boundary, and all parts but the last must fill their texels. The rows of a
/// part must be consecutive.
pub fn subtensor_offsets(graph: &Graph, node: &Node) -> Result<Vec<SubtensorOffset>, SubtensorError> {
    let whole = graph.shape(node.output);
    let unaligned = |part: TensorId| SubtensorError::Unaligned { tensor: graph.tensors[part].name.clone() };
    match (&node.op, &node.inputs[..]) {
        (&Op::Concat(Concat { axis }), parts) => {
            let mut end = 0;
            let mut offset = |&part: &TensorId| {
                let first = end;
                end += graph.shape(part).dims()[axis];
                match axis {
                    0 => Ok(SubtensorOffset { row: first * whole.h, ..SubtensorOffset::default() }),
                    // With several images, the rows of a part would be scattered: one run of rows per image of the
                    // whole.
                    1 if whole.b == 1 => Ok(SubtensorOffset { row: first, ..SubtensorOffset::default() }),
                    2 => Ok(SubtensorOffset { x: first, ..SubtensorOffset::default() }),
                    3 if first.is_multiple_of(4) => {
                        Ok(SubtensorOffset { slice: first / 4, ..SubtensorOffset::default() })
                    }
                    _ => Err(unaligned(part)),
                }
            };
            parts.iter().map(&mut offset).collect()
        }
        (Op::Pad(Pad { before, after, mode: PadMode::Constant(value) }), &[part]) => {
            let shape = graph.shape(part);
            let [b, y, x, c] = before.map(usize::try_from);
            // Negative padding cuts elements off, and those have no place in the result.
            let (Ok(b), Ok(y), Ok(x), Ok(c), true) = (b, y, x, c, after.iter().all(|&n| n >= 0)) else {
                return Err(SubtensorError::NotABorder);
            };
            // Kernels write zeros behind the part's last channel, so a border that begins in that texel must be +0.
            let follows = shape.c.is_multiple_of(4) || after[3] == 0 || value.to_bits() == 0;
            // Between the rows of several images lie border rows of each.
            match (shape.b == 1 || shape.h == whole.h) && c.is_multiple_of(4) && follows {
                true => Ok(vec![SubtensorOffset { row: b * whole.h + y, slice: c / 4, x }]),
                false => Err(unaligned(part)),
            }
        }
        (Op::Pad(_), _) => Err(SubtensorError::NotABorder),
        _ => Err(SubtensorError::NoParts { op: node.op.name() }),
    }
}
