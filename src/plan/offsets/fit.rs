//! Whether an arena of a given capacity can hold all tensors: a search that answers with a layout, or with no.
//!
//! Tensors are placed from the floor up (Moffitt 2023, the search of minimalloc): every layout can be pushed down until
//! each tensor lies on another or on the floor, and then built in rising order of offset. So only the lowest offset of
//! each tensor is tried, in rising order; a branch is cut where what still has to fit above some point's floor does
//! not, and where the stretch of time falls apart, its parts are searched one by one.

use std::cmp::Reverse;

use crate::plan::{Layout, Place, PlanError, Problem, UsageRecord, control::SearchControl, naive_total};

/// The answer of [`fit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// A layout within the capacity.
    Fits(Layout),
    /// No layout is within the capacity: the search saw every one.
    Impossible,
    /// The search ran out of nodes, or was stopped.
    Undecided,
}

/// Tensors above which no search is begun: who meets whom would outgrow memory.
const MAX_TENSORS: usize = 1 << 12;

/// Searches for a layout within `capacity`, placing at most `nodes` tensors in all, until `control` stops it.
///
/// Three orders of preference take turns, each with twice the nodes of the turn before.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn fit(records: &[UsageRecord], capacity: u64, nodes: u64, control: &SearchControl<'_>) -> Result<Fit, PlanError> {
    naive_total(records)?;
    if records.len() > MAX_TENSORS {
        return Ok(Fit::Undecided);
    }
    let mut left = nodes;
    let mut turn = 64 * records.len() as u64 + 64;
    loop {
        for order in [preference_width, preference_load, preference_area] {
            let mut search = Search::new(records, capacity, order, turn.min(left));
            let given = search.nodes;
            // A tensor without a size lies anywhere.
            let all: Vec<usize> = (0..records.len()).filter(|&t| records[t].size > 0).collect();
            let found = if search.is_hopeless() { Some(false) } else { search.start(&all) };
            left -= given - search.nodes;
            match found {
                Some(true) => return Ok(Fit::Fits(search.layout())),
                Some(false) => return Ok(Fit::Impossible),
                None if left == 0 || control.should_stop() => return Ok(Fit::Undecided),
                None => {}
            }
        }
        turn *= 2;
    }
}

/// What is known of a tensor before the search; larger keys come first.
struct Facts {
    life: usize,
    area: u128,
    load: u64,
}

type Preference = fn(&Facts) -> [u128; 3];

fn preference_width(f: &Facts) -> [u128; 3] {
    [f.life as u128, f.area, f.load.into()]
}

fn preference_load(f: &Facts) -> [u128; 3] {
    [f.load.into(), f.area, f.life as u128]
}

fn preference_area(f: &Facts) -> [u128; 3] {
    [f.load.into(), f.life as u128, f.area]
}

/// Everything that placing a tensor changes.
#[derive(Clone)]
struct State {
    /// Place of each tensor in the order of preference of its part.
    rank: Vec<usize>,
    placed: Vec<Option<u64>>,
    /// Lowest offset each tensor can still have.
    lowest: Vec<u64>,
    /// For each point, the lowest offset at which anything can still come, and how much has to.
    floors: Vec<u64>,
    waiting: Vec<u64>,
}

struct Search {
    sizes: Vec<u64>,
    lives: Vec<usize>,
    spans: Vec<(usize, usize)>,
    /// Tensors alive at each birth: any two that meet, meet there.
    alive: Vec<Vec<usize>>,
    meets: Vec<Vec<usize>>,
    capacity: u64,
    preference: Preference,
    nodes: u64,
    state: State,
}

impl Search {
    fn new(records: &[UsageRecord], capacity: u64, preference: Preference, nodes: u64) -> Self {
        let mut births: Vec<usize> = records.iter().map(|r| r.first).collect();
        births.sort_unstable();
        births.dedup();
        let span =
            |r: &UsageRecord| (births.partition_point(|&b| b < r.first), births.partition_point(|&b| b <= r.last));
        let mut waiting = vec![0u64; births.len()];
        for r in records {
            let (from, to) = span(r);
            waiting[from..to].iter_mut().for_each(|w| *w += r.size);
        }
        let spans: Vec<(usize, usize)> = records.iter().map(span).collect();
        let mut alive = vec![Vec::new(); births.len()];
        for (tensor, &(from, to)) in spans.iter().enumerate() {
            alive[from..to].iter_mut().for_each(|list: &mut Vec<usize>| list.push(tensor));
        }
        let n = records.len();
        let partners = |a: usize| (0..n).filter(|&b| a != b && records[a].conflicts(&records[b])).collect();
        let meets = (0..n).map(partners).collect();
        let state = State {
            rank: vec![0; n],
            placed: vec![None; n],
            lowest: vec![0; n],
            floors: vec![0; births.len()],
            waiting,
        };
        let sizes = records.iter().map(|r| r.size).collect();
        let lives = records.iter().map(|r| r.last - r.first).collect();
        Self { sizes, lives, spans, alive, meets, capacity, preference, nodes, state }
    }

