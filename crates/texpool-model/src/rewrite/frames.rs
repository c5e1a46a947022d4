//! Reads samples of a signal as channels: a convolution over few channels whose stride and window have a common divisor,
//! as Fourier transforms of speech are exported, becomes one over fewer pixels, each of which has as many samples as its
//! channels. Its input fills whole texels then, instead of one lane of each.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
    weights::{part, weights_and_bias},
};
use texpool_ops::graph::{Conv2d, Epilogue, Node, NodeId, Op, Pad, PadMode, Padding, Shape, Tensor, TensorId};

pub(super) const RULE: Rule = Rule {
    name: "frames",
    about: "reads neighbouring samples as the channels of a pixel, in a convolution along a signal of few channels, if \
            their number divides its stride and window",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    propose,
};

/// Price of a step, and of a texel that it moves, in texels that a convolution reads for a texel of its result. Measured
/// on lavapipe with Fourier transforms of 16,000 samples, and rounded: a step takes about 50 us, each of its texels
/// 40 ns, and a texel read 3 ns.
const STEP: usize = 1 << 14;
const MOVED_TEXEL: usize = 16;

/// Most samples of a pixel. More would fill texels no better, and each number is tried.
const MAX_SAMPLES: usize = 1024;

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let Some(layer) = Layer::new(ctx, node)? else { return Ok(None) };
    let unframed = layer.price(&layer.framing(1));
    let Some(framing) = layer.best_framing().filter(|framing| layer.price(framing) < unframed) else {
        return Err(SkipReason::NoFrames { op: node.op.name() });
    };
    let mut edit = Edit::default();
    let frames = framing.frames(ctx, &layer, node, &mut edit);
    let (weights, bias) = weights_and_bias(node)?;
    let window = Shape { w: framing.window, c: layer.x.c * framing.samples, ..layer.window };
    let mut inputs = vec![frames, part(ctx, weights, 0, window, &mut edit)?];
    inputs.extend(bias);
    let op = Op::from(Conv2d { stride: [1, framing.stride], padding: framing.padding, ..layer.conv });
    Ok(Some(edit.replace(id, Node { op, inputs, ..node.clone() })))
}

/// A convolution along a signal.
struct Layer {
    conv: Conv2d,
    signal: TensorId,
    x: Shape,
    window: Shape,
    result: Shape,
    /// True if a reshape makes the signal for this layer alone. It can make the frames instead.
    is_reshaped: bool,
}

impl Layer {
    fn new(ctx: &RewriteContext, node: &Node) -> Result<Option<Self>, SkipReason> {
        let &Op::Conv2d(conv @ Conv2d { stride: [_, stride], groups: 1, .. }) = &node.op else { return Ok(None) };
        let (weights, _) = weights_and_bias(node)?;
        let signal = node.inputs[0];
        let [x, window, result] = [signal, weights, node.output].map(|tensor| ctx.graph.shape(tensor));
        let Padding { top, bottom, left, .. } = conv.padding;
        let is_line = x.h == 1 && window.h == 1 && (top, bottom) == (0, 0);
        // Zeros wider than the window could take much more memory than the signal.
        let is_signal = is_line && x.c < 4 && left < window.w;
        if !is_signal || stride == 1 || conv.dilation[1] != 1 || node.integers.is_some() {
            return Ok(None);
        }
        let reshape = ctx.producer(signal).map(|producer| ctx.node(producer));
        let is_reshaped = reshape.is_some_and(|node| node.op == Op::Reshape && node.epilogue.is_empty())
            && ctx.check_one_use(signal).is_ok();
        Ok(Some(Self { conv, signal, x, window, result, is_reshaped }))
    }

    /// Returns the cheapest framing, if the extents have a common divisor.
    fn best_framing(&self) -> Option<Framing> {
        let extents = [self.conv.stride[1], self.window.w];
        let divides = |samples: &usize| extents.iter().all(|extent| extent.is_multiple_of(*samples));
        let framings = (2..=MAX_SAMPLES.min(extents[0])).filter(divides).map(|samples| self.framing(samples));
        framings.min_by_key(|framing| self.price(framing))
    }

    /// Returns the framing with this number of samples in a pixel, which must divide the stride and the window.
    fn framing(&self, samples: usize) -> Framing {
        let [stride, window] = [self.conv.stride[1], self.window.w].map(|extent| extent / samples);
        // Zeros on the left that are no whole pixels are added to the signal.
        let front = if self.conv.padding.left.is_multiple_of(samples) { 0 } else { self.conv.padding.left };
        let left = (self.conv.padding.left - front) / samples;
        // The last window ends there. Samples are cut off or added so that there are whole pixels.
        let end = (self.result.w - 1) * stride + window - left;
        let whole = (front + self.x.w) / samples;
        let pixels = if end <= whole { whole } else { (front + self.x.w).div_ceil(samples) };
        let padding = Padding { left, right: end.saturating_sub(pixels), ..self.conv.padding };
        Framing { samples, front, pixels, window, stride, padding }
    }

    /// Returns the price of the convolution and of the steps before it, in texels that the convolution reads.
    fn price(&self, framing: &Framing) -> u128 {
        let frames = framing.shape(self.x);
        // Finding the texels of a tap takes about as long as a texel.
        let texels = (self.result.texels() as u128) * (framing.window * (frames.slices() + 1)) as u128;
        let cut = if framing.changes_samples(self.x) { 2 } else { 0 };
        let steps = cut + usize::from(framing.samples > 1 && !self.is_reshaped);
        texels + (steps * (STEP + frames.texels() * MOVED_TEXEL)) as u128
    }
}

/// A way to read a signal as pixels of several samples.
struct Framing {
    /// Samples of a pixel.
    samples: usize,
    /// Zeros added before the signal.
    front: usize,
    pixels: usize,
    window: usize,
    stride: usize,
    padding: Padding,
}

impl Framing {
    fn shape(&self, signal: Shape) -> Shape {
        Shape { w: self.pixels, c: signal.c * self.samples, ..signal }
    }

    /// Returns whether samples are cut off or added.
    fn changes_samples(&self, signal: Shape) -> bool {
        self.front > 0 || self.pixels * self.samples != signal.w
    }

    /// Adds the steps that make the frames, and returns their result.
    fn frames(&self, ctx: &RewriteContext, layer: &Layer, node: &Node, edit: &mut Edit) -> TensorId {
        let mut add = |op: Op, from: TensorId, shape: Shape| {
            let output = edit.add(&ctx.graph, Tensor::new(ctx.name(layer.signal), shape));
            let (inputs, epilogue) = (vec![from], Epilogue::default());
            edit.insert(Node { op, inputs, output, epilogue, op_index: node.op_index, integers: None });
            output
        };
        let mut signal = layer.signal;
        if self.changes_samples(layer.x) {
            // Cutting and padding move whole texels if all samples are channels of one pixel.
            let flat = |samples: usize| Shape { w: 1, c: samples * layer.x.c, ..layer.x };
            let [from, to] = [flat(layer.x.w), flat(self.pixels * self.samples)];
            let front = (self.front * layer.x.c) as isize;
            let [before, after] = [front, to.c as isize - from.c as isize - front].map(|count| [0, 0, 0, count]);
            signal = add(Op::Reshape, signal, from);
            signal = add(Pad { before, after, mode: PadMode::Constant(0.0) }.into(), signal, to);
        }
        add(Op::Reshape, signal, self.shape(layer.x))
    }
}
