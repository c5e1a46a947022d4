//! `condition ? x : y`, for which there is no operator of three operands.

use crate::{graph::Binary, import::error::Problem};

/// What is kept of `x` and what is kept of `y`: the result is their sum. Elements that are not kept are selected away, not
/// multiplied by zero, which would make NaN of NaN and of infinities.
pub(in crate::import) fn kept_parts<T>(
    condition: &T,
    [x, y]: [&T; 2],
    mut node: impl FnMut(Binary, [&T; 2]) -> Result<T, Problem>,
) -> Result<[T; 2], Problem> {
    Ok([node(Binary::ZeroUnless, [condition, x])?, node(Binary::ZeroIf, [condition, y])?])
}
