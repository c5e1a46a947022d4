//! Properties of the arena planner: it plans small instances as brute force does, and its checker agrees with a
//! byte-by-byte model of memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use proptest::{prelude::*, strategy::Strategy as Generator};
use texpool_plan::{
    ArenaPlanner, ArenaProof, Buffer, InputError, PlanError,
    io::{buffers_from_csv, buffers_to_csv},
};

const STEPS: usize = 6;

/// Features that the buffers of an instance may have.
#[derive(Clone, Copy, Debug, Default)]
struct Features {
    align: bool,
    gaps: bool,
    windows: bool,
    fixed: bool,
    hints: bool,
    in_place: bool,
    apart: bool,
    same_offset: bool,
}

#[derive(Clone, Debug)]
struct Instance {
    buffers: Vec<Buffer>,
    pairs: Vec<(usize, usize)>,
    /// Sets whose members have no byte in common.
    apart: Vec<Vec<usize>>,
    /// Sets whose members share an offset.
    same_offset: Vec<Vec<usize>>,
}

impl Instance {
    fn planner(&self) -> ArenaPlanner<'static> {
        let mut planner = ArenaPlanner::from_iter(self.buffers.iter().cloned());
        for &(before, after) in &self.pairs {
            planner.in_place(planner.id(before).unwrap(), planner.id(after).unwrap());
        }
        let ids = |set: &Vec<usize>| set.iter().map(|&i| planner.id(i).unwrap()).collect::<Vec<_>>();
        let (apart, same): (Vec<_>, Vec<_>) =
            (self.apart.iter().map(ids).collect(), self.same_offset.iter().map(ids).collect());
        apart.iter().for_each(|set| planner.apart(set));
        same.iter().for_each(|set| planner.same_offset(set));
        planner
    }

    /// Returns whether offsets follow every rule: at each step each byte belongs to one buffer, or to two that may
    /// share it.
    fn holds(&self, offsets: &[u64]) -> bool {
        let placed = |(b, &offset): (&Buffer, &u64)| {
            offset.is_multiple_of(b.align) && b.offset.is_none_or(|fixed| fixed == offset)
        };
        let bytes = |i: usize| offsets[i]..offsets[i] + self.buffers[i].size;
        let are_apart = |set: &Vec<usize>| {
            let members: BTreeSet<usize> = set.iter().copied().collect();
            let size: u64 = members.iter().map(|&i| self.buffers[i].size).sum();
            members.iter().flat_map(|&i| bytes(i)).collect::<BTreeSet<_>>().len() as u64 == size
        };
        self.buffers.iter().zip(offsets).all(placed)
            && self.apart.iter().all(are_apart)
            && self.same_offset.iter().all(|set| set.iter().all(|&i| offsets[i] == offsets[set[0]]))
            && (0..STEPS + 2).all(|step| {
                let mut owners: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
                for (i, buffer) in self.buffers.iter().enumerate().filter(|(_, b)| b.live.contains(&step)) {
                    let gap = buffer.gaps.iter().find(|gap| gap.steps.contains(&step));
                    let bytes = gap.map_or(0..buffer.size, |gap| gap.window.clone().unwrap_or(0..0));
                    bytes.for_each(|byte| owners.entry(offsets[i] + byte).or_default().push(i));
                }
                // A group needs all bytes from the first to the last that a member needs.
                for set in &self.same_offset {
                    let bytes = owners.iter().filter(|(_, owners)| owners.iter().any(|owner| set.contains(owner)));
                    let bytes: Vec<u64> = bytes.map(|(&byte, _)| byte).collect();
                    let all = bytes.first().zip(bytes.last()).map(|(&first, &last)| first..last + 1);
                    all.into_iter().flatten().for_each(|byte| owners.entry(byte).or_default().push(set[0]));
                }
                let may_share = |&a: &usize, &b: &usize| {
                    let pair = self.pairs.contains(&(a, b)) || self.pairs.contains(&(b, a));
                    let group = self.same_offset.iter().any(|set| set.contains(&a) && set.contains(&b));
                    a == b || group || pair && offsets[a] == offsets[b]
                };
                owners.values().all(|owners| owners.iter().all(|a| owners.iter().all(|b| may_share(a, b))))
            })
    }

    fn total(&self, offsets: &[u64]) -> u64 {
        self.buffers.iter().zip(offsets).map(|(b, offset)| offset + b.size).max().unwrap_or(0)
    }

    /// Returns the smallest total over all combinations of offsets, or `limit` if none is smaller.
    fn brute_force(&self, limit: u64) -> u64 {
        let mut best = limit;
        let mut offsets = vec![0; self.buffers.len()];
        loop {
            let total = self.total(&offsets);
            if total < best && self.holds(&offsets) {
                best = total;
            }
            let Some(next) = (0..offsets.len()).find(|&i| offsets[i] + self.buffers[i].size < limit) else {
                return best;
            };
            offsets[..next].fill(0);
            offsets[next] += 1;
        }
    }
}

