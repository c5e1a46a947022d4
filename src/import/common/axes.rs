//! Resolves axis numbers of files.

use crate::import::error::Problem;

/// Resolves an axis number, which counts from the end if negative.
pub(in crate::import) fn axis(index: i64, rank: usize) -> Result<usize, Problem> {
    let counted = if index < 0 { index.checked_add(rank as i64) } else { Some(index) };
    counted
        .and_then(|i| usize::try_from(i).ok())
        .filter(|&i| i < rank)
        .ok_or_else(|| Problem::malformed(format!("there is no axis {index} of {rank}")))
}

/// Resolves axes in the given order, and refuses duplicates.
pub(in crate::import) fn named_axes(indices: &[i64], rank: usize) -> Result<Vec<usize>, Problem> {
    let axes = indices.iter().map(|&index| axis(index, rank)).collect::<Result<Vec<_>, _>>()?;
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    match sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        true => Err(Problem::malformed(format!("its axes {indices:?} name one twice"))),
        false => Ok(axes),
    }
}

/// Resolves axes in ascending order, and refuses duplicates.
pub(in crate::import) fn sorted_axes(indices: &[i64], rank: usize) -> Result<Vec<usize>, Problem> {
    let mut axes = named_axes(indices, rank)?;
    axes.sort_unstable();
    Ok(axes)
}

/// Resolves a permutation of all axes.
pub(in crate::import) fn permutation(indices: &[i64], rank: usize) -> Result<Vec<usize>, Problem> {
    let perm = named_axes(indices, rank)?;
    if perm.len() == rank {
        return Ok(perm);
    }
    Err(Problem::malformed(format!("{indices:?} is no permutation of {rank} axes")))
}
