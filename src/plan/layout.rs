//! Layouts: what a strategy answers, before textures are cut from it.

/// The placement problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum LayoutKind {
    /// One live tensor at a time in an object; the cost is the sum of the objects.
    SharedObjects,
    /// Tensors at offsets in one arena; the cost is the arena.
    Offsets,
    /// Several arenas, and no step reads and writes the same one.
    Banks,
    /// Banks whose tensors are placed row by row, each row for as long as it is needed.
    Rows,
}

impl LayoutKind {
    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SharedObjects => "shared_objects",
            Self::Offsets => "offsets",
            Self::Banks => "banks",
            Self::Rows => "rows",
        }
    }
}

/// Where one tensor lies: a region (shared object, arena or bank) and an offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Place {
    /// Index into [`Layout::regions`].
    pub region: usize,
    /// First unit of the tensor inside its region; always 0 for shared objects.
    pub offset: u64,
}

/// An answer to one of the first three problems: region sizes, and a place for each record, in record order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Layout {
    /// Which problem this answers, and so which rules it keeps.
    pub problem: LayoutKind,
    /// Size of each region, in the records' unit.
    pub regions: Vec<u64>,
    /// One place a record, in record order.
    pub places: Vec<Place>,
}

impl Layout {
    /// The cost: the sum of the regions. Strategies refuse records whose naïve total overflows, so this cannot.
    pub fn total(&self) -> u64 {
        self.regions.iter().sum()
    }
}
