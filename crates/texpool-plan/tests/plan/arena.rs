//! Single cases of the arena planner: public instances, rules that buffers may have, limits on the search, and input that
//! contradicts itself.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use texpool_plan::{
    ArenaPlan, ArenaPlanner, ArenaProof, Buffer, BufferGap, BufferId, InputError, LayoutError, PlanError,
    SearchControl, StopReason, io::buffers_from_csv, offsets::smallest,
};

use crate::data::{long_lived, minimalloc, path, usage_record_sets};

/// Buffers with only live ranges and sizes get exactly the plan that the searches for records find.
#[test]
fn plain_buffers_are_planned_as_records() {
    let mut sets: Vec<_> = usage_record_sets().into_iter().map(|(_, records)| records).collect();
    sets.extend(["A.1048576", "J.1048576"].map(minimalloc));
    for records in sets {
        let planner = ArenaPlanner::from_iter(records.iter().copied().map(Buffer::from)).effort(2_000);
        let (plan, smallest) = (planner.plan().unwrap(), smallest(&records, 2_000, &SearchControl::new()).unwrap());
        let offsets: Vec<u64> = smallest.layout.places.iter().map(|place| place.offset).collect();
        assert_eq!((plan.offsets, plan.total, plan.bound), (offsets, smallest.layout.total(), smallest.bound));
    }
}

/// Concurrent or earlier searches do not change a plan, for either search.
#[test]
fn a_plan_is_the_same_in_any_number_of_threads() {
    let records = minimalloc("J.1048576");
    let plain: Vec<Buffer> = records.iter().copied().map(Buffer::from).collect();
    let aligned: Vec<Buffer> = plain.iter().map(|b| b.clone().aligned(64)).collect();
    let gap = |b: &Buffer| if b.live.len() > 2 { b.clone().gap(b.live.start + 1..b.live.end - 1) } else { b.clone() };
    let few: Vec<Buffer> = plain[..40].iter().map(gap).map(|b| b.aligned(48)).collect();
    let with_gaps: Vec<Buffer> = plain.iter().map(gap).collect();
    for buffers in [plain, aligned, few, with_gaps] {
        let plan = || ArenaPlanner::from_iter(buffers.iter().cloned()).effort(20_000).plan().unwrap();
        let first = plan();
        assert_eq!(first.stopped, None);
        let others: Vec<ArenaPlan> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(plan)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        others.iter().for_each(|other| assert_eq!(other, &first));
        // A deadline that does not expire changes nothing.
        let in_time =
            ArenaPlanner::from_iter(buffers.iter().cloned()).effort(20_000).deadline(Duration::from_secs(600));
        assert_eq!(in_time.plan().unwrap(), first);
    }
}

/// Hinted offsets are kept unless the searches find a smaller plan.
#[test]
fn hints_are_kept_where_nothing_is_smaller() {
    for more in [vec![], vec![Buffer::new(9..10, 1).fixed(0)]] {
        let buffers = [Buffer::new(0..2, 4), Buffer::new(0..1, 2), Buffer::new(1..3, 2)];
        let hints = [2, 0, 0];
        let hinted = buffers.iter().zip(hints).map(|(b, hint)| b.clone().hinted(hint));
        let plan = ArenaPlanner::from_iter(hinted.chain(more.clone())).plan().unwrap();
        assert_eq!((&plan.offsets[..3], plan.total), (&hints[..], 6));
        let plan = ArenaPlanner::from_iter(buffers.into_iter().chain(more)).plan().unwrap();
        assert_eq!((plan.offsets[0], plan.total), (0, 6));
    }
}

/// The minimalloc instance with a published capacity, unchanged and with every buffer aligned to 64.
#[test]
fn a_public_instance_fits_its_capacity() {
    let text = std::fs::read_to_string(path("minimalloc/J.1048576.csv")).unwrap();
    let buffers = buffers_from_csv(&text).unwrap();
    let plan = ArenaPlanner::from_iter(buffers.clone()).capacity(1 << 20).plan().unwrap();
    assert_eq!(plan.fits(1 << 20), Some(true));
    let aligned: Vec<Buffer> = buffers.into_iter().map(|b| b.aligned(64)).collect();
    let planner = ArenaPlanner::from_iter(aligned).effort(2_000);
    let plan = planner.plan().unwrap();
    assert!(plan.offsets.iter().all(|offset| offset % 64 == 0) && plan.total < 2 << 20, "{}", plan.total);
    let none = planner.capacity(plan.bound - 1).plan().unwrap();
    assert_eq!(none.fits(plan.bound - 1), Some(false));
}

