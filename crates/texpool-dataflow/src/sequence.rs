//! Production and consumption sequences: tokens per phase, stored and printed as runs.

use std::fmt;

/// Tokens that a port moves in each phase of its actor, in runs of equal numbers.
///
/// ```
/// let sequence = texpool_dataflow::Sequence::new([128, 128, 128, 0]);
/// assert_eq!(sequence.to_string(), "[3*128, 1*0]");
/// assert_eq!((sequence.phases(), sequence.sum()), (4, 384));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sequence {
    runs: Vec<(u64, u64)>,
}

impl Sequence {
    /// Creates a sequence of these numbers.
    pub fn new(tokens: impl IntoIterator<Item = u64>) -> Self {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for tokens in tokens {
            match runs.last_mut() {
                Some((count, same)) if *same == tokens => *count += 1,
                _ => runs.push((1, tokens)),
            }
        }
        Self { runs }
    }

    /// Creates a sequence with the same number in every phase.
    pub fn constant(phases: u64, tokens: u64) -> Self {
        Self { runs: if phases == 0 { Vec::new() } else { vec![(phases, tokens)] } }
    }

    /// Returns `(count, tokens)` of each run. Adjacent runs differ in their tokens.
    pub fn runs(&self) -> &[(u64, u64)] {
        &self.runs
    }

    /// Returns the number of phases.
    pub fn phases(&self) -> u64 {
        self.runs.iter().map(|run| run.0).sum()
    }

    /// Returns the tokens of all phases together, or 2^128 - 1 if the sum overflows.
    pub fn sum(&self) -> u128 {
        let run = |&(count, tokens): &(u64, u64)| u128::from(count) * u128::from(tokens);
        self.runs.iter().map(run).fold(0, u128::saturating_add)
    }

    /// Iterates over the tokens of each phase.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().flat_map(|&(count, tokens)| (0..count).map(move |_| tokens))
    }
}

/// Formats the sequence in the notation of the dataflow literature: `[3*128, 1*0]`.
impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs: Vec<String> = self.runs.iter().map(|(count, tokens)| format!("{count}*{tokens}")).collect();
        write!(f, "[{}]", runs.join(", "))
    }
}
