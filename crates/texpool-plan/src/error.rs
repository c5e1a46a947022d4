//! Errors of the planner, grouped by the remedy that the caller has:
//!
//! - [`InputError`]: correct the records or the lists that belong to them.
//! - [`UnsupportedError`]: ask for something else, a strategy or a device.
//! - [`LayoutError`]: do not use the layout or plan; it breaks a rule.
//! - [`PlanError::BadCertificate`]: do not trust the bound.
//! - [`PlanError::Parse`]: correct the text at the line and column.

use super::printable::printable;

/// Reason why records were rejected, a plan could not be made, or a checker rejected one.
///
/// ```
/// use texpool_plan::{InputError, PlanError, Strategy, UsageRecord};
///
/// let error = Strategy::GreedyBySize.place(&[UsageRecord::new(4, 1, 8)]).unwrap_err();
/// assert!(matches!(error, PlanError::Input(InputError::ReversedInterval { record: 0, .. })));
/// assert_eq!(error.to_string(), "record 0 is last used at step 1, before its first step 4");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Records, steps or lists of them contradict themselves or each other.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The records are valid, but the requested strategy or device does not support them.
    #[error(transparent)]
    Unsupported(#[from] UnsupportedError),
    /// A layout or plan breaks a rule.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A certificate does not prove the bound that it claims.
    #[error("the certificate does not hold: {why}")]
    BadCertificate {
        /// Description of the problem.
        why: String,
    },
    /// A text of records cannot be read.
    #[error("line {line}, column {column}: {why}")]
    Parse {
        /// Line, counted from 1.
        line: usize,
        /// Column in characters, counted from 1.
        column: usize,
        /// Description of the problem.
        why: String,
    },
}

/// A contradiction in the planner's input.
///
/// ```
/// use texpool_plan::{InputError, PlanError, UsageRecord, bounds};
///
/// let error = bounds(&[UsageRecord::new(0, 1, 8), UsageRecord::new(3, 2, 4)]).unwrap_err();
/// assert_eq!(error, PlanError::Input(InputError::ReversedInterval { record: 1, first: 3, last: 2 }));
/// assert_eq!(error.to_string(), "record 1 is last used at step 2, before its first step 3");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The last step of a record is before its first.
    #[error("record {record} is last used at step {last}, before its first step {first}")]
    ReversedInterval {
        /// Index of the record.
        record: usize,
        /// Its first step.
        first: usize,
        /// Its last step.
        last: usize,
    },
    /// The sizes add up to more than 64 bits can hold.
    #[error("the sizes up to record {record} add up to more than {max} units", max = u64::MAX)]
    Overflow {
        /// Index of the record at which the sum overflows.
        record: usize,
    },
    /// A record ends after the last step that a list of steps may have.
    #[error("record {record} is alive at step {last}, above the limit of {limit} steps")]
    TooManySteps {
        /// Index of the record.
        record: usize,
        /// Its last step.
        last: usize,
        /// Number of steps allowed.
        limit: usize,
    },
    /// A list that needs an entry for each record has more or fewer.
    #[error("the list of {what} has {found} entries for {expected} records")]
    LengthMismatch {
        /// Name of the list.
        what: &'static str,
        /// The number of records.
        expected: usize,
        /// The number of entries.
        found: usize,
    },
    /// The size of a record is not that of its tensor's rows.
    #[error("record {record} is {size} texels, but its tensor has {rows} rows of {row_texels} texels")]
    SizeMismatch {
        /// Index of the record.
        record: usize,
        /// Size of the record.
        size: u64,
        /// Rows of the tensor.
        rows: u32,
        /// Texels of a row.
        row_texels: u32,
    },
    /// A step uses a record outside the record's interval.
    #[error("step {step} uses record {record}, which is alive from step {first} to step {last}")]
    UseOutsideLife {
        /// The step.
        step: usize,
        /// Index of the record; past the end of the records if it does not exist.
        record: usize,
        /// First step of the record.
        first: usize,
        /// Last step of the record.
        last: usize,
    },
    /// An operation runs before one that it depends on.
    #[error("operation {operation} depends on operation {dependency}, which does not run before it")]
    LateDependency {
        /// The operation.
        operation: usize,
        /// The operation that must run before it.
        dependency: usize,
    },
    /// An order names an operation that does not exist, or names one twice.
    #[error("the order names operation {operation}, which does not exist or has run already")]
    NotAnOrder {
        /// The operation.
        operation: usize,
    },
    /// An operation uses a tensor that does not exist.
    #[error("operation {operation} uses tensor {tensor}, which does not exist")]
    UnknownTensor {
        /// The operation.
        operation: usize,
        /// Index of the tensor.
        tensor: usize,
    },
    /// No operation uses a tensor.
    #[error("no operation uses tensor {tensor}, so nothing says when it is alive")]
    UnusedTensor {
        /// Index of the tensor.
        tensor: usize,
    },
    /// A buffer contradicts itself, or conflicts with another one that has a fixed offset.
    #[error("buffer {buffer}{}: {why}", named(name))]
    BadBuffer {
        /// Index of the buffer.
        buffer: usize,
        /// Its name.
        name: String,
        /// Description of the problem.
        why: String,
    },
    /// A buffer cannot be in a memory that it names.
    #[error("buffer {buffer}{} cannot be in memory {memory}{}: {why}", named(name), named(memory_name))]
    BadMemory {
        /// Index of the buffer.
        buffer: usize,
        /// Its name.
        name: String,
        /// Index of the memory.
        memory: usize,
        /// Its name.
        memory_name: String,
        /// Description of the problem.
        why: String,
    },
    /// A [`BufferId`](super::BufferId) that belongs to another planner.
    #[error("buffer {index} is of another planner; a buffer is known to the planner that it was added to")]
    ForeignBuffer {
        /// Its index in that planner.
        index: usize,
    },
    /// One buffer cannot be computed in the place of another.
    #[error(
        "buffer {after} cannot be computed in the place of {before}: the last step of one is not the first of the other"
    )]
    BadInPlace {
        /// Index of the buffer that occupies the memory first.
        before: usize,
        /// Index of the buffer that replaces it.
        after: usize,
    },
    /// A step reads or writes rows that it must not.
    #[error("step {step} uses record {record} wrongly: {why}")]
    BadRowUse {
        /// The step.
        step: usize,
        /// Index of the record.
        record: usize,
        /// Description of the problem.
        why: &'static str,
    },
}