fn plan_of(buffers: &[Buffer]) -> Result<ArenaPlan, PlanError> {
    ArenaPlanner::from_iter(buffers.iter().cloned()).plan()
}

#[test]
fn a_search_proves_what_the_widest_step_does_not() {
    // The widest step needs 4 + 1 bytes. With an alignment of 4, the single byte costs four, unless it is placed
    // last.
    let buffers = [Buffer::new(0..2, 4).aligned(4), Buffer::new(1..3, 1), Buffer::new(2..4, 4).aligned(4)];
    let plan = plan_of(&buffers).unwrap();
    assert_eq!((plan.total, plan.proof), (5, ArenaProof::WidestStep));
    // The first buffer is fixed to bytes 3 to 6, so the buffer of size 3 fits below it and the buffer of size 4 does
    // not.
    let buffers = [Buffer::new(0..2, 3).fixed(3), Buffer::new(0..1, 4), Buffer::new(1..2, 3)];
    let plan = plan_of(&buffers).unwrap();
    assert_eq!((plan.offsets, plan.total, plan.bound, plan.proof), (vec![3, 6, 0], 10, 10, ArenaProof::Search));
}

#[test]
fn lives_follow_from_steps() {
    let mut planner = ArenaPlanner::new();
    let [a, b, c] = [8, 4, 8].map(|size| planner.add(Buffer::of(size)));
    assert_eq!(planner.step(&[], &[a]), 0);
    planner.step(&[a], &[b]);
    planner.step(&[b], &[c]);
    assert_eq!(planner.buffers().unwrap().iter().map(|b| b.live.clone()).collect::<Vec<_>>(), [0..2, 1..3, 2..3]);
    let plan = planner.plan().unwrap();
    assert_eq!((plan.total, plan[a], plan[c]), (12, plan[c], plan[a]));
    let short = planner.add(Buffer::new(0..2, 8));
    planner.step(&[short], &[]);
    let outside = InputError::UseOutsideLife { step: 3, record: 3, first: 0, last: 1 };
    assert_eq!(planner.plan(), Err(outside.into()));
}

#[test]
fn buffers_of_another_planner_are_refused() {
    let mut other = ArenaPlanner::new();
    let foreign = other.add(Buffer::of(8));
    let refused = Err(PlanError::Input(InputError::ForeignBuffer { index: 0 }));
    let mut planner = ArenaPlanner::from_iter([Buffer::new(0..2, 8), Buffer::new(1..3, 8)]);
    let own = planner.id(1).unwrap();
    assert_eq!(planner.clone().plan().map(|plan| plan[own]), Ok(8));
    let mut used = planner.clone();
    used.step(&[foreign], &[]);
    assert_eq!(used.plan(), refused);
    planner.in_place(foreign, own);
    assert_eq!(planner.plan(), refused);
}

/// A plan does not return the offset of another planner's buffer, nor that of a buffer it does not contain.
#[test]
fn a_plan_returns_the_offsets_of_its_own_buffers() {
    let buffers = || [Buffer::new(0..2, 8), Buffer::new(1..3, 8)];
    let (mut planner, other) = (ArenaPlanner::from_iter(buffers()), ArenaPlanner::from_iter(buffers()));
    let (plan, of_other) = (planner.plan().unwrap(), other.plan().unwrap());
    let (own, foreign) = (planner.id(1).unwrap(), other.id(1).unwrap());
    let later = planner.add(Buffer::new(2..3, 8));
    assert_eq!((plan.get(own), plan[own]), (Some(8), 8));
    assert_eq!((plan.get(foreign), plan.get(later)), (None, None));
    assert_eq!((of_other.get(foreign), plan == of_other), (Some(8), true));
    for refused in [foreign, later] {
        let panic = std::panic::catch_unwind(|| plan[refused]).unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.contains("is of another planner, or was added after the plan was made"), "{message}");
    }
}

#[test]
fn a_bound_or_proof_that_contradicts_the_total_is_refused() {
    let planner = ArenaPlanner::from_iter([Buffer::new(0..2, 8), Buffer::new(1..3, 8)]);
    let plan = planner.plan().unwrap();
    assert_eq!((plan.total, plan.bound, planner.check(&plan)), (16, 16, Ok(())));
    for (bound, proof) in [(17, ArenaProof::Unproven), (17, ArenaProof::Search), (8, ArenaProof::WidestStep)] {
        let mut wrong = plan.clone();
        (wrong.bound, wrong.proof) = (bound, proof);
        let error = planner.check(&wrong).unwrap_err();
        assert!(matches!(error, PlanError::Layout(LayoutError::BadBound { total: 16, .. })), "{error}");
    }
}

