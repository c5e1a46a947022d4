//! Random graphs: repetition vectors balance, minimum buffers are minimal, and hostile graphs are errors.

use std::{collections::HashSet, ops::ControlFlow, time::Duration};

use proptest::prelude::*;
use texpool_dataflow::{
    Actor, Bands, Channel, Csdf, DataflowError, Input, InputRows, Layer, Network, Phasing, Sequence, check_live,
    convert, executes, least_buffers, least_buffers_within, repetition,
};
use texpool_plan::{SearchControl, StopReason};

/// Source, sink, tokens produced and consumed by phase, initial tokens.
pub(crate) type Link = (usize, usize, Vec<u64>, Vec<u64>, u64);

pub(crate) fn graph(actors: Vec<u64>, channels: Vec<Link>) -> Csdf {
    let actor = |(index, phases)| Actor { name: format!("a{index}"), op: "test".into(), phases };
    let channel = |(index, (from, to, produced, consumed, initial))| Channel {
        name: format!("c{index}"),
        from,
        to,
        production: Sequence::new(produced),
        consumption: Sequence::new(consumed),
        initial,
    };
    Csdf {
        name: "random".into(),
        actors: actors.into_iter().enumerate().map(actor).collect(),
        channels: channels.into_iter().enumerate().map(channel).collect(),
    }
}

/// A split of `total` into `parts`, some of which may be empty.
fn split(total: u64, parts: u64, seed: u64) -> Vec<u64> {
    let mut cuts: Vec<u64> =
        (1..parts).map(|i| (seed.wrapping_mul(6364136223846793005) >> (5 * i)) % (total + 1)).collect();
    cuts.sort_unstable();
    cuts.push(total);
    let mut before = 0;
    cuts.into_iter().map(|cut| cut - std::mem::replace(&mut before, cut)).collect()
}

prop_compose! {
    /// Generates an acyclic, consistent graph: each actor has a number of cycles, and each channel moves a multiple
    /// of their common factor. It is a chain with a few additional edges.
    pub(crate) fn consistent()(
        cycles in prop::collection::vec((1u64..4, 1u64..4), 2..5),
        across in prop::collection::vec((0usize..8, 0usize..8), 0..3),
        seeds in prop::collection::vec(any::<u64>(), 16),
        initial in prop::collection::vec(0u64..3, 16),
    ) -> Csdf {
        let n = cycles.len();
        let mut ends: Vec<(usize, usize)> = (1..n).map(|to| (to - 1, to)).collect();
        ends.extend(across.into_iter().map(|(a, b)| (a % n, b % n)).filter(|(a, b)| a < b));
        let channels = ends.into_iter().enumerate().map(|(index, (from, to))| {
            let all = 2 * cycles[from].0 * cycles[to].0;
            let seed = seeds[index % 16];
            let produced = split(all / cycles[from].0, cycles[from].1, seed);
            let consumed = split(all / cycles[to].0, cycles[to].1, seed.rotate_left(17));
            (from, to, produced, consumed, initial[index % 16])
        });
        graph(cycles.iter().map(|actor| actor.1).collect(), channels.collect())
    }
}

