//! What the planner of one arena answers.

use std::ops::Index;

use super::buffer::BufferId;
use crate::control::StopReason;

/// How it is known that no plan is smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ArenaProof {
    /// So much is needed at one step, or up to the end of a buffer whose place is given.
    WidestStep,
    /// A search has ruled out everything smaller.
    Search,
    /// It is not known: a smaller plan may exist.
    Unproven,
}

/// A place for each buffer, and what is known of the arena's size. The planner's checker has accepted it.
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
    /// The offset of each buffer, in the order in which they were added.
    pub offsets: Vec<u64>,
    /// The size of the arena: one past the last unit in use.
    pub total: u64,
    /// No plan is smaller than this.
    pub bound: u64,
    /// Whether the plan is known to be the smallest, and how.
    pub proof: ArenaProof,
    /// What ended the search before its end, if anything did: without it, the same input gives the same plan.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub stopped: Option<StopReason>,
}

impl ArenaPlan {
    /// Whether no plan is smaller.
    pub fn is_optimal(&self) -> bool {
        self.proof != ArenaProof::Unproven
    }

    /// Whether the buffers fit into `capacity`: `Some(false)` if no plan does, `None` if that is not known.
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
