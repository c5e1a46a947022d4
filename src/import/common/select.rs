//! Lowers `condition ? x : y`, because the graph has no operator with three operands.

use crate::{graph::Binary, import::error::Problem};

/// Returns the selected elements of `x` and those of `y`; the result is their sum. The other elements are replaced by
/// zeros, not multiplied by zero, because that would turn NaN and infinities into NaN.
pub(in crate::import) fn kept_parts<T>(
    condition: &T,
    [x, y]: [&T; 2],
    mut node: impl FnMut(Binary, [&T; 2]) -> Result<T, Problem>,
) -> Result<[T; 2], Problem> {
    Ok([node(Binary::ZeroUnless, [condition, x])?, node(Binary::ZeroIf, [condition, y])?])
}
