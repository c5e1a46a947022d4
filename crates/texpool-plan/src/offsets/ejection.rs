//! Lowers the top of an arena by ejection (Nagata and Bräysy 2009, who lower the number of vehicles that serve a list of
//! customers so). Tensors that end above a target are taken out. Each of them is placed below the target again, where
//! the tensors in its way seem the easiest to place elsewhere, and those are taken out in turn.
//!
//! Only the neighbours of a tensor that ends too high change their places, while an order of all tensors changes
//! everything behind a tensor that moves. So this is the search for large sets, in which few steps are wide.

use super::arena::{Arena, PlacedTensor};
use crate::{
    control::{Progress, SearchControl},
    layout::Layout,
    random::Random,
    record::UsageRecord,
};

/// Parts of the distance to the bound, by one of which the next target is lower. With 100,000 tensors of up to 500 steps
/// and 12 seconds, ten parts end 2.6 % above the bound, four 2.9 % and thirty 2.7 %.
const FIRST_PARTS: u64 = 10;
/// Growth of the number of parts after a target is given up, and the number above which the search ends.
const PARTS_GROWTH: u64 = 4;
const MOST_PARTS: u64 = 1000;

/// Placements for each tensor after which a target is given up. With 1,000 and 10,000 tensors of up to 500 steps, 64 end
/// as near to the bound and take twice as long, and 8 end farther from it.
const PLACEMENTS_PER_TENSOR: u64 = 16;

/// Overlapping tensors that cost as much as a placement. The default effort then takes some ten seconds for 100,000
/// tensors, for any length of lives.
const OVERLAPS_PER_PLACEMENT: usize = 128;

/// Searches for a layout smaller than `layout`, until it reaches `bound`, has spent `placements`, gives up even targets
/// that are hardly lower, or `control` stops it. Compares each placed tensor with all tensors that overlap it in time.
pub(super) fn ejection(
    records: &[UsageRecord],
    bound: u64,
    layout: &Layout,
    placements: u64,
    control: &SearchControl<'_>,
) -> Option<Layout> {
    let (mut best, mut total, mut parts) = (None, layout.total(), FIRST_PARTS);
    let mut search = Ejection::new(records, layout);
    let patience = PLACEMENTS_PER_TENSOR.saturating_mul(records.len() as u64);
    while total > bound {
        let target = (total - ((total - bound) / parts).max(1)).max(bound);
        let limit = placements.min(search.placements.saturating_add(patience));
        let progress = Progress { best: Some(total), ..Progress::new("ejections", search.placements, placements) };
        control.report(progress);
        if search.reach(target, limit, control) {
            total = search.top();
            let mut smaller = layout.clone();
            for (place, &offset) in smaller.places.iter_mut().zip(search.arena.offsets()) {
                place.offset = offset;
            }
            smaller.regions[0] = total;
            best = Some(smaller);
            continue;
        }
        parts *= PARTS_GROWTH;
        if limit == placements || parts > MOST_PARTS || control.stopped().is_some() {
            break;
        }
        // The penalties stay: they tell which tensors are hard to place.
        search.arena = filled(records, best.as_ref().unwrap_or(layout));
    }
    best
}

struct Ejection<'a> {
    records: &'a [UsageRecord],
    arena: Arena<'a>,
    /// One more than the number of times that a tensor had to eject others.
    penalties: Vec<u64>,
    random: Random,
    placements: u64,
    /// The placed tensors that overlap the next one in time, by offset.
    nearby: Vec<PlacedTensor>,
    /// Ends and penalties of the same tensors, by end.
    ends: Vec<(u64, u64)>,
}

impl<'a> Ejection<'a> {
    fn new(records: &'a [UsageRecord], layout: &Layout) -> Self {
        Self {
            records,
            arena: filled(records, layout),
            penalties: vec![1; records.len()],
            random: Random::new(),
            placements: 0,
            nearby: Vec::new(),
            ends: Vec::new(),
        }
    }

    fn top(&self) -> u64 {
        (0..self.records.len()).map(|record| self.arena.end(record)).max().unwrap_or(0)
    }

    /// Places all tensors below `target`. Returns false if `limit` or `control` stopped it first.
    fn reach(&mut self, target: u64, limit: u64, control: &SearchControl<'_>) -> bool {
        let above = |&record: &usize| self.records[record].size > 0 && self.arena.end(record) > target;
        let mut ejected: Vec<usize> = (0..self.records.len()).filter(above).collect();
        ejected.iter().for_each(|&record| self.arena.remove(record));
        ejected.sort_by_key(|&record| self.records[record].size);
        while let Some(record) = ejected.pop() {
            if self.placements >= limit || control.should_stop() {
                return false;
            }
            self.place(record, target, &mut ejected);
            self.placements += 1 + (self.nearby.len() / OVERLAPS_PER_PLACEMENT) as u64;
        }
        true
    }

    /// Places a tensor below `target`, and ejects the tensors in its way.
    fn place(&mut self, record: usize, target: u64, ejected: &mut Vec<usize>) {
        let size = self.records[record].size;
        let (offset, cost) = self.easiest(record, target);
        if cost > 0 {
            self.penalties[record] += 1;
            let nearby = std::mem::take(&mut self.nearby);
            for placed in nearby.iter().filter(|placed| placed.offset < offset + size && offset < placed.end) {
                self.arena.remove(placed.record);
                ejected.push(placed.record);
            }
            self.nearby = nearby;
        }
        self.arena.insert(record, offset);
    }

