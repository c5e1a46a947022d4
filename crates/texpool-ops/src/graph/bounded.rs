//! Inputs whose extent along an axis differs between runs, and outputs whose extent depends on values.

use std::borrow::Cow;

use super::Graph;
use texpool_plan::printable;

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
        let [outer, bound, inner] = parts(dims, self.axis);
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
        let [_, bound, inner] = parts(dims, self.axis);
        let kept = kept(count, bound);
        values.chunks_mut(bound * inner).for_each(|row| row[kept * inner..].fill(0.0));
    }

    /// Returns the extents of values that were cut, by their number.
    pub fn dims_of(&self, dims: &[usize], values: usize) -> Vec<usize> {
        let [outer, _, inner] = parts(dims, self.axis);
        let extent =
            |(axis, &extent): (usize, &usize)| if axis == self.axis { values / (outer * inner) } else { extent };
        dims.iter().enumerate().map(extent).collect()
    }
}

/// A number that a run computes and that is an extent of tensors, with room for at most a number of places.
///
/// The number is an output that the caller does not see. A run in which it is greater fails when it is read, because its
/// outputs would lack the places beyond the limit.
///
/// ```
/// use texpool::graph::{ExtentError, ExtentLimit, GraphBuilder, Unary, check};
///
/// let mut b = GraphBuilder::new("roots of as many numbers as there are");
/// let (x, n) = (b.input("x", &[4])?, b.input("n", &[1])?);
/// let (roots, count) = (b.unary("roots", Unary::Sqrt, x)?, b.unary("count", Unary::Ceil, n)?);
/// let mut graph = b.finish(&[roots, count])?;
/// graph.limits.push(ExtentLimit { name: "count".to_owned(), count: 1, most: 4 });
/// check(&graph)?;
/// assert_eq!(graph.caller_outputs(), [roots]);
///
/// let outputs = [vec![0.0; 4], vec![5.0]];
/// let error = graph.check_limits(|output| outputs[output].first().copied()).unwrap_err();
/// assert_eq!(error, ExtentError::BeyondLimit { name: "count".to_owned(), most: 4, found: 5 });
/// assert_eq!(error.to_string(), "`count` is 5 in this run, and the tensors that it sizes have room for 4 places");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtentLimit {
    /// Name of the number in the file.
    pub name: String,
    /// Index among the graph's outputs of the number.
    pub count: usize,
    /// Greatest extent that the tensors have room for.
    pub most: usize,
}

/// An input to which a run may give fewer places along an axis than its tensor has. One plan serves every extent. The
/// places behind the extent hold zeros.
///
/// The extent is an input of one element that the caller does not see. Several inputs may share it, and then they must
/// have the same extent in a run.
///
/// ```
/// use texpool::graph::{BoundedInput, GraphBuilder, Unary, check};
///
/// let mut b = GraphBuilder::new("roots of up to four numbers");
/// let (x, n) = (b.input("x", &[4])?, b.input("extent", &[1])?);
/// let y = b.unary("y", Unary::Sqrt, x)?;
/// let mut graph = b.finish(&[y])?;
/// graph.bounded_inputs.push(BoundedInput { input: 0, axis: 0, count: 1 });
/// check(&graph)?;
/// assert_eq!(graph.caller_inputs(), [x]);
///
/// // Two numbers are given. The session adds zeros behind them, and the extent.
/// let given = graph.padded_inputs(&[(0, &[4.0, 9.0])], 1 << 24)?;
/// assert_eq!((&given[0].1[..], &given[1].1[..]), (&[4.0, 9.0, 0.0, 0.0][..], &[2.0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundedInput {
    /// Index among the graph's inputs.
    pub input: usize,
    /// Axis, in the file's order, along which a run gives the extent.
    pub axis: usize,
    /// Index among the graph's inputs of the tensor with the extent.
    pub count: usize,
}

