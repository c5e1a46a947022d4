//! Computes slices of a layer's channels by layers of their own, if nothing else reads the layer: queries, keys and values
//! of an attention, or both parts of a Fourier transform. The slices need no copy then, and the whole is never stored.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
    weights::{list, part, weights_and_bias},
};
use texpool_ops::graph::{Conv2d, DepthOrder, DepthToSpace, Node, NodeId, Op, Shape, StridedSlice, Tensor, TensorId};

pub(super) const RULE: Rule = Rule {
    name: "layer-slices",
    about: "computes slices of a layer's channels by separate layers if nothing else reads the layer, such as \
            queries, keys and values, also behind the division among heads",
    numerics: Numerics::Exact,
    order: Order::Forward,
    propose,
};

/// Maximum number of layers that one layer becomes: each is a step, and reads all of the layer's input.
const MAX_PARTS: usize = 4;

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let layer = ctx.node(id);
    if !matches!(layer.op, Op::FullyConnected | Op::Conv2d(Conv2d { groups: 1, .. })) || layer.integers.is_some() {
        return Ok(None);
    }
    let whole = ctx.graph.shape(layer.output);
    let divided = Divided::new(ctx, layer.output);
    let sliced = divided.views.last().map_or(layer.output, |&view| ctx.node(view).output);
    let readers = ctx.readers(sliced);
    let slices: Option<Vec<Channels>> = readers.iter().map(|&reader| divided.channels(ctx, sliced, reader)).collect();
    let Some(slices) = slices.filter(|slices| (1..=MAX_PARTS).contains(&slices.len())) else { return Ok(None) };
    // More channels than the layer has would be more work.
    if slices.iter().map(|slice| slice.count).sum::<usize>() > whole.c {
        return Ok(None);
    }
    if let Some(output) = [layer.output, sliced].into_iter().find(|&tensor| ctx.is_output(tensor)) {
        return Err(SkipReason::IsOutput { tensor: ctx.name(output) });
    }
    // Another tensor, or a function with values per channel, would have to be sliced, too.
    let epilogue = layer.epilogue;
    if epilogue.add.is_some() || [epilogue.first, epilogue.then].iter().any(|act| act.constant().is_some()) {
        return Err(SkipReason::EpilogueTaken { op: layer.op.name() });
    }
    // Layers take the places of the layer and its views, and of the slices if there are no views.
    let places: Vec<NodeId> = match divided.views.is_empty() {
        true => readers.to_vec(),
        false => [id].into_iter().chain(divided.views.iter().copied()).collect(),
    };
    if places.len() < slices.len() {
        return Err(SkipReason::SeveralParts);
    }
    let unused = if divided.views.is_empty() { &[id][..] } else { &places[slices.len()..] };
    let mut edit = unused.iter().fold(Edit::default(), |edit, &place| edit.remove(place));
    for ((slice, &reader), &place) in slices.iter().zip(readers).zip(&places) {
        let inputs = inputs_of(ctx, layer, slice, &mut edit)?;
        let node = ctx.node(reader);
        if divided.views.is_empty() {
            // Only one of the epilogues can be kept as it is.
            let epilogue = match (layer.epilogue.is_empty(), node.epilogue.is_empty()) {
                (true, _) => node.epilogue,
                (_, true) => layer.epilogue,
                _ => return Err(SkipReason::EpilogueTaken { op: node.op.name() }),
            };
            edit = edit.replace(place, Node { inputs, epilogue, output: node.output, ..layer.clone() });
        } else {
            let shape = Shape { c: slice.count, ..whole };
            let output = edit.add(
                &ctx.graph,
                Tensor { dims: shape.dims().to_vec(), shape, ..ctx.graph.tensors[layer.output].clone() },
            );
            let rows = ctx.graph.shape(node.output).rows();
            let heads = Op::from(DepthToSpace { block: [rows, 1], order: DepthOrder::Dcr });
            edit = edit.replace(place, Node { inputs, output, ..layer.clone() });
            edit = edit.replace(reader, Node { op: heads, inputs: vec![output], ..node.clone() });
        }
    }
    Ok(Some(edit))
}

/// A run of a layer's channels.
struct Channels {
    begin: usize,
    count: usize,
}

/// The views of a layer's result that divide its channels among rows.
struct Divided {
    /// The nodes, in order.
    views: Vec<NodeId>,
}

impl Divided {
    fn new(ctx: &RewriteContext, result: TensorId) -> Self {
        let mut views = Vec::new();
        let mut tensor = result;
        while let &[reader] = ctx.readers(tensor)
            && ctx.graph.shape(result).rows() == 1
            && ctx.could_be_view(ctx.node(reader))
        {
            let is_division = match ctx.node(reader).op {
                Op::DepthToSpace(_) => views.is_empty(),
                Op::Reshape => !views.is_empty(),
                _ => false,
            };
            let [own, next] = [tensor, ctx.node(reader).output].map(|tensor| ctx.graph.shape(tensor));
            if !is_division || next.w != own.w || ctx.is_output(tensor) {
                break;
            }
            views.push(reader);
            tensor = ctx.node(reader).output;
        }
        Self { views }
    }

    /// Returns the channels of the layer that a slice takes out of `sliced`, if that is all that it does.
    fn channels(&self, ctx: &RewriteContext, sliced: TensorId, reader: NodeId) -> Option<Channels> {
        let node = ctx.node(reader);
        let (&Op::StridedSlice(StridedSlice { begin, stride: [1, 1, 1, 1] }), None) =
            (&node.op, node.integers.as_ref())
        else {
            return None;
        };
        if node.epilogue.add == Some(sliced) {
            return None;
        }
        let [whole, taken] = [sliced, node.output].map(|tensor| ctx.graph.shape(tensor));
        let rows = match (begin, self.views.is_empty()) {
            ([0, 0, 0, begin], true) if Shape { c: whole.c, ..taken } == whole => {
                return Some(Channels { begin, count: taken.c });
            }
            ([b, 0, 0, 0], false) if Shape { b: whole.b, ..taken } == whole && taken.b == 1 => b * whole.h,
            ([0, h, 0, 0], false) if Shape { h: whole.h, ..taken } == whole && whole.b == 1 => h,
            _ => return None,
        };
        Some(Channels { begin: rows * whole.c, count: taken.rows() * whole.c })
    }
}

/// Returns the operands of a layer for some of its channels.
fn inputs_of(
    ctx: &RewriteContext,
    layer: &Node,
    slice: &Channels,
    edit: &mut Edit,
) -> Result<Vec<TensorId>, SkipReason> {
    let (weights, bias) = weights_and_bias(layer)?;
    let of_weights = ctx.graph.shape(weights);
    let shape = match layer.op {
        Op::FullyConnected => Shape { w: slice.count, ..of_weights },
        _ => Shape { b: slice.count, ..of_weights },
    };
    let run = shape.len() / slice.count.max(1);
    let mut inputs = vec![layer.inputs[0], part(ctx, weights, slice.begin * run, shape, edit)?];
    if let Some(bias) = bias {
        inputs.push(part(ctx, bias, slice.begin, list(slice.count), edit)?);
    }
    Ok(inputs)
}