fn buffer(features: Features, sizes: Range<u64>) -> impl Generator<Value = Buffer> {
    let numbers = (0..STEPS, 1..STEPS, sizes, 1u64..5, any::<bool>(), 0u64..8);
    let gap = (any::<bool>(), 0..STEPS, 1..STEPS, 0u64..8, 0u64..8);
    (numbers, gap).prop_map(move |((first, length, size, align, is_fixed, at), (has_gap, from, steps, low, high))| {
        let live = first..(first + length).min(STEPS + 2);
        let mut buffer = Buffer::new(live.clone(), size);
        if features.align {
            buffer = buffer.aligned(align);
        }
        let steps = (live.start + from).min(live.end - 1)..(live.start + from + steps).min(live.end);
        if has_gap && features.windows {
            buffer = buffer.gap_within(steps, low.min(size)..low.min(size).max(high.min(size)));
        } else if has_gap && features.gaps {
            buffer = buffer.gap(steps);
        }
        if features.fixed && is_fixed && at % 3 == 0 {
            let align = buffer.align;
            buffer = buffer.fixed(at / align * align);
        }
        if features.hints && is_fixed {
            buffer = buffer.hinted(at);
        }
        buffer
    })
}

fn instance(features: Features, count: Range<usize>, sizes: Range<u64>) -> impl Generator<Value = Instance> {
    let sets = prop::collection::vec(prop::collection::vec(0usize..1000, 2..4), 1..3);
    let buffers = prop::collection::vec(buffer(features, sizes), count);
    (buffers, sets.clone(), sets).prop_map(move |(buffers, apart, same_offset)| {
        let adjoin = |&(a, b): &(usize, usize)| features.in_place && buffers[a].live.end == buffers[b].live.start + 1;
        let all = (0..buffers.len()).flat_map(|a| (0..buffers.len()).map(move |b| (a, b)));
        let pairs = all.filter(adjoin).filter(|(a, b)| a != b).collect();
        let sets = |on: bool, sets: Vec<Vec<usize>>| -> Vec<Vec<usize>> {
            let sets = sets.into_iter().map(|set| set.into_iter().map(|i| i % buffers.len()).collect());
            if on { sets.collect() } else { Vec::new() }
        };
        let (apart, mut same_offset) = (sets(features.apart, apart), sets(features.same_offset, same_offset));
        // Sets with a common member would be one.
        same_offset.truncate(1);
        Instance { apart, same_offset, pairs, buffers }
    })
}

/// Sets of features to test: none, most features singly, some combinations, and all of them.
fn features() -> [Features; 13] {
    let none = Features::default();
    [
        none,
        Features { align: true, ..none },
        Features { gaps: true, ..none },
        Features { windows: true, ..none },
        Features { in_place: true, ..none },
        Features { align: true, in_place: true, ..none },
        Features { align: true, gaps: true, fixed: true, ..none },
        Features { apart: true, ..none },
        Features { same_offset: true, ..none },
        Features { apart: true, same_offset: true, align: true, ..none },
        Features { apart: true, in_place: true, gaps: true, ..none },
        Features { align: true, gaps: true, windows: true, fixed: true, hints: true, in_place: true, ..none },
        Features {
            align: true,
            gaps: true,
            windows: true,
            fixed: true,
            hints: true,
            in_place: true,
            apart: true,
            same_offset: true,
        },
    ]
}

fn any_instance(count: Range<usize>, sizes: Range<u64>) -> impl Generator<Value = Instance> {
    let kinds = features().map(|features| instance(features, count.clone(), sizes.clone()).boxed());
    prop::strategy::Union::new(kinds)
}

