//! The published strategies by name, with a variant for each reading of their texts.

use std::{fmt, str::FromStr};

use super::{
    control::SearchControl,
    error::{PlanError, UnsupportedError},
    layout::{Layout, LayoutKind},
    offsets::{self, Gap, TieBreak},
    profile::Ties,
    record::UsageRecord,
    shared::{self, ObjectChoice, StageOrder, Stages},
};

/// Declares the enum, its list and its names from one table.
macro_rules! strategies {
    ($($(#[$doc:meta])* $variant:ident $name:literal $problem:ident $place:expr;)*) => {
        /// A published strategy to place tensors. If its text leaves something open, each interpretation is a
        /// separate variant, named `strategy/reading`.
        ///
        /// ```
        /// use std::time::Duration;
        /// use texpool_plan::{SearchControl, Strategy, UsageRecord};
        ///
        /// let records = [UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4), UsageRecord::new(2, 3, 8)];
        /// let strategy: Strategy = "greedy_by_size".parse()?;
        /// assert_eq!(strategy.place(&records)?.regions, [8, 4]);
        /// for strategy in Strategy::ALL {
        ///     println!("{} {strategy}: {}", strategy.problem().name(), strategy.place(&records)?.total());
        /// }
        /// // The slow ones can be stopped.
        /// let control = SearchControl::new().timeout(Duration::from_secs(1));
        /// assert_eq!(Strategy::MinCostFlow.place_until(&records, &control)?.total(), 12);
        /// # Ok::<(), texpool_plan::PlanError>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Strategy {
            $($(#[$doc])* $variant,)*
        }

        impl Strategy {
            /// All strategies, in the order in which ties between them are broken.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name used on the command line and in reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns the problem that it solves.
            pub const fn problem(self) -> LayoutKind {
                match self {
                    $(Self::$variant => LayoutKind::$problem,)*
                }
            }

            /// Places the records, without a time limit.
            ///
            /// # Errors
            /// [`PlanError::Input`] for records that contradict themselves, [`PlanError::Unsupported`] for too many
            /// records.
            pub fn place(self, records: &[UsageRecord]) -> Result<Layout, PlanError> {
                self.place_until(records, &SearchControl::new())
            }

            /// Like [`place`](Self::place), until `control` stops it. Tensors that are not placed by then share no
            /// memory, so the layout is valid but is not the strategy's.
            ///
            /// # Errors
            /// The errors of [`place`](Self::place).
            pub fn place_until(
                self,
                records: &[UsageRecord],
                control: &SearchControl<'_>,
            ) -> Result<Layout, PlanError> {
                match self {
                    $(Self::$variant => ($place)(records, control),)*
                }
            }
        }
    };
}

strategies! {
    /// Pisarchyk and Lee 2020, section 4.4.
    GreedyBySizeImproved "greedy_by_size_improved" SharedObjects
        |r, c| shared::greedy_by_size_improved(r, Stages::Split, StageOrder::Nearest, c);
    /// Greedy by Size Improved, with the stages of TensorFlow Lite's GPU delegate.
    GreedyBySizeImprovedMerged "greedy_by_size_improved/merged_stages" SharedObjects
        |r, c| shared::greedy_by_size_improved(r, Stages::Merged, StageOrder::Nearest, c);
    /// Greedy by Size Improved, with tensors for which every object is busy first.
    GreedyBySizeImprovedUnassignedFirst "greedy_by_size_improved/unassigned_first" SharedObjects
        |r, c| shared::greedy_by_size_improved(r, Stages::Split, StageOrder::UnassignedFirst, c);
    /// Greedy by Size Improved, with the delegate's stages, and with tensors for which every object is busy first.
    GreedyBySizeImprovedMergedUnassignedFirst "greedy_by_size_improved/merged_unassigned_first" SharedObjects
        |r, c| shared::greedy_by_size_improved(r, Stages::Merged, StageOrder::UnassignedFirst, c);
    /// Greedy by Size Improved, with the largest tensor of a stage first.
    GreedyBySizeImprovedLargestFirst "greedy_by_size_improved/largest_first" SharedObjects
        |r, c| shared::greedy_by_size_improved(r, Stages::Split, StageOrder::Largest, c);
    /// Pisarchyk and Lee 2020, section 4.2.
    GreedyByBreadth "greedy_by_breadth" SharedObjects |r, c| shared::greedy_by_breadth(r, Ties::Lower, c);
    /// Greedy by Breadth, with ties broken by higher index.
    GreedyByBreadthHigher "greedy_by_breadth/higher_index" SharedObjects |r, c| shared::greedy_by_breadth(r, Ties::Higher, c);
    /// Greedy by Breadth, with ties inside a step broken by higher index.
    GreedyByBreadthHigherTensor "greedy_by_breadth/higher_tensor" SharedObjects
        |r, c| shared::greedy_by_breadth(r, Ties::HigherTensor, c);
    /// Greedy by Breadth, with ties between steps broken by later step.
    GreedyByBreadthLaterStep "greedy_by_breadth/later_step" SharedObjects
        |r, c| shared::greedy_by_breadth(r, Ties::LaterStep, c);
    /// Pisarchyk and Lee 2020, section 4.3.
    GreedyBySize "greedy_by_size" SharedObjects |r, c| shared::greedy_by_size(r, ObjectChoice::Smallest, c);
    /// Greedy by Size, into the free object created first.
    GreedyBySizeFirst "greedy_by_size/first_object" SharedObjects |r, c| shared::greedy_by_size(r, ObjectChoice::First, c);
    /// Greedy by Size, into the free object created last.
    GreedyBySizeLast "greedy_by_size/last_object" SharedObjects |r, c| shared::greedy_by_size(r, ObjectChoice::Last, c);
    /// Lee et al. 2019.
    GreedyInOrder "greedy_in_order" SharedObjects |r, _| shared::greedy_in_order(r);
    /// Lee et al. 2019.
    MinCostFlow "min_cost_flow" SharedObjects shared::min_cost_flow;
    /// Only tensors of exactly the same size share an object.
    Equality "equality" SharedObjects |r, _| shared::equality(r);
    /// Gives every tensor a separate object.
    Naive "naive" SharedObjects |r, _| shared::naive(r);
    /// Pisarchyk and Lee 2020, section 5.2.
    OffsetsGreedyBySize "offsets_greedy_by_size" Offsets |r, c| offsets::greedy_by_size(r, 1, c);
    /// TensorFlow Lite Micro: by size, the later of equals first, lowest gap.
    OffsetsGreedyBySizeMicro "offsets_greedy_by_size/micro" Offsets offsets::micro_greedy;
    /// Pisarchyk and Lee 2020, section 5.3.
    OffsetsGreedyByBreadth "offsets_greedy_by_breadth" Offsets |r, c| offsets::greedy_by_breadth(r, Ties::Lower, c);
    /// Offset Calculation by breadth, with ties broken by higher index.
    OffsetsGreedyByBreadthHigher "offsets_greedy_by_breadth/higher_index" Offsets
        |r, c| offsets::greedy_by_breadth(r, Ties::Higher, c);
    /// Offset Calculation by breadth, with ties inside a step broken by higher index.
    OffsetsGreedyByBreadthHigherTensor "offsets_greedy_by_breadth/higher_tensor" Offsets
        |r, c| offsets::greedy_by_breadth(r, Ties::HigherTensor, c);
    /// Offset Calculation by breadth, with ties between steps broken by later step.
    OffsetsGreedyByBreadthLaterStep "offsets_greedy_by_breadth/later_step" Offsets
        |r, c| offsets::greedy_by_breadth(r, Ties::LaterStep, c);
    /// Sekiyama et al. 2018.
    OffsetsStripPacking "offsets_strip_packing" Offsets |r, c| offsets::strip_packing(r, TieBreak::Largest, c);
    /// Strip packing, with ties broken by lower index.
    OffsetsStripPackingIndex "offsets_strip_packing/lower_index" Offsets
        |r, c| offsets::strip_packing(r, TieBreak::LowestIndex, c);
    /// Lee et al. 2019, with the smallest gap.
    OffsetsGreedyInOrder "offsets_greedy_in_order" Offsets |r, c| offsets::greedy_in_order(r, Gap::BestFit, c);
    /// Lee et al. 2019, with the lowest gap.
    OffsetsGreedyInOrderLowest "offsets_greedy_in_order/lowest_gap" Offsets
        |r, c| offsets::greedy_in_order(r, Gap::FirstFit, c);
    /// The shared objects of Greedy by Size Improved, laid back to back.
    OffsetsBackToBack "offsets_back_to_back" Offsets |r, c| {
        shared::greedy_by_size_improved(r, Stages::Split, StageOrder::Nearest, c).map(|layout| offsets::back_to_back(&layout))
    };
    /// Places tensors one after another.
    OffsetsNaive "offsets_naive" Offsets |r, _| offsets::naive(r);
}

impl Strategy {
    /// The strategies that [`Planner::Best`](super::Planner::Best) tries: the greedy strategies for Shared Objects.
    /// Excludes Min-cost Flow, which takes longer than all others together (the exact solver tries it if it finds no
    /// proof). Also excludes `greedy_by_size/last_object`, which differs from `greedy_by_size` only among objects of
    /// equal size.
    pub const PORTFOLIO: &'static [Self] = &[
        Self::GreedyBySizeImproved,
        Self::GreedyBySizeImprovedMerged,
        Self::GreedyBySizeImprovedUnassignedFirst,
        Self::GreedyBySizeImprovedMergedUnassignedFirst,
        Self::GreedyBySizeImprovedLargestFirst,
        Self::GreedyByBreadth,
        Self::GreedyByBreadthHigher,
        Self::GreedyByBreadthHigherTensor,
        Self::GreedyByBreadthLaterStep,
        Self::GreedyBySize,
        Self::GreedyBySizeFirst,
        Self::GreedyInOrder,
        Self::Equality,
        Self::Naive,
    ];
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = PlanError;

    fn from_str(name: &str) -> Result<Self, PlanError> {
        Self::ALL.iter().copied().find(|s| s.name() == name).ok_or_else(|| {
            PlanError::Unsupported(UnsupportedError::UnknownStrategy {
                name: name.to_owned(),
                known: Self::ALL.iter().map(|s| s.name()).collect::<Vec<_>>().join(", "),
            })
        })
    }
}