impl BoundedInput {
    /// Returns the extents of this number of values, for an input of these extents. `None` if no extent along the axis
    /// fits them.
    ///
    /// ```
    /// use texpool::graph::BoundedInput;
    ///
    /// let rows = BoundedInput { input: 0, axis: 0, count: 1 };
    /// assert_eq!(rows.dims_of(&[8, 3], 6), Some(vec![2, 3]));
    /// assert_eq!(rows.dims_of(&[8, 3], 7), None);
    /// ```
    pub fn dims_of(&self, dims: &[usize], values: usize) -> Option<Vec<usize>> {
        let [outer, _, inner] = parts(dims, self.axis);
        let mut given = dims.to_vec();
        let each = outer * inner;
        *given.get_mut(self.axis)? = (each > 0 && values.is_multiple_of(each)).then(|| values / each)?;
        Some(given)
    }

    /// Puts zeros behind the extent of values along the axis, up to the extents of the input's tensor.
    pub fn pad(&self, dims: &[usize], values: &mut Vec<f32>) {
        let [outer, bound, inner] = parts(dims, self.axis);
        let (given, room) = (values.len() / outer.max(1), bound * inner);
        values.resize(outer * room, 0.0);
        // From the last row on, so that none is overwritten before it has moved.
        for row in (0..outer).rev() {
            values.copy_within(row * given..(row + 1) * given, row * room);
            values[row * room + given..(row + 1) * room].fill(0.0);
        }
    }
}

/// Extents of bounded inputs that a run cannot have.
///
/// ```
/// use texpool::graph::ExtentError;
///
/// let error = ExtentError::Outside { input: "tokens".to_owned(), axis: 1, bound: 128, found: 200 };
/// assert_eq!(error.to_string(), "input `tokens` has 200 places along axis 1, and the model takes 1 to 128");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExtentError {
    /// An input has more places along its bounded axis than the bound, or none.
    #[error(
        "input `{}` has {} places along axis {axis}, and the model takes 1 to {bound}",
        printable(input), if *found == 0 { "no".to_owned() } else { found.to_string() }
    )]
    Outside {
        /// Name of the input.
        input: String,
        /// The bounded axis.
        axis: usize,
        /// The bound.
        bound: usize,
        /// The extent that was given.
        found: usize,
    },
    /// A run computed an extent for which the tensors have no room.
    #[error("`{}` is {found} in this run, and the tensors that it sizes have room for {most} places", printable(name))]
    BeyondLimit {
        /// Name of the number in the file.
        name: String,
        /// Greatest extent that the tensors have room for.
        most: usize,
        /// The extent that the run computed.
        found: usize,
    },
    /// Two inputs that share an extent have different ones.
    #[error(
        "inputs `{}` and `{}` share an extent, and have {} and {} places along it",
        printable(&inputs[0]), printable(&inputs[1]), extents[0], extents[1]
    )]
    Differ {
        /// Names of the two.
        inputs: [String; 2],
        /// Their extents.
        extents: [usize; 2],
    },
}

/// An input by its index, with values for its whole tensor.
pub type PaddedInput<'v> = (usize, Cow<'v, [f32]>);

impl Graph {
    /// Returns the record of an input that may have fewer places than its tensor.
    pub fn bounded_input(&self, input: usize) -> Option<&BoundedInput> {
        self.bounded_inputs.iter().find(|bounded| bounded.input == input)
    }

    /// Checks the extents that a run computed. `value` gives the first number of an output.
    ///
    /// # Errors
    /// If one is beyond its limit.
    pub fn check_limits(&self, value: impl Fn(usize) -> Option<f32>) -> Result<(), ExtentError> {
        for ExtentLimit { name, count, most } in &self.limits {
            if let Some(found) = value(*count)
                && found.round() > *most as f32
            {
                return Err(ExtentError::BeyondLimit {
                    name: name.clone(),
                    most: *most,
                    found: found.round() as usize,
                });
            }
        }
        Ok(())
    }

    /// Returns the indices of the inputs that hold extents. They follow the caller's.
    pub fn extent_inputs(&self) -> std::ops::Range<usize> {
        self.caller_inputs().len()..self.inputs.len().saturating_sub(self.variables.len())
    }

