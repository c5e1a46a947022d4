//! A layout while it is built from the floor up, and the way back.

use std::{cmp::Reverse, ops::Range};

use super::{
    bits::{clear, mask, ones, set, words},
    instance::Instance,
    order::{Facts, Order},
};

/// Where a tensor comes in the sequence in which a layout is built: by offset, of equals by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) offset: u64,
    pub(super) rank: u32,
}

/// Tensors and points that share nothing with the rest of what waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) tensors: (usize, usize),
    pub(super) points: (usize, usize),
}

/// What a change undone brings back.
enum Change {
    /// Of [`State::lowest`] and [`State::at_least`], which were the same.
    Both(u32, u64),
    Lowest(u32, u64),
    AtLeast(u32, u64),
    Floor(u32, u64),
    Rank(u32, u32),
    Placed(u32),
}

/// Changes kept at most, 64 MiB of them. A search that would keep more gives up.
const MAX_CHANGES: usize = 1 << 22;

/// Who lies where, and what follows from that for those who wait.
pub(super) struct State<'a> {
    pub(super) instance: &'a Instance,
    capacity: u64,
    /// The set of tensors not placed yet.
    pub(super) waiting: Vec<u64>,
    /// Of tensors that are placed.
    pub(super) offsets: Vec<u64>,
    /// The lowest offset above all that a tensor meets and that is placed.
    pub(super) lowest: Vec<u64>,
    /// No layout that is still looked for has the tensor lower; never less than `lowest`.
    pub(super) at_least: Vec<u64>,
    pub(super) ranks: Vec<u32>,
    /// For each point, the lowest offset at which anything can still come, and how much has to.
    floors: Vec<u64>,
    loads: Vec<u64>,
    /// How many of those that wait are alive both at a point and at the next.
    across: Vec<u32>,
    changes: Vec<Change>,
    /// Points whose lowest waiting tensor, or load, may have changed since their floor was set.
    dirty: Vec<bool>,
    passed: Passed,
}

/// Room for [`State::lift`], kept between calls.
#[derive(Default)]
struct Passed {
    set: Vec<u64>,
    /// Tensors not settled yet, and how low each can come to lie as far as is known.
    open: Vec<(usize, u64)>,
}

impl<'a> State<'a> {
    /// Nothing is placed.
    pub(super) fn new(instance: &'a Instance, capacity: u64) -> Self {
        let count = instance.tensors.len();
        let mut waiting = vec![0; words(0, count).len()];
        let mut loads = vec![0; instance.points];
        let mut across = vec![0; instance.points];
        for (tensor, t) in instance.tensors.iter().enumerate() {
            set(&mut waiting, tensor);
            loads[t.points()].iter_mut().for_each(|load| *load += t.size);
            across[t.from..t.to - 1].iter_mut().for_each(|across| *across += 1);
        }
        Self {
            instance,
            capacity,
            passed: Passed { set: vec![0; waiting.len()], open: Vec::new() },
            waiting,
            offsets: vec![0; count],
            lowest: vec![0; count],
            at_least: vec![0; count],
            ranks: vec![0; count],
            floors: vec![0; instance.points],
            loads,
            across,
            changes: Vec::new(),
            dirty: vec![false; instance.points],
        }
    }

    /// Everything.
    pub(super) fn whole(&self) -> Part {
        Part { tensors: (0, self.instance.tensors.len()), points: (0, self.instance.points) }
    }

    /// Changes so far, to come back to.
    pub(super) fn mark(&self) -> usize {
        self.changes.len()
    }

    /// Whether too many changes are kept to go on.
    pub(super) fn is_full(&self) -> bool {
        self.changes.len() > MAX_CHANGES
    }

    /// Takes back what changed since a mark.
    pub(super) fn undo(&mut self, mark: usize) {
        while self.changes.len() > mark {
            match self.changes.pop() {
                Some(Change::Both(tensor, before)) => {
                    self.lowest[tensor as usize] = before;
                    self.at_least[tensor as usize] = before;
                }
                Some(Change::Lowest(tensor, before)) => self.lowest[tensor as usize] = before,
                Some(Change::AtLeast(tensor, before)) => self.at_least[tensor as usize] = before,
                Some(Change::Floor(point, before)) => self.floors[point as usize] = before,
                Some(Change::Rank(tensor, before)) => self.ranks[tensor as usize] = before,
                Some(Change::Placed(tensor)) => {
                    let t = self.instance.tensors[tensor as usize];
                    set(&mut self.waiting, tensor as usize);
                    self.loads[t.points()].iter_mut().for_each(|load| *load += t.size);
                    self.across[t.from..t.to - 1].iter_mut().for_each(|across| *across += 1);
                }
                None => return,
            }
        }
    }

