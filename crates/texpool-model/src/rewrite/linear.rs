//! Turns matrix products with a constant into fully connected nodes, which can absorb biases, scales and residuals.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
};
use texpool_ops::graph::{Constant, MatMul, Node, NodeId, Op, Shape, Tensor};

pub(super) const RULE: Rule = Rule {
    name: "linear",
    about: "turns a matrix product with one constant matrix into a fully connected layer",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let (&Op::MatMul(MatMul { transpose_b }), &[x, matrix]) = (&node.op, &node.inputs[..]) else { return Ok(None) };
    let shape = ctx.graph.shape(matrix);
    let Some(constant) = &ctx.graph.tensors[matrix].constant else {
        return Err(SkipReason::NotConstant { tensor: ctx.name(matrix) });
    };
    // A fully connected node uses the same matrix for all rows.
    if (shape.b, shape.h) != (1, 1) {
        return Err(SkipReason::ShapeMismatch { tensor: ctx.name(matrix) });
    }
    let mut edit = Edit::default();
    // After transposing, the matrix is `[outputs, inputs]`, like weights.
    let weights = if transpose_b {
        matrix
    } else {
        // Charged to the budget: many products may share a matrix, and each creates a separate transposed copy.
        ctx.charge_created(constant.len())?;
        let (values, columns) = (constant.to_f32(), shape.c);
        let transposed: Vec<f32> = (0..values.len()).map(|i| values[i % shape.w * columns + i / shape.w]).collect();
        let shape = Shape { w: columns, c: shape.w, ..shape };
        let constant = Some(Constant::from_f32(&transposed));
        let dims = vec![shape.w, shape.c];
        let tensor = Tensor { dims, constant, ..Tensor::new(ctx.name(matrix), shape) };
        edit.add(&ctx.graph, tensor)
    };
    let layer = Node { op: Op::FullyConnected, inputs: vec![x, weights], ..node.clone() };
    Ok(Some(edit.replace(id, layer)))
}
