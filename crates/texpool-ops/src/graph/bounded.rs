//! Outputs whose extent along an axis depends on values.

/// An output whose extent along an axis is found in a run. Its tensor has room for the most that it can be, so one plan
/// serves every run. The places behind the extent hold values without a meaning.
///
/// The extent is a tensor of one element, an output that the caller does not see. Several outputs may share it.
///
/// ```
/// use texpool::graph::{BoundedOutput, GraphBuilder, ReduceKind, Unary, check};
///
/// let mut b = GraphBuilder::new("as many rows as the flags say");
/// let (x, flags) = (b.input("x", &[4, 2])?, b.input("flags", &[4])?);
/// let rows = b.unary("rows", Unary::Sqrt, x)?;
/// let count = b.reduce("count", ReduceKind::Sum, [false, false, false, true], flags)?;
/// let mut graph = b.finish(&[rows, count])?;
/// graph.bounded.push(BoundedOutput { output: 0, axis: 2, count: 1 });
/// check(&graph)?;
/// assert_eq!(graph.caller_outputs(), [rows]);
///
/// let mut values = vec![1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0];
/// assert_eq!(graph.bounded[0].cut(&[1, 1, 4, 2], 2.0, &mut values), [1, 1, 2, 2]);
/// assert_eq!(values, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundedOutput {
    /// Index among the graph's outputs.
    pub output: usize,
    /// Axis, in the file's order, along which the extent is found in a run.
    pub axis: usize,
    /// Index among the graph's outputs of the tensor with the extent.
    pub count: usize,
}

impl BoundedOutput {
    /// Cuts values of these extents to those before the extent that a run found, and returns the extents left.
    pub fn cut(&self, dims: &[usize], count: f32, values: &mut Vec<f32>) -> Vec<usize> {
        let [outer, bound, inner] = self.parts(dims);
        let kept = kept(count, bound);
        let mut cut = dims.to_vec();
        if let Some(extent) = cut.get_mut(self.axis) {
            *extent = kept;
        }
        for row in 1..outer {
            let begin = row * bound * inner;
            values.copy_within(begin..begin + kept * inner, row * kept * inner);
        }
        values.truncate(outer * kept * inner);
        cut
    }

    /// Writes zeros to the places behind the extent that a run found.
    pub fn clear(&self, dims: &[usize], count: f32, values: &mut [f32]) {
        let [_, bound, inner] = self.parts(dims);
        let kept = kept(count, bound);
        values.chunks_mut(bound * inner).for_each(|row| row[kept * inner..].fill(0.0));
    }

    /// Returns the extents of values that were cut, by their number.
    pub fn dims_of(&self, dims: &[usize], values: usize) -> Vec<usize> {
        let [outer, _, inner] = self.parts(dims);
        let extent =
            |(axis, &extent): (usize, &usize)| if axis == self.axis { values / (outer * inner) } else { extent };
        dims.iter().enumerate().map(extent).collect()
    }

    /// Returns the products of the extents before the axis, at it, and behind it.
    fn parts(&self, dims: &[usize]) -> [usize; 3] {
        let (before, rest) = dims.split_at(self.axis.min(dims.len()));
        let (bound, behind) = rest.split_first().map_or((1, rest), |(&bound, behind)| (bound, behind));
        [before.iter().product(), bound, behind.iter().product()]
    }
}

/// Returns a count as a number of places. One that is NaN counts as 0.
fn kept(count: f32, bound: usize) -> usize {
    (count.round() as usize).min(bound)
}
