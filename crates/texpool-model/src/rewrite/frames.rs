//! Reads the frames of a signal as pixels: a convolution over few channels whose stride divides its window, as Fourier
//! transforms of speech are exported, becomes one over fewer pixels, each of which has the samples of a stride as its
//! channels. Its input fills whole texels then, instead of one lane of each.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    weights::{part, weights_and_bias},
};
use texpool_ops::graph::{Conv2d, Node, NodeId, Op, Padding, Shape, Tensor};

pub(super) const RULE: Rule = Rule {
    name: "frames",
    about: "reads the samples of a stride as the channels of a pixel, in a convolution along a signal of few \
            channels whose window is a multiple of its stride",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let &Op::Conv2d(conv @ Conv2d { stride: [_, stride], groups: 1, .. }) = &node.op else { return Ok(None) };
    let (weights, bias) = weights_and_bias(node)?;
    let signal = node.inputs[0];
    let [x, window] = [signal, weights].map(|tensor| ctx.graph.shape(tensor));
    let is_signal = x.h == 1 && window.h == 1 && x.c < 4 && conv.padding == Padding::default();
    let is_framed = stride > 1 && window.w.is_multiple_of(stride) && x.w.is_multiple_of(stride);
    // The reshape that makes the signal makes its frames instead, which adds no step.
    let Some(reshape) = ctx.producer(signal) else { return Ok(None) };
    let reshape_node = ctx.node(reshape);
    let is_free =
        reshape_node.op == Op::Reshape && reshape_node.epilogue.is_empty() && ctx.check_one_use(signal).is_ok();
    if !is_signal || !is_framed || conv.dilation[1] != 1 || !is_free || node.integers.is_some() {
        return Ok(None);
    }
    let mut edit = Edit::default();
    let frames = Shape { w: x.w / stride, c: x.c * stride, ..x };
    let output = edit
        .add(&ctx.graph, Tensor { dims: frames.dims().to_vec(), shape: frames, ..ctx.graph.tensors[signal].clone() });
    let shape = Shape { w: window.w / stride, c: window.c * stride, ..window };
    let mut inputs = vec![output, part(ctx, weights, 0, shape, &mut edit)?];
    inputs.extend(bias);
    let op = Op::from(Conv2d { stride: [1, 1], ..conv });
    let framed = Node { output, ..reshape_node.clone() };
    Ok(Some(edit.replace(reshape, framed).replace(id, Node { op, inputs, ..node.clone() })))
}
