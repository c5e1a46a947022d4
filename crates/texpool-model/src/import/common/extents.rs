//! Computes extents of results from those of operands, in the file's order of axes.

use crate::import::error::Problem;

/// Prepends ones so that there are at least `rank` extents.
pub(in crate::import) fn with_leading_ones(dims: &[usize], rank: usize) -> Vec<usize> {
    [vec![1; rank.saturating_sub(dims.len())], dims.to_vec()].concat()
}

/// Returns the extents to which operands broadcast.
pub(in crate::import) fn broadcast(operands: &[&[usize]]) -> Result<Vec<usize>, Problem> {
    let rank = operands.iter().map(|dims| dims.len()).max().unwrap_or(0);
    let mut result = vec![1; rank];
    for dims in operands {
        for (r, &d) in result[rank - dims.len()..].iter_mut().zip(*dims) {
            match (*r, d) {
                (1, d) => *r = d,
                (r, d) if d == r || d == 1 => {}
                _ => return Err(Problem::malformed(format!("extents {operands:?} do not broadcast"))),
            }
        }
    }
    Ok(result)
}

/// Returns the extents of a concatenation along an axis. All other extents must be equal.
pub(in crate::import) fn concatenated(operands: &[&[usize]], along: usize) -> Result<Vec<usize>, Problem> {
    let [first, others @ ..] = operands else { return Err(Problem::malformed("it has no operands")) };
    let mut dims = first.to_vec();
    for other in others {
        let alike = other.len() == dims.len() && (0..dims.len()).all(|a| a == along || other[a] == dims[a]);
        if !alike {
            return Err(Problem::malformed(format!("{first:?} and {other:?} do not join along axis {along}")));
        }
        // Saturating is enough: the elements of the tensor are counted later, and such a number is refused.
        dims[along] = dims[along].saturating_add(other[along]);
    }
    Ok(dims)
}

/// Returns the extents after a lookup of indices along an axis. The extents of the indices replace the axis.
pub(in crate::import) fn gathered(dims: &[usize], along: usize, indices: &[usize]) -> Vec<usize> {
    [&dims[..along], indices, &dims[along + 1..]].concat()
}

/// Returns the extents after repetition along each axis.
pub(in crate::import) fn repeated(dims: &[usize], times: &[usize]) -> Vec<usize> {
    dims.iter().zip(times).map(|(&extent, &n)| extent.saturating_mul(n)).collect()
}

/// Returns the extents after a reduction over some axes, whose extents become 1 or are dropped.
pub(in crate::import) fn reduced(dims: &[usize], over: &[usize], keep: bool) -> Vec<usize> {
    let axes = (0..dims.len()).filter(|axis| keep || !over.contains(axis));
    axes.map(|axis| if over.contains(&axis) { 1 } else { dims[axis] }).collect()
}

/// Returns the extents without the named axes, which must be ones, or without all ones if `named` is `None`.
pub(in crate::import) fn squeezed(dims: &[usize], named: Option<&[usize]>) -> Result<Vec<usize>, Problem> {
    let dropped = |axis: usize| named.map_or(dims[axis] == 1, |named| named.contains(&axis));
    if let Some(axis) = (0..dims.len()).find(|&axis| dropped(axis) && dims[axis] != 1) {
        return Err(Problem::malformed(format!("axis {axis} of {dims:?} is not 1")));
    }
    Ok((0..dims.len()).filter(|&axis| !dropped(axis)).map(|axis| dims[axis]).collect())
}
