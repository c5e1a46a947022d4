//! Networks whose order of operators matters, with the topologies and sizes of their papers. Sizes are in bytes of
//! 32-bit floats; an addition, a function and a normalisation count as part of the convolution beside them.

use texpool_plan::{OrderProblem, OrderTensor, PlanError, StepUse};

/// A network under construction. The first tensor is its input.
pub(crate) struct Network {
    operations: Vec<StepUse>,
    sizes: Vec<u64>,
}

/// Bytes of a feature map of `extent` by `extent` pixels.
fn map(extent: u64, channels: u64) -> u64 {
    4 * extent * extent * channels
}

impl Network {
    /// Creates a network with an input of `size` bytes.
    pub(crate) fn new(size: u64) -> Self {
        Self { operations: Vec::new(), sizes: vec![size] }
    }

    /// Adds an operation, and returns its result.
    pub(crate) fn add(&mut self, reads: &[usize], size: u64) -> usize {
        self.sizes.push(size);
        self.operations.push(StepUse { reads: reads.to_vec(), writes: vec![self.sizes.len() - 1] });
        self.sizes.len() - 1
    }

    /// Adds a chain of operations, and returns the last result.
    fn chain(&mut self, from: usize, sizes: &[u64]) -> usize {
        sizes.iter().fold(from, |from, &size| self.add(&[from], size))
    }

    /// Returns the problem; the last result is needed to the end.
    pub(crate) fn problem(self) -> Result<OrderProblem, PlanError> {
        let mut tensors: Vec<OrderTensor> = self.sizes.into_iter().map(OrderTensor::new).collect();
        if let Some(last) = tensors.last_mut() {
            *last = last.to_end();
        }
        OrderProblem::new(self.operations, tensors)
    }
}

/// Steele, Lea and Flood's SplitMix.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns a number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ mixed >> 31) * u128::from(limit)) >> 64) as u64
    }
}

/// RandWire's small regime (Xie et al. 2019, table 1): three random graphs of 32 nodes, WS(4, 0.75), 78 channels.
pub(crate) fn randwire(seed: u64) -> Network {
    let mut network = Network::new(map(224, 3));
    let mut random = Random(seed);
    let first = network.chain(0, &[map(112, 39), map(56, 78)]);
    let stages = [(28, 78), (14, 156), (7, 312)];
    let last = stages.iter().fold(first, |from, &(extent, channels)| {
        randwire_stage(&mut network, from, map(extent, channels), 32, &mut random)
    });
    network.chain(last, &[map(7, 1280), map(1, 1280), map(1, 1000)]);
    network
}

/// The first stage of [`randwire`] alone.
pub(crate) fn randwire_cell(seed: u64, nodes: usize) -> Network {
    let mut network = Network::new(map(56, 78));
    randwire_stage(&mut network, 0, map(28, 78), nodes, &mut Random(seed));
    network
}

/// A random graph of Watts and Strogatz, with edges from lower to higher nodes. A node adds its operands and convolves
/// the sum; the last operation averages the nodes without successors.
fn randwire_stage(network: &mut Network, from: usize, size: u64, nodes: usize, random: &mut Random) -> usize {
    let edges = watts_strogatz(nodes, 4, 75, random);
    let mut results: Vec<usize> = Vec::new();
    for neighbours in &edges {
        let earlier = results.iter().zip(neighbours).filter(|&(_, &is_neighbour)| is_neighbour);
        let operands: Vec<usize> = earlier.map(|(&result, _)| result).collect();
        let sum = match operands[..] {
            [] => from,
            [operand] => operand,
            _ => network.add(&operands, size),
        };
        results.push(network.add(&[sum], size));
    }
    let ends = |node: &usize| !(node + 1..nodes).any(|other| edges[*node][other]);
    let ends: Vec<usize> = (0..nodes).filter(ends).map(|node| results[node]).collect();
    network.add(&ends, size)
}

