//! Results of the arena planner.

use std::ops::Index;

use super::buffer::BufferId;
use crate::control::StopReason;

/// Proof that a plan is the smallest, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ArenaProof {
    /// The total equals the memory needed at one step, or the end of a buffer with a fixed offset.
    WidestStep,
    /// A search has ruled out every smaller plan.
    Search,
    /// Not proven: a smaller plan may exist.
    Unproven,
}

/// An offset for each buffer, with the size of the arena and the proven bound on it. The planner's checker has
/// accepted the plan.
///
/// ```
/// use texpool_plan::{ArenaPlan, ArenaPlanner, ArenaProof, Buffer};
///
/// let buffers = [Buffer::new(0..2, 3).fixed(3), Buffer::new(0..1, 4), Buffer::new(1..2, 3)];
/// let plan: ArenaPlan = ArenaPlanner::from_iter(buffers).plan()?;
/// // Beneath the first there is room for 3 units only, so the second lies above it.
/// assert_eq!((plan.offsets.as_slice(), plan.total), (&[3, 6, 0][..], 10));
/// // No step needs more than 7 at once, but a search has shown that 9 are not enough.
/// assert_eq!((plan.is_optimal(), plan.proof, plan.bound), (true, ArenaProof::Search, 10));
/// assert_eq!((plan.fits(16), plan.fits(9)), (Some(true), Some(false)));
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ArenaPlan {
    /// Offset of each buffer, in the order in which the buffers were added.
    pub offsets: Vec<u64>,
    /// Size of the arena: one past the last unit in use.
    pub total: u64,
    /// Proven lower bound on the size of any plan.
    pub bound: u64,
    /// Proof that the plan is the smallest, if there is one.
    pub proof: ArenaProof,
    /// Reason why the search ended early. If it is `None`, the same input always gives the same plan.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub stopped: Option<StopReason>,
}

impl ArenaPlan {
    /// Returns whether the plan is proven to be the smallest.
    pub fn is_optimal(&self) -> bool {
        self.proof != ArenaProof::Unproven
    }

    /// Returns whether the buffers fit into `capacity`: `Some(false)` if no plan does, `None` if that is undecided.
    pub fn fits(&self, capacity: u64) -> Option<bool> {
        if self.total <= capacity { Some(true) } else { (self.bound > capacity).then_some(false) }
    }
}

impl Index<BufferId> for ArenaPlan {
    type Output = u64;

    /// The offset of a buffer.
    fn index(&self, buffer: BufferId) -> &u64 {
        &self.offsets[buffer.index()]
    }
}
