//! Computes the result of a graph that only moves elements, element by element.

use texpool_ops::graph::{Concat, Graph, IdVec, Op, Pad, PadMode, Reduce, Shape, StridedSlice, Transpose};

/// Runs a graph of layout operators on inputs that count up from 0; returns the first output.
pub(crate) fn run(graph: &Graph) -> Vec<f32> {
    let mut values: IdVec<_, Vec<f32>> = graph
        .tensors
        .iter()
        .map(|t| t.constant.as_ref().map(|c| c.to_f32().into_owned()).unwrap_or_default())
        .collect();
    let mut next = 0;
    for &id in &graph.inputs {
        let length = graph.shape(id).len();
        values[id] = (next..next + length).map(|i| i as f32).collect();
        next += length;
    }
    for node in &graph.nodes {
        let (x, y) = (graph.shape(node.inputs[0]), graph.shape(node.output));
        let input = &values[node.inputs[0]];
        let result: Vec<f32> = match &node.op {
            Op::Reshape => input.clone(),
            Op::Transpose(Transpose { perm }) => gather(y, |at| {
                let mut from = [0; 4];
                (0..4).for_each(|i| from[perm[i]] = at[i]);
                input[index(x, from)]
            }),
            Op::StridedSlice(StridedSlice { begin, stride }) => gather(y, |at| {
                input[index(x, [0, 1, 2, 3].map(|i| (begin[i] as isize + at[i] as isize * stride[i]) as usize))]
            }),
            Op::Pad(Pad { before, mode: PadMode::Constant(value), .. }) => gather(y, |at| {
                let before = before.map(|n| usize::try_from(n).unwrap());
                let inside = (0..4).all(|i| (before[i]..before[i] + x.dims()[i]).contains(&at[i]));
                if inside { input[index(x, [0, 1, 2, 3].map(|i| at[i] - before[i]))] } else { *value }
            }),
            Op::Concat(Concat { axis }) => gather(y, |mut at| {
                let mut operands = node.inputs.iter();
                let mut operand = operands.next();
                while let Some(&id) = operand {
                    let extent = graph.shape(id).dims()[*axis];
                    if at[*axis] < extent {
                        return values[id][index(graph.shape(id), at)];
                    }
                    at[*axis] -= extent;
                    operand = operands.next();
                }
                f32::NAN
            }),
            Op::Reduce(Reduce { axes, .. }) => {
                let mut sums = vec![0.0; y.len()];
                for (i, value) in input.iter().enumerate() {
                    let at = position(x, i);
                    sums[index(y, [0, 1, 2, 3].map(|a| if axes[a] { 0 } else { at[a] }))] += value;
                }
                sums.iter().map(|sum| sum * y.len() as f32 / x.len() as f32).collect()
            }
            Op::Binary(texpool_ops::graph::Binary::Add) => gather(y, |at| {
                node.inputs
                    .iter()
                    .map(|&id| {
                        let shape = graph.shape(id);
                        values[id][index(shape, [0, 1, 2, 3].map(|a| at[a] % shape.dims()[a]))]
                    })
                    .sum()
            }),
            other => unreachable!("{other:?} is not evaluated here"),
        };
        values[node.output] = result;
    }
    std::mem::take(&mut values[graph.outputs[0]])
}

fn index(shape: Shape, [b, h, w, c]: [usize; 4]) -> usize {
    shape.index(b, h, w, c)
}

fn position(shape: Shape, i: usize) -> [usize; 4] {
    [i / (shape.h * shape.w * shape.c), i / (shape.w * shape.c) % shape.h, i / shape.c % shape.w, i % shape.c]
}

fn gather(shape: Shape, element: impl Fn([usize; 4]) -> f32) -> Vec<f32> {
    (0..shape.len()).map(|i| element(position(shape, i))).collect()
}