/// Returns the edges of a random graph of Watts and Strogatz (1998): a ring in which each node has `degree` neighbours,
/// and each edge gets another end with `percent` probability.
fn watts_strogatz(nodes: usize, degree: usize, percent: u64, random: &mut Random) -> Vec<Vec<bool>> {
    let mut edges = vec![vec![false; nodes]; nodes];
    let connect = |edges: &mut Vec<Vec<bool>>, a: usize, b: usize, present| {
        (edges[a][b], edges[b][a]) = (present, present);
    };
    for distance in 1..=degree / 2 {
        (0..nodes).for_each(|node| connect(&mut edges, node, (node + distance) % nodes, true));
    }
    for distance in 1..=degree / 2 {
        for node in 0..nodes {
            let full = edges[node].iter().filter(|&&edge| edge).count() == nodes - 1;
            if random.below(100) >= percent || full {
                continue;
            }
            let end = loop {
                let end = random.below(nodes as u64) as usize;
                if end != node && !edges[node][end] {
                    break end;
                }
            };
            connect(&mut edges, node, (node + distance) % nodes, false);
            connect(&mut edges, node, end, true);
        }
    }
    edges
}

/// An operation of a cell that a search of architectures has chosen.
#[derive(Clone, Copy)]
enum Edge {
    /// Two separable convolutions, each depthwise and pointwise.
    Separable,
    /// One separable convolution, dilated.
    Dilated,
    Pool,
    Skip,
}

/// DARTS on ImageNet (Liu, Simonyan and Yang 2019, figures 4 and 5, second order): 14 cells, 48 channels.
pub(crate) fn darts() -> Network {
    let mut network = Network::new(map(224, 3));
    let before = network.chain(0, &[map(112, 24), map(56, 48)]);
    let mut inputs = [(before, 56), (network.add(&[before], map(28, 48)), 28)];
    let (mut channels, mut extent) = (48, 28);
    for cell in 0..14 {
        let reduces = cell == 14 / 3 || cell == 2 * 14 / 3;
        if reduces {
            (channels, extent) = (2 * channels, extent / 2);
        }
        let result = darts_cell(&mut network, inputs, extent, channels, reduces);
        inputs = [inputs[1], (result, extent)];
    }
    let last = inputs[1].0;
    network.chain(last, &[map(1, 768), map(1, 1000)]);
    network
}

/// The first normal cells of [`darts`], at 28 by 28 pixels.
pub(crate) fn darts_cells(cells: usize) -> Network {
    let mut network = Network::new(map(56, 48));
    let mut inputs = [(0, 56), (network.add(&[0], map(28, 48)), 28)];
    for _ in 0..cells {
        let result = darts_cell(&mut network, inputs, 28, 48, false);
        inputs = [inputs[1], (result, 28)];
    }
    network
}

fn darts_cell(network: &mut Network, inputs: [(usize, u64); 2], extent: u64, channels: u64, reduces: bool) -> usize {
    use Edge::{Dilated, Pool, Separable, Skip};
    const NORMAL: [(Edge, usize); 8] = [
        (Separable, 0),
        (Separable, 1),
        (Separable, 0),
        (Separable, 1),
        (Separable, 1),
        (Skip, 0),
        (Skip, 0),
        (Dilated, 2),
    ];
    const REDUCTION: [(Edge, usize); 8] =
        [(Pool, 0), (Pool, 1), (Skip, 2), (Pool, 1), (Pool, 0), (Skip, 2), (Skip, 2), (Pool, 1)];
    let size = map(extent, channels);
    let before = if reduces { 2 * extent } else { extent };
    let mut nodes: Vec<usize> =
        inputs.iter().map(|&(tensor, from)| network.add(&[tensor], map(before.min(from), channels))).collect();
    let edges = if reduces { &REDUCTION } else { &NORMAL };
    for pair in edges.chunks(2) {
        let ends: Vec<usize> = pair
            .iter()
            .map(|&(edge, from)| match edge {
                Separable => network.chain(nodes[from], &[size; 4]),
                Dilated => network.chain(nodes[from], &[size; 2]),
                Pool => network.chain(nodes[from], &[size]),
                Skip => nodes[from],
            })
            .collect();
        nodes.push(network.add(&ends, size));
    }
    network.add(&nodes[2..], 4 * size)
}