    /// The tensors of a part that wait, in order of birth.
    pub(super) fn members(&self, part: Part) -> impl Iterator<Item = usize> {
        let (from, to) = part.tensors;
        words(from, to).flat_map(move |word| ones(word, self.waiting[word] & mask(word, from, to)))
    }

    /// The tensors that wait and meet one of a part.
    fn met(&self, tensor: usize, part: Part) -> impl Iterator<Item = usize> {
        let row = self.instance.meets.row(tensor);
        words(part.tensors.0, part.tensors.1).flat_map(move |word| ones(word, self.waiting[word] & row[word]))
    }

    /// Ranks the tensors of a part anew, by what is known of them now.
    pub(super) fn rank(&mut self, part: Part, order: Order) {
        let key = |tensor: usize| {
            let t = &self.instance.tensors[tensor];
            let load = self.loads[t.points()].iter().copied().max().unwrap_or(0);
            let meets = self.met(tensor, part).count() as u64;
            let facts = Facts { life: t.life, points: t.points().len() as u64, size: t.size, load, meets };
            Reverse(order.key(&facts))
        };
        let mut ranked: Vec<_> = self.members(part).map(|tensor| (key(tensor), tensor)).collect();
        ranked.sort_unstable();
        for (rank, (_, tensor)) in ranked.into_iter().enumerate() {
            self.changes.push(Change::Rank(tensor as u32, self.ranks[tensor]));
            self.ranks[tensor] = rank as u32;
        }
    }

    /// The parts into which what waits of a part falls.
    pub(super) fn parts(&self, part: Part, into: &mut Vec<Part>) {
        let mut last: Option<Part> = None;
        for tensor in self.members(part) {
            let t = &self.instance.tensors[tensor];
            match &mut last {
                Some(Part { tensors, points }) if t.from < points.1 => {
                    points.1 = points.1.max(t.to);
                    tensors.1 = tensor + 1;
                }
                _ => {
                    into.extend(last.replace(Part { tensors: (tensor, tensor + 1), points: (t.from, t.to) }));
                }
            }
        }
        into.extend(last);
    }

    /// Whether everything fits at each point if nothing is placed.
    pub(super) fn has_room(&self) -> bool {
        self.loads.iter().all(|&load| load <= self.capacity)
    }

    /// Places a tensor at its lowest offset; whatever follows lies no lower. Answers `None` where no layout can follow,
    /// else whether what waits of the part may have fallen apart.
    pub(super) fn place(&mut self, tensor: usize, part: Part) -> Option<bool> {
        let t = self.instance.tensors[tensor];
        let key = Key { offset: self.lowest[tensor], rank: self.ranks[tensor] };
        let top = key.offset + t.size;
        self.offsets[tensor] = key.offset;
        clear(&mut self.waiting, tensor);
        self.changes.push(Change::Placed(tensor as u32));
        for point in t.points() {
            self.loads[point] -= t.size;
            self.set_floor(point, top);
        }
        let mut fell_apart = false;
        for across in &mut self.across[t.from..t.to - 1] {
            *across -= 1;
            fell_apart |= *across == 0;
        }
        let (from, to) = part.points;
        let fits = |point: usize| self.floors[point].max(key.offset).saturating_add(self.loads[point]) <= self.capacity;
        if !(from..to).all(|point| self.loads[point] == 0 || fits(point)) {
            return None;
        }
        self.dirty[from..to].fill(false);
        self.dirty[t.points()].fill(true);
        let mut touched = t.points();
        let row = self.instance.meets.row(tensor);
        for word in words(part.tensors.0, part.tensors.1) {
            for other in ones(word, self.waiting[word] & row[word]) {
                let before = self.lowest[other];
                if before >= top {
                    continue;
                }
                self.lowest[other] = top;
                if self.at_least[other] == before {
                    self.changes.push(Change::Both(other as u32, before));
                    self.at_least[other] = top;
                    self.touch(other, before, &mut touched);
                } else {
                    self.changes.push(Change::Lowest(other as u32, before));
                    self.raise(other, top, &mut touched);
                }
            }
        }
        let possible = self.lift(part, key, &mut touched)
            && touched.into_iter().all(|point| !self.dirty[point] || self.settle(point, part, key));
        possible.then_some(fell_apart)
    }

