//! What can go wrong in the planner, by what a caller can do about it: mend the records, ask for something else,
//! distrust a layout or a certificate, or mend a text.

/// Why records were refused, a plan could not be made, or the checker refused one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Records, steps and lists of them contradict themselves or each other.
    #[error(transparent)]
    Input(#[from] InputError),
    /// What was asked for cannot be had, though the records are in order.
    #[error(transparent)]
    Unsupported(#[from] UnsupportedError),
    /// A layout or plan breaks a rule: the checker refuses it.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A certificate does not prove what it claims.
    #[error("the certificate does not hold: {why}")]
    BadCertificate {
        /// What is wrong.
        why: String,
    },
    /// A text of records cannot be read.
    #[error("line {line}, column {column}: {why}")]
    Parse {
        /// Line, counted from 1.
        line: usize,
        /// Column in characters, counted from 1.
        column: usize,
        /// What is wrong there.
        why: String,
    },
}

/// What contradicts itself or another list in what the planner is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// A record dies before it is born.
    #[error("record {record} is last touched at step {last}, before its first step {first}")]
    ReversedInterval {
        /// Index of the record.
        record: usize,
        /// Its first step.
        first: usize,
        /// Its last step.
        last: usize,
    },
    /// The sizes add up to more than 64 bits hold.
    #[error("the sizes up to record {record} add up to more than {max} units", max = u64::MAX)]
    Overflow {
        /// Index of the record at which the sum overflows.
        record: usize,
    },
    /// The records span more steps than a list of steps may have.
    #[error("record {record} is alive at step {last}, above the limit of {limit} steps")]
    TooManySteps {
        /// Index of the record.
        record: usize,
        /// Its last step.
        last: usize,
        /// Steps that are allowed.
        limit: usize,
    },
    /// Two lists that must have an entry a record do not agree.
    #[error("{what}: {found} entries for {expected} records")]
    LengthMismatch {
        /// Which list.
        what: &'static str,
        /// Records there are.
        expected: usize,
        /// Entries there are.
        found: usize,
    },
    /// A record's size is not what its tensor's rows add up to.
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
        /// Index of the record; past the end of the records if there is none.
        record: usize,
        /// First step of the record.
        first: usize,
        /// Last step of the record.
        last: usize,
    },
    /// A step touches rows that it cannot.
    #[error("step {step} and record {record}: {why}")]
    BadRowUse {
        /// The step.
        step: usize,
        /// Index of the record.
        record: usize,
        /// What is wrong.
        why: &'static str,
    },
}

/// What the planner does not offer for these records, or the device not for this plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedError {
    /// A strategy that takes memory by pairs of records is asked for too many.
    #[error("{strategy} plans up to {limit} records, these are {records}; every other strategy takes more")]
    TooManyRecords {
        /// Name of the strategy.
        strategy: &'static str,
        /// Records there are.
        records: usize,
        /// Records that are allowed.
        limit: usize,
    },
    /// No strategy has this name.
    #[error("no strategy is called `{name}`; there are {known}")]
    UnknownStrategy {
        /// The name asked for.
        name: String,
        /// All names, separated by commas.
        known: String,
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
    /// The strategy answers one arena, which some step would read and write.
    #[error("{strategy} puts every tensor into one arena; textures need a plan of shared objects or banks")]
    NotForTextures {
        /// Name of the strategy.
        strategy: &'static str,
    },
}

/// The rule that a layout or plan breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// A place names a region or texture that is not there.
    #[error("record {record} lies in {what} {index}, but there are {count}")]
    OutOfRange {
        /// Index of the record.
        record: usize,
        /// `region` or `texture`.
        what: &'static str,
        /// The index it names.
        index: usize,
        /// How many there are.
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
        /// Units the region has.
        size: u64,
    },
    /// Two records that are alive together use the same units.
    #[error("records {a} and {b} are both alive at step {step} and overlap in region {region}")]
    Overlap {
        /// The record placed first.
        a: usize,
        /// The record that falls onto it.
        b: usize,
        /// A step at which both are alive.
        step: usize,
        /// Index of the region or texture.
        region: usize,
    },
    /// A tensor's own rows use the same texels.
    #[error("rows of record {record} overlap each other in texture {texture}")]
    RowsOverlap {
        /// Index of the record.
        record: usize,
        /// Index of the texture.
        texture: usize,
    },
    /// A layout does not keep the shape of its problem (an offset in a shared object, a second arena).
    #[error("the layout breaks the rules of {problem}: {why}")]
    Shape {
        /// Name of the problem.
        problem: &'static str,
        /// What is wrong.
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
    /// A texture is not one that may be created.
    #[error("texture {texture} is {width} x {height}: {why}")]
    BadTexture {
        /// Index of the texture.
        texture: usize,
        /// Its width.
        width: u32,
        /// Its height.
        height: u32,
        /// What is wrong.
        why: &'static str,
    },
    /// A placement does not belong to its record: another index, interval or shape.
    #[error("placement {placement} does not fit its record: {why}")]
    WrongPlacement {
        /// Index of the placement.
        placement: usize,
        /// What differs.
        why: &'static str,
    },
    /// A step reads a row that was not written yet, or written over.
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
