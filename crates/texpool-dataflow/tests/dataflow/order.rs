//! The order of phases: Table II of Minakova and Stefanov, and orders of random graphs.

use proptest::prelude::*;
use texpool_dataflow::{Channel, Firing, Order, least_buffers, published::EXAMPLES, repetition};

use crate::random::consistent;

#[test]
fn the_orders_of_table_ii_are_found_to_the_letter() {
    for example in &EXAMPLES {
        assert_eq!(example.order().unwrap().to_string(), example.order, "{}", example.name);
    }
}

/// Step by step, the buffers hold what the text of the paper says: rows that a layer keeps stay in its buffer.
#[test]
fn buffers_of_the_example_hold_what_the_paper_says() {
    for example in &EXAMPLES {
        let csdf = example.csdf().unwrap();
        let (order, mut largest, mut contents) = (example.order().unwrap(), [0; 4], Vec::new());
        order
            .replay(&csdf, |_, tokens| {
                let held = |(channel, &tokens): (&Channel, &u64), to| if channel.to == to { tokens } else { 0 };
                let channels = || csdf.channels.iter().zip(tokens);
                let buffers: [u64; 4] = std::array::from_fn(|b| channels().map(|pair| held(pair, b + 1)).sum());
                largest = std::array::from_fn(|b| buffers[b].max(largest[b]));
                contents.push(buffers);
            })
            .unwrap();
        assert_eq!(largest, example.published, "{}", example.name);
        assert_eq!(contents.len(), example.phases.iter().sum::<usize>(), "{}", example.name);
        assert_eq!(contents.last(), Some(&[0; 4]), "{}", example.name);
        if example.name == "Ex3" {
            // 17 rows for the first phase of n2, which keeps 16 of them; then one row is added at a time.
            assert_eq!([contents[16][0], contents[17][0], contents[18][0]], [17 * 32, 16 * 32, 17 * 32]);
        }
    }
}

#[test]
fn the_inferred_cost_of_a_phase_repeats_the_published_throughput() {
    for example in &EXAMPLES {
        assert_eq!(example.inferred_frames().round() as u64, example.frames, "{}", example.name);
    }
}

fn order_of(phases: &[(usize, u64)]) -> Order {
    let mut fired = std::collections::HashMap::new();
    let actors: Vec<usize> = phases.iter().flat_map(|&(actor, count)| (0..count).map(move |_| actor)).collect();
    let firings = actors.into_iter().map(|actor| {
        let phase = fired.entry(actor).or_insert(0);
        *phase += 1;
        Firing { actor, phase: *phase }
    });
    Order { firings: firings.collect() }
}

#[test]
fn orders_are_written_in_loops() {
    let strided: Vec<(usize, u64)> = [(0, 3)].into_iter().chain([(1, 1), (0, 2)].repeat(4)).chain([(1, 1)]).collect();
    assert_eq!(order_of(&strided).to_string(), "n1(1-3), n21, [n1(4-11 by 2), n2(2-5)]");
    assert_eq!(order_of(&[(0, 1), (1, 1), (0, 1), (1, 1)]).to_string(), "n11, n21, n12, n22");
    assert_eq!(order_of(&[(9, 1), (0, 10), (1, 1), (0, 1)]).to_string(), "n10(1), n1(1-10), n21, n1(11)");
    let three = [(0, 1), (1, 1), (2, 1)].repeat(3);
    assert_eq!(order_of(&three).to_string(), "[n1(1-3), n2(1-3), n3(1-3)]");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// Every firing of an iteration occurs once and in turn, no buffer is exceeded, and the terms hold all firings.
    #[test]
    fn orders_keep_the_least_buffers(csdf in consistent()) {
        let Ok(buffers) = least_buffers(&csdf) else { return Ok(()) };
        let order = Order::new(&csdf, &buffers.capacities).unwrap().unwrap();
        let mut fired = vec![0; csdf.actors.len()];
        order.replay(&csdf, |firing, tokens| {
            fired[firing.actor] += 1;
            assert_eq!(firing.phase, fired[firing.actor]);
            assert!(tokens.iter().zip(&buffers.capacities).all(|(tokens, size)| tokens <= size));
        }).unwrap();
        let cycles = repetition(&csdf).unwrap();
        let firings: Vec<u64> = csdf.actors.iter().zip(cycles).map(|(actor, cycles)| actor.phases * cycles).collect();
        prop_assert_eq!(&fired, &firings);
        let mut written = vec![0; csdf.actors.len()];
        for term in order.terms() {
            for run in &term.runs {
                prop_assert_eq!(run.first, written[run.actor] + 1);
                written[run.actor] = run.last;
                prop_assert_eq!((run.last + 1 - run.first) % term.repeats, 0);
            }
        }
        prop_assert_eq!(written, firings);
        if let Some(less) = buffers.capacities.iter().position(|&size| size > 0) {
            let mut smaller = buffers.capacities.clone();
            smaller[less] = 0;
            prop_assert_eq!(Order::new(&csdf, &smaller).unwrap(), None);
        }
    }
}
