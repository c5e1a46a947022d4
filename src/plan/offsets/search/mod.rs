//! The search of [`fit`](super::fit()): layouts are built from the floor up, and a branch is left as soon as no layout
//! can follow.
//!
//! Of all layouts within a capacity, take one whose offsets have the least sum. No tensor of it can be moved down, so
//! each lies on another or on the floor, and in the sequence of rising offsets (of equals: of rising rank) each comes
//! to lie directly on those before it (Moffitt 2023, the search of minimalloc). The search looks for these sequences
//! alone:
//!
//! - a tensor is tried at its lowest offset only, and after the one before it in the sequence;
//! - no tensor is tried so high that another that waits would fit beneath: that one could be moved down;
//! - of tensors with the same points and size, the earlier one lies lower;
//! - what was passed over has to be lifted by something that still comes (`State::lift`);
//! - at each point, what waits has to fit above the floor;
//! - where what waits falls apart, its parts are searched one by one, each ranked afresh, and where one has no
//!   layout the others are not asked again.

mod bits;
mod instance;
mod order;
mod state;

use instance::{Instance, independent_groups};
use order::Order;
use state::{Key, Part, State};

use super::layout::one_arena;
use crate::plan::{
    control::{Progress, SearchControl},
    layout::Layout,
    record::UsageRecord,
};

/// The answer of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A layout.
    Layout(Layout),
    /// There is none.
    Nothing,
    /// The search ran out of nodes or memory, or was stopped.
    GaveUp,
}

/// Tensors of one group above which no search is begun. The sets of tensors that meet take the square of their number:
/// 4 MiB here, a gigabyte at sixteen times as many, where a single descent takes seconds.
pub(super) const MAX_TENSORS: usize = 1 << 12;

/// Searches for a layout within `capacity`, placing at most `nodes` tensors in all. Groups of tensors that share no
/// step are searched one after another.
pub(super) fn search(records: &[UsageRecord], capacity: u64, nodes: u64, control: &SearchControl<'_>) -> Found {
    let groups = independent_groups(records);
    if groups.iter().any(|group| group.len() > MAX_TENSORS) {
        return Found::GaveUp;
    }
    let mut offsets = vec![None; records.len()];
    let mut used = 0;
    for group in groups {
        let Some(instance) = Instance::new(records, group, control) else { return Found::GaveUp };
        match search_group(&instance, capacity, nodes, &mut used, control) {
            Some(Some(found)) => {
                for (&record, offset) in instance.records.iter().zip(found) {
                    offsets[record] = Some(offset);
                }
            }
            Some(None) => return Found::Nothing,
            None => return Found::GaveUp,
        }
    }
    Found::Layout(one_arena(records, &offsets))
}

/// The offsets of tensors that meet, if there are any; `None` if that was not found out. Orders of preference take
/// turns, and each time round they have twice the nodes.
fn search_group(
    instance: &Instance,
    capacity: u64,
    nodes: u64,
    used: &mut u64,
    control: &SearchControl<'_>,
) -> Option<Option<Vec<u64>>> {
    let mut turn = FIRST_TURN * instance.tensors.len() as u64;
    while *used < nodes {
        for order in Order::TURNS {
            let mut search = Search::new(instance, capacity, order, turn.min(nodes - *used));
            let answer = search.run(control, &Progress::new("arena search", *used, nodes));
            *used += search.used;
            match answer {
                Some(found) => return Some(found.then_some(search.state.offsets)),
                None if control.stopped().is_some() => return None,
                None => {}
            }
        }
        turn *= 2;
    }
    None
}

/// Nodes a tensor in the first turn. Minimalloc's instances A to K take 1.45 million nodes in all with 16, 1.55 with 8
/// and 1.36 with 32; the easiest of them, J, one and a half a tensor.
const FIRST_TURN: u64 = 16;

/// Tensors tried, times tensors of the instance, between two looks at the control: some hundred microseconds.
const BETWEEN_LOOKS: u64 = 1 << 13;

/// What remains to be done at a level of the search.
enum Frame {
    /// One of the tensors of a part comes next.
    Planner {
        part: Part,
        /// Of the tensor before; whatever comes is later.
        after: Key,
        /// At or above this offset another tensor would fit beneath.
        ceiling: u64,
        /// The changes before the first trial.
        mark: usize,
    },
    /// Parts that wait, in `Search::parts` from this index on.
    Parts { start: usize, next: usize, floor: u64 },
}