/// Formats a name in brackets, or nothing if it is empty.
fn named(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" ({})", printable(name)) }
}

/// A request that the planner does not support for these records, or the device does not support for this plan.
///
/// ```
/// use texpool_plan::{PlanError, Strategy, UnsupportedError};
///
/// let error = "greedy".parse::<Strategy>().unwrap_err();
/// assert!(matches!(error, PlanError::Unsupported(UnsupportedError::UnknownStrategy { .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnsupportedError {
    /// Too many records for a strategy that needs memory for each pair of them.
    #[error("{strategy} plans up to {limit} records, these are {records}; every other strategy takes more")]
    TooManyRecords {
        /// Name of the strategy.
        strategy: &'static str,
        /// The number of records.
        records: usize,
        /// The largest number that is allowed.
        limit: usize,
    },
    /// No strategy has this name.
    #[error("no strategy is called `{name}`; there are {known}")]
    UnknownStrategy {
        /// The requested name.
        name: String,
        /// All names, separated by commas.
        known: String,
    },
    /// A buffer has no room in any memory that it names, beside those that were placed before it.
    #[error(
        "buffer {buffer}{} has no room, the last memory that it may be in is {memory}{}; {}, give it one without a capacity",
        named(name),
        named(memory_name),
        if *proven { "no assignment fits" } else { "the search found no assignment that fits" }
    )]
    NoRoom {
        /// Index of the buffer.
        buffer: usize,
        /// Its name.
        name: String,
        /// Index of the most expensive memory that it may be in.
        memory: usize,
        /// Its name.
        memory_name: String,
        /// Set if it is proven that no assignment fits.
        proven: bool,
    },
    /// A region is larger than any texture the device allows.
    #[error("region {region} needs {texels} texels; with extents up to {max_extent} a texture holds at most {limit}")]
    RegionTooLarge {
        /// Index of the region.
        region: usize,
        /// Its size.
        texels: u64,
        /// Largest extent the device allows.
        max_extent: u32,
        /// Texels of the largest texture whose width is a power of two.
        limit: u64,
    },
    /// The strategy places everything in one arena, so some step would read and write the same texture.
    #[error("{strategy} puts every tensor into one arena; textures need a plan of shared objects or banks")]
    NotForTextures {
        /// Name of the strategy.
        strategy: &'static str,
    },
}

