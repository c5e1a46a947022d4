//! The strategies by name.

use std::{fmt, str::FromStr};

use super::{Layout, PlanError, Problem, UsageRecord, shared};

/// A published way to place tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Strategy {
    /// Every tensor in an object of its own.
    Naive,
    /// Pisarchyk and Lee 2020, section 4.3.
    GreedyBySize,
    /// Pisarchyk and Lee 2020, section 4.4.
    GreedyBySizeImproved,
    /// The same with the TensorFlow Lite delegate's stages.
    GreedyBySizeImprovedMerged,
    /// Pisarchyk and Lee 2020, section 4.2.
    GreedyByBreadth,
    /// Lee et al. 2019.
    GreedyInOrder,
}

impl Strategy {
    /// All strategies, the order in which ties between them are broken.
    pub const ALL: &'static [Self] =
        &[Self::GreedyBySizeImproved, Self::GreedyByBreadth, Self::GreedyBySize, Self::GreedyInOrder, Self::Naive];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::GreedyBySize => "greedy_by_size",
            Self::GreedyBySizeImproved => "greedy_by_size_improved",
            Self::GreedyBySizeImprovedMerged => "greedy_by_size_improved/merged_stages",
            Self::GreedyByBreadth => "greedy_by_breadth",
            Self::GreedyInOrder => "greedy_in_order",
        }
    }

    /// The problem it solves.
    pub const fn problem(self) -> Problem {
        Problem::SharedObjects
    }

    /// Places the records.
    ///
    /// # Errors
    /// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
    pub fn place(self, records: &[UsageRecord]) -> Result<Layout, PlanError> {
        match self {
            Self::Naive => shared::naive(records),
            Self::GreedyBySize => shared::greedy_by_size(records),
            Self::GreedyBySizeImproved => shared::greedy_by_size_improved(records, shared::Stages::Split),
            Self::GreedyBySizeImprovedMerged => shared::greedy_by_size_improved(records, shared::Stages::Merged),
            Self::GreedyByBreadth => shared::greedy_by_breadth(records),
            Self::GreedyInOrder => shared::greedy_in_order(records),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = PlanError;

    fn from_str(name: &str) -> Result<Self, PlanError> {
        Self::ALL.iter().copied().find(|s| s.name() == name).ok_or_else(|| PlanError::UnknownStrategy {
            name: name.to_owned(),
            known: Self::ALL.iter().map(|s| s.name()).collect::<Vec<_>>().join(", "),
        })
    }
}
