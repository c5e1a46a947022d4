//! Converts a model's graph to layers: one for each input, node and output of the graph.

use super::{Input, InputRows, Layer, Network, RowWindow};
use texpool_compile::schedule::ScheduleError;
use texpool_ops::{
    graph::{DepthwiseConv2d, Graph, IdVec, Node, Op, Shape, TensorId},
    ops::input_rows,
};

impl Network {
    /// Creates the layers of a graph. A constant does not become a layer; its elements count as parameters of the
    /// node that reads it.
    ///
    /// # Errors
    /// [`ScheduleError`] if the nodes of the graph are not in order.
    pub fn from_graph(graph: &Graph) -> Result<Self, ScheduleError> {
        let mut network = Self { name: graph.name.clone(), layers: Vec::new() };
        let mut layer_of: IdVec<_, Option<usize>> = IdVec::from_elem(None, &graph.tensors);
        for &input in &graph.inputs {
            layer_of[input] = Some(network.layers.len());
            network.layers.push(layer(graph, input, "input", Vec::new()));
        }
        for node in &graph.nodes {
            let result = node.output;
            let mut inputs = Vec::new();
            let mut parameters = 0;
            // A fused addition reads its operand from a buffer, like any other input.
            for (index, operand) in node.inputs.iter().copied().chain(node.epilogue.add).enumerate() {
                if graph.is_constant(operand) {
                    parameters += graph.shape(operand).len() as u64;
                    continue;
                }
                let Some(from) = layer_of[operand] else {
                    let tensor = graph.tensors[operand].name.clone();
                    return Err(ScheduleError::NotYetComputed { node: node.op_index, op: node.op.name(), tensor });
                };
                inputs.push(Input { from, rows: input_rows_of(graph, node, index) });
            }
            if layer_of[result].is_some() || graph.is_constant(result) {
                let tensor = graph.tensors[result].name.clone();
                return Err(ScheduleError::WrittenTwice { node: node.op_index, op: node.op.name(), tensor });
            }
            layer_of[result] = Some(network.layers.len());
            network.layers.push(Layer { parameters, ..layer(graph, result, node.op.name(), inputs) });
        }
        for (index, &output) in graph.outputs.iter().enumerate() {
            let Some(from) = layer_of[output] else {
                let tensor = graph.tensors[output].name.clone();
                return Err(ScheduleError::OutputNotComputed { index, tensor });
            };
            let inputs = vec![Input { from, rows: InputRows::SAME_ROW }];
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
        output_when_complete: false,
    }
}

/// Returns the rows of an operand that each row of the result needs. A sliding window is kept as a window, because
/// the paper's conversion counts its padding too. All other operators use the general table of needed rows.
fn input_rows_of(graph: &Graph, node: &Node, index: usize) -> InputRows {
    let first = node.inputs.first().map(|&x| graph.shape(x));
    let window = |height, stride, padding_top: usize| {
        let padding_top = isize::try_from(padding_top).unwrap_or(isize::MAX);
        InputRows::Window(RowWindow { height, stride, padding_top })
    };
    let whole = |rows: InputRows| {
        let InputRows::Window(RowWindow { height, padding_top: 0, .. }) = rows else { return rows };
        if first.is_some_and(|x| x.h == height) { InputRows::All } else { rows }
    };
    match &node.op {
        Op::Conv2d(conv) | Op::DepthwiseConv2d(DepthwiseConv2d(conv))
            // The rows of several images follow each other, and a window must not slide from one image into the next.
            if index == 0 && first.is_some_and(|x| x.b == 1) =>
        {
            let taps = node.inputs.get(1).map_or(1, |&weights| graph.shape(weights).h);
            whole(window(taps.saturating_sub(1) * conv.dilation[0] + 1, conv.stride[0], conv.padding.top))
        }
        Op::Pool2d(pool) if index == 0 && first.is_some_and(|x| x.b == 1) => {
            whole(window(pool.window[0].saturating_sub(1) * pool.dilation[0] + 1, pool.stride[0], pool.padding.top))
        }
        _ => input_rows(graph, node, index).map_or(InputRows::All, InputRows::PerRow),
    }
}
