//! Tests of the planner of several memories. Small instances are compared with all assignments.

use std::{sync::atomic::AtomicBool, time::Duration};

use proptest::prelude::*;
use texpool_plan::{
    ArenaPlanner, Buffer, InputError, LayoutError, MemoriesPlan, MemoriesPlanner, Memory, PlanError, StopReason,
    UnsupportedError,
};

use crate::data::usage_record_sets;

/// Memories, and buffers with the cost in each memory; without a cost a buffer may not be there.
#[derive(Clone, Debug)]
struct Instance {
    memories: Vec<Memory>,
    buffers: Vec<(Buffer, Vec<Option<u64>>)>,
}

impl Instance {
    fn planner(&self) -> MemoriesPlanner<'static> {
        let mut planner = MemoriesPlanner::new(self.memories.iter().cloned());
        for (buffer, costs) in &self.buffers {
            let choices = costs.iter().enumerate().filter_map(|(memory, cost)| cost.map(|cost| (memory, cost)));
            planner.add(buffer.clone(), choices);
        }
        planner
    }

    /// Returns whether these buffers fit into a memory; the arena planner proves either.
    fn fit(&self, memory: usize, members: &[usize]) -> bool {
        let Memory { capacity, align, .. } = self.memories[memory];
        let capacity = capacity.unwrap_or(u64::MAX);
        // The alignments of buffers divide that of the memory, or are divided by it.
        let buffer = |&i: &usize| self.buffers[i].0.clone().aligned(self.buffers[i].0.align.max(align));
        let plan = members.iter().map(buffer).collect::<ArenaPlanner<'_>>().capacity(capacity).plan().unwrap();
        plan.fits(capacity).unwrap()
    }

    /// Returns the least cost of all assignments; `None` if none fits.
    fn brute_force(&self) -> Option<u64> {
        let (count, memories) = (self.buffers.len(), self.memories.len());
        let mut least = None;
        for code in 0..memories.pow(count as u32) {
            let of: Vec<usize> = (0..count).map(|i| code / memories.pow(i as u32) % memories).collect();
            let Some(cost) = (0..count).map(|i| self.buffers[i].1[of[i]]).sum::<Option<u64>>() else { continue };
            let members = |memory| (0..count).filter(|&i| of[i] == memory).collect::<Vec<_>>();
            if least.is_none_or(|least| cost < least) && (0..memories).all(|m| self.fit(m, &members(m))) {
                least = Some(cost);
            }
        }
        least
    }

    /// Checks a plan without the planner's checker, one unit at a time.
    fn assert_holds(&self, plan: &MemoriesPlan) {
        let mut cost = 0;
        for (i, ((buffer, costs), place)) in self.buffers.iter().zip(&plan.places).enumerate() {
            let memory = &self.memories[place.memory];
            cost += costs[place.memory].expect("the buffer names the memory");
            assert!(place.offset.is_multiple_of(buffer.align) && place.offset.is_multiple_of(memory.align));
            let end = place.offset + buffer.size;
            assert!(end <= plan.totals[place.memory] && memory.capacity.is_none_or(|capacity| end <= capacity));
            for ((other, _), at) in self.buffers.iter().zip(&plan.places).take(i) {
                let together = buffer.live.start < other.live.end && other.live.start < buffer.live.end;
                let apart = end <= at.offset || at.offset + other.size <= place.offset || buffer.size * other.size == 0;
                assert!(place.memory != at.memory || !together || apart, "{plan:?}");
            }
        }
        assert_eq!(cost, plan.cost);
        assert!(plan.bound <= plan.cost, "{plan:?}");
    }
}

fn instance(buffers: std::ops::Range<usize>) -> impl Strategy<Value = Instance> {
    let memory = (prop::option::weighted(0.8, 4u64..24), 0u32..2);
    let memories = prop::collection::vec(memory, 1..4);
    let costs = prop::collection::vec(prop::option::weighted(0.8, 0u64..40), 3);
    let buffer = (0usize..6, 1usize..5, 0u64..9, 0u32..2, costs);
    (memories, prop::collection::vec(buffer, buffers)).prop_map(|(memories, buffers)| {
        let memories: Vec<Memory> = memories
            .into_iter()
            .map(|(capacity, align)| {
                let memory = Memory::new().aligned(1 << align);
                capacity.map_or(memory.clone(), |capacity| memory.capacity(capacity))
            })
            .collect();
        let buffer = |(first, steps, size, align, mut costs): (usize, usize, u64, u32, Vec<Option<u64>>)| {
            costs.truncate(memories.len());
            // A buffer names one memory or more.
            costs[0] = costs[0].or(Some(7));
            (Buffer::new(first..first + steps, size).aligned(1 << align), costs)
        };
        Instance { buffers: buffers.into_iter().map(buffer).collect(), memories }
    })
}

