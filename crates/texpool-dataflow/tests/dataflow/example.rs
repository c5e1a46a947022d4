//! Table II of Minakova and Stefanov, reproduced by execution.

use texpool_dataflow::{Csdf, executes, least_buffers, published::EXAMPLES, repetition};

fn channel<'a>(csdf: &'a Csdf, name: &str) -> &'a texpool_dataflow::Channel {
    csdf.channels.iter().find(|channel| channel.name == name).unwrap()
}

#[test]
fn the_buffers_of_all_four_rows_are_found() {
    let sizes: Vec<Vec<u64>> = EXAMPLES.iter().map(|example| example.found().unwrap()).collect();
    assert_eq!(sizes[0], [1024, 1024, 48, 2]);
    assert_eq!(sizes[1], [768, 1024, 48, 2]);
    assert_eq!(sizes[2], [544, 1024, 48, 2]);
    assert_eq!(sizes[3], [544, 384, 48, 2]);
    let totals: Vec<u64> = sizes.iter().map(|sizes| sizes.iter().sum()).collect();
    assert_eq!(totals, [2098, 1842, 1618, 978]);
}

#[test]
fn the_sequences_are_the_published_ones() {
    let csdf = EXAMPLES[3].csdf().unwrap();
    let keeps = channel(&csdf, "n3 -> n3");
    assert_eq!(keeps.production.to_string(), "[3*128, 1*0]");
    assert_eq!(keeps.consumption.to_string(), "[1*0, 3*128]");
    assert_eq!(channel(&csdf, "n2 -> n3").consumption.to_string(), "[1*384, 2*192, 1*256]");
    assert_eq!(channel(&csdf, "n3 -> n4").production.to_string(), "[4*12]");
    assert_eq!(csdf.channels.iter().filter(|channel| channel.is_loop()).count(), 2);
}

#[test]
fn an_iteration_has_the_published_phases() {
    for example in &EXAMPLES {
        let csdf = example.csdf().unwrap();
        let cycles = repetition(&csdf).unwrap();
        let firings = csdf.actors.iter().zip(cycles).map(|(actor, cycles)| actor.phases * cycles);
        assert!(firings.eq(example.phases.map(|phases| phases as u64)), "{}", example.name);
    }
}

#[test]
fn one_byte_less_on_any_channel_deadlocks() {
    for example in &EXAMPLES {
        let csdf = example.csdf().unwrap();
        let sizes = least_buffers(&csdf).unwrap().capacities;
        assert!(executes(&csdf, &sizes).unwrap());
        for index in 0..sizes.len() {
            let mut less = sizes.clone();
            less[index] -= 1;
            assert!(!executes(&csdf, &less).unwrap(), "{}: {}", example.name, csdf.channels[index].name);
        }
    }
}
