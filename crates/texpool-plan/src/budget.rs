//! The budget of the searches.

/// Amount of search beyond the greedy strategies. It is counted in steps of the algorithms and not in time, so that
/// the same input gives the same plan on every machine.
///
/// ```
/// use texpool_plan::{Planner, SearchBudget, SearchControl, UsageRecord, Uses, solve};
///
/// let records = [UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4), UsageRecord::new(2, 3, 8)];
/// // The greedy strategies and the exact solver, but no search for banks.
/// let budget = SearchBudget { nodes: 1000, ..SearchBudget::PORTFOLIO };
/// let found = solve(&records, Uses::FirstAndLast, Planner::Best, budget, &SearchControl::new())?;
/// assert_eq!(found.layout.total(), 12);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SearchBudget {
    /// Upper limit on the linear relaxations that the exact solver solves; with 0 it does not run.
    pub nodes: u64,
    /// Upper limit on moves of a tensor to another bank, or to another texture if tensors are placed row by row. With
    /// 0, banks are not searched.
    pub moves: u64,
    /// Upper limit on packings of the rows of textures. Only [`place_rows`](super::place_rows) uses it.
    pub packings: u64,
}

impl SearchBudget {
    /// Greedy strategies only: less than a millisecond on a network (`cargo bench -p texpool-plan --bench
    /// table`).
    pub const PORTFOLIO: Self = Self { nodes: 0, moves: 0, packings: 0 };

    /// For [`place_rows`](super::place_rows), whose moves take longer, and which solves no relaxation.
    pub const ROWS: Self = Self { nodes: 0, moves: 20_000, packings: 60 };
}

impl Default for SearchBudget {
    /// Enough to prove the optimum of each network tried, in less than a second (`cargo bench -p texpool-plan
    /// --bench table`).
    fn default() -> Self {
        Self { nodes: 100, moves: 200_000, ..Self::PORTFOLIO }
    }
}
