//! Compile errors.

use crate::schedule::ScheduleError;
use texpool_ops::graph::{CheckError, ElementType};
use texpool_plan::{PlanError, StopReason, printable};

/// Reason why a model cannot be compiled.
///
/// ```
/// use texpool_compile::{CompileError, CompileOptions, Objective, compile};
/// use texpool_ops::graph::{GraphBuilder, Unary};
/// use texpool_plan::SearchControl;
///
/// let mut b = GraphBuilder::new("chain");
/// let x = b.input("x", &[1, 64, 64, 4])?;
/// let sine = b.unary("sine", Unary::Sin, x)?;
/// let cosine = b.unary("cosine", Unary::Cos, sine)?;
/// let y = b.unary("y", Unary::Tan, cosine)?;
/// let options = CompileOptions { objective: Objective::Pool(1000), ..CompileOptions::default() };
/// let error = compile(&b.finish(&[y])?, &options, &SearchControl::new()).unwrap_err();
/// // Two rows of 64 texels of 16 bytes.
/// assert!(matches!(error, CompileError::Budget { least: 2048, tiled: true, .. }));
/// let text = "no plan fits a pool of 1000 bytes; the smallest that was found takes 2048 bytes";
/// assert_eq!(error.to_string(), text);
/// # Ok::<(), texpool_ops::graph::BuildError>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The graph is invalid.
    #[error(transparent)]
    Graph(Box<CheckError>),
    /// The graph cannot be scheduled.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// No plan exists for the records.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// 16-bit floats would round some indices to other values.
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
        /// Number of positions that the indices distinguish.
        places: usize,
    },
    /// Even 32-bit floats would round some indices to other values.
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
        /// Number of positions that the indices distinguish.
        places: usize,
    },
    /// A node computes integers that floats may round, for any input values.
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
        /// Element type of its result.
        element_type: ElementType,
        /// Bits per float.
        bits: u8,
        /// Largest integer up to which these floats hold every whole number.
        most: u32,
    },
    /// A constant contains an integer that the floats cannot represent.
    #[error("the constant `{}` holds {value}, which {bits}-bit floats do not{}", printable(tensor),
        if *bits == 16 { ": run it with 32-bit floats" } else { "" })]
    InexactConstant {
        /// Name of the constant.
        tensor: String,
        /// The integer.
        value: i64,
        /// Bits per float.
        bits: u8,
    },
    /// A tensor of intermediate values is larger than any texture that the device allows.
    #[error(
        "node {node} ({op}): its result `{}` needs {texels} texels, and with extents up to {max_extent} a texture holds \
         at most {limit}; smaller extents of the inputs may do",
        printable(tensor)
    )]
    TensorTooLarge {
        /// Index of the node in the model file.
        node: usize,
        /// Its operator.
        op: &'static str,
        /// Name of its result.
        tensor: String,
        /// Texels that the result needs.
        texels: u64,
        /// Largest extent of a texture.
        max_extent: u32,
        /// Texels of the largest texture.
        limit: u64,
    },
    /// Weights to be quantised contain a value that is not finite, so they have no scale.
    #[error("the weights `{}` are not all finite numbers, and no scale brings others into 8 bits", printable(tensor))]
    NotFinite {
        /// Name of the weights.
        tensor: String,
    },
    /// No plan fits the budget.
    #[error(
        "no plan fits a pool of {bytes} bytes; the smallest that was found takes {least} bytes{}",
        beyond(*tiled, *stopped, *too_many_rows)
    )]
    Budget {
        /// The budget.
        bytes: u64,
        /// The smallest pool that was found, in bytes.
        least: u64,
        /// True if the smallest plan runs in stripes of rows.
        tiled: bool,
        /// Reason why the search ended early, if it did; a smaller plan may exist.
        stopped: Option<StopReason>,
        /// Total number of rows of all operators' results, if this is too large for a search for tilings.
        too_many_rows: Option<u64>,
    },
    /// The numbers of stripes that were set do not suit the model.
    #[error(transparent)]
    Stripes(#[from] StripesError),
    /// The device budget is below a lower bound on every plan, which is known without a search.
    #[error(
        "no plan keeps all of the device's memory within {bytes} bytes: every plan of this model takes at least {floor}, \
         {wgpu} for wgpu itself and the rest for the rows that the most demanding step needs at once"
    )]
    BelowFloor {
        /// The budget.
        bytes: u64,
        /// Lower bound on the memory of every plan, in bytes.
        floor: u64,
        /// Part of the lower bound that wgpu keeps for internal use on each device.
        wgpu: u64,
    },
    /// No plan keeps the total device memory within the budget.
    #[error(
        "no plan keeps all of the device's memory within {bytes} bytes; the smallest that was found takes {least} bytes{}",
        beyond(*tiled, *stopped, *too_many_rows)
    )]
    DeviceBudget {
        /// The budget.
        bytes: u64,
        /// Device memory of the smallest plan that was found, in bytes.
        least: u64,
        /// True if the smallest plan runs in stripes of rows.
        tiled: bool,
        /// Reason why the search ended early, if it did; a smaller plan may exist.
        stopped: Option<StopReason>,
        /// Total number of rows of all operators' results, if this is too large for a search for tilings.
        too_many_rows: Option<u64>,
    },
}

/// Reason why a model cannot run in the numbers of stripes that were [set](crate::Stripes), which has an example.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StripesError {
    /// No operator with a step computes a tensor of this name. Operators that were merged into others, reshapes and other
    /// views have no step.
    #[error(
        "no operator that runs computes `{}`{}",
        printable(layer),
        nearest.as_ref().map(|name| format!("; did you mean `{}`?", printable(name))).unwrap_or_default()
    )]
    UnknownLayer {
        /// The name that was given.
        layer: String,
        /// The name that is most like it, if one is.
        nearest: Option<String>,
    },
    /// An operator has fewer rows than stripes.
    #[error("`{}` has {rows} rows, too few for {stripes} stripes", printable(layer))]
    MoreThanRows {
        /// Name of the tensor that the operator computes.
        layer: String,
        /// The number of stripes that was set.
        stripes: u32,
        /// Number of rows of the tensor.
        rows: u32,
    },
    /// There are more stripes in all, or more rows that their steps read, than are planned.
    #[error("the operators have more stripes together than are planned: set fewer")]
    TooMany,
    /// The operators of the model have too many rows for stripes.
    #[error("operators with {rows} rows together are too many to divide into stripes")]
    TooManyRows {
        /// Number of rows of all operators' results.
        rows: u64,
    },
}

impl From<CheckError> for CompileError {
    fn from(error: CheckError) -> Self {
        Self::Graph(Box::new(error))
    }
}

/// Explains whether a smaller pool than the smallest found may exist.
fn beyond(tiled: bool, stopped: Option<StopReason>, too_many_rows: Option<u64>) -> String {
    match (stopped, too_many_rows) {
        (Some(StopReason::TooManyTensors), _) => {
            "; its tensors are more than the exact search takes, and a smaller one may exist".to_owned()
        }
        (Some(reason), _) => {
            format!("; the search was stopped because {reason}, and a smaller one may exist: give it more time")
        }
        (None, Some(rows)) => format!(", and operators with {rows} rows together are too many to divide into stripes"),
        (None, None) if tiled => String::new(),
        (None, None) => {
            ", and stripes of rows make none smaller: its operators need whole operands, or tiling is off".to_owned()
        }
    }
}
