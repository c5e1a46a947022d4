//! The order whose pool is smallest after placement.

use super::{problem::OrderProblem, search::LeastPeak};
use crate::{error::PlanError, record::UsageRecord, uses::StepUse};

/// The order with the smallest pool of those that were placed.
///
/// ```
/// use texpool_plan::{
///     ArenaPlanner, Buffer, LeastPeak, OrderProblem, OrderTensor, PoolOrder, SearchControl, StepUse, least_peak,
///     smallest_pool,
/// };
///
/// let uses = |reads: &[usize], write: usize| StepUse { reads: reads.to_vec(), writes: vec![write] };
/// let operations =
///     vec![uses(&[0], 1), uses(&[0], 2), uses(&[1], 3), uses(&[2], 4), uses(&[3, 4], 5)];
/// let tensors = [1, 8, 8, 1, 1, 1].map(OrderTensor::new).to_vec();
/// let problem = OrderProblem::new(operations, tensors)?;
/// let least = least_peak(&problem, LeastPeak::EFFORT, &SearchControl::new());
/// let best: PoolOrder = smallest_pool(&problem, &least, |records, _| {
///     Ok(ArenaPlanner::from_iter(records.iter().copied().map(Buffer::from)).plan()?.total)
/// })?;
/// assert_eq!((best.given_pool, best.pool), (17, 10));
/// // No order has a smaller peak, and no arena is smaller than the peak.
/// assert!(best.is_proven());
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolOrder {
    /// Operations of the problem, in the order in which they run.
    pub order: Vec<usize>,
    /// Largest sum of the sizes of tensors that are alive at once, in this order.
    pub peak: u64,
    /// Size of the pool in this order.
    pub pool: u64,
    /// Size of the pool in the problem's order.
    pub given_pool: u64,
    /// No order has a smaller pool.
    pub bound: u64,
}

impl PoolOrder {
    /// Returns whether no order and no placement has a smaller pool.
    pub const fn is_proven(&self) -> bool {
        self.pool <= self.bound
    }
}

/// Places the tensors in the problem's order and in the orders of `least`, and returns the order with the smallest
/// pool; of equals the problem's. So the pool is never larger than in the problem's order. `place` returns the size of the
/// pool for usage records and the uses of each step. [`PoolOrder`] has an example.
///
/// # Errors
/// Any error of `place`, and [`PlanError::Input`] if `least` belongs to another problem.
pub fn smallest_pool(
    problem: &OrderProblem,
    least: &LeastPeak,
    mut place: impl FnMut(&[UsageRecord], &[StepUse]) -> Result<u64, PlanError>,
) -> Result<PoolOrder, PlanError> {
    let given: Vec<usize> = (0..problem.len()).collect();
    let mut pool_of = |order: &[usize]| place(&problem.records(order)?, &problem.uses(order)?);
    let given_pool = pool_of(&given)?;
    let (mut pool, mut best) = (given_pool, &given);
    for order in std::iter::once(&least.order).chain(&least.others).filter(|&order| *order != given) {
        if pool > least.bound {
            let total = pool_of(order)?;
            if total < pool {
                (pool, best) = (total, order);
            }
        }
    }
    Ok(PoolOrder { order: best.clone(), peak: problem.peak(best)?, pool, given_pool, bound: least.bound })
}
