//! How far searches go.

/// How far to search beyond the greedy strategies. Counted in steps of the algorithms, never in time, so that the same
/// input gives the same plan on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SearchBudget {
    /// Linear relaxations the exact solver may solve; 0 leaves it out.
    pub nodes: u64,
    /// Moves of a tensor to another bank, or to another texture of rows; 0 leaves the search for banks out.
    pub moves: u64,
    /// Packings of the rows of textures; nothing else packs by count.
    pub packings: u64,
}

impl SearchBudget {
    /// Greedy strategies only: well under a millisecond on a network.
    pub const PORTFOLIO: Self = Self { nodes: 0, moves: 0, packings: 0 };

    /// For [`place_rows`](super::place_rows), which takes longer for a move and solves no relaxation.
    pub const ROWS: Self = Self { nodes: 0, moves: 20_000, packings: 60 };
}

impl Default for SearchBudget {
    /// Enough to prove every network tried, in a fraction of a second.
    fn default() -> Self {
        Self { nodes: 100, moves: 200_000, ..Self::PORTFOLIO }
    }
}