proptest! {
    #[test]
    fn few_buffers_get_the_least_cost(instance in instance(0..6)) {
        match (instance.planner().plan(), instance.brute_force()) {
            (Ok(plan), Some(least)) => {
                instance.assert_holds(&plan);
                prop_assert_eq!((plan.cost, plan.bound, plan.stopped), (least, least, None));
            }
            (Err(PlanError::Unsupported(UnsupportedError::NoRoom { proven, .. })), None) => prop_assert!(proven),
            (Err(PlanError::Input(InputError::BadMemory { .. })), None) => {}
            (plan, least) => prop_assert!(false, "{:?}, and the least cost is {:?}", plan, least),
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// With little effort plans are worse, but hold, and no bound is above the least cost.
    #[test]
    fn plans_hold_with_any_effort(instance in instance(4..14), effort in 0u64..40) {
        let (quick, long) = (instance.planner().effort(effort).plan(), instance.planner().plan());
        if let (Ok(quick), Ok(long)) = (quick, long) {
            instance.assert_holds(&quick);
            instance.assert_holds(&long);
            prop_assert_eq!(instance.planner().check(&long), Ok(()));
            prop_assert!(quick.bound <= long.cost && long.bound <= quick.cost, "{:?} {:?}", quick, long);
            prop_assert!(long.cost <= quick.cost, "{:?} {:?}", quick, long);
        }
    }
}

/// Returns the buffers of a network, each ten times as expensive in the second memory.
fn network(name: &str, capacity: u64) -> MemoriesPlanner<'static> {
    let (_, records) = usage_record_sets().into_iter().find(|(set, _)| set["name"] == name).unwrap();
    let mut planner = MemoriesPlanner::new([Memory::new().capacity(capacity).aligned(64), Memory::new()]);
    for record in records {
        planner.add(Buffer::from(record), [(0, 2 * record.size), (1, 20 * record.size)]);
    }
    planner
}

#[test]
fn one_memory_without_a_capacity_is_an_arena() {
    for (_, records) in usage_record_sets() {
        let mut planner = MemoriesPlanner::new([Memory::new()]);
        for &record in &records {
            planner.add(Buffer::from(record), [(0, record.size)]);
        }
        let plan = planner.plan().unwrap();
        let arena = records.iter().copied().map(Buffer::from).collect::<ArenaPlanner<'_>>().plan().unwrap();
        assert_eq!(plan.places.iter().map(|place| place.offset).collect::<Vec<_>>(), arena.offsets);
        assert_eq!((plan.totals[0], plan.is_optimal()), (arena.total, true));
    }
}

/// MobileNet v2 needs 6,021,120 bytes at its widest step. In less, some buffers spill, and in more memory fewer.
#[test]
fn more_memory_costs_less() {
    let cost_in = |capacity| {
        let planner = network("mobilenet_v2_1.0_224", capacity);
        let plan = planner.effort(200).plan().unwrap();
        assert!(plan.totals[0] <= capacity && plan.bound <= plan.cost);
        plan.cost
    };
    let costs = [6_021_120, 4 << 20, 2 << 20, 1 << 20, 0].map(cost_in);
    assert!(costs.is_sorted() && costs[0] < costs[1] && costs[3] < costs[4], "{costs:?}");
    // Everything in one memory or the other.
    assert_eq!(10 * costs[0], costs[4]);
}

#[test]
fn plans_repeat_and_stop() {
    let planner = network("mobilenet_v2_1.0_224", 2 << 20).effort(100);
    let plan = planner.plan().unwrap();
    assert_eq!(planner.plan().unwrap(), plan);
    let late = planner.clone().deadline(Duration::ZERO).plan().unwrap();
    assert_eq!(planner.check(&late), Ok(()));
    assert_eq!(late.stopped, Some(StopReason::Deadline));
    let cancelled = AtomicBool::new(true);
    assert_eq!(planner.cancel(&cancelled).plan().unwrap().stopped, Some(StopReason::Cancelled));
}

#[test]
fn errors_name_the_buffer_and_the_memory() {
    let memories = [Memory::new().named("sram").capacity(8), Memory::new().named("tcm").capacity(4)];
    let error = |buffers: Vec<(Buffer, Vec<(usize, u64)>)>| {
        let mut planner = MemoriesPlanner::new(memories.clone());
        buffers.into_iter().for_each(|(buffer, choices)| _ = planner.add(buffer, choices));
        planner.plan().unwrap_err().to_string()
    };
    let skip = |size| Buffer::new(0..2, size).named("skip");
    assert_eq!(
        error(vec![(skip(9), vec![(1, 1), (0, 1)])]),
        "buffer 0 (skip) cannot be in memory 0 (sram): the buffer has 9 units and the memory 8, and no other one that it \
         names is larger"
    );
    assert_eq!(
        error(vec![(skip(9), vec![(2, 1)])]),
        "buffer 0 (skip) cannot be in memory 2: there are 2 memories, counted from 0"
    );
    assert_eq!(
        error(vec![(skip(4), vec![(1, 1), (1, 2)])]),
        "buffer 0 (skip) cannot be in memory 1 (tcm): the buffer names it twice"
    );
    assert_eq!(error(vec![(skip(4), Vec::new())]), "buffer 0 (skip): it may be in no memory; name one or more");
    let three = vec![(skip(8), vec![(0, 1)]), (skip(4), vec![(1, 1)]), (skip(3), vec![(0, 1), (1, 2)])];
    assert_eq!(
        error(three),
        "buffer 2 (skip) has no room, the last memory that it may be in is 1 (tcm); no assignment fits, give it one without \
         a capacity"
    );
    assert!(error(vec![(skip(1).fixed(0), vec![(0, 1)])]).contains("no fixed offset"));
    assert!(error(vec![(skip(1), vec![(0, u64::MAX)]), (skip(1), vec![(0, 1)])]).contains("64 bits"));
}

#[test]
fn plans_that_break_a_rule_are_refused() {
    let mut planner = MemoriesPlanner::new([Memory::new().capacity(10).aligned(2), Memory::new()]);
    planner.add(Buffer::new(0..2, 4), [(1, 5)]);
    planner.add(Buffer::new(0..2, 4), [(0, 1), (1, 5)]);
    planner.add(Buffer::new(1..3, 4), [(0, 1), (1, 5)]);
    let plan = planner.plan().unwrap();
    let refused = |change: &dyn Fn(&mut MemoriesPlan)| {
        let mut plan = plan.clone();
        change(&mut plan);
        planner.check(&plan).unwrap_err()
    };
    assert!(matches!(
        refused(&|plan| plan.places[2].offset = plan.places[1].offset),
        PlanError::Layout(LayoutError::Overlap { a: 1, b: 2, step: 1, region: 0 })
    ));
    assert!(matches!(
        refused(&|plan| plan.places[2].offset = 12),
        PlanError::Layout(LayoutError::OutOfRegion { record: 2, region: 0, end: 16, .. })
    ));
    assert!(matches!(
        refused(&|plan| plan.places[1].offset = 1),
        PlanError::Layout(LayoutError::WrongOffset { buffer: 1, .. })
    ));
    assert!(matches!(
        refused(&|plan| plan.places[0].memory = 0),
        PlanError::Layout(LayoutError::WrongOffset { buffer: 0, .. })
    ));
    assert!(matches!(
        refused(&|plan| plan.totals[0] = 11),
        PlanError::Layout(LayoutError::AboveCapacity { memory: 0, total: 11, capacity: 10 })
    ));
    assert!(matches!(
        refused(&|plan| plan.cost += 1),
        PlanError::Layout(LayoutError::BadCost { cost: 7, stated: 8, .. })
    ));
    assert!(matches!(
        refused(&|plan| _ = plan.places.pop()),
        PlanError::Input(InputError::LengthMismatch { what: "places", expected: 3, found: 2 })
    ));
}