    fn set_floor(&mut self, point: usize, floor: u64) {
        self.changes.push(Change::Floor(point as u32, self.floors[point]));
        self.floors[point] = floor;
    }

    /// Notes that a tensor lies no lower than `offset`.
    fn raise(&mut self, tensor: usize, offset: u64, touched: &mut Range<usize>) {
        let before = self.at_least[tensor];
        if before < offset {
            self.changes.push(Change::AtLeast(tensor as u32, before));
            self.at_least[tensor] = offset;
            self.touch(tensor, before, touched);
        }
    }

    /// Notes where floors may rise with a tensor.
    fn touch(&mut self, tensor: usize, before: u64, touched: &mut Range<usize>) {
        let points = self.instance.tensors[tensor].points();
        *touched = touched.start.min(points.start)..touched.end.max(points.end);
        // Where the floor is lower than the tensor was, another holds it down.
        for (dirty, &floor) in self.dirty[points.clone()].iter_mut().zip(&self.floors[points]) {
            *dirty |= floor >= before;
        }
    }

    /// Raises the floor of a point to the lowest of those that wait there; false if they do not fit above it.
    fn settle(&mut self, point: usize, part: Part, key: Key) -> bool {
        if self.loads[point] == 0 {
            return true;
        }
        let row = self.instance.alive.row(point);
        let here = words(part.tensors.0, part.tensors.1).flat_map(|word| ones(word, self.waiting[word] & row[word]));
        let lowest = here.map(|tensor| self.at_least[tensor]).min().unwrap_or(0);
        if lowest > self.floors[point] {
            self.set_floor(point, lowest);
        }
        self.floors[point].max(key.offset).saturating_add(self.loads[point]) <= self.capacity
    }

    /// Works out how low those can still come to lie that were passed over; false if one of them cannot lie anywhere.
    ///
    /// A tensor that could have lain lower than `key` and was not placed will lie on one that is placed from now on,
    /// and that one begins below what would have been the passed tensor's end, else the room would have sufficed. So
    /// it lies no lower than the lowest end of such tensors, which may have been passed over themselves: settled from
    /// the lowest up, as shortest paths are (Dijkstra 1959).
    fn lift(&mut self, part: Part, key: Key, touched: &mut Range<usize>) -> bool {
        let mut passed = std::mem::take(&mut self.passed);
        let possible = self.lift_with(&mut passed, part, key, touched);
        self.passed = passed;
        possible
    }

    fn lift_with(
        &mut self,
        Passed { set: passed, open }: &mut Passed,
        part: Part,
        key: Key,
        touched: &mut Range<usize>,
    ) -> bool {
        let tensors = &self.instance.tensors;
        open.clear();
        passed.fill(0);
        for tensor in self.members(part) {
            let own = Key { offset: self.lowest[tensor], rank: self.ranks[tensor] };
            if own.offset < self.at_least[tensor] || own < key {
                open.push((tensor, u64::MAX));
                set(passed, tensor);
            }
        }
        for (tensor, least) in open.iter_mut() {
            let end = self.lowest[*tensor] + tensors[*tensor].size;
            let row = self.instance.meets.row(*tensor);
            for word in words(part.tensors.0, part.tensors.1) {
                for other in ones(word, self.waiting[word] & row[word] & !passed[word]) {
                    if self.at_least[other] < end {
                        *least = (*least).min(self.at_least[other].saturating_add(tensors[other].size));
                    }
                }
            }
        }
        loop {
            let known = |&(tensor, least): &(usize, u64)| least.max(self.at_least[tensor]);
            let Some(next) = (0..open.len()).min_by_key(|&i| known(&open[i])) else { return true };
            let (tensor, offset) = (open[next].0, known(&open[next]));
            open.swap_remove(next);
            let Some(end) = offset.checked_add(tensors[tensor].size).filter(|&end| end <= self.capacity) else {
                return false;
            };
            self.raise(tensor, offset, touched);
            let row = self.instance.meets.row(tensor);
            for (other, least) in open.iter_mut() {
                if super::bits::has(row, *other) && offset < self.lowest[*other] + tensors[*other].size {
                    *least = (*least).min(end);
                }
            }
        }
    }
}