/// The minimum sum of capacities, found by trying all sets up to `sizes`.
fn by_trial(csdf: &Csdf, sizes: &[u64]) -> u64 {
    let most: u64 = sizes.iter().sum();
    let mut capacities = vec![0; sizes.len()];
    let mut best = most;
    loop {
        let sum = capacities.iter().sum();
        if sum < best && executes(csdf, &capacities).unwrap() {
            best = sum;
        }
        let Some(next) = (0..capacities.len()).find(|&index| capacities[index] < most) else { return best };
        capacities[next] += 1;
        capacities[..next].fill(0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn repetition_vectors_balance_and_are_least(csdf in consistent()) {
        let cycles = repetition(&csdf).unwrap();
        for channel in &csdf.channels {
            let produced = channel.production.sum() * u128::from(cycles[channel.from]);
            prop_assert_eq!(produced, channel.consumption.sum() * u128::from(cycles[channel.to]));
        }
        prop_assert!((2..=6).all(|factor| cycles.iter().any(|cycles| cycles % factor != 0)));
    }

    #[test]
    fn one_token_less_on_any_channel_deadlocks(csdf in consistent()) {
        let least = least_buffers(&csdf).unwrap();
        prop_assert!(executes(&csdf, &least.capacities).unwrap());
        for index in 0..least.capacities.len() {
            let mut less = least.capacities.clone();
            if less[index] > 0 {
                less[index] -= 1;
                prop_assert!(!executes(&csdf, &less).unwrap(), "channel {}", index);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_set_of_capacities_has_a_smaller_sum(csdf in consistent().prop_filter("small", is_small)) {
        let capacities = least_buffers(&csdf).unwrap().capacities;
        prop_assert_eq!(by_trial(&csdf, &capacities), capacities.iter().sum::<u64>());
    }
}

/// Returns true if all sets of capacities can be tried.
fn is_small(csdf: &Csdf) -> bool {
    csdf.channels.len() <= 3 && least_buffers(csdf).unwrap().capacities.iter().sum::<u64>() <= 16
}

/// Two paths from `a` to `c`. One needs three rows at once; the other can hold them in either of two channels.
fn two_ways() -> Csdf {
    graph(
        vec![1, 3, 1, 3],
        vec![
            (0, 1, vec![1], vec![3, 0, 0], 0),
            (0, 2, vec![1], vec![1], 0),
            (2, 3, vec![1], vec![1, 1, 1], 0),
            (1, 3, vec![1, 1, 1], vec![1, 1, 1], 0),
        ],
    )
}

#[test]
fn competing_channels_get_the_smallest_sum() {
    let csdf = two_ways();
    let least = least_buffers(&csdf).unwrap();
    assert!(least.executions > 1, "{least:?}");
    assert_eq!(least.capacities.iter().sum::<u64>(), by_trial(&csdf, &least.capacities));
    assert_eq!(least.capacities.iter().sum::<u64>(), 7);
}

#[test]
fn a_search_that_is_cut_off_says_so() {
    let error = least_buffers_within(&two_ways(), 1, &SearchControl::new()).unwrap_err();
    assert!(matches!(error, DataflowError::SearchLimit { limit: 1, .. }), "{error}");
}

#[test]
fn rates_that_do_not_balance_name_the_channel() {
    let csdf = graph(vec![1, 1], vec![(0, 1, vec![2], vec![2], 0), (0, 1, vec![2], vec![3], 0)]);
    let error = repetition(&csdf).unwrap_err();
    assert!(matches!(&error, DataflowError::Unbalanced { channel, .. } if channel == "c1"), "{error}");
    assert!(error.to_string().contains("`a0` produces 2 tokens and `a1` consumes 3"), "{error}");
    let csdf = graph(vec![1, 1], vec![(0, 1, vec![0], vec![3], 0)]);
    assert!(matches!(repetition(&csdf), Err(DataflowError::Unbalanced { .. })));
    let csdf = graph(vec![1], vec![(0, 0, vec![1], vec![2], 9)]);
    assert!(matches!(repetition(&csdf), Err(DataflowError::Unbalanced { .. })));
}

#[test]
fn actors_that_wait_for_one_another_are_named() {
    let circle = |initial| graph(vec![1, 1], vec![(0, 1, vec![2], vec![2], 0), (1, 0, vec![2], vec![2], initial)]);
    let error = check_live(&circle(1)).unwrap_err();
    let expected = DataflowError::Deadlock { actor: "a0".into(), channel: "c1".into(), tokens: 1, firing: 1 };
    assert_eq!(error, expected);
    assert_eq!(least_buffers(&circle(2)).unwrap().capacities, [2, 2]);
}

#[test]
fn hostile_graphs_are_errors() {
    assert_eq!(repetition(&Csdf::default()), Err(DataflowError::Empty));
    let error = |csdf: &Csdf| least_buffers(csdf).unwrap_err();
    assert!(matches!(error(&graph(vec![0], vec![])), DataflowError::NoPhase { .. }));
    let nowhere = graph(vec![1], vec![(0, 7, vec![1], vec![1], 0)]);
    assert!(matches!(error(&nowhere), DataflowError::NoSuchActor { actor: 7, .. }));
    let short = graph(vec![2, 1], vec![(0, 1, vec![1], vec![1], 0)]);
    assert!(matches!(error(&short), DataflowError::Phases { expected: 2, found: 1, .. }));
    let many = graph(vec![1, 1], vec![(0, 1, vec![1], vec![1 << 40], 0)]);
    assert!(matches!(error(&many), DataflowError::TooManyFirings { .. }));
    // Two actors of nearly 2^128 firings each.
    let mut countless = graph(vec![u64::MAX; 3], vec![(0, 1, vec![], vec![], 0), (0, 2, vec![], vec![], 0)]);
    for channel in &mut countless.channels {
        channel.production = Sequence::constant(u64::MAX, u64::MAX);
        channel.consumption = Sequence::constant(u64::MAX, 1);
    }
    assert!(matches!(error(&countless), DataflowError::TooManyFirings { firings: u128::MAX, .. }));
    let huge = |n| (0..n).map(|i| (i, i + 1, vec![u64::MAX], vec![1], 0)).collect();
    assert!(matches!(error(&graph(vec![1; 6], huge(5))), DataflowError::Overflow { .. }));
    let full = graph(vec![1, 1], vec![(0, 1, vec![u64::MAX], vec![u64::MAX], 1)]);
    assert!(matches!(error(&full), DataflowError::Overflow { .. }));
    assert!(!executes(&graph(vec![1], vec![(0, 0, vec![1], vec![1], 5)]), &[4]).unwrap());
}

/// A result that is not proven minimal is an error, which states the reason.
#[test]
fn a_search_that_is_stopped_says_why() {
    let result = least_buffers_within(&two_ways(), 20_000, &SearchControl::new().timeout(Duration::ZERO));
    let error = result.unwrap_err();
    assert_eq!(error, DataflowError::Stopped { reason: StopReason::Deadline });
    let text = error.to_string();
    assert!(text.contains("the deadline passed") && text.contains("more time"), "{text}");
    let mut stop = |_| ControlFlow::Break(());
    let result = least_buffers_within(&two_ways(), 20_000, &SearchControl::new().progress(&mut stop));
    assert_eq!(result.unwrap_err(), DataflowError::Stopped { reason: StopReason::Cancelled });
}

/// A few bytes can declare many layers of many rows, whose phases would take gigabytes.
#[test]
fn excessive_phases_are_refused_before_expansion() {
    let layer = |index: usize| Layer {
        name: "same".into(),
        op: "copy".into(),
        rows: 1 << 13,
        row_elements: 4,
        inputs: if index == 0 { Vec::new() } else { vec![Input { from: index - 1, rows: InputRows::SAME_ROW }] },
        parameters: 0,
        output_when_complete: false,
    };
    let network = Network { name: "long".into(), layers: (0..2_000).map(layer).collect() };
    let error = convert(&network, &Phasing::default()).unwrap_err();
    assert!(matches!(error, DataflowError::TooManyPhases { .. }), "{error}");
    let coarse = convert(&network, &Phasing { bands: Bands::AtMost(8), ..Phasing::default() }).unwrap();
    let names: HashSet<&str> = coarse.actors.iter().map(|actor| actor.name.as_str()).collect();
    assert_eq!(names.len(), 2_000, "two actors have one name");
}