/// NASNet-A (Zoph et al. 2018, figure 4): normal cells of 44 channels at 28 by 28 pixels.
pub(crate) fn nasnet_cells(cells: usize) -> Network {
    let mut network = Network::new(map(28, 264));
    let mut inputs = [0, network.add(&[0], map(28, 264))];
    for _ in 0..cells {
        let size = map(28, 44);
        let [before, now] = inputs.map(|input| network.add(&[input], size));
        let separable = |network: &mut Network, from| network.chain(from, &[size; 4]);
        let mut parts = vec![before];
        let pair = [separable(&mut network, now), now];
        parts.push(network.add(&pair, size));
        let pair = [separable(&mut network, before), separable(&mut network, now)];
        parts.push(network.add(&pair, size));
        let pair = [network.add(&[now], size), before];
        parts.push(network.add(&pair, size));
        let pair = [network.add(&[before], size), network.add(&[before], size)];
        parts.push(network.add(&pair, size));
        let pair = [separable(&mut network, before), separable(&mut network, before)];
        parts.push(network.add(&pair, size));
        inputs = [inputs[1], network.add(&parts, 6 * size)];
    }
    network
}

/// GoogLeNet (Szegedy et al. 2015, table 1).
pub(crate) fn googlenet() -> Network {
    const MODULES: [(u64, [u64; 6]); 9] = [
        (28, [64, 96, 128, 16, 32, 32]),
        (28, [128, 128, 192, 32, 96, 64]),
        (14, [192, 96, 208, 16, 48, 64]),
        (14, [160, 112, 224, 24, 64, 64]),
        (14, [128, 128, 256, 24, 64, 64]),
        (14, [112, 144, 288, 32, 64, 64]),
        (14, [256, 160, 320, 32, 128, 128]),
        (7, [256, 160, 320, 32, 128, 128]),
        (7, [384, 192, 384, 48, 128, 128]),
    ];
    let mut network = Network::new(map(224, 3));
    let mut last = network.chain(0, &[map(112, 64), map(56, 64), map(56, 64), map(56, 192), map(28, 192)]);
    let (mut extent, mut channels) = (28, 192);
    for (size, [one, reduce3, three, reduce5, five, pool]) in MODULES {
        if size < extent {
            last = network.add(&[last], map(size, channels));
            extent = size;
        }
        let parts = [
            network.add(&[last], map(size, one)),
            network.chain(last, &[map(size, reduce3), map(size, three)]),
            network.chain(last, &[map(size, reduce5), map(size, five)]),
            network.chain(last, &[map(size, channels), map(size, pool)]),
        ];
        channels = one + three + five + pool;
        last = network.add(&parts, map(size, channels));
    }
    network.chain(last, &[map(1, 1024), map(1, 1000)]);
    network
}

/// DenseNet-121 (Huang et al. 2017, table 1): each layer reads the results of all earlier layers of its block.
pub(crate) fn densenet() -> Network {
    let mut network = Network::new(map(224, 3));
    let (mut last, mut channels, mut extent) = (network.chain(0, &[map(112, 64), map(56, 64)]), 64, 56);
    for (block, layers) in [6, 12, 24, 16].into_iter().enumerate() {
        let mut parts = vec![last];
        for _ in 0..layers {
            let narrow = network.add(&parts, map(extent, 128));
            parts.push(network.add(&[narrow], map(extent, 32)));
            channels += 32;
        }
        if block < 3 {
            channels /= 2;
            last = network.add(&parts, map(extent, channels));
            extent /= 2;
            last = network.add(&[last], map(extent, channels));
        } else {
            last = network.add(&parts, map(1, channels));
        }
    }
    network.chain(last, &[map(1, 1000)]);
    network
}

/// U-Net (Ronneberger, Fischer and Brox 2015, figure 1), with padded convolutions on 256 by 256 pixels.
pub(crate) fn unet() -> Network {
    let mut network = Network::new(map(256, 1));
    let (mut last, mut skips) = (0, Vec::new());
    for (extent, channels) in [(256, 64), (128, 128), (64, 256), (32, 512)] {
        let skip = network.chain(last, &[map(extent, channels); 2]);
        skips.push((skip, extent, channels));
        last = network.add(&[skip], map(extent / 2, channels));
    }
    last = network.chain(last, &[map(16, 1024); 2]);
    for (skip, extent, channels) in skips.into_iter().rev() {
        let up = network.add(&[last], map(extent, channels));
        let both = network.add(&[skip, up], map(extent, channels));
        last = network.add(&[both], map(extent, channels));
    }
    network.add(&[last], map(256, 2));
    network
}
