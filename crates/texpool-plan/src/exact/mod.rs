//! The exact Shared Objects optimum, with a certificate that can be checked independently.
//!
//! Solves an integer program (`model`) for the size of the object that holds each tensor, and the number of objects
//! of each size. Its linear relaxation is nearly always integer on networks; if it is not, branch and bound closes
//! the gap. The module is independent of banks, offsets and textures, and claims only results that
//! [`verify_certificate`] has confirmed. Without the feature `proofs` nothing is solved.

#[cfg(feature = "proofs")]
mod branch_and_bound;
mod certificate;
#[cfg(feature = "proofs")]
mod core;
#[cfg(feature = "serde")]
mod json;
#[cfg(feature = "proofs")]
mod lp;
#[cfg(feature = "proofs")]
mod model;
#[cfg(feature = "proofs")]
mod presolve;
#[cfg(feature = "proofs")]
mod prices;
mod proof;
#[cfg(feature = "proofs")]
mod relaxation;
#[cfg(feature = "proofs")]
mod solver;

pub use certificate::{Certificate, verify_certificate};
pub use proof::{Case, Prices, Proof};

use super::{
    bounds::{Bounds, bounds},
    control::{SearchControl, StopReason},
    error::PlanError,
    layout::Layout,
    portfolio::{self, Candidates},
    record::{UsageRecord, distinct_sizes},
    shared::min_cost_flow,
};

/// The smallest Shared Objects plan found, with a proven lower bound.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Optimum {
    /// The layout.
    pub layout: Layout,
    /// A checked lower bound.
    pub certificate: Certificate,
    /// Set if the layout's total equals the certified bound, so that the layout is optimal.
    pub proven: bool,
    /// Number of linear relaxations solved.
    pub nodes: u64,
    /// Reason why the search ended early, if it did.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub stopped: Option<StopReason>,
}

/// Largest number of records for which an unproven plan is compared with that of [`min_cost_flow`]. At this number
/// the flow takes 0.7 s on a busy 2 GHz core if most records overlap most others, and the time grows at least with
/// the cube of the number.
const MAX_RECORDS_FOR_FLOW: usize = 400;

/// Finds the Shared Objects optimum and certifies it, solving at most `nodes` linear relaxations. If `control` stops
/// the search, returns the smallest plan and the best bound proven by then.
///
/// The greedy strategies come first; if one of them reaches the positional bound, no solver is needed. Very large
/// sets (thousands of tensors of different sizes) get the best greedy plan and the positional bound. So do all sets
/// without the Cargo feature `proofs`; if they are few enough, their greedy plan is compared with that of a minimum-cost
/// flow. Certificates from elsewhere can be verified with and without the feature.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
///
/// ```
/// use texpool_plan::{Optimum, SearchControl, UsageRecord, optimum, verify_certificate};
///
/// let records = [UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4), UsageRecord::new(2, 3, 8)];
/// let found: Optimum = optimum(&records, 100, &SearchControl::new())?;
/// assert_eq!((found.layout.total(), found.proven), (12, true));
/// // Anyone can check the proof without the solver.
/// assert_eq!(verify_certificate(&records, &found.certificate)?, 12);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
pub fn optimum(records: &[UsageRecord], nodes: u64, control: &SearchControl<'_>) -> Result<Optimum, PlanError> {
    let bounds = bounds(records)?;
    let mut candidates = Candidates::new(records);
    let start = portfolio::run(records, None, bounds.offsets, &mut candidates, &control.share(1, 3))?;
    let mut optimum = Optimum::greedy(records, &bounds, start).improve(records, &bounds, nodes, 0, control);
    optimum.stopped = optimum.stopped.or(candidates.stopped).filter(|_| !optimum.proven);
    Ok(optimum)
}

impl Optimum {
    /// Wraps a greedy plan, with the positional bound.
    pub(super) fn greedy(records: &[UsageRecord], bounds: &Bounds, layout: Layout) -> Self {
        let certificate = positional_certificate(records, bounds.shared_objects);
        let reached = layout.total() == certificate.bound;
        let proven = reached && verify_certificate(records, &certificate).is_ok();
        Self { layout, certificate, proven, nodes: 0, stopped: None }
    }

    /// Searches for a smaller plan and a higher bound with the exact solver. If the records are few enough, a plan
    /// that is not proven optimal is compared with that of [`min_cost_flow`], and the smaller one is kept. A plan at most
    /// `tolerated_gap` above the bound is not improved.
    pub(super) fn improve(
        mut self,
        records: &[UsageRecord],
        bounds: &Bounds,
        nodes: u64,
        tolerated_gap: u64,
        control: &SearchControl<'_>,
    ) -> Self {
        if nodes == 0 || self.layout.total() <= bounds.shared_objects {
            return self;
        }
        let tries_flow = records.len() <= MAX_RECORDS_FOR_FLOW;
        // The rest of the time is for the flow, which needs it only if the search uses up its share.
        let searched = if tries_flow { control.share(3, 4) } else { control.share(1, 1) };
        #[cfg(feature = "proofs")]
        self.solve(records, bounds, nodes, tolerated_gap, &searched);
        let gap = self.layout.total() - self.certificate.bound;
        if tries_flow && gap > tolerated_gap && !self.proven && !control.should_stop() {
            // A search that is stopped early may have found only the greedy plan. The flow, unlike the greedy
            // strategies, looks ahead.
            let flow = min_cost_flow(records, control);
            self.layout = flow.ok().filter(|layout| layout.total() < self.layout.total()).unwrap_or(self.layout);
            let reached = self.layout.total() == self.certificate.bound;
            self.proven = reached && verify_certificate(records, &self.certificate).is_ok();
        }
        self.stopped = self.stopped.or(searched.stopped()).filter(|_| !self.proven);
        self
    }
}

/// Returns a certificate for the sum of the positional maximums: the price of each count is the difference of two
/// sizes.
pub(super) fn positional_certificate(records: &[UsageRecord], bound: u64) -> Certificate {
    let mut sizes = distinct_sizes(records);
    sizes.retain(|&size| size > 0);
    Certificate { bound, scale: 1, proof: Proof::leaf(Prices::positional(&sizes, 1)) }
}
