//! Why a model cannot be compiled.

use crate::{
    graph::{CheckError, ElementType},
    plan::{PlanError, StopReason, printable},
    schedule::ScheduleError,
};

/// Why a model cannot be compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The graph is not whole.
    #[error(transparent)]
    Graph(Box<CheckError>),
    /// The graph has no schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The records have no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Indices would be rounded to others by 16-bit floats.
    #[error(
        "node {node} ({op}): the indices `{}` name {places} positions, and 16-bit floats hold every whole number \
         only up to 2048: run it with 32-bit floats",
        printable(tensor)
    )]
    Indices {
        /// Index of the node in the model file.
        node: usize,
        /// Its operator.
        op: &'static str,
        /// Name of the indices.
        tensor: String,
        /// Places that they tell apart.
        places: usize,
    },
    /// Indices would be rounded to others by any floats that there are.
    #[error(
        "node {node} ({op}): the indices `{}` name {places} positions, and 32-bit floats hold every whole number \
         only up to 16777216: split the axis, and look in each part",
        printable(tensor)
    )]
    ManyIndices {
        /// Index of the node in the model file.
        node: usize,
        /// Its operator.
        op: &'static str,
        /// Name of the indices.
        tensor: String,
        /// Places that they tell apart.
        places: usize,
    },
    /// A node computes integers that floats may round, whatever integers the inputs have.
    #[error(
        "node {node} ({op}): the integers of `{}`, of type {element_type}, may not be exact: they are computed in \
         {bits}-bit floats, which hold every whole number only up to {most}{}",
        printable(tensor),
        if *bits == 16 { "; run it with 32-bit floats" } else { "; cast its operands to float, or bound them by Clip" }
    )]
    Integers {
        /// Index of the node in the model file.
        node: usize,
        /// Its operator.
        op: &'static str,
        /// Name of its result.
        tensor: String,
        /// The type of its result.
        element_type: ElementType,
        /// Bits of the floats.
        bits: u8,
        /// The greatest whole number that they hold together with all smaller ones.
        most: u32,
    },
    /// A constant has an integer that floats do not hold.
    #[error("the constant `{}` holds {value}, which {bits}-bit floats do not{}", printable(tensor),
        if *bits == 16 { ": run it with 32-bit floats" } else { "" })]
    InexactConstant {
        /// Its name.
        tensor: String,
        /// The integer.
        value: i64,
        /// Bits of the floats.
        bits: u8,
    },
    /// Weights that are to be quantised have no greatest magnitude.
    #[error("the weights `{}` are not all finite numbers, and no scale brings others into 8 bits", printable(tensor))]
    NotFinite {
        /// Name of the weights.
        tensor: String,
    },
    /// No plan fits the budget.
    #[error(
        "no plan fits a pool of {bytes} bytes; the smallest that was found takes {least} bytes{}",
        beyond(*phases, *stopped, *too_many_rows)
    )]
    Budget {
        /// The budget.
        bytes: u64,
        /// The smallest pool that was found.
        least: u64,
        /// Whether that runs in phases.
        phases: bool,
        /// Why the search ended before it was done, if it did: a smaller one may exist.
        stopped: Option<StopReason>,
        /// The rows of all operators' results, where they are too many to look for phases.
        too_many_rows: Option<u64>,
    },
    /// The budget of the device's memory is less than any plan takes, which is known without a search.
    #[error(
        "no plan keeps all of the device's memory within {bytes} bytes: every plan of this model takes at least {floor}, \
         {wgpu} for wgpu itself and the rest for the rows that the most demanding step needs at once"
    )]
    BelowFloor {
        /// The budget.
        bytes: u64,
        /// Bytes that every plan takes.
        floor: u64,
        /// Those of them that wgpu keeps for itself on each device.
        wgpu: u64,
    },
    /// No plan keeps all of the device's memory within the budget.
    #[error(
        "no plan keeps all of the device's memory within {bytes} bytes; the smallest that was found takes {least} bytes{}",
        beyond(*phases, *stopped, *too_many_rows)
    )]
    DeviceBudget {
        /// The budget.
        bytes: u64,
        /// What the smallest plan takes that was found, in phases or not.
        least: u64,
        /// Whether that runs in phases.
        phases: bool,
        /// Why the search ended before it was done, if it did: a smaller one may exist.
        stopped: Option<StopReason>,
        /// The rows of all operators' results, where they are too many to look for phases.
        too_many_rows: Option<u64>,
    },
}

impl From<CheckError> for CompileError {
    fn from(error: CheckError) -> Self {
        Self::Graph(Box::new(error))
    }
}

/// What is to be said of smaller pools than the smallest that was found.
fn beyond(phases: bool, stopped: Option<StopReason>, too_many_rows: Option<u64>) -> String {
    match (stopped, too_many_rows) {
        (Some(reason), _) => {
            format!("; the search was stopped because {reason}, and a smaller one may exist: give it more time")
        }
        (None, Some(rows)) => format!(", and phases are not looked for where operators have {rows} rows together"),
        (None, None) if phases => String::new(),
        (None, None) => ", and phases make none smaller: its operators need whole operands".to_owned(),
    }
}
