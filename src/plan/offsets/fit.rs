//! Whether an arena of a given capacity can hold all tensors: a search that answers with a layout, or with no.
//!
//! Tensors are placed from the floor up (Moffitt 2023, the search of minimalloc): every layout can be pushed down until
//! each tensor lies on another or on the floor, and then built in rising order of offset. So only the lowest offset of
//! each tensor is tried, in rising order; a branch is cut where what still has to fit above some point's floor does not,
//! and where the stretch of time falls apart, its parts are searched one by one.

use std::cmp::Reverse;

use crate::plan::{Layout, Place, PlanError, Problem, UsageRecord, naive_total};

/// The answer of [`fit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// A layout within the capacity.
    Fits(Layout),
    /// No layout is within the capacity: the search saw every one.
    Impossible,
    /// The search ran out of nodes.
    Undecided,
}

/// Searches for a layout within `capacity`, placing at most `nodes` tensors in all.
///
/// Three orders of preference take turns, each with twice the nodes of the turn before.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn fit(records: &[UsageRecord], capacity: u64, nodes: u64) -> Result<Fit, PlanError> {
    naive_total(records)?;
    let mut left = nodes;
    let mut turn = 64 * records.len() as u64 + 64;
    loop {
        for order in [preference_width, preference_load, preference_area] {
            let mut search = Search::new(records, capacity, order, turn.min(left));
            let given = search.nodes;
            let all: Vec<usize> = (0..records.len()).collect();
            let found = if search.is_hopeless() { Some(false) } else { search.parts(&all, 0, 0) };
            left -= given - search.nodes;
            match found {
                Some(true) => return Ok(Fit::Fits(search.layout())),
                Some(false) => return Ok(Fit::Impossible),
                None if left == 0 => return Ok(Fit::Undecided),
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
    placed: Vec<Option<u64>>,
    /// Lowest offset each tensor can still have.
    lowest: Vec<u64>,
    /// For each point, the lowest offset at which anything can still come, and how much has to.
    floors: Vec<u64>,
    waiting: Vec<u64>,
}

/// Tensors are renamed: 0 is the one most preferred.
struct Search {
    record_of: Vec<usize>,
    sizes: Vec<u64>,
    spans: Vec<(usize, usize)>,
    /// Tensors alive at each birth: any two that meet, meet there.
    alive: Vec<Vec<usize>>,
    meets: Vec<Vec<usize>>,
    capacity: u64,
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
        let facts = |r: &UsageRecord| {
            let (from, to) = span(r);
            let life = r.last - r.first;
            let load = waiting[from..to].iter().copied().max().unwrap_or(0);
            Facts { life, area: u128::from(r.size) * (life as u128 + 1), load }
        };
        let mut record_of: Vec<usize> = (0..records.len()).collect();
        record_of.sort_by_key(|&i| (Reverse(preference(&facts(&records[i]))), i));
        let spans: Vec<(usize, usize)> = record_of.iter().map(|&i| span(&records[i])).collect();
        let mut alive = vec![Vec::new(); births.len()];
        for (tensor, &(from, to)) in spans.iter().enumerate() {
            alive[from..to].iter_mut().for_each(|list: &mut Vec<usize>| list.push(tensor));
        }
        let conflicts = |a: usize, b: usize| records[record_of[a]].conflicts(&records[record_of[b]]);
        let n = records.len();
        let meets = (0..n).map(|a| (0..n).filter(|&b| a != b && conflicts(a, b)).collect()).collect();
        let state = State {
            placed: vec![None; records.len()],
            lowest: vec![0; records.len()],
            floors: vec![0; births.len()],
            waiting,
        };
        let sizes = record_of.iter().map(|&i| records[i].size).collect();
        Self { record_of, sizes, spans, alive, meets, capacity, nodes, state }
    }

    fn is_hopeless(&self) -> bool {
        self.state.waiting.iter().any(|&load| load > self.capacity)
    }

    fn layout(&self) -> Layout {
        let mut places = vec![Place { region: 0, offset: 0 }; self.record_of.len()];
        let mut top = 0;
        for (tensor, &record) in self.record_of.iter().enumerate() {
            let offset = self.state.placed[tensor].unwrap_or(0);
            places[record].offset = offset;
            top = top.max(offset + self.sizes[tensor]);
        }
        let regions = if places.is_empty() { Vec::new() } else { vec![top] };
        Layout { problem: Problem::Offsets, regions, places }
    }

    /// Searches each part that shares no point with the others; `None` if the nodes ran out.
    fn parts(&mut self, tensors: &[usize], floor: u64, after: usize) -> Option<bool> {
        let mut order = tensors.to_vec();
        order.sort_by_key(|&t| self.spans[t]);
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let mut end = 0;
            let size = rest.iter().take_while(|&&t| {
                let joined = end == 0 || self.spans[t].0 < end;
                end = if joined { end.max(self.spans[t].1) } else { end };
                joined
            });
            let size = size.count();
            let mut part = rest[..size].to_vec();
            part.sort_unstable();
            if !self.part(&part, floor, after)? {
                return Some(false);
            }
            rest = &rest[size..];
        }
        Some(true)
    }

    fn part(&mut self, tensors: &[usize], floor: u64, after: usize) -> Option<bool> {
        self.nodes = self.nodes.checked_sub(1)?;
        let mut order: Vec<(u64, usize)> = tensors.iter().map(|&t| (self.state.lowest[t], t)).collect();
        order.sort_unstable();
        // Above the lowest top, a tensor would leave room below it for another.
        let ceiling = order.iter().map(|&(offset, t)| offset + self.sizes[t]).min().unwrap_or(0);
        let points =
            tensors.iter().fold((usize::MAX, 0), |(from, to), &t| (from.min(self.spans[t].0), to.max(self.spans[t].1)));
        for &(offset, tensor) in &order {
            // An empty tensor is its own ceiling; it may lie anywhere.
            if offset >= ceiling && self.sizes[tensor] > 0 {
                break;
            }
            if (offset, tensor) < (floor, after) {
                continue;
            }
            let before = self.state.clone();
            self.place(tensor, offset);
            if self.has_room(points, offset) {
                let rest: Vec<usize> = tensors.iter().copied().filter(|&t| t != tensor).collect();
                if self.parts(&rest, offset, tensor)? {
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
