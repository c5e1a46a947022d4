//! Buffers, the input of the arena planner.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::record::UsageRecord;

/// Identifies a buffer of the [`ArenaPlanner`](super::ArenaPlanner) that it was added to. Other planners reject it.
///
/// ```
/// use texpool_plan::{ArenaPlanner, Buffer, BufferId};
///
/// let mut planner = ArenaPlanner::from_iter([Buffer::new(0..1, 4)]);
/// let second: BufferId = planner.add(Buffer::new(1..2, 4));
/// // Buffers that were not added one by one have ids by their position.
/// assert_eq!((second.index(), planner.id(1), planner.id(2)), (1, Some(second), None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferId {
    planner: PlannerId,
    index: usize,
}

impl BufferId {
    pub(super) const fn new(planner: PlannerId, index: usize) -> Self {
        Self { planner, index }
    }

    /// Returns the position of the buffer in its planner, counted from 0.
    pub const fn index(self) -> usize {
        self.index
    }

    /// Returns the position if the buffer belongs to `planner`.
    pub(super) fn index_in(self, planner: PlannerId) -> Option<usize> {
        (self.planner == planner).then_some(self.index)
    }
}

/// Distinguishes planners. A clone keeps the id, so it accepts the same buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PlannerId(u64);

impl PlannerId {
    pub(super) fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Steps within a buffer's live range at which it needs only some of its bytes, or none.
///
/// ```
/// use texpool_plan::{Buffer, BufferGap};
///
/// let state = Buffer::new(0..8, 64).gap_within(4..8, 48..64);
/// assert_eq!(state.gaps, [BufferGap { steps: 4..8, window: Some(48..64) }]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BufferGap {
    /// The steps.
    pub steps: Range<usize>,
    /// The bytes that it needs during these steps, counted from the buffer's start; `None` if it needs none.
    pub window: Option<Range<u64>>,
}

/// A range of bytes that is needed for a range of steps. Sizes are in any unit.
///
/// ```
/// use texpool_plan::Buffer;
///
/// // Written at step 0, last read at step 5, of no use at steps 2 and 3; at a multiple of 64.
/// let skip = Buffer::new(0..6, 4096).named("skip").aligned(64).gap(2..4);
/// // Where the caller has put the network's input.
/// let input = Buffer::new(0..1, 602_112).named("input").fixed(0);
/// // While steps 4 to 7 run, only the last 16 bytes are read.
/// let state = Buffer::new(0..8, 64).gap_within(4..8, 48..64);
/// // It lay at 4096 in an earlier plan.
/// let scores = Buffer::new(6..8, 1000).hinted(4096);
/// assert_eq!((skip.align, input.offset, state.gaps.len(), scores.hint), (64, Some(0), 1, Some(4096)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Buffer {
    /// A name for reports and files. May be empty.
    pub name: String,
    /// Steps at which it is alive. Empty until a step uses the buffer, see
    /// [`ArenaPlanner::step`](super::ArenaPlanner::step).
    pub live: Range<usize>,
    /// Its size.
    pub size: u64,
    /// Alignment: the offset is a multiple of this.
    pub align: u64,
    /// Steps at which it needs only some of its bytes. Gaps lie within the live range and do not overlap.
    pub gaps: Vec<BufferGap>,
    /// Fixed offset, if it has one.
    pub offset: Option<u64>,
    /// Offset in an earlier plan, used as a hint. The planner first tries to place buffers in the order of these
    /// offsets, so that a good plan changes little. The hint does not restrict the plan.
    pub hint: Option<u64>,
    /// Name of a buffer in whose place this one may be computed; see
    /// [`ArenaPlanner::in_place`](super::ArenaPlanner::in_place).
    pub in_place_of: Option<String>,
}

/// The part of a buffer description that contains a contradiction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Life,
    Align,
    /// The gap with this index.
    Gap(usize),
    Offset,
}