/// Returns whether the error is a contradiction between buffers whose offsets are fixed, or that share an offset.
fn is_refused(instance: &Instance, error: &PlanError) -> bool {
    let PlanError::Input(InputError::BadBuffer { why, .. }) = error else { return false };
    let fixed = instance.buffers.iter().filter(|b| b.offset.is_some()).count();
    let groups = !instance.same_offset.is_empty();
    fixed > 1 && why.contains("overlaps that of buffer")
        || groups && fixed > 1 && why.contains("shares the offset of one that is given")
        || groups && fixed > 0 && why.contains("which its group needs")
        || groups && !instance.pairs.is_empty() && why.contains("cannot be computed in place")
        || groups && !instance.apart.is_empty() && why.contains("must be apart from buffer")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// For a few buffers with any features, the plan is as small as brute force gets, and proven optimal.
    #[test]
    fn few_buffers_are_planned_as_brute_force_plans_them(instance in any_instance(1..5, 0..5)) {
        let plan = match instance.planner().effort(20_000).plan() {
            Ok(plan) => plan,
            Err(error) => {
                prop_assert!(is_refused(&instance, &error), "{}", error);
                return Ok(());
            }
        };
        prop_assert!(instance.holds(&plan.offsets), "{:?}", plan);
        prop_assert_eq!(plan.total, instance.total(&plan.offsets));
        let smallest = instance.brute_force(plan.total);
        prop_assert!(plan.total == smallest && plan.is_optimal(), "{:?}, but there is {}", plan, smallest);
        for capacity in smallest.saturating_sub(2)..smallest + 2 {
            let fits = instance.planner().effort(20_000).capacity(capacity).plan().unwrap().fits(capacity);
            prop_assert_eq!(fits, Some(smallest <= capacity), "{}", capacity);
        }
    }

    /// For buffers with only live ranges and sizes, the search for records proves the same total.
    #[test]
    fn both_exact_searches_agree(instance in instance(Features::default(), 5..14, 1..9)) {
        let plan = instance.planner().effort(100_000).plan().unwrap();
        // A fixed buffer of size 0 does not affect the others, but it selects the other search.
        let other = [Buffer::new(0..1, 0).fixed(0)];
        let with_other = instance.buffers.iter().cloned().chain(other);
        let other_plan = ArenaPlanner::from_iter(with_other).effort(100_000).plan().unwrap();
        prop_assert!(plan.is_optimal() && other_plan.is_optimal(), "{:?}, {:?}", plan, other_plan);
        prop_assert_eq!(plan.total, other_plan.total);
    }

    /// The checker rejects offsets if and only if a byte would belong to two buffers, or an offset is not allowed.
    #[test]
    fn the_checker_agrees_with_memory(
        instance in any_instance(1..5, 0..4),
        offsets in prop::collection::vec(0u64..9, 5),
        equal in any::<bool>(),
    ) {
        let Ok(mut plan) = instance.planner().effort(0).plan() else { return Ok(()) };
        plan.offsets = offsets[..instance.buffers.len()].to_vec();
        if let Some(&(a, b)) = instance.pairs.first().filter(|_| equal) {
            plan.offsets[b] = plan.offsets[a];
        }
        plan.total = instance.total(&plan.offsets);
        (plan.bound, plan.proof) = (0, ArenaProof::Unproven);
        let verdict = instance.planner().check(&plan);
        prop_assert_eq!(verdict.is_ok(), instance.holds(&plan.offsets), "{:?}", verdict);
        plan.total = plan.total.saturating_sub(1);
        prop_assert!(instance.planner().check(&plan).is_err() || plan.total == instance.total(&plan.offsets));
    }

    /// A capacity below the widest step is answered with a plan for which no pairs are compared.
    #[test]
    fn a_plan_without_pairs_follows_every_rule(instance in any_instance(1..20, 1..50)) {
        let Ok(plan) = instance.planner().effort(0).plan() else { return Ok(()) };
        let none = instance.planner().capacity(0).plan().unwrap();
        prop_assert_eq!((none.fits(0), none.stopped), ((plan.total == 0).into(), None));
        prop_assert!(instance.holds(&none.offsets), "{:?}", none);
        let side_by_side: u64 = instance.buffers.iter().map(|b| b.size + b.align + b.offset.unwrap_or(0)).sum();
        prop_assert!(none.total <= side_by_side);
    }

    /// Buffers written as CSV are read back unchanged, with every gap and offset.
    #[test]
    fn buffers_are_written_and_read_again(instance in any_instance(1..20, 0..50)) {
        let named = |(i, b): (usize, &Buffer)| b.clone().named(format!("b{i}"));
        let mut buffers: Vec<Buffer> = instance.buffers.iter().enumerate().map(named).collect();
        for &(before, after) in &instance.pairs {
            buffers[after].in_place_of = Some(format!("b{before}"));
        }
        prop_assert_eq!(&buffers_from_csv(&buffers_to_csv(&buffers, None).unwrap()).unwrap(), &buffers);
        let Ok(plan) = ArenaPlanner::from_iter(buffers.clone()).effort(0).plan() else { return Ok(()) };
        let placed = buffers_from_csv(&buffers_to_csv(&buffers, Some(&plan)).unwrap()).unwrap();
        let again = ArenaPlanner::from_iter(placed).effort(0).plan().unwrap();
        prop_assert_eq!((again.offsets, again.total), (plan.offsets, plan.total));
    }
}

proptest! {
    // Planning this many buffers takes a hundred times as long as the cases above.
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// With more buffers, every plan passes the checker, is reproducible, and needs no more than all buffers side by
    /// side.
    #[test]
    fn many_buffers_are_planned_the_same_again(instance in any_instance(10..60, 0..5000)) {
        let Ok(plan) = instance.planner().effort(5_000).plan() else { return Ok(()) };
        prop_assert!(plan.stopped.is_none());
        prop_assert_eq!(&instance.planner().effort(5_000).plan().unwrap(), &plan);
        let side_by_side: u64 = instance.buffers.iter().map(|b| b.size + b.align + b.offset.unwrap_or(0)).sum();
        prop_assert!(plan.bound <= plan.total && plan.total <= side_by_side);
        prop_assert_eq!(instance.planner().check(&plan), Ok(()));
    }
}
