//! Results of the planner of several memories.

use crate::control::StopReason;

/// The place of a buffer. [`MemoriesPlan`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MemoryPlace {
    /// Position of the memory among those of the planner.
    pub memory: usize,
    /// Offset in that memory.
    pub offset: u64,
}

/// A memory and an offset for each buffer, with the cost and the proven bound on it. The checker has accepted the plan.
///
/// ```
/// use texpool_plan::{Buffer, MemoriesPlan, MemoriesPlanner, Memory, MemoryPlace};
///
/// let mut planner = MemoriesPlanner::new([Memory::new().capacity(10), Memory::new()]);
/// planner.add(Buffer::new(0..2, 8), [(0, 8), (1, 80)]);
/// planner.add(Buffer::new(1..3, 6), [(0, 6), (1, 60)]);
/// let plan: MemoriesPlan = planner.plan()?;
/// // Both do not fit, and the larger one is worth more.
/// assert_eq!(plan.places, [MemoryPlace { memory: 0, offset: 0 }, MemoryPlace { memory: 1, offset: 0 }]);
/// assert_eq!((plan.totals.as_slice(), plan.cost, plan.is_optimal()), (&[8, 6][..], 68, true));
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct MemoriesPlan {
    /// Place of each buffer, in the order in which the buffers were added.
    pub places: Vec<MemoryPlace>,
    /// Size of the arena in each memory: one past the last unit in use.
    pub totals: Vec<u64>,
    /// Sum of the costs of the buffers' places.
    pub cost: u64,
    /// Proven lower bound on the cost of any plan.
    pub bound: u64,
    /// Reason why the search ended early. If it is `None`, the same input always gives the same plan.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub stopped: Option<StopReason>,
}

impl MemoriesPlan {
    /// Returns whether the plan is proven to have the least cost.
    pub const fn is_optimal(&self) -> bool {
        self.cost <= self.bound
    }
}
