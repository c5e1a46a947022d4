//! Results of the arena planner.

use std::ops::Index;

use super::buffer::{BufferId, PlannerId};
use crate::control::StopReason;

/// Proof that a plan is the smallest, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ArenaProof {
    /// The total equals the memory needed at one step, the end of a buffer with a fixed offset, or the size of a buffer.
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
/// [`get`](Self::get) and indexing accept the ids of the planner that made the plan. Plans of different planners are
/// equal if all public fields are.
#[derive(Clone, Debug)]
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
    /// The planner that made the plan.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) planner: PlannerId,
}

impl PartialEq for ArenaPlan {
    fn eq(&self, other: &Self) -> bool {
        let Self { offsets, total, bound, proof, stopped, planner: _ } = self;
        (offsets, total, bound, proof, stopped)
            == (&other.offsets, &other.total, &other.bound, &other.proof, &other.stopped)
    }
}

impl Eq for ArenaPlan {}

impl ArenaPlan {
    /// Returns whether the plan is proven to be the smallest.
    pub fn is_optimal(&self) -> bool {
        self.proof != ArenaProof::Unproven
    }

    /// Returns the offset of a buffer; `None` if it belongs to another planner, or was added after the plan was made. A
    /// clone of the planner counts as the same planner.
    ///
    /// ```
    /// use texpool_plan::{ArenaPlanner, Buffer};
    ///
    /// let (mut planner, mut other) = (ArenaPlanner::new(), ArenaPlanner::new());
    /// let (own, foreign) = (planner.add(Buffer::new(0..1, 4)), other.add(Buffer::new(0..1, 4)));
    /// let plan = planner.plan()?;
    /// assert_eq!((plan.get(own), plan.get(foreign)), (Some(0), None));
    /// # Ok::<(), texpool_plan::PlanError>(())
    /// ```
    pub fn get(&self, buffer: BufferId) -> Option<u64> {
        self.find(buffer).copied()
    }

    fn find(&self, buffer: BufferId) -> Option<&u64> {
        self.offsets.get(buffer.index_in(self.planner)?)
    }

    /// Returns whether the buffers fit into `capacity`: `Some(false)` if no plan does, `None` if that is undecided.
    pub fn fits(&self, capacity: u64) -> Option<bool> {
        if self.total <= capacity { Some(true) } else { (self.bound > capacity).then_some(false) }
    }
}

impl Index<BufferId> for ArenaPlan {
    type Output = u64;

    /// The offset of a buffer.
    ///
    /// # Panics
    /// If the buffer belongs to another planner, or was added after the plan was made. [`ArenaPlan::get`] returns
    /// `None` then.
    #[expect(clippy::panic, reason = "an index outside a collection panics, as in the standard library")]
    fn index(&self, buffer: BufferId) -> &u64 {
        self.find(buffer).unwrap_or_else(|| {
            panic!("buffer {} is of another planner, or was added after the plan was made", buffer.index())
        })
    }
}
