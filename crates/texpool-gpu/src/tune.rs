//! Measures which blocks of pixels and slices are fastest on a device, for each kind of layer.
//!
//! Each layer runs alone, with every block that its kernel can compute, in turns, so that a change of the machine's
//! speed meets all blocks. The constants below were chosen by judgement; each comment says which problem the value
//! avoids.

use std::{
    collections::BTreeMap,
    iter,
    ops::ControlFlow,
    time::{Duration, Instant},
};

use super::{Executor, ExecutorOptions, Gpu, GpuError, SharedPipelines, Stopwatch, Wait, wait::now};
use texpool_compile::{BlockChoice, CompileOptions};
use texpool_model::rewrite::Rules;
use texpool_ops::{
    graph::{Act, BlockSize, Blocks, BuildError, Conv2d, Graph, GraphBuilder, LayerKind, Node, NodeId, Op, Padding},
    ops::{layer_block, work},
};
use texpool_plan::TexelFormat;

/// Runs of a layer with each block. The fastest counts, because other load on the machine can only add time.
const RUNS: usize = 7;
/// Time after which a layer gets no further runs, but for the first two, so that a slow device takes minutes at most.
const ENOUGH: Duration = Duration::from_secs(2);
/// Length of a run: the layer is repeated in one submission until it takes so long, in seconds. A single layer would be
/// lost in the time of the submission.
const LONG: f64 = 0.002;
/// Upper limit on the repetitions.
const MOST_REPETITIONS: usize = 64;
/// Least gain for which a block replaces that of the class. Less is within the noise of a shared machine.
const LEAST_GAIN: f64 = 1.05;
/// Layers of each kind that are measured of models, those with the most work.
const LAYERS_OF_KIND: usize = 4;
/// Most weights of a layer, since each block has a copy of its own: 16 MiB.
const MOST_WEIGHTS: usize = 4 << 20;

/// A convolution to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TuneLayer {
    conv: Conv2d,
    /// `[B, H, W, C]` of the input.
    input: [usize; 4],
    /// `[O, KH, KW, I / groups]`.
    weights: [usize; 4],
    /// Number of times that it occurs.
    count: usize,
}

impl TuneLayer {
    const fn square(edge: usize, from: usize, to: usize, window: usize) -> Self {
        let around = window / 2;
        let padding = Padding { top: around, bottom: around, left: around, right: around };
        let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding, groups: 1 };
        Self { conv, input: [1, edge, edge, from], weights: [to, window, window, from], count: 1 }
    }

    /// Returns layers that occur in networks for pictures, some of each kind.
    pub fn typical() -> Vec<Self> {
        vec![
            Self::square(1, 1024, 1000, 1),
            Self::square(56, 32, 4, 3),
            Self::square(28, 128, 4, 1),
            Self::square(56, 64, 128, 1),
            Self::square(28, 128, 128, 1),
            Self::square(14, 96, 96, 1),
            Self::square(7, 160, 320, 1),
            Self::square(14, 512, 512, 1),
            Self::square(7, 960, 160, 1),
            Self::square(56, 64, 64, 3),
            Self::square(28, 128, 128, 3),
            Self::square(14, 128, 128, 3),
            Self::square(14, 384, 384, 3),
            Self::square(7, 512, 512, 3),
        ]
    }

    /// Returns the layers of rewritten graphs whose kernels have blocks, each once, with the number of times that it
    /// occurs. Of each kind only those with the most work.
    pub fn of_graphs<'g>(graphs: impl IntoIterator<Item = &'g Graph>) -> Vec<Self> {
        let mut kinds: BTreeMap<LayerKind, Vec<(f64, Self)>> = BTreeMap::new();
        for graph in graphs {
            for node in &graph.nodes {
                let Some((kind, layer)) = Self::of_node(graph, node) else { continue };
                let flops = work(graph, node).flops;
                let layers = kinds.entry(kind).or_default();
                match layers.iter_mut().find(|(_, other)| Self { count: 1, ..*other } == layer) {
                    Some((all, other)) => {
                        *all += flops;
                        other.count += 1;
                    }
                    None => layers.push((flops, layer)),
                }
            }
        }
        let most_work = |mut layers: Vec<(f64, Self)>| {
            layers.sort_by(|(a, _), (b, _)| b.total_cmp(a));
            layers.into_iter().take(LAYERS_OF_KIND).map(|(_, layer)| layer)
        };
        kinds.into_values().flat_map(most_work).collect()
    }

    fn of_node(graph: &Graph, node: &Node) -> Option<(LayerKind, Self)> {
        let (kind, _) = layer_block(graph, node)?;
        let (input, weights) = (graph.shape(node.inputs[0]), graph.shape(node.inputs[1]));
        let layer = match &node.op {
            Op::Conv2d(conv) => Self { conv: *conv, input: input.dims(), weights: weights.dims(), count: 1 },
            // A fully connected layer with a block is a convolution of single pixels.
            _ => {
                let pixels = graph.shape(node.output).pixels();
                Self { input: [1, 1, pixels, weights.c], ..Self::square(1, weights.c, weights.w, 1) }
            }
        };
        (layer.weights.iter().product::<usize>() <= MOST_WEIGHTS).then_some((kind, layer))
    }

    /// Builds the graph of this layer alone.
    fn graph(&self, blocks: Blocks) -> Result<Graph, GpuError> {
        let build = || {
            let mut b = GraphBuilder::new("layer");
            let x = b.input("x", &self.input)?;
            let weights = b.constant("w", &self.weights, &vec![0.0; self.weights.iter().product()])?;
            let y = b.conv2d("y", self.conv, x, weights, None, Act::None)?;
            Ok(Graph { blocks, ..b.finish(&[y])? })
        };
        build().map_err(|e: BuildError| GpuError::Refused { doing: "a layer to measure".into(), reason: e.to_string() })
    }

    /// Returns the kind and the block of this layer.
    fn block(&self, blocks: Blocks) -> Result<(LayerKind, BlockSize), GpuError> {
        let graph = self.graph(blocks)?;
        let block = layer_block(&graph, &graph.nodes[NodeId::new(0)]);
        // Every convolution has one.
        Ok(block.unwrap_or((LayerKind::Window, BlockSize::ALL[0])))
    }
}