    /// Returns the extent of a run that the inputs which share it have. `extent_of` gives that of an input of the caller,
    /// or `None` if it follows the others. Without any, the extent is the bound. `exact` is the greatest number up to which
    /// texels hold all integers: no extent can be greater.
    ///
    /// # Errors
    /// If an extent is zero or beyond the bound, or two inputs differ.
    pub fn shared_extent(
        &self,
        count: usize,
        exact: usize,
        extent_of: impl Fn(usize) -> Option<usize>,
    ) -> Result<usize, ExtentError> {
        let sharing = || self.bounded_inputs.iter().filter(|bounded| bounded.count == count);
        let tensor = |bounded: &BoundedInput| &self.tensors[self.inputs[bounded.input]];
        let mut first: Option<(&BoundedInput, usize)> = None;
        for bounded in sharing() {
            let Some(found) = extent_of(bounded.input) else { continue };
            self.check_extent(bounded, exact, found)?;
            let name = |bounded| tensor(bounded).name.clone();
            match first {
                None => first = Some((bounded, found)),
                Some((other, extent)) if extent != found => {
                    let inputs = [name(other), name(bounded)];
                    return Err(ExtentError::Differ { inputs, extents: [extent, found] });
                }
                Some(_) => {}
            }
        }
        let bound = || sharing().next().map(|bounded| self.most_places(bounded, exact)).unwrap_or_default();
        Ok(first.map_or_else(bound, |(_, extent)| extent))
    }

    /// Checks the extent that an input has along its bounded axis. `exact` is the greatest number up to which texels hold
    /// all integers.
    ///
    /// # Errors
    /// If the extent is zero or beyond the bound.
    pub fn check_extent(&self, bounded: &BoundedInput, exact: usize, found: usize) -> Result<(), ExtentError> {
        let bound = self.most_places(bounded, exact);
        if (1..=bound).contains(&found) {
            return Ok(());
        }
        let input = self.tensors[self.inputs[bounded.input]].name.clone();
        Err(ExtentError::Outside { input, axis: bounded.axis, bound, found })
    }

    /// Returns the greatest extent of an input along its bounded axis.
    fn most_places(&self, bounded: &BoundedInput, exact: usize) -> usize {
        let dims = &self.tensors[self.inputs[bounded.input]].dims;
        dims.get(bounded.axis).copied().unwrap_or_default().min(exact)
    }

    /// Returns values of the caller's inputs, by index, with zeros behind their extents, and after those the extents.
    /// Values whose number fits no extent are returned as they are. `exact` is the greatest number up to which texels hold
    /// all integers.
    ///
    /// # Errors
    /// If an extent is zero or beyond the bound, or two inputs that share one differ.
    pub fn padded_inputs<'v>(
        &self,
        values: &[(usize, &'v [f32])],
        exact: usize,
    ) -> Result<Vec<PaddedInput<'v>>, ExtentError> {
        let dims = |bounded: &BoundedInput| &self.tensors[self.inputs[bounded.input]].dims;
        let extent_of = |input: usize| {
            let bounded = self.bounded_input(input)?;
            let (_, given) = values.iter().find(|(other, _)| *other == input)?;
            bounded.dims_of(dims(bounded), given.len())?.get(bounded.axis).copied()
        };
        let counts: Vec<PaddedInput<'v>> = self
            .extent_inputs()
            .map(|count| Ok((count, Cow::Owned(vec![self.shared_extent(count, exact, extent_of)? as f32]))))
            .collect::<Result<_, ExtentError>>()?;
        let is_short = |bounded: &BoundedInput, given: &[f32]| {
            let dims = dims(bounded);
            given.len() < dims.iter().product() && bounded.dims_of(dims, given.len()).is_some()
        };
        let padded = |&(input, given): &(usize, &'v [f32])| match self.bounded_input(input) {
            Some(bounded) if is_short(bounded, given) => {
                let mut values = given.to_vec();
                bounded.pad(dims(bounded), &mut values);
                (input, Cow::Owned(values))
            }
            _ => (input, Cow::Borrowed(given)),
        };
        Ok(values.iter().map(padded).chain(counts).collect())
    }
}

/// Returns the products of the extents before an axis, at it, and behind it.
fn parts(dims: &[usize], axis: usize) -> [usize; 3] {
    let (before, rest) = dims.split_at(axis.min(dims.len()));
    let (bound, behind) = rest.split_first().map_or((1, rest), |(&bound, behind)| (bound, behind));
    [before.iter().product(), bound, behind.iter().product()]
}

/// Returns a count as a number of places. One that is NaN counts as 0.
fn kept(count: f32, bound: usize) -> usize {
    (count.round() as usize).min(bound)
}