#[test]
fn contradictions_are_refused_by_name() {
    let b = || Buffer::new(2..6, 8).named("b");
    let bad = |steps, window| {
        let mut bad = b();
        bad.gaps.push(BufferGap { steps, window });
        bad
    };
    for (buffers, words) in [
        (vec![Buffer::of(4).named("conv")], "buffer 0 (conv): it is never alive"),
        (vec![b(), b().aligned(0)], "buffer 1 (b): an alignment is 1 or more"),
        (vec![b().aligned(4).fixed(6)], "the offset 6 is no multiple of the alignment 4"),
        (vec![bad(1..3, None)], "the gap 1-3 is not within the life 2-6"),
        (vec![bad(4..4, None)], "the gap that begins at 4 contains no step"),
        (vec![bad(3..4, Some(2..9))], "the window 2:9 is not within the size 8"),
        (vec![b().gap(2..4).gap(3..5)], "the gap 3-5 overlaps another"),
        (vec![b().fixed(0), b().fixed(7)], "its given place overlaps that of buffer 1"),
        (vec![Buffer::new(0..1, u64::MAX), b()], "it ends at more than 2^62"),
        (vec![b().fixed(u64::MAX)], "it ends at more than 2^62"),
    ] {
        let error = plan_of(&buffers).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let mut planner = ArenaPlanner::from_iter([b(), b()]);
    planner.in_place(planner.id(0).unwrap(), planner.id(1).unwrap());
    assert_eq!(planner.plan(), Err(InputError::BadInPlace { before: 0, after: 1 }.into()));
    let mut plan = plan_of(&[b().aligned(4), b()]).unwrap();
    let planner = ArenaPlanner::from_iter([b().aligned(4), b()]);
    plan.offsets[0] = 6;
    plan.total = 20;
    assert!(matches!(planner.check(&plan), Err(PlanError::Layout(LayoutError::WrongOffset { buffer: 0, .. }))));
    plan.offsets.pop();
    assert!(matches!(planner.check(&plan), Err(PlanError::Input(InputError::LengthMismatch { .. }))));
}

#[test]
fn sets_that_contradict_each_other_are_refused_by_name() {
    type Rule = fn(&mut ArenaPlanner<'_>, [BufferId; 5]);
    let cases: [(Rule, usize, &str); 6] = [
        (
            |p, [a, b, ..]| {
                p.same_offset(&[a, b]);
                p.apart(&[a, b]);
            },
            1,
            "it must be apart from buffer 0, and share its offset",
        ),
        (
            |p, [a, b, c, ..]| {
                p.same_offset(&[a, b]);
                p.in_place(a, c);
            },
            0,
            "add 2 to those that share the offset",
        ),
        (
            |p, [.., d, e]| p.same_offset(&[d, e]),
            4,
            "its given place is 4, but it shares the offset of one that is given 8",
        ),
        (
            |p, [a, _, c, d, _]| {
                p.same_offset(&[a, d]);
                p.same_offset(&[c, d]);
            },
            0,
            "the offset 8 is no multiple of 48, which its group needs",
        ),
        (
            |p, [a, ..]| {
                let far = p.add(Buffer::new(0..usize::MAX, 1));
                p.apart(&[far, a]);
            },
            5,
            "no step is left after its life",
        ),
        (
            |p, _| {
                let both = [1 << 60, (1 << 40) + 1].map(|align| p.add(Buffer::new(0..1, 1).aligned(align)));
                p.same_offset(&both);
            },
            6,
            "no common alignment",
        ),
    ];
    for (rule, index, expected) in cases {
        let mut planner = ArenaPlanner::new();
        let buffers = [
            Buffer::new(0..2, 4).aligned(16),
            Buffer::new(2..3, 4),
            Buffer::new(1..3, 4).aligned(6),
            Buffer::new(3..4, 4).fixed(8),
            Buffer::new(4..5, 4).fixed(4),
        ];
        let ids = buffers.map(|buffer| planner.add(buffer));
        assert!(planner.plan().is_ok());
        rule(&mut planner, ids);
        match planner.plan() {
            Err(PlanError::Input(InputError::BadBuffer { buffer, why, .. })) if why.contains(expected) => {
                assert_eq!(buffer, index, "{why}");
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
}

/// A stopped search returns a checked plan and reports why it stopped. A search that is already done does not report
/// it.
#[test]
fn deadlines_and_flags_end_a_search() {
    let gap = |b: Buffer| if b.live.len() > 4 { b.clone().gap(b.live.start + 1..b.live.end - 2) } else { b };
    let buffers: Vec<Buffer> = long_lived(300).into_iter().map(|r| gap(Buffer::from(r).aligned(16))).collect();
    let planner = || ArenaPlanner::from_iter(buffers.iter().cloned()).effort(u64::MAX);
    let plan = planner().deadline(Duration::from_millis(100)).plan().unwrap();
    assert_eq!(plan.stopped, Some(StopReason::Deadline));
    let cancelled = AtomicBool::new(true);
    let first = planner().cancel(&cancelled).plan().unwrap();
    assert_eq!(first.stopped, Some(StopReason::Cancelled));
    assert!(plan.total <= first.total && plan.bound <= plan.total);
    cancelled.store(false, Ordering::Relaxed);
    let plain = ArenaPlanner::from_iter([Buffer::new(0..1, 4)]).cancel(&cancelled).plan().unwrap();
    assert_eq!((plain.stopped, plain.is_optimal()), (None, true));
}

/// More buffers or gaps than the exact search takes are reported, unless the plan is proven by other means or no
/// search was requested.
#[test]
fn an_exact_search_that_is_left_out_is_reported() {
    // The widest step needs 5. One of the first two buffers lies above the third, so 6 are needed.
    let hard = || [Buffer::new(0..2, 2).fixed(2), Buffer::new(0..1, 2), Buffer::new(1..2, 3)];
    // Beyond the limits only windows without a common byte are left out.
    let window = |b: Buffer, at: usize| {
        let byte = at as u64 % 2;
        b.gap_within(9 + 2 * at..10 + 2 * at, byte..byte + 1)
    };
    let gaps = |count: usize| (0..count).fold(Buffer::new(9..2000, 2), window);
    let plan = |more: Vec<Buffer>| ArenaPlanner::from_iter(hard().into_iter().chain(more)).effort(2_000);
    let few = (0..253).map(|at| Buffer::new(3 + at..4 + at, 1)).collect::<Vec<_>>();
    let many = [few.clone(), vec![window(window(Buffer::new(9..13, 2), 0), 1)]].concat();
    let stop = |more: &[Buffer]| plan(more.to_vec()).plan().unwrap().stopped;
    assert_eq!((stop(&few), stop(&[gaps(512)])), (None, None));
    let common_byte = [few.clone(), vec![window(Buffer::new(9..12, 2), 0)]].concat();
    assert_eq!(stop(&common_byte), None);
    assert_eq!(stop(&many), Some(StopReason::TooManyTensors));
    assert_eq!(stop(&[gaps(513)]), Some(StopReason::TooManyTensors));
    let proven = plan(many.clone()).plan().unwrap().total;
    let decided = plan(many.clone()).capacity(proven).plan().unwrap();
    assert_eq!((decided.fits(proven), decided.stopped), (Some(true), None));
    assert_eq!(plan(many).effort(0).plan().unwrap().stopped, None);
}

/// An instance of minimalloc with more buffers than the search for few buffers takes, with its smallest plan.
fn instance_and_plan() -> (Vec<Buffer>, ArenaPlan) {
    let buffers: Vec<Buffer> = minimalloc("K.1048576").into_iter().map(Buffer::from).collect();
    let plan = ArenaPlanner::from_iter(buffers.clone()).plan().unwrap();
    assert_eq!((plan.total, plan.is_optimal()), (1 << 20, true));
    (buffers, plan)
}

fn is_planned_as_small(planner: &ArenaPlanner<'_>) {
    let plan = planner.plan().unwrap();
    assert_eq!((plan.total, plan.is_optimal(), plan.stopped), (1 << 20, true, None));
}

#[test]
fn buffers_fixed_where_the_smallest_plan_has_them_cost_nothing() {
    let (buffers, plan) = instance_and_plan();
    for fixed in [vec![0], vec![0, 7, 100, 300]] {
        let fix =
            |(i, b): (usize, &Buffer)| if fixed.contains(&i) { b.clone().fixed(plan.offsets[i]) } else { b.clone() };
        is_planned_as_small(&buffers.iter().enumerate().map(fix).collect());
    }
}

#[test]
fn alignments_that_the_smallest_plan_has_cost_nothing() {
    let (buffers, plan) = instance_and_plan();
    // Sizes are multiples of less, so that the alignments differ and matter.
    assert!(buffers.iter().any(|b| b.size % 4096 != 0));
    let align = |(i, b): (usize, &Buffer)| match plan.offsets[i] % 4096 {
        0 if i % 4 == 0 => b.clone().aligned(4096),
        _ => b.clone(),
    };
    is_planned_as_small(&buffers.iter().enumerate().map(align).collect());
}

#[test]
fn two_buffers_at_one_offset_of_the_smallest_plan_may_be_one_with_a_gap() {
    let (mut buffers, plan) = instance_and_plan();
    let mut offsets = plan.offsets;
    let mut joined = 0;
    for a in 0..buffers.len() {
        let later = |&b: &usize| {
            buffers[a].size == buffers[b].size
                && offsets[a] == offsets[b]
                && buffers[a].live.end < buffers[b].live.start
        };
        if buffers.get(a).is_some_and(|b| b.gaps.is_empty())
            && let Some(b) = (0..buffers.len()).filter(|&b| buffers[b].gaps.is_empty()).find(later)
        {
            let (first, second) = (buffers[a].live.clone(), buffers[b].live.clone());
            buffers[a] = Buffer::new(first.start..second.end, buffers[a].size).gap(first.end..second.start);
            // The other is left as a buffer that needs nothing.
            buffers[b] = Buffer::new(second, 0).fixed(0);
            offsets[b] = u64::MAX;
            joined += 1;
        }
        if joined == 5 {
            break;
        }
    }
    assert!(joined > 0);
    is_planned_as_small(&buffers.into_iter().collect());
}

#[test]
fn a_pair_named_by_its_buffer_is_the_pair_of_its_ids() {
    let conv = Buffer::new(0..2, 8).named("conv");
    let relu = Buffer::new(1..3, 8).named("relu");
    let total = |buffers: &[Buffer]| ArenaPlanner::from_iter(buffers.iter().cloned()).plan().map(|plan| plan.total);
    let mut planner = ArenaPlanner::from_iter([conv.clone(), relu.clone()]);
    planner.in_place(planner.id(0).unwrap(), planner.id(1).unwrap());
    assert_eq!((planner.plan().unwrap().total, total(&[conv.clone(), relu.clone()])), (8, Ok(16)));
    let relu = relu.in_place_of("conv");
    assert_eq!(total(&[relu.clone(), conv.clone()]), Ok(8));
    let why = |buffers: &[Buffer]| total(buffers).unwrap_err().to_string();
    assert!(why(std::slice::from_ref(&relu)).contains("in place of `conv`, but no buffer is called that"));
    assert!(why(&[conv.clone(), relu.clone(), conv]).contains("several buffers are called that"));
    let late = Buffer::new(0..4, 8).named("conv");
    assert_eq!(total(&[late, relu]), Err(PlanError::Input(InputError::BadInPlace { before: 0, after: 1 })));
}

#[test]
fn a_buffer_computed_in_place_of_another_of_its_size_costs_nothing() {
    let (buffers, _) = instance_and_plan();
    let mut planner = ArenaPlanner::new();
    for (i, buffer) in buffers.into_iter().enumerate() {
        let Range { start, end } = buffer.live;
        let middle = start + (end - start) / 2;
        if i % 10 == 0 && start < middle {
            let before = planner.add(Buffer::new(start..middle + 1, buffer.size));
            let after = planner.add(Buffer::new(middle..end, buffer.size));
            planner.in_place(before, after);
        } else {
            planner.add(buffer);
        }
    }
    let plan = planner.plan().unwrap();
    assert_eq!((plan.total, plan.is_optimal()), (1 << 20, true));
}

/// The answer that nothing fits comes at once, and beside it the best greedy plan of the few buffers.
#[test]
fn few_buffers_are_planned_well_for_a_capacity_that_no_plan_keeps() {
    let (large, wide, sum) = (602_112, 1_204_224, 401_408);
    let buffer = |live: Range<usize>, size| Buffer::new(live, size).aligned(64);
    let mut planner = ArenaPlanner::new().capacity(2_000_000);
    planner.add(buffer(0..1, large).fixed(0));
    let stem = planner.add(buffer(0..4, sum));
    planner.add(buffer(1..3, wide));
    planner.add(buffer(2..4, wide));
    let added = planner.add(buffer(3..5, sum));
    planner.in_place(stem, added);
    planner.add(buffer(4..6, large));
    let plan = planner.plan().unwrap();
    assert_eq!((plan.fits(2_000_000), plan.total), (Some(false), plan.bound));
}
