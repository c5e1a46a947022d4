//! Memories, and the choices that a buffer has among them.

/// A memory of a device.
///
/// ```
/// use texpool_plan::Memory;
///
/// let sram = Memory::new().named("sram").capacity(1 << 20).aligned(16);
/// assert_eq!((sram.capacity, Memory::new().capacity), (Some(1 << 20), None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Memory {
    /// A name for reports. May be empty.
    pub name: String,
    /// Its size; `None` if it takes any buffers.
    pub capacity: Option<u64>,
    /// Alignment of every buffer in it, besides that of the buffer itself.
    pub align: u64,
}

impl Default for Memory {
    fn default() -> Self {
        Self { name: String::new(), capacity: None, align: 1 }
    }
}

impl Memory {
    /// Creates a memory that takes any buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets its size, in the unit of the buffers' sizes.
    #[must_use]
    pub const fn capacity(mut self, capacity: u64) -> Self {
        self.capacity = Some(capacity);
        self
    }

    /// Requires offsets that are multiples of `align`.
    #[must_use]
    pub const fn aligned(mut self, align: u64) -> Self {
        self.align = align;
        self
    }
}

/// A memory that a buffer may be in, and the cost of that.
///
/// ```
/// use texpool_plan::MemoryChoice;
///
/// // Written once and read three times, at ten cycles for each kilobyte.
/// assert_eq!(MemoryChoice::from((1, 4 * 10 * 64)), MemoryChoice { memory: 1, cost: 2560 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryChoice {
    /// Position of the memory among those of the planner.
    pub memory: usize,
    /// Cost if the buffer is there, in any unit, such as bytes moved times the time for each.
    pub cost: u64,
}

impl From<(usize, u64)> for MemoryChoice {
    /// Takes the memory and the cost.
    fn from((memory, cost): (usize, u64)) -> Self {
        Self { memory, cost }
    }
}
