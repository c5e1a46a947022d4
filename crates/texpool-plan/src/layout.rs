//! Layouts: regions, and the position of each tensor in them.

/// The placement problem that a layout solves, which determines its rules. The first two are those of Pisarchyk and
/// Lee; the other two add WebGPU's rule that no step reads and writes the same texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum LayoutKind {
    /// An object holds one live tensor at a time; the cost is the sum of the objects.
    SharedObjects,
    /// Offset Calculation: tensors at offsets in one arena; the cost is the size of the arena.
    Offsets,
    /// Several arenas. No step reads and writes the same one.
    Banks,
    /// Banks whose tensors are placed row by row. Each row occupies memory only while it is alive.
    Rows,
}

impl LayoutKind {
    /// Returns the name used on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SharedObjects => "shared_objects",
            Self::Offsets => "offsets",
            Self::Banks => "banks",
            Self::Rows => "rows",
        }
    }
}

/// Position of one tensor: a region (shared object, arena or bank) and an offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Place {
    /// Index into [`Layout::regions`].
    pub region: usize,
    /// First unit of the tensor inside its region; always 0 for shared objects.
    pub offset: u64,
}

/// A solution of one of the first three problems: the sizes of the regions, and the position of each record.
///
/// ```
/// use texpool_plan::{Layout, Place, Strategy, UsageRecord};
///
/// let records = [UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4), UsageRecord::new(2, 3, 8)];
/// let layout: Layout = Strategy::GreedyBySize.place(&records)?;
/// assert_eq!((layout.problem.name(), layout.regions.as_slice()), ("shared_objects", &[8, 4][..]));
/// assert_eq!((layout.places[2], layout.total()), (Place { region: 0, offset: 0 }, 12));
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Layout {
    /// The problem that this solves.
    pub problem: LayoutKind,
    /// Size of each region, in the records' unit.
    pub regions: Vec<u64>,
    /// Position of each record, in record order.
    pub places: Vec<Place>,
}

impl Layout {
    /// Returns the cost: the sum of the regions. It cannot overflow, because strategies reject records whose naïve
    /// total does.
    pub fn total(&self) -> u64 {
        self.regions.iter().sum()
    }
}