    /// Returns the offset at which the tensors in the way have the least sum of penalties, and the sum. The lowest
    /// offset without any in the way comes first, and else a random one of equals. Only the ends of tensors, and the
    /// offsets just below a tensor, are tried: between them, no fewer tensors are in the way.
    fn easiest(&mut self, record: usize, target: u64) -> (u64, u64) {
        let Self { records, arena, penalties, random, nearby, ends, .. } = self;
        let size = records[record].size;
        nearby.clear();
        let mut end_so_far = 0;
        for placed in arena.overlapping(record) {
            if placed.offset >= end_so_far && placed.offset - end_so_far >= size {
                break;
            }
            end_so_far = placed.end.max(end_so_far);
            nearby.push(*placed);
        }
        if end_so_far + size <= target {
            return (end_so_far, 0);
        }
        ends.clear();
        ends.extend(nearby.iter().map(|placed| (placed.end, penalties[placed.record])));
        ends.sort_unstable();
        let on_tensors = [0].into_iter().chain(ends.iter().map(|&(end, _)| end));
        let below_tensors = nearby.iter().filter_map(|placed| placed.offset.checked_sub(size));
        let (mut easiest, mut equals) = ((0, u64::MAX), 0);
        for (offset, cost) in costs(on_tensors, size, target, nearby, ends, penalties).chain(costs(
            below_tensors,
            size,
            target,
            nearby,
            ends,
            penalties,
        )) {
            equals = if cost == easiest.1 { equals + 1 } else { 1 };
            if cost < easiest.1 || (cost == easiest.1 && random.below(equals) == 0) {
                easiest = (offset, cost);
            }
        }
        easiest
    }
}

/// Returns an arena with all tensors placed as in `layout`.
fn filled<'a>(records: &'a [UsageRecord], layout: &Layout) -> Arena<'a> {
    let mut arena = Arena::new(records, 1);
    for (record, place) in layout.places.iter().enumerate().filter(|&(record, _)| records[record].size > 0) {
        arena.insert(record, place.offset);
    }
    arena
}

/// Returns each offset with the sum of penalties of the tensors in the way of a tensor of `size`. The offsets must rise.
/// Offsets at which the tensor would end above `target` are skipped.
fn costs(
    offsets: impl Iterator<Item = u64>,
    size: u64,
    target: u64,
    nearby: &[PlacedTensor],
    ends: &[(u64, u64)],
    penalties: &[u64],
) -> impl Iterator<Item = (u64, u64)> {
    let (mut begun, mut ended) = (nearby.iter().peekable(), ends.iter().peekable());
    let mut cost = 0;
    offsets.take_while(move |&offset| offset + size <= target).map(move |offset| {
        while let Some(placed) = begun.next_if(|placed| placed.offset < offset + size) {
            cost += penalties[placed.record];
        }
        while let Some((_, penalty)) = ended.next_if(|&&(end, _)| end <= offset) {
            cost -= penalty;
        }
        (offset, cost)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bounds::max_breadth, check_layout, offsets::naive};

    fn records(count: usize, steps: usize, random: &mut Random) -> Vec<UsageRecord> {
        let record = |_| {
            let first = random.below(steps);
            UsageRecord::new(first, first + random.below(8), random.below(20) as u64)
        };
        (0..count).map(record).collect()
    }

    #[test]
    fn ejection_keeps_tensors_apart_and_lowers_the_arena() {
        let mut random = Random::new();
        for _ in 0..50 {
            let records = records(300, 100, &mut random);
            let bound = max_breadth(&records);
            let start = naive(&records).expect("sizes are small");
            let smaller = ejection(&records, bound, &start, 20_000, &SearchControl::new()).expect("nothing was shared");
            check_layout(&records, &[], &smaller).expect("no two overlap");
            assert!((bound..bound + bound / 4).contains(&smaller.total()), "{} above {bound}", smaller.total());
        }
    }

    #[test]
    fn ejection_stops_at_its_limit_and_at_the_bound() {
        let mut random = Random::new();
        let records = records(300, 100, &mut random);
        let start = naive(&records).expect("sizes are small");
        assert!(ejection(&records, 0, &start, 0, &SearchControl::new()).is_none());
        assert!(ejection(&records, start.total(), &start, 1000, &SearchControl::new()).is_none());
    }

    #[test]
    fn costs_are_those_of_the_tensors_in_the_way() {
        let mut random = Random::new();
        for _ in 0..200 {
            let records: Vec<UsageRecord> =
                (0..9).map(|_| UsageRecord::new(0, 0, 1 + random.below(9) as u64)).collect();
            let mut arena = Arena::new(&records, 1);
            (0..9).for_each(|record| arena.insert(record, random.below(40) as u64));
            let penalties: Vec<u64> = (0..9).map(|_| 1 + random.below(5) as u64).collect();
            let nearby: Vec<PlacedTensor> = arena.overlapping(0).copied().collect();
            let mut ends: Vec<(u64, u64)> = nearby.iter().map(|p| (p.end, penalties[p.record])).collect();
            ends.sort_unstable();
            for (offset, cost) in costs(0..60, 5, 50, &nearby, &ends, &penalties) {
                let in_the_way = nearby.iter().filter(|p| p.offset < offset + 5 && offset < p.end);
                assert_eq!(cost, in_the_way.map(|p| penalties[p.record]).sum::<u64>());
            }
        }
    }
}
