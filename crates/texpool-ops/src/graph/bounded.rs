//! Inputs whose extent along an axis differs between runs, and outputs whose extent depends on values.

use std::{borrow::Cow, iter};

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

/// Values of an input in a run, and their extents.
#[derive(Clone, Copy, Debug)]
pub struct InputValues<'v> {
    /// Dense values in the file's order.
    pub values: &'v [f32],
    /// Their extents. Needed only if the input has several bounded axes and not all of its places are given. Otherwise
    /// the extents follow from the number of values.
    pub dims: Option<&'v [usize]>,
}

impl<'v> InputValues<'v> {
    /// Values with these extents.
    pub const fn new(values: &'v [f32], dims: &'v [usize]) -> Self {
        Self { values, dims: Some(dims) }
    }
}

impl<'v> From<&'v [f32]> for InputValues<'v> {
    fn from(values: &'v [f32]) -> Self {
        Self { values, dims: None }
    }
}

impl<'v> From<&'v Vec<f32>> for InputValues<'v> {
    fn from(values: &'v Vec<f32>) -> Self {
        Self { values, dims: None }
    }
}

impl<'v, const N: usize> From<&'v [f32; N]> for InputValues<'v> {
    fn from(values: &'v [f32; N]) -> Self {
        Self { values, dims: None }
    }
}

/// An axis of an input along which a run may give fewer places than its tensor has. One plan serves every extent. The
/// places behind the extent hold zeros.
///
/// The extent is an input of one element that the caller does not see. Several inputs, or several axes of one, may share
/// it, and then they must have the same extent in a run, apart from what an axis has [more](Self::more).
///
/// ```
/// use texpool::graph::{BoundedInput, GraphBuilder, InputValues, Unary, check};
///
/// let mut b = GraphBuilder::new("roots of up to four numbers");
/// let (x, n) = (b.input("x", &[4])?, b.input("extent", &[1])?);
/// let y = b.unary("y", Unary::Sqrt, x)?;
/// let mut graph = b.finish(&[y])?;
/// graph.bounded_inputs.push(BoundedInput { input: 0, axis: 0, count: 1, step: 1, more: 0 });
/// check(&graph)?;
/// assert_eq!(graph.caller_inputs(), [x]);
///
/// // Two numbers are given. The session adds zeros behind them, and the extent.
/// let given = graph.padded_inputs(&[(0, InputValues::from(&[4.0, 9.0]))], 1 << 24)?;
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
    /// Number of which extents are multiples.
    pub step: usize,
    /// Places that the axis has in addition to the extent, such as those of new tokens behind the ones in a cache.
    pub more: usize,
}

/// Extents of bounded inputs that a run cannot have.
///
/// ```
/// use texpool::graph::ExtentError;
///
/// let error = ExtentError::Outside { input: "tokens".to_owned(), axis: 1, least: 1, bound: 128, found: 200 };
/// assert_eq!(error.to_string(), "input `tokens` has 200 places along axis 1, and the model takes 1 to 128");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExtentError {
    /// An input has more places along its bounded axis than the bound, or less than the least number.
    #[error(
        "input `{}` has {} places along axis {axis}, and the model takes {least} to {bound}",
        printable(input), if *found == 0 { "no".to_owned() } else { found.to_string() }
    )]
    Outside {
        /// Name of the input.
        input: String,
        /// The bounded axis.
        axis: usize,
        /// The least extent.
        least: usize,
        /// The bound.
        bound: usize,
        /// The extent that was given.
        found: usize,
    },
    /// An input has an extent along a bounded axis that is no multiple of its step.
    #[error(
        "input `{}` has {found} places along axis {axis}, and the model takes multiples of {step} up to {bound}{}",
        printable(input), if *more == 0 { String::new() } else { format!(", and {more} more") }
    )]
    NoMultiple {
        /// Name of the input.
        input: String,
        /// The bounded axis.
        axis: usize,
        /// The step.
        step: usize,
        /// Places that the axis has in addition to the multiple.
        more: usize,
        /// The greatest multiple.
        bound: usize,
        /// The extent that was given.
        found: usize,
    },
    /// An input with several bounded axes was given values without extents, and fewer than its tensor has.
    #[error(
        "input `{}` has {found} values, and several of its extents may differ from {dims:?}; give the extents of the values",
        printable(input)
    )]
    Unstated {
        /// Name of the input.
        input: String,
        /// Greatest extents of the input.
        dims: Vec<usize>,
        /// Number of values.
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
    /// Two inputs that share an extent, or two axes of one, have different ones.
    #[error(
        "inputs `{}` and `{}` share an extent, and have {} and {} places along it",
        printable(&inputs[0]), printable(&inputs[1]), extents[0], extents[1]
    )]
    Differ {
        /// Names of the two inputs, which are the same for two axes of one.
        inputs: [String; 2],
        /// Their extents.
        extents: [usize; 2],
    },
    /// The extent of an input is that of another one and a number of places more, and a run gives other extents.
    #[error(
        "inputs `{}` and `{}` have {} and {} places along axes whose extents follow from each other: with {}, `{}` has \
         {expected}",
        printable(&inputs[0]), printable(&inputs[1]), extents[0], extents[1], extents[0], printable(&inputs[1])
    )]
    NoSum {
        /// Names of the two inputs, which are the same for two axes of one.
        inputs: [String; 2],
        /// Their extents.
        extents: [usize; 2],
        /// The extent of the second input that follows from that of the first.
        expected: usize,
    },
}