/// The blocks of a kind of layer, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct TunedKind {
    /// The kind.
    pub kind: LayerKind,
    /// Number of layers that were measured.
    pub layers: usize,
    /// The blocks of the class, which may differ between layers.
    pub class_blocks: Vec<BlockSize>,
    /// Microseconds of all layers with these, each as often as it occurs.
    pub class_us: f64,
    /// The single block with the shortest time.
    pub fastest: BlockSize,
    /// Microseconds with that block.
    pub fastest_us: f64,
}

impl TunedKind {
    /// Returns the block to use in place of the class's, if it gains enough.
    pub fn chosen(&self) -> Option<BlockSize> {
        (self.gain() >= LEAST_GAIN).then_some(self.fastest)
    }

    /// Returns the time with the class's blocks divided by the shortest.
    pub fn gain(&self) -> f64 {
        self.class_us / self.fastest_us
    }
}

/// Measures the layers with every block, in the time of the given clock, on a device that otherwise computes the blocks
/// of `class`. `progress` gets the number of finished layers and the total, and returns whether to continue.
///
/// # Errors
/// Errors of the device; [`GpuError::Cancelled`] if `progress` stops.
pub fn tune(
    gpu: &Gpu,
    format: TexelFormat,
    class: Blocks,
    layers: &[TuneLayer],
    stopwatch: &Stopwatch<'_>,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Vec<TunedKind>, GpuError> {
    let tuner = Tuner { gpu, format: format.of_floats(), class, stopwatch, pipelines: SharedPipelines::default() };
    let mut kinds: BTreeMap<LayerKind, Vec<LayerTimes>> = BTreeMap::new();
    for (done, layer) in layers.iter().enumerate() {
        let mut at = || progress(done, layers.len());
        let (kind, times) = tuner.layer(layer, &mut at)?;
        kinds.entry(kind).or_default().push(times);
    }
    // The work is done, so nothing is left to stop.
    let _ = progress(layers.len(), layers.len());
    Ok(kinds.into_iter().filter_map(|(kind, layers)| fastest(kind, &layers)).collect())
}

/// Returns the single block with the shortest time for layers of a kind.
fn fastest(kind: LayerKind, layers: &[LayerTimes]) -> Option<TunedKind> {
    let sum = |us: &dyn Fn(&LayerTimes) -> f64| layers.iter().map(|layer| layer.count as f64 * us(layer)).sum::<f64>();
    let all = BlockSize::ALL.iter().enumerate().map(|(index, &block)| (block, sum(&|layer| layer.us[index])));
    let (fastest, fastest_us) = all.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let mut class_blocks: Vec<BlockSize> = layers.iter().map(|layer| layer.class_block).collect();
    class_blocks.sort_by_key(|&block| <[u8; 2]>::from(block));
    class_blocks.dedup();
    let class_us = sum(&|layer| layer.class_us);
    Some(TunedKind { kind, layers: layers.len(), class_blocks, class_us, fastest, fastest_us })
}

/// The times of a layer.
struct LayerTimes {
    count: usize,
    class_block: BlockSize,
    class_us: f64,
    /// By the order of [`BlockSize::ALL`].
    us: Vec<f64>,
}

struct Tuner<'a> {
    gpu: &'a Gpu,
    format: TexelFormat,
    class: Blocks,
    stopwatch: &'a Stopwatch<'a>,
    /// Shared, because layers of a kind run the same pipelines.
    pipelines: SharedPipelines,
}

