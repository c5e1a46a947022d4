//! Properties that hold for every plan of every set of records.

use proptest::{prelude::*, strategy::Strategy as Generator};
use texpool_plan::{
    InputError, LayoutKind, PlanError, Planner, SearchBudget, SearchControl, Strategy, TensorRows, TexelFormat,
    TextureLimits, UsageRecord, bounds, check, check_layout, realize, solve, uses_from_records,
};

fn record(steps: usize, size: u64) -> impl Generator<Value = UsageRecord> {
    (0..steps, 0..steps / 2, 0..size).prop_map(|(first, length, size)| UsageRecord::new(first, first + length, size))
}

fn records() -> impl Generator<Value = Vec<UsageRecord>> {
    prop::collection::vec(record(24, 12), 0..40)
}

/// Computes the bounds by their definition, from every sorted operator profile.
fn bounds_by_definition(records: &[UsageRecord]) -> (u64, u64) {
    let steps = records.iter().map(|r| r.last + 1).max().unwrap_or(0);
    let (mut widest, mut maximums) = (0, vec![0; records.len()]);
    for step in 0..steps {
        let mut profile: Vec<u64> =
            records.iter().filter(|r| r.first <= step && step <= r.last).map(|r| r.size).collect();
        profile.sort_unstable_by_key(|&size| std::cmp::Reverse(size));
        widest = widest.max(profile.iter().sum());
        for (maximum, size) in maximums.iter_mut().zip(profile) {
            *maximum = size.max(*maximum);
        }
    }
    (maximums.iter().sum(), widest)
}

proptest! {
    #[test]
    fn bounds_equal_their_definition(records in records()) {
        let b = bounds(&records).unwrap();
        prop_assert_eq!((b.shared_objects, b.offsets), bounds_by_definition(&records));
    }

    #[test]
    fn every_strategy_passes_the_checker_between_bound_and_naive(records in records()) {
        let uses = uses_from_records(&records).unwrap();
        let b = bounds(&records).unwrap();
        for &strategy in Strategy::ALL {
            let layout = strategy.place(&records).unwrap();
            prop_assert_eq!(check_layout(&records, &uses, &layout), Ok(()), "{}", strategy);
            let bound = if strategy.problem() == LayoutKind::Offsets { b.offsets } else { b.shared_objects };
            prop_assert!(bound <= layout.total(), "{}", strategy);
            prop_assert!(layout.total() <= b.naive, "{}", strategy);
            prop_assert_eq!(&layout, &strategy.place(&records).unwrap());
        }
    }

    #[test]
    fn order_of_records_changes_no_total_of_best(records in records(), seed in any::<u64>()) {
        let total = |records: &[UsageRecord]| {
            let uses = uses_from_records(records).unwrap();
            solve(records, &uses, Planner::Best, SearchBudget { nodes: 50, moves: 2000, ..SearchBudget::PORTFOLIO }, &SearchControl::new()).unwrap().layout.total()
        };
        let mut shuffled = records.clone();
        let mut state = seed | 1;
        for i in (1..shuffled.len()).rev() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            shuffled.swap(i, (state % (i as u64 + 1)) as usize);
        }
        prop_assert_eq!(total(&records), total(&shuffled));
    }

    #[test]
    fn realized_plans_pass_the_checker_within_a_row_of_the_layout(
        shapes in prop::collection::vec((0usize..20, 0usize..6, 1u32..40, 1u32..90), 1..20),
        extent in 64u32..2048,
    ) {
        let tensors: Vec<TensorRows> =
            shapes.iter().map(|&(_, _, rows, row_texels)| TensorRows { rows, row_texels }).collect();
        let records: Vec<UsageRecord> = shapes
            .iter()
            .zip(&tensors)
            .map(|(&(first, length, _, _), t)| UsageRecord::new(first, first + length, t.texels()))
            .collect();
        let uses = uses_from_records(&records).unwrap();
        let limits = TextureLimits { max_extent: extent };
        for &strategy in Strategy::PORTFOLIO {
            let layout = strategy.place(&records).unwrap();
            let plan = realize(&layout, &records, &tensors, TexelFormat::Rgba32Float, limits).unwrap();
            prop_assert_eq!(check(&records, &tensors, &uses, &plan, limits), Ok(()));
            for (texture, &region) in plan.textures.iter().zip(&layout.regions) {
                prop_assert!(texture.texels() >= region);
                prop_assert!(texture.texels() - region < u64::from(texture.width));
            }
        }
    }

    #[test]
    fn sizes_near_the_limit_overflow_into_an_error(
        mut records in prop::collection::vec(record(24, 12), 1..10),
        at in any::<prop::sample::Index>(),
    ) {
        let at = at.index(records.len());
        let others: u64 = records.iter().enumerate().filter(|&(i, _)| i != at).map(|(_, r)| r.size).sum();
        records[at].size = u64::MAX - others;
        prop_assert_eq!(bounds(&records).unwrap().naive, u64::MAX);
        records.push(UsageRecord::new(0, 0, 1));
        for &strategy in Strategy::ALL {
            let refused = matches!(strategy.place(&records), Err(PlanError::Input(InputError::Overflow { .. })));
            prop_assert!(refused, "{}", strategy);
        }
    }
}