/// A rule broken by a layout or plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// A place refers to a region or texture that does not exist.
    #[error("record {record} lies in {what} {index}, but there are {count}")]
    OutOfRange {
        /// Index of the record.
        record: usize,
        /// `region` or `texture`.
        what: &'static str,
        /// The index that the place refers to.
        index: usize,
        /// The number of regions or textures.
        count: usize,
    },
    /// A record reaches past the end of its region or texture.
    #[error("record {record} ends at unit {end} of region {region}, which has {size}")]
    OutOfRegion {
        /// Index of the record.
        record: usize,
        /// Index of the region or texture.
        region: usize,
        /// One past the last unit the record uses.
        end: u128,
        /// The size of the region.
        size: u64,
    },
    /// The bound or the proof of a plan contradicts its total.
    #[error(
        "the arena has {total} units and its lower bound is {bound}, which cannot be {}",
        if *proven { "where the plan is said to be the smallest" } else { "more than a plan needs" }
    )]
    BadBound {
        /// The size of the arena.
        total: u64,
        /// The lower bound that the plan states.
        bound: u64,
        /// Set if the plan claims to be the smallest.
        proven: bool,
    },
    /// The cost of a plan in several memories is not that of its places, or less than its bound.
    #[error("the places cost {cost}, but the plan states {stated}, and a lower bound of {bound}")]
    BadCost {
        /// Sum of the costs of the places.
        cost: u64,
        /// The cost that the plan states.
        stated: u64,
        /// The lower bound that it states.
        bound: u64,
    },
    /// The arena in a memory is larger than the memory.
    #[error("the arena in memory {memory} has {total} units, and the memory {capacity}")]
    AboveCapacity {
        /// Index of the memory.
        memory: usize,
        /// Size of the arena.
        total: u64,
        /// Capacity of the memory.
        capacity: u64,
    },
    /// A buffer has an offset that its constraints forbid.
    #[error("buffer {buffer} lies at {offset}, but {why}")]
    WrongOffset {
        /// Index of the buffer.
        buffer: usize,
        /// Its offset.
        offset: u64,
        /// Description of the constraint.
        why: String,
    },
    /// Two records that are alive together use the same units.
    #[error("records {a} and {b} are both alive at step {step} and overlap in region {region}")]
    Overlap {
        /// One of the records.
        a: usize,
        /// The second record.
        b: usize,
        /// A step at which both are alive.
        step: usize,
        /// Index of the region or texture.
        region: usize,
    },
    /// Two rows of one tensor use the same texels.
    #[error("rows of record {record} overlap each other in texture {texture}")]
    RowsOverlap {
        /// Index of the record.
        record: usize,
        /// Index of the texture.
        texture: usize,
    },
    /// A layout breaks a rule of its kind, such as an offset in a shared object, or a second arena.
    #[error("the layout breaks the rules of {kind}: {why}")]
    InvalidForKind {
        /// Name of the kind.
        kind: &'static str,
        /// Description of the problem.
        why: String,
    },
    /// A step would read and write the same texture.
    #[error("step {step} reads record {read} and writes record {write} in the same texture {region}")]
    ReadsAndWrites {
        /// The step.
        step: usize,
        /// A record it reads.
        read: usize,
        /// A record it writes.
        write: usize,
        /// Index of the region or texture.
        region: usize,
    },
    /// A texture that the device cannot create or that row tables cannot address.
    #[error("texture {texture} is {width} x {height} texels: {why}")]
    BadTexture {
        /// Index of the texture.
        texture: usize,
        /// Its width.
        width: u32,
        /// Its height.
        height: u32,
        /// Description of the problem.
        why: &'static str,
    },
    /// A placement does not belong to its record: its index, interval or shape differs.
    #[error("placement {placement} does not fit its record: {why}")]
    WrongPlacement {
        /// Index of the placement.
        placement: usize,
        /// Description of the difference.
        why: &'static str,
    },
    /// A step reads a row that was not written yet, or was overwritten.
    #[error("step {step} reads row {row} of record {record}, which is not in texture {texture} any more, or not yet")]
    RowNotThere {
        /// The step.
        step: usize,
        /// Index of the record.
        record: usize,
        /// The row.
        row: u32,
        /// Index of the texture.
        texture: usize,
    },
}