impl Tuner<'_> {
    /// Measures a layer with every block. `at` returns whether to continue.
    fn layer(
        &self,
        layer: &TuneLayer,
        at: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(LayerKind, LayerTimes), GpuError> {
        let (kind, class_block) = layer.block(self.class)?;
        // Several blocks may be the same on this layer, because it has fewer pixels or slices.
        let mut sessions: Vec<(BlockSize, Executor, f64)> = Vec::new();
        let mut own = Vec::with_capacity(BlockSize::ALL.len());
        let candidate = |size: BlockSize| {
            let mut blocks = self.class;
            blocks.tune(kind, Some(size));
            blocks
        };
        for blocks in iter::once(self.class).chain(BlockSize::ALL.map(candidate)) {
            if at().is_break() {
                return Err(GpuError::Cancelled { doing: "measuring blocks" });
            }
            let (_, block) = layer.block(blocks)?;
            if !sessions.iter().any(|(other, ..)| *other == block) {
                sessions.push((block, self.session(layer, blocks)?, f64::INFINITY));
            }
            own.push(block);
        }
        let repetitions = self.repetitions(&mut sessions[0].1)?;
        let begun = Instant::now();
        for run in 0..RUNS {
            if run >= 2 && begun.elapsed() > ENOUGH {
                break;
            }
            for (_, session, us) in &mut sessions {
                if at().is_break() {
                    return Err(GpuError::Cancelled { doing: "measuring blocks" });
                }
                *us = us.min(self.time(session, repetitions)? / repetitions as f64 * 1e6);
            }
        }
        let us_of = |block: &BlockSize| sessions.iter().find(|(other, ..)| other == block).map_or(f64::NAN, |s| s.2);
        let times: Vec<f64> = own.iter().map(us_of).collect();
        let us = times[1..].to_vec();
        Ok((kind, LayerTimes { count: layer.count, class_block, class_us: times[0], us }))
    }

    fn session(&self, layer: &TuneLayer, blocks: Blocks) -> Result<Executor, GpuError> {
        let compile = CompileOptions {
            rules: Rules::none(),
            format: self.format,
            blocks: BlockChoice::Fixed(blocks),
            ..CompileOptions::default()
        };
        let options = ExecutorOptions { compile, pipelines: self.pipelines.clone(), ..ExecutorOptions::default() };
        Executor::new(self.gpu, &layer.graph(blocks)?, &options)
    }

    /// Returns how often a layer is repeated in one submission.
    fn repetitions(&self, session: &mut Executor) -> Result<usize, GpuError> {
        // The first run of a pipeline may be slower.
        self.time(session, 1)?;
        let seconds = self.time(session, 1)?;
        Ok(((LONG / seconds.max(1e-9)).ceil() as usize).clamp(1, MOST_REPETITIONS))
    }

    /// Returns the seconds of a submission.
    fn time(&self, session: &mut Executor, repetitions: usize) -> Result<f64, GpuError> {
        let begun = (self.stopwatch.read)();
        let submission = self.gpu.scoped("measuring", || {
            let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            for _ in 0..repetitions {
                session.encode(&mut encoder)?;
            }
            Ok::<_, GpuError>(self.gpu.submit([encoder.finish()]))
        })??;
        now(self.gpu.done(Wait::Block, &submission, "a measurement"))?;
        Ok((self.stopwatch.read)().saturating_sub(begun).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::{LayerTimes, TuneLayer, fastest};
    use std::collections::BTreeSet;
    use texpool_ops::graph::{BlockSize, Blocks, LayerKind};

    /// The typical layers have every kind, so that none is left at the blocks of the class unmeasured.
    #[test]
    fn typical_layers_are_of_all_kinds() {
        let kinds: BTreeSet<LayerKind> =
            TuneLayer::typical().iter().map(|layer| layer.block(Blocks::default()).unwrap().0).collect();
        assert_eq!(kinds, LayerKind::ALL.into());
    }

    /// A block must be fastest for all layers of its kind together, by how often each occurs, and gain a twentieth.
    #[test]
    fn layers_count_as_often_as_they_occur() {
        let [slow, class_block] = [BlockSize::ALL[0], BlockSize::ALL[11]];
        let times = |count, first: f64, last: f64| {
            let us = BlockSize::ALL.map(|block| if block == BlockSize::ALL[0] { first } else { last });
            LayerTimes { count, class_block, class_us: last, us: us.to_vec() }
        };
        let of = |layers: &[LayerTimes]| fastest(LayerKind::Window, layers).unwrap();
        let seldom = of(&[times(1, 10.0, 30.0), times(1, 40.0, 30.0)]);
        assert_eq!((seldom.chosen(), seldom.fastest_us, seldom.class_us), (Some(slow), 50.0, 60.0));
        let often = of(&[times(1, 10.0, 30.0), times(4, 40.0, 30.0)]);
        assert_eq!((often.chosen(), often.layers), (None, 2));
        assert_eq!(of(&[times(1, 29.0, 30.0)]).chosen(), None);
    }
}
