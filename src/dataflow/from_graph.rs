//! From a model's graph to layers: one for each input, node and output of the graph.

use super::{Input, Layer, Network, Reach, Window};
use crate::{
    graph::{DepthwiseConv2d, Graph, Node, Op, Shape, TensorId},
    ops::input_rows,
    schedule::ScheduleError,
};

impl Network {
    /// The layers of a graph. Constants are no layers; their elements count as parameters of the node that reads them.
    ///
    /// # Errors
    /// [`ScheduleError`] of a graph whose nodes do not stand in order.
    pub fn from_graph(graph: &Graph) -> Result<Self, ScheduleError> {
        let mut network = Self { name: graph.name.clone(), layers: Vec::new() };
        let mut made: Vec<Option<usize>> = vec![None; graph.tensors.len()];
        for &input in &graph.inputs {
            made[input] = Some(network.layers.len());
            network.layers.push(layer(graph, input, "input", Vec::new()));
        }
        for node in &graph.nodes {
            let result = node.output;
            let mut inputs = Vec::new();
            let mut parameters = 0;
            for (index, operand) in node.inputs.iter().copied().chain(node.epilogue.add).enumerate() {
                if graph.is_constant(operand) {
                    parameters += graph.shape(operand).len() as u64;
                    continue;
                }
                let Some(from) = made[operand] else {
                    let tensor = graph.tensors[operand].name.clone();
                    return Err(ScheduleError::NotYetComputed { node: node.op_index, op: node.op.name(), tensor });
                };
                inputs.push(Input { from, reach: reach(graph, node, index) });
            }
            if made[result].is_some() || graph.is_constant(result) {
                let tensor = graph.tensors[result].name.clone();
                return Err(ScheduleError::WrittenTwice { node: node.op_index, op: node.op.name(), tensor });
            }
            made[result] = Some(network.layers.len());
            network.layers.push(Layer { parameters, ..layer(graph, result, node.op.name(), inputs) });
        }
        for (index, &output) in graph.outputs.iter().enumerate() {
            let Some(from) = made[output] else {
                let tensor = graph.tensors[output].name.clone();
                return Err(ScheduleError::OutputNotComputed { index, tensor });
            };
            let inputs = vec![Input { from, reach: Reach::ROW }];
            network.layers.push(layer(graph, output, "output", inputs));
        }
        Ok(network)
    }
}

fn layer(graph: &Graph, result: TensorId, op: &str, inputs: Vec<Input>) -> Layer {
    let Shape { b, h, w, c } = graph.shape(result);
    Layer {
        name: graph.tensors[result].name.clone(),
        op: op.to_owned(),
        rows: b * h,
        row_elements: w * c,
        inputs,
        parameters: 0,
        at_the_end: false,
    }
}

/// A window where the operator slides one over a single image; else the rows that each row needs.
fn reach(graph: &Graph, node: &Node, index: usize) -> Reach {
    let first = node.inputs.first().map(|&x| graph.shape(x));
    let window = |height, stride, above: usize| {
        let above = isize::try_from(above).unwrap_or(isize::MAX);
        Reach::Window(Window { height, stride, above })
    };
    let whole = |reach: Reach| {
        let Reach::Window(Window { height, above: 0, .. }) = reach else { return reach };
        if first.is_some_and(|x| x.h == height) { Reach::Whole } else { reach }
    };
    match &node.op {
        Op::Conv2d(conv) | Op::DepthwiseConv2d(DepthwiseConv2d(conv))
            if index == 0 && first.is_some_and(|x| x.b == 1) =>
        {
            let taps = node.inputs.get(1).map_or(1, |&weights| graph.shape(weights).h);
            whole(window(taps.saturating_sub(1) * conv.dilation[0] + 1, conv.stride[0], conv.padding.top))
        }
        Op::Pool2d(pool) if index == 0 && first.is_some_and(|x| x.b == 1) => {
            whole(window(pool.window[0].saturating_sub(1) * pool.dilation[0] + 1, pool.stride[0], pool.padding.top))
        }
        _ => input_rows(graph, node, index).map_or(Reach::Whole, Reach::Rows),
    }
}