    fn is_hopeless(&self) -> bool {
        self.state.waiting.iter().any(|&load| load > self.capacity)
    }

    fn layout(&self) -> Layout {
        let offsets: Vec<u64> = self.state.placed.iter().map(|placed| placed.unwrap_or(0)).collect();
        let top = offsets.iter().zip(&self.sizes).map(|(offset, size)| offset + size).max();
        let places = offsets.into_iter().map(|offset| Place { region: 0, offset }).collect();
        Layout { problem: Problem::Offsets, regions: top.into_iter().collect(), places }
    }

    /// Ranks the tensors of a part anew, by what is known of them now.
    fn rank(&mut self, part: &[usize]) {
        let facts = |tensor: usize| {
            let (from, to) = self.spans[tensor];
            let life = self.lives[tensor];
            let load = self.state.waiting[from..to].iter().copied().max().unwrap_or(0);
            Facts { life, area: u128::from(self.sizes[tensor]) * (life as u128 + 1), load }
        };
        let mut order: Vec<_> = part.iter().map(|&t| (Reverse((self.preference)(&facts(t))), t)).collect();
        order.sort_unstable();
        order.iter().enumerate().for_each(|(rank, &(_, tensor))| self.state.rank[tensor] = rank);
    }

    /// Searches tensors of which none is placed yet, in an order of their own.
    fn start(&mut self, tensors: &[usize]) -> Option<bool> {
        self.rank(tensors);
        self.part(tensors, (0, 0))
    }

    /// Searches each part that shares no point with the others; `None` if the nodes ran out. `after` is where the
    /// tensor placed last lies, and its rank: what comes lies no lower, and at the same offset has a later rank.
    fn parts(&mut self, tensors: &[usize], after: (u64, usize)) -> Option<bool> {
        let mut order = tensors.to_vec();
        order.sort_by_key(|&t| self.spans[t]);
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let mut end = 0;
            let joined = rest.iter().take_while(|&&t| {
                let joined = end == 0 || self.spans[t].0 < end;
                end = end.max(self.spans[t].1);
                joined
            });
            let (part, others) = rest.split_at(joined.count());
            // Parts do not see each other, so each starts its order afresh.
            let found = if part.len() < tensors.len() { self.start(part)? } else { self.part(part, after)? };
            if !found {
                return Some(false);
            }
            rest = others;
        }
        Some(true)
    }

    fn part(&mut self, tensors: &[usize], after: (u64, usize)) -> Option<bool> {
        self.nodes = self.nodes.checked_sub(1)?;
        let mut order: Vec<(u64, usize, usize)> =
            tensors.iter().map(|&t| (self.state.lowest[t], self.state.rank[t], t)).collect();
        order.sort_unstable();
        // Above the lowest top, a tensor would leave room below it for another.
        let ceiling = order.iter().map(|&(offset, _, t)| offset + self.sizes[t]).min().unwrap_or(0);
        let points =
            tensors.iter().fold((usize::MAX, 0), |(from, to), &t| (from.min(self.spans[t].0), to.max(self.spans[t].1)));
        for &(offset, rank, tensor) in &order {
            if offset >= ceiling {
                break;
            }
            if (offset, rank) < after {
                continue;
            }
            let before = self.state.clone();
            self.place(tensor, offset);
            if self.has_room(points, offset) {
                let rest: Vec<usize> = tensors.iter().copied().filter(|&t| t != tensor).collect();
                if self.parts(&rest, (offset, rank))? {
                    return Some(true);
                }
            }
            self.state = before;
        }
        Some(tensors.is_empty())
    }

    fn place(&mut self, tensor: usize, offset: u64) {
        let top = offset + self.sizes[tensor];
        let (from, to) = self.spans[tensor];
        self.state.placed[tensor] = Some(offset);
        for point in from..to {
            self.state.floors[point] = top.max(self.state.floors[point]);
            self.state.waiting[point] -= self.sizes[tensor];
        }
        let (mut touched_from, mut touched_to) = (from, to);
        for &other in &self.meets[tensor] {
            if self.state.placed[other].is_none() && self.state.lowest[other] < top {
                self.state.lowest[other] = top;
                touched_from = touched_from.min(self.spans[other].0);
                touched_to = touched_to.max(self.spans[other].1);
            }
        }
        for point in touched_from..touched_to {
            let here = self.alive[point].iter().filter(|&&t| self.state.placed[t].is_none());
            if let Some(lowest) = here.map(|&t| self.state.lowest[t]).min() {
                self.state.floors[point] = lowest.max(self.state.floors[point]);
            }
        }
    }

    /// Whether what still has to come fits above the floor of every point.
    fn has_room(&self, (from, to): (usize, usize), offset: u64) -> bool {
        (from..to).all(|point| {
            let floor = self.state.floors[point].max(offset);
            floor.saturating_add(self.state.waiting[point]) <= self.capacity
        })
    }
}