struct Search<'a> {
    state: State<'a>,
    order: Order,
    frames: Vec<Frame>,
    parts: Vec<Part>,
    nodes: u64,
    used: u64,
}

impl<'a> Search<'a> {
    fn new(instance: &'a Instance, capacity: u64, order: Order, nodes: u64) -> Self {
        let state = State::new(instance, capacity);
        Self { state, order, frames: Vec::new(), parts: Vec::new(), nodes, used: 0 }
    }

    /// Whether there is a layout; `None` if that is not known after all nodes.
    fn run(&mut self, control: &SearchControl<'_>, progress: &Progress) -> Option<bool> {
        if !self.state.has_room() {
            return Some(false);
        }
        let between = BETWEEN_LOOKS / self.state.instance.tensors.len().max(1) as u64 + 1;
        self.push_parts(self.state.whole(), 0);
        // What came of the frame that was on top of this one.
        let mut answer = None;
        loop {
            match self.frames.last_mut() {
                None => return answer,
                Some(Frame::Parts { start, next, floor }) => match self.parts.get(*next) {
                    Some(&part) if answer != Some(false) => {
                        *next += 1;
                        let after = Key { offset: *floor, rank: 0 };
                        self.state.rank(part, self.order);
                        answer = self.push_choice(part, after);
                    }
                    _ => {
                        // All parts have their layout, or one has none.
                        let start = *start;
                        self.parts.truncate(start);
                        self.frames.pop();
                        answer = Some(answer != Some(false));
                    }
                },
                Some(Frame::Planner { .. }) if answer == Some(true) => {
                    self.frames.pop();
                }
                Some(&mut Frame::Planner { part, after, ceiling, mark }) => {
                    self.state.undo(mark);
                    let Some((key, tensor)) = self.next(part, after, ceiling) else {
                        self.frames.pop();
                        answer = Some(false);
                        continue;
                    };
                    if self.used == self.nodes || self.state.is_full() {
                        return None;
                    }
                    self.used += 1;
                    if self.used.is_multiple_of(between) {
                        control.report(Progress { done: progress.done + self.used, ..*progress });
                        if control.should_stop() {
                            return None;
                        }
                    }
                    self.tried(key);
                    answer = match self.state.place(tensor, part) {
                        None => Some(false),
                        Some(false) => self.push_choice(part, key),
                        Some(true) => {
                            self.push_parts(part, key.offset);
                            None
                        }
                    };
                }
            }
        }
    }

    /// Remembers at the level on top which tensor was tried last.
    fn tried(&mut self, key: Key) {
        if let Some(Frame::Planner { after, .. }) = self.frames.last_mut() {
            *after = Key { rank: key.rank + 1, ..key };
        }
    }

    fn push_parts(&mut self, part: Part, floor: u64) {
        let start = self.parts.len();
        self.state.parts(part, &mut self.parts);
        self.frames.push(Frame::Parts { start, next: start, floor });
    }

    /// Begins a level; it is done already where nothing waits.
    fn push_choice(&mut self, part: Part, after: Key) -> Option<bool> {
        let ends = self.state.members(part).map(|t| self.state.lowest[t] + self.state.instance.tensors[t].size);
        let Some(ceiling) = ends.min() else { return Some(true) };
        self.frames.push(Frame::Planner { part, after, ceiling, mark: self.state.mark() });
        None
    }

    /// The tensor to be tried next: the first in sequence that is not before `after`.
    fn next(&self, part: Part, after: Key, ceiling: u64) -> Option<(Key, usize)> {
        let State { lowest, at_least, ranks, instance, waiting, .. } = &self.state;
        let mut best: Option<(Key, usize)> = None;
        for tensor in self.state.members(part) {
            let key = Key { offset: lowest[tensor], rank: ranks[tensor] };
            let eligible = key.offset == at_least[tensor] && key.offset < ceiling && key >= after;
            if eligible
                && best.is_none_or(|(least, _)| key < least)
                && instance.tensors[tensor].reference.is_none_or(|reference| !bits::has(waiting, reference))
            {
                best = Some((key, tensor));
            }
        }
        best
    }
}
