//! Which tensors may share memory when steps may run in any order their data allows, in parallel too.

use super::PlanError;

/// For each tensor, those that may share its memory whatever runs beside what, in rising order.
///
/// `used_by[x]` lists the tensors that are computed from `x`. Two may share where every tensor computed from the one is
/// itself needed, directly or not, for the other: then the one is dead before the other is born. A tensor that nothing
/// is computed from is an output and never dies. `O(n * edges / 64)`.
///
/// # Errors
/// [`PlanError::OutOfRange`] if an edge leads to a tensor that is not there.
pub fn reallocation_graph(used_by: &[Vec<usize>]) -> Result<Vec<Vec<usize>>, PlanError> {
    let n = used_by.len();
    for (record, users) in used_by.iter().enumerate() {
        if let Some(&index) = users.iter().find(|&&user| user >= n) {
            return Err(PlanError::OutOfRange { record, what: "tensor", index, count: n });
        }
    }
    let after: Vec<Vec<u64>> = (0..n).map(|x| reachable(used_by, x)).collect();
    let bit = |set: &[u64], at: usize| set[at / 64] >> (at % 64) & 1 == 1;
    let dead_before =
        |x: usize, y: usize| !used_by[x].is_empty() && used_by[x].iter().all(|&user| user != y && bit(&after[user], y));
    let partners = |x: usize| (0..n).filter(|&y| x != y && (dead_before(x, y) || dead_before(y, x))).collect();
    Ok((0..n).map(partners).collect())
}

/// The tensors that `start` is needed for, as bits.
fn reachable(used_by: &[Vec<usize>], start: usize) -> Vec<u64> {
    let mut seen = vec![0u64; used_by.len().div_ceil(64)];
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        for &next in &used_by[at] {
            if seen[next / 64] >> (next % 64) & 1 == 0 {
                seen[next / 64] |= 1 << (next % 64);
                open.push(next);
            }
        }
    }
    seen
}
