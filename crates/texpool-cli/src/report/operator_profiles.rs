//! Operator profiles: the tensors alive at each step, with the lower bounds that follow from them.

use super::grouped;
use serde::{Deserialize, Serialize};
use std::fmt;
use texpool_plan::{PlanError, UsageRecord, bounds, operator_profiles, printable};

/// The operator profiles of a network, as in Figure 2 of Pisarchyk and Lee (2020).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorProfiles {
    /// Name of the model, or of the file of records.
    pub model: String,
    /// Unit of all sizes: `bytes` for a model, `units` for records.
    pub unit: String,
    /// The usage records: each tensor with its size and the steps that use it.
    pub tensors: Vec<ProfiledTensor>,
    /// The steps in order.
    pub operators: Vec<OperatorProfile>,
    /// The i-th entry is the largest of the i-th largest sizes of all profiles.
    pub positional_maximums: Vec<u64>,
    /// Sum of the positional maximums: a lower bound on plans of shared objects.
    pub shared_objects: u64,
    /// Largest breadth: a lower bound on plans of any kind.
    pub offsets: u64,
}

/// A tensor and the steps that use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfiledTensor {
    /// Its name.
    pub name: String,
    /// Its size.
    pub size: u64,
    /// First step that uses it.
    pub first: usize,
    /// Last step that uses it, inclusive.
    pub last: usize,
}

/// The profile of an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorProfile {
    /// Name of the operator; absent for records, which have no operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// Sum of the sizes in the profile.
    pub breadth: u64,
    /// Indices of the tensors alive at this step, the largest first.
    pub profile: Vec<usize>,
}

impl OperatorProfiles {
    /// Computes the profiles of records. `operators` has a name for each step, or is empty.
    ///
    /// # Errors
    /// The errors of [`operator_profiles`] and of [`bounds`].
    pub fn new(
        (model, unit): (&str, &str),
        names: &[String],
        records: &[UsageRecord],
        operators: &[String],
    ) -> Result<Self, PlanError> {
        let limits = bounds(records)?;
        let mut profiles = operator_profiles(records)?;
        // The last steps may use no tensor of the pool, for example a download.
        profiles.resize(profiles.len().max(operators.len()), Vec::new());
        let operators = profiles.into_iter().enumerate().map(|(step, profile)| OperatorProfile {
            operator: operators.get(step).cloned(),
            breadth: profile.iter().map(|&tensor| records[tensor].size).sum(),
            profile,
        });
        let tensors = records.iter().enumerate().map(|(index, record)| ProfiledTensor {
            name: names.get(index).cloned().unwrap_or_default(),
            size: record.size,
            first: record.first,
            last: record.last,
        });
        Ok(Self {
            model: model.to_owned(),
            unit: unit.to_owned(),
            tensors: tensors.collect(),
            operators: operators.collect(),
            positional_maximums: limits.positional_maximums,
            shared_objects: limits.shared_objects,
            offsets: limits.offsets,
        })
    }

    /// Returns the sizes in a profile, the largest first.
    fn sizes<'a>(&'a self, operator: &'a OperatorProfile) -> impl Iterator<Item = u64> + 'a {
        operator.profile.iter().filter_map(|&tensor| self.tensors.get(tensor)).map(|tensor| tensor.size)
    }
}

/// Name of the last row.
const MAXIMUMS: &str = "positional maximums";

/// Formats sizes in columns of one width.
fn columns(sizes: impl Iterator<Item = u64>, width: usize) -> String {
    sizes.map(|size| format!(" {:>width$}", grouped(size))).collect()
}

impl fmt::Display for OperatorProfiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operators, tensors) = (self.operators.len(), self.tensors.len());
        writeln!(f, "{}: {operators} operators, {tensors} tensors; sizes in {}\n", printable(&self.model), self.unit)?;
        // The first positional maximum is the largest size of all.
        let width = self.positional_maximums.first().map_or(0, |&largest| grouped(largest).len());
        let name = |operator: &OperatorProfile| operator.operator.clone().unwrap_or_default();
        let named = self.operators.iter().map(|operator| name(operator).len()).max().unwrap_or(0);
        // The columns left of the sizes are at least as wide as the name of the last row.
        let wide = grouped(self.shared_objects).len().max("breadth".len());
        let wide = wide.max(MAXIMUMS.len().saturating_sub(named + 7));
        writeln!(f, "  {:>5} {:<named$} {:>wide$}  sizes of its tensors, the largest first", "step", "", "breadth")?;
        for (step, operator) in self.operators.iter().enumerate() {
            let mark = if operator.breadth == self.offsets { '*' } else { ' ' };
            let (breadth, sizes) = (grouped(operator.breadth), columns(self.sizes(operator), width));
            let line = format!("{mark} {step:>5} {:<named$} {breadth:>wide$} {sizes}", name(operator));
            writeln!(f, "{}", line.trim_end())?;
        }
        let maximums = columns(self.positional_maximums.iter().copied(), width);
        writeln!(f, "  {:<1$} {maximums}\n", MAXIMUMS, 5 + 1 + named + 1 + wide)?;
        writeln!(f, "  {:>wide$}  their sum: no plan of shared objects is smaller", grouped(self.shared_objects))?;
        writeln!(f, "  {:>wide$}  the largest breadth (*): no plan is smaller", grouped(self.offsets))
    }
}