/// An input by its index, with values for its whole tensor.
pub type PaddedInput<'v> = (usize, Cow<'v, [f32]>);

impl Graph {
    /// Returns the axes of an input along which it may have fewer places than its tensor.
    pub fn bounded_axes_of_input(&self, input: usize) -> impl Iterator<Item = &BoundedInput> {
        self.bounded_inputs.iter().filter(move |bounded| bounded.input == input)
    }

    /// Returns the extents of a number of values of an input, for which the caller may have `stated` extents. Leading ones
    /// make no difference. `None` if no extents fit the values.
    ///
    /// # Errors
    /// If several axes may have fewer places, and the values are given without extents.
    ///
    /// ```
    /// use texpool::graph::{BoundedInput, ExtentError, GraphBuilder, Unary};
    ///
    /// let mut b = GraphBuilder::new("roots of a picture of up to 8 times 8 pixels");
    /// let (x, h, w) = (b.input("x", &[8, 8])?, b.input("height", &[1])?, b.input("width", &[1])?);
    /// let y = b.unary("y", Unary::Sqrt, x)?;
    /// let mut graph = b.finish(&[y])?;
    /// graph.bounded_inputs.push(BoundedInput { input: 0, axis: 0, count: 1, step: 1, more: 0 });
    /// graph.bounded_inputs.push(BoundedInput { input: 0, axis: 1, count: 2, step: 1, more: 0 });
    ///
    /// assert_eq!(graph.given_dims(0, 6, Some(&[2, 3]))?, Some(vec![2, 3]));
    /// assert_eq!(graph.given_dims(0, 6, Some(&[2, 4]))?, None);
    /// assert!(matches!(graph.given_dims(0, 6, None), Err(ExtentError::Unstated { found: 6, .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn given_dims(
        &self,
        input: usize,
        count: usize,
        stated: Option<&[usize]>,
    ) -> Result<Option<Vec<usize>>, ExtentError> {
        let tensor = &self.tensors[self.inputs[input]];
        let mut dims = tensor.dims.clone();
        let axes: Vec<usize> = self.bounded_axes_of_input(input).map(|bounded| bounded.axis).collect();
        match (&axes[..], stated) {
            (&[axis], _) => {
                let [outer, _, inner] = parts(&dims, axis);
                dims[axis] = count.checked_div(outer * inner).unwrap_or_default();
            }
            (axes, Some(stated)) => {
                let more = stated.len().saturating_sub(dims.len());
                let less = dims.len().saturating_sub(stated.len());
                let aligned = iter::repeat_n(1, less).chain(stated[more..].iter().copied()).collect::<Vec<_>>();
                let fits = |(axis, (stated, own)): (usize, (&usize, &usize))| stated == own || axes.contains(&axis);
                if stated[..more].iter().any(|&extent| extent != 1) || !aligned.iter().zip(&dims).enumerate().all(fits)
                {
                    return Ok(None);
                }
                dims = aligned;
            }
            ([_, _, ..], None) if count != dims.iter().product::<usize>() => {
                return Err(ExtentError::Unstated { input: tensor.name.clone(), dims, found: count });
            }
            _ => {}
        }
        Ok((dims.iter().product::<usize>() == count).then_some(dims))
    }

    /// Puts zeros behind values of these extents, up to the extents of an input's tensor.
    pub fn pad_input(&self, input: usize, given: &[usize], values: &mut Vec<f32>) {
        let mut dims = given.to_vec();
        for BoundedInput { axis, .. } in self.bounded_axes_of_input(input) {
            let bound = self.tensors[self.inputs[input]].dims[*axis];
            pad(&dims, *axis, bound, values);
            dims[*axis] = bound;
        }
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

    /// Returns the extent of a run that the axes which share it have. `extent_of` gives that of an axis, with the places that
    /// the axis has more, or `None` if it follows the others. Without any, the extent is the bound. `exact` is the greatest
    /// number up to which texels hold all integers: no extent can be greater.
    ///
    /// # Errors
    /// If an extent is zero, beyond the bound or no multiple of the step, or two axes differ.
    pub fn shared_extent(
        &self,
        count: usize,
        exact: usize,
        extent_of: impl Fn(&BoundedInput) -> Option<usize>,
    ) -> Result<usize, ExtentError> {
        let sharing = || self.bounded_inputs.iter().filter(|bounded| bounded.count == count);
        let tensor = |bounded: &BoundedInput| &self.tensors[self.inputs[bounded.input]];
        let mut first: Option<(&BoundedInput, usize)> = None;
        for bounded in sharing() {
            let Some(found) = extent_of(bounded) else { continue };
            self.check_extent(bounded, exact, found)?;
            let name = |bounded| tensor(bounded).name.clone();
            match first {
                None => first = Some((bounded, found)),
                Some((other, extent)) if extent - other.more != found - bounded.more => {
                    let (inputs, extents) = ([name(other), name(bounded)], [extent, found]);
                    if other.more == bounded.more {
                        return Err(ExtentError::Differ { inputs, extents });
                    }
                    let expected = extent - other.more + bounded.more;
                    return Err(ExtentError::NoSum { inputs, extents, expected });
                }
                Some(_) => {}
            }
        }
        let bound = || sharing().map(|bounded| self.most_places(bounded, exact)).min().unwrap_or_default();
        Ok(first.map_or_else(bound, |(bounded, extent)| extent - bounded.more))
    }

    /// Checks the extent that an input has along a bounded axis. `exact` is the greatest number up to which texels hold
    /// all integers.
    ///
    /// # Errors
    /// If the extent is zero, beyond the bound, or no multiple of the step.
    pub fn check_extent(&self, bounded: &BoundedInput, exact: usize, found: usize) -> Result<(), ExtentError> {
        let bound = self.most_places(bounded, exact);
        let &BoundedInput { axis, step, more, .. } = bounded;
        let input = || self.tensors[self.inputs[bounded.input]].name.clone();
        match (1 + more..=bound + more).contains(&found) {
            true if (found - more).is_multiple_of(step) => Ok(()),
            true => Err(ExtentError::NoMultiple { input: input(), axis, step, more, bound, found }),
            false => Err(ExtentError::Outside { input: input(), axis, least: 1 + more, bound: bound + more, found }),
        }
    }

    /// Returns the greatest extent of an input along a bounded axis, without the places that the axis has more.
    fn most_places(&self, bounded: &BoundedInput, exact: usize) -> usize {
        let dims = &self.tensors[self.inputs[bounded.input]].dims;
        let most = dims.get(bounded.axis).copied().unwrap_or_default().min(exact).saturating_sub(bounded.more);
        most - most % bounded.step
    }

    /// Returns values of the caller's inputs, by index, with zeros behind their extents, and after those the extents.
    /// Values whose number fits no extent are returned as they are. `exact` is the greatest number up to which texels hold
    /// all integers.
    ///
    /// # Errors
    /// If an extent is one that a run cannot have, or cannot be told from the number of values.
    pub fn padded_inputs<'v>(
        &self,
        values: &[(usize, InputValues<'v>)],
        exact: usize,
    ) -> Result<Vec<PaddedInput<'v>>, ExtentError> {
        let dims = values
            .iter()
            .map(|&(input, given)| self.given_dims(input, given.values.len(), given.dims))
            .collect::<Result<Vec<_>, _>>()?;
        let extent_of = |bounded: &BoundedInput| {
            let place = values.iter().position(|(input, _)| *input == bounded.input)?;
            dims[place].as_ref()?.get(bounded.axis).copied()
        };
        let counts: Vec<PaddedInput<'v>> = self
            .extent_inputs()
            .map(|count| Ok((count, Cow::Owned(vec![self.shared_extent(count, exact, extent_of)? as f32]))))
            .collect::<Result<_, ExtentError>>()?;
        let padded = |(&(input, given), dims): (&(usize, InputValues<'v>), &Option<Vec<usize>>)| match dims {
            Some(dims) if *dims != self.tensors[self.inputs[input]].dims => {
                let mut values = given.values.to_vec();
                self.pad_input(input, dims, &mut values);
                (input, Cow::Owned(values))
            }
            _ => (input, Cow::Borrowed(given.values)),
        };
        Ok(values.iter().zip(&dims).map(padded).chain(counts).collect())
    }
}

/// Puts zeros behind values of these extents along an axis, up to a bound.
fn pad(dims: &[usize], axis: usize, bound: usize, values: &mut Vec<f32>) {
    let [outer, extent, inner] = parts(dims, axis);
    let (given, room) = (extent * inner, bound * inner);
    values.resize(outer * room, 0.0);
    // From the last row on, so that none is overwritten before it has moved.
    for row in (0..outer).rev() {
        values.copy_within(row * given..(row + 1) * given, row * room);
        values[row * room + given..(row + 1) * room].fill(0.0);
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
