//! Random model inputs: extents as a file states them, an order of axes, and the groups of axes that form B, H, W and
//! C.

use texpool_ops::graph::{GraphBuilder, LayoutPermutation, Tensor};

/// Upper limit on the elements of an input: numbers up to here are exact in 16 bits.
const MOST: usize = 2048;

/// An input as an importer makes it.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) tensor: Tensor,
    /// Extents in the file's order, with an axis split wherever the order of axes needs it.
    extents: Vec<usize>,
    /// The axes in memory order.
    sequence: Vec<usize>,
}

impl Input {
    /// Draws an input from a seed.
    pub(crate) fn random(number: u64) -> Self {
        let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
        let mut below = move |n: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize % n
        };
        let mut extents = Vec::new();
        for _ in 0..below(7) {
            let extent = [1, 2, 3, 4, 5, 6, 7, 9, 16, 33, 300][below(11)];
            let fits = extents.iter().product::<usize>() * extent <= MOST;
            extents.push(if fits { extent } else { 1 });
        }
        let axes = extents.len();
        let mut sequence: Vec<usize> = (0..axes).collect();
        if below(4) > 0 {
            (1..axes).for_each(|i| sequence.swap(i, below(i + 1)));
        }
        let dims = merged(&extents, &mut below);
        // Ends of the axes that form B, H and W.
        let mut ends = [below(axes + 1), below(axes + 1), below(axes + 1), axes];
        ends.sort_unstable();
        let mut from = 0;
        let shape = ends.map(|end| {
            let extent: usize = sequence[from..end].iter().map(|&axis| extents[axis]).product();
            from = end;
            extent
        });
        let mut b = GraphBuilder::new("one input");
        let input = b.input("input", &shape).unwrap();
        let mean = b.mean("mean", [true; 4], input).unwrap();
        let mut tensor = b.finish(&[mean]).unwrap().tensors[input].clone();
        tensor.dims = dims;
        tensor.host_permutation = LayoutPermutation::new(&extents, &sequence).unwrap();
        Self { tensor, extents, sequence }
    }

    /// Index in the order `[B, H, W, C]` of the element with this index in the file's order.
    pub(crate) fn place(&self, element: usize) -> usize {
        let at = indices(element, &self.extents);
        self.sequence.iter().fold(0, |place, &axis| place * self.extents[axis] + at[axis])
    }
}

/// Returns the extents with some neighbours merged into one.
fn merged(extents: &[usize], below: &mut impl FnMut(usize) -> usize) -> Vec<usize> {
    let mut dims: Vec<usize> = Vec::new();
    for &extent in extents {
        match dims.last_mut().filter(|_| below(3) == 0) {
            Some(last) => *last *= extent,
            None => dims.push(extent),
        }
    }
    dims
}

/// Returns the index along each axis of an element in row-major order.
pub(crate) fn indices(element: usize, extents: &[usize]) -> Vec<usize> {
    let mut rest = element;
    let mut indices: Vec<usize> = extents
        .iter()
        .rev()
        .map(|extent| {
            let index = rest % extent;
            rest /= extent;
            index
        })
        .collect();
    indices.reverse();
    indices
}
