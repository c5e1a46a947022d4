//! Extents of results from those of operands, in the file's order.

use crate::import::error::Problem;

/// The extents with ones in front, so that there are `rank` of them, or as many as there are already.
pub(in crate::import) fn with_leading_ones(dims: &[usize], rank: usize) -> Vec<usize> {
    [vec![1; rank.saturating_sub(dims.len())], dims.to_vec()].concat()
}

/// The extents that operands broadcast to.
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

/// The extents of operands one behind the other along an axis of the first; all others must be equal.
pub(in crate::import) fn concatenated(operands: &[&[usize]], along: usize) -> Result<Vec<usize>, Problem> {
    let [first, others @ ..] = operands else { return Err(Problem::malformed("it has no operands")) };
    let mut dims = first.to_vec();
    for other in others {
        let alike = other.len() == dims.len() && (0..dims.len()).all(|a| a == along || other[a] == dims[a]);
        if !alike {
            return Err(Problem::malformed(format!("{first:?} and {other:?} do not join along axis {along}")));
        }
        // Saturated, not checked: whoever makes the tensor counts its elements and refuses as many.
        dims[along] = dims[along].saturating_add(other[along]);
    }
    Ok(dims)
}

/// The extents after indices were looked up along an axis, in whose place theirs stand.
pub(in crate::import) fn gathered(dims: &[usize], along: usize, indices: &[usize]) -> Vec<usize> {
    [&dims[..along], indices, &dims[along + 1..]].concat()
}

/// The extents repeated along each axis.
pub(in crate::import) fn repeated(dims: &[usize], times: &[usize]) -> Vec<usize> {
    dims.iter().zip(times).map(|(&extent, &n)| extent.saturating_mul(n)).collect()
}

/// The extents after a reduction over some axes, which stay as ones or disappear.
pub(in crate::import) fn reduced(dims: &[usize], over: &[usize], keep: bool) -> Vec<usize> {
    let axes = (0..dims.len()).filter(|axis| keep || !over.contains(axis));
    axes.map(|axis| if over.contains(&axis) { 1 } else { dims[axis] }).collect()
}

/// The extents without the axes named, which must be ones; without all ones if none are named.
pub(in crate::import) fn squeezed(dims: &[usize], named: Option<&[usize]>) -> Result<Vec<usize>, Problem> {
    let dropped = |axis: usize| named.map_or(dims[axis] == 1, |named| named.contains(&axis));
    if let Some(axis) = (0..dims.len()).find(|&axis| dropped(axis) && dims[axis] != 1) {
        return Err(Problem::malformed(format!("axis {axis} of {dims:?} is not 1")));
    }
    Ok((0..dims.len()).filter(|&axis| !dropped(axis)).map(|axis| dims[axis]).collect())
}
