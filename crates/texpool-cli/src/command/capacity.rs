//! Answer to `--capacity`, and its exit code.

use crate::report::grouped;

/// Exit codes if the records do not fit, and if that is undecided.
const DOES_NOT_FIT: u8 = 3;
const UNDECIDED: u8 = 4;

/// Result of the check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CapacityAnswer {
    Fits,
    Impossible,
    Undecided,
}

impl CapacityAnswer {
    /// Converts the result of a search: `None` means undecided.
    pub(super) fn of(fits: Option<bool>) -> Self {
        match fits {
            Some(true) => Self::Fits,
            Some(false) => Self::Impossible,
            None => Self::Undecided,
        }
    }

    /// Returns the word for JSON.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Impossible => "impossible",
            Self::Undecided => "undecided",
        }
    }

    pub(super) fn exit_code(self) -> u8 {
        match self {
            Self::Fits => 0,
            Self::Impossible => DOES_NOT_FIT,
            Self::Undecided => UNDECIDED,
        }
    }

    /// Returns the answer in words; `total` is the end of the plan if it fits.
    pub(super) fn text(self, capacity: u64, total: u64) -> String {
        let capacity = grouped(capacity);
        match self {
            Self::Fits => format!("fits into {capacity}: the plan ends at {}", grouped(total)),
            Self::Impossible => format!("does not fit into {capacity}: no plan does"),
            Self::Undecided => format!("undecided: neither a plan within {capacity} was found, nor that there is none"),
        }
    }
}
