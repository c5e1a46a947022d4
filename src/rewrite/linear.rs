//! Turns matrix products by a constant into fully connected nodes, which take biases, scales and residuals.

use super::{
    edit::{Edit, Verdict},
    numerics::Numerics,
    rule::{Order, Rule},
    site::Site,
    skip_reason::SkipReason,
};
use crate::graph::{Constant, MatMul, Node, NodeId, Op, Shape, Tensor};

pub(super) const RULE: Rule = Rule {
    name: "linear",
    about: "makes a matrix product by one constant matrix a fully connected node",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    let node = site.node(id);
    let (&Op::MatMul(MatMul { transpose_b }), &[x, matrix]) = (&node.op, &node.inputs[..]) else { return Ok(None) };
    let shape = site.graph.shape(matrix);
    let Some(constant) = &site.graph.tensors[matrix].constant else {
        return Err(SkipReason::NotConstant { tensor: site.name(matrix) });
    };
    if (shape.b, shape.h) != (1, 1) {
        return Err(SkipReason::OtherExtents { tensor: site.name(matrix) });
    }
    let mut edit = Edit::default();
    let weights = if transpose_b {
        matrix
    } else {
        // A matrix may be shared by many products, and each would have its own.
        site.make(constant.len())?;
        let (values, columns) = (constant.to_f32(), shape.c);
        let turned: Vec<f32> = (0..values.len()).map(|i| values[i % shape.w * columns + i / shape.w]).collect();
        let shape = Shape { w: columns, c: shape.w, ..shape };
        let constant = Some(Constant::from_f32(&turned));
        let tensor = Tensor {
            name: site.name(matrix),
            shape,
            dims: vec![shape.w, shape.c],
            host_permutation: Default::default(),
            constant,
        };
        edit.add(&site.graph, tensor)
    };
    let layer = Node { op: Op::FullyConnected, inputs: vec![x, weights], ..node.clone() };
    Ok(Some(edit.put(id, layer)))
}