impl Buffer {
    /// Creates a buffer that may have any offset, and needs all of its bytes at each step of `live`.
    pub const fn new(live: Range<usize>, size: u64) -> Self {
        Self {
            name: String::new(),
            live,
            size,
            align: 1,
            gaps: Vec::new(),
            offset: None,
            hint: None,
            in_place_of: None,
        }
    }

    /// Creates a buffer whose live range extends from the first step that uses it to the last.
    pub const fn of(size: u64) -> Self {
        Self::new(0..0, size)
    }

    /// Sets the name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Requires an offset that is a multiple of `align`.
    #[must_use]
    pub const fn aligned(mut self, align: u64) -> Self {
        self.align = align;
        self
    }

    /// Adds a gap: during `steps` the buffer needs no bytes, and its contents are lost.
    #[must_use]
    pub fn gap(mut self, steps: Range<usize>) -> Self {
        self.gaps.push(BufferGap { steps, window: None });
        self
    }

    /// Adds a gap: during `steps` the buffer needs only the bytes `window`, counted from its start.
    #[must_use]
    pub fn gap_within(mut self, steps: Range<usize>, window: Range<u64>) -> Self {
        self.gaps.push(BufferGap { steps, window: Some(window) });
        self
    }

    /// Fixes the offset.
    #[must_use]
    pub const fn fixed(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Sets its offset in an earlier plan, as a hint.
    #[must_use]
    pub const fn hinted(mut self, offset: u64) -> Self {
        self.hint = Some(offset);
        self
    }

    /// Allows the buffer to be computed in place of another, which it names.
    ///
    /// ```
    /// use texpool_plan::{ArenaPlanner, Buffer};
    ///
    /// let conv = Buffer::new(0..2, 8).named("conv");
    /// let relu = Buffer::new(1..3, 8).named("relu").in_place_of("conv");
    /// assert_eq!(ArenaPlanner::from_iter([conv, relu]).plan()?.total, 8);
    /// # Ok::<(), texpool_plan::PlanError>(())
    /// ```
    #[must_use]
    pub fn in_place_of(mut self, before: impl Into<String>) -> Self {
        self.in_place_of = Some(before.into());
        self
    }

    /// Returns the first contradiction in the description, with a message.
    pub(crate) fn contradiction(&self) -> Option<(Part, String)> {
        let Self { live, size, align, .. } = self;
        if live.start == live.end {
            return Some((Part::Life, "it is never alive: it has no steps of its own, and no step uses it".to_owned()));
        }
        if live.start > live.end {
            return Some((Part::Life, format!("it ends at {}, before it begins at {}", live.end, live.start)));
        }
        if *align == 0 {
            return Some((Part::Align, "an alignment is 1 or more".to_owned()));
        }
        for (index, BufferGap { steps, window }) in self.gaps.iter().enumerate() {
            let (from, to) = (steps.start, steps.end);
            let why = if from == to {
                format!("the gap that begins at {from} contains no step")
            } else if from > to {
                format!("the gap ends at {to}, before it begins at {from}")
            } else if from < live.start || to > live.end {
                format!("the gap {from}-{to} is not within the life {}-{}", live.start, live.end)
            } else if let Some(Range { start, end }) = window.as_ref().filter(|w| w.start > w.end || w.end > *size) {
                format!("the window {start}:{end} is not within the size {size}")
            } else if self.gaps[..index].iter().any(|other| other.steps.start < to && from < other.steps.end) {
                format!("the gap {from}-{to} overlaps another")
            } else {
                continue;
            };
            return Some((Part::Gap(index), why));
        }
        let offset = self.offset.filter(|offset| !offset.is_multiple_of(*align))?;
        Some((Part::Offset, format!("the offset {offset} is no multiple of the alignment {align}")))
    }
}

impl From<UsageRecord> for Buffer {
    /// Converts the inclusive last step to an exclusive end. The end saturates at the largest step number.
    fn from(record: UsageRecord) -> Self {
        Self::new(record.first..record.last.saturating_add(1), record.size)
    }
}
