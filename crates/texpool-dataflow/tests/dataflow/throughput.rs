//! Throughput of self-timed execution: published graphs, and random ones against an independent simulation.

use std::collections::HashMap;

use proptest::prelude::*;
use texpool_dataflow::{
    Csdf, DataflowError, Sequence, least_buffers, published::EXAMPLES, self_timed_period, serial_time,
};
use texpool_plan::SearchControl;

use crate::random::{Link, consistent, graph};

fn constant(times: &[u64]) -> Vec<Sequence> {
    times.iter().map(|&time| Sequence::new([time])).collect()
}

fn period(csdf: &Csdf, times: &[Sequence], sizes: Option<&[u64]>) -> (u128, u128) {
    let period = self_timed_period(csdf, times, sizes, &SearchControl::new()).unwrap();
    let common = gcd(period.time, period.iterations);
    (period.time / common, period.iterations / common)
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

/// A synchronous graph: every actor has one phase. Channels are source, sink, production, consumption, initial tokens.
fn synchronous(actors: usize, channels: &[(usize, usize, u64, u64, u64)]) -> Csdf {
    let link = |&(from, to, put, take, initial): &(usize, usize, u64, u64, u64)| -> Link {
        (from, to, vec![put], vec![take], initial)
    };
    graph(vec![1; actors], channels.iter().map(link).collect())
}

/// The running example of Stuijk, Geilen and Basten, "Exploring Trade-Offs in Buffer Requirements and Throughput Constraints
/// for Synchronous Dataflow Graphs" (DAC 2006): the throughput of actor c for buffers of 6, 8, 9 and 10 tokens is 1/7, 1/6,
/// 1/5 and 1/4, and no larger buffers are faster.
#[test]
fn the_trade_off_of_stuijk_geilen_and_basten_is_found() {
    let csdf = synchronous(3, &[(0, 1, 2, 3, 0), (1, 2, 1, 2, 0)]);
    let times = constant(&[1, 2, 2]);
    let fastest = |size: u64| {
        let splits = (0..=size).map(|alpha| [alpha, size - alpha]);
        let periods =
            splits.filter_map(|sizes| self_timed_period(&csdf, &times, Some(&sizes), &SearchControl::new()).ok());
        periods.map(|period| period.value()).reduce(f64::min)
    };
    let fastest: Vec<Option<f64>> = (5..=12).map(fastest).collect();
    let expected = [None, Some(7.0), Some(7.0), Some(6.0), Some(5.0), Some(4.0), Some(4.0), Some(4.0)];
    assert_eq!(fastest, expected);
    assert_eq!(period(&csdf, &times, None), (4, 1));
}

/// The graphs of SDF3's test bench (Stuijk, Geilen and Basten, "SDF3: SDF For Free", 2006; the sample rate converter, modem
/// and satellite receiver are those of Bhattacharyya, Murthy and Lee 1999). With buffers of any size, the sample rate
/// converter, the H.263 decoder and the receiver are as fast as their busiest actor: 160 · 6, 594 · 559 and 1056 · 1.
#[test]
fn the_graphs_of_sdf3_have_their_throughput() {
    let chain = |rates: &[(u64, u64)]| -> Vec<(usize, usize, u64, u64, u64)> {
        rates.iter().enumerate().map(|(index, &(put, take))| (index, index + 1, put, take, 0)).collect()
    };
    let sample_rate = synchronous(6, &chain(&[(1, 1), (2, 3), (2, 7), (8, 7), (5, 1)]));
    assert_eq!(period(&sample_rate, &constant(&[5, 2, 3, 1, 4, 6]), None), (960, 1));
    let h263 = synchronous(4, &chain(&[(594, 1), (1, 1), (1, 594)]));
    assert_eq!(period(&h263, &constant(&[26018, 559, 486, 10958]), None), (332_046, 1));
    assert_eq!(period(&modem(), &constant(&[1; 16]), None), (16, 1));
    assert_eq!(period(&satellite(), &constant(&[1; 22]), None), (1056, 1));
}

/// fork1, biq, bi, add, ac, fork2, conj, mul1, in, filt, hil, eq, mul2, deci, deco, out.
fn modem() -> Csdf {
    let channels = [
        (0, 1, 1, 1, 0),
        (0, 2, 1, 1, 0),
        (1, 3, 1, 1, 0),
        (2, 3, 1, 1, 0),
        (3, 4, 1, 1, 0),
        (4, 5, 2, 1, 0),
        (5, 6, 1, 2, 0),
        (5, 7, 1, 2, 0),
        (6, 12, 2, 2, 0),
        (7, 13, 2, 2, 0),
        (12, 11, 2, 2, 2),
        (8, 9, 1, 1, 0),
        (9, 10, 1, 8, 0),
        (10, 11, 2, 4, 0),
        (11, 7, 2, 2, 0),
        (13, 12, 2, 2, 0),
        (13, 14, 2, 2, 0),
        (14, 15, 1, 1, 0),
        (13, 0, 1, 1, 1),
    ];
    synchronous(16, &channels)
}

/// a to n, then p to w.
fn satellite() -> Csdf {
    let channels = [
        (0, 1, 1, 4, 0),
        (1, 2, 1, 11, 0),
        (2, 6, 1, 1, 0),
        (2, 14, 10, 1, 0),
        (3, 4, 1, 4, 0),
        (4, 5, 1, 11, 0),
        (5, 10, 1, 1, 0),
        (5, 14, 10, 1, 0),
        (6, 7, 1, 1, 0),
        (7, 8, 11, 11, 0),
        (8, 9, 10, 1, 0),
        (10, 11, 1, 1, 0),
        (11, 12, 11, 11, 0),
        (12, 13, 10, 1, 0),
        (14, 15, 1, 240, 0),
        (14, 16, 1, 240, 0),
        (15, 21, 240, 1, 0),
        (16, 21, 240, 1, 0),
        (13, 14, 1, 1, 0),
        (13, 17, 1, 1, 0),
        (17, 19, 1, 1, 0),
        (9, 14, 1, 1, 0),
        (9, 18, 1, 1, 0),
        (18, 19, 1, 1, 0),
        (19, 20, 1, 240, 0),
        (20, 21, 240, 1, 0),
    ];
    synchronous(22, &channels)
}

#[test]
fn phases_pay_with_time_for_their_buffers() {
    let periods = EXAMPLES.each_ref().map(|example| {
        let csdf = example.csdf().unwrap();
        let times: Vec<Sequence> = csdf.actors.iter().map(|actor| Sequence::constant(actor.phases, 10)).collect();
        let sizes = least_buffers(&csdf).unwrap().capacities;
        let bounded = self_timed_period(&csdf, &times, Some(&sizes), &SearchControl::new()).unwrap().value();
        let unlimited = self_timed_period(&csdf, &times, None, &SearchControl::new()).unwrap().value();
        let serial = serial_time(&csdf, &times).unwrap() as f64;
        assert!(unlimited <= bounded && bounded <= serial, "{}", example.name);
        serial
    });
    assert_eq!(periods, [50.0, 70.0, 510.0, 540.0]);
}

#[test]
fn impossible_requests_are_errors() {
    let csdf = synchronous(2, &[(0, 1, 2, 3, 0)]);
    let of = |times: &[Sequence], sizes: Option<&[u64]>| self_timed_period(&csdf, times, sizes, &SearchControl::new());
    assert_eq!(of(&constant(&[1, 1]), Some(&[3])), Err(DataflowError::Capacities));
    assert_eq!(of(&constant(&[1, 1]), Some(&[])), Err(DataflowError::Capacities));
    assert!(matches!(of(&constant(&[1]), None), Err(DataflowError::Times { expected: 2, found: 1, .. })));
    let two = [Sequence::new([1]), Sequence::new([1, 2])];
    assert!(matches!(of(&two, None), Err(DataflowError::Times { expected: 1, found: 2, .. })));
    let stopped = SearchControl::new().timeout(std::time::Duration::ZERO);
    let stopped = self_timed_period(&csdf, &constant(&[1, 1]), None, &stopped);
    assert!(matches!(stopped, Err(DataflowError::ThroughputStopped { .. })));
}

/// Tokens on channels, tokens and claimed space on them, and the remaining time of each actor's firing.
type Snapshot = (Vec<u64>, Vec<u64>, Vec<Option<u64>>, Vec<usize>);

/// Simulates self-timed execution event by event, as SDF3 explores states, until a state occurs again. Returns the time and
/// the number of iterations in between.
fn simulated(csdf: &Csdf, times: &[Sequence], sizes: &[u64], iteration: &[u64]) -> (u128, u128) {
    let list = |sequence: &Sequence| sequence.iter().collect::<Vec<u64>>();
    let times: Vec<Vec<u64>> = times.iter().map(list).collect();
    let rates: Vec<[Vec<u64>; 2]> = csdf.channels.iter().map(|c| [list(&c.production), list(&c.consumption)]).collect();
    let mut tokens: Vec<u64> = csdf.channels.iter().map(|channel| channel.initial).collect();
    let mut claimed = tokens.clone();
    let mut running: Vec<Option<u64>> = vec![None; csdf.actors.len()];
    let mut fired = vec![0u64; csdf.actors.len()];
    let (mut now, mut seen) = (0u64, HashMap::<Snapshot, (u64, u64)>::new());
    loop {
        for actor in 0..running.len() {
            let phase = |sequence: &[u64]| sequence[fired[actor] as usize % sequence.len()];
            let mut channels = csdf.channels.iter().zip(&rates).enumerate();
            let ready = running[actor].is_none()
                && channels.all(|(c, (channel, [put, take]))| {
                    (channel.to != actor || tokens[c] >= phase(take))
                        && (channel.from != actor || claimed[c] + phase(put) <= sizes[c])
                });
            if ready {
                for (c, (channel, [put, take])) in csdf.channels.iter().zip(&rates).enumerate() {
                    tokens[c] -= if channel.to == actor { phase(take) } else { 0 };
                    claimed[c] += if channel.from == actor { phase(put) } else { 0 };
                }
                running[actor] = Some(phase(&times[actor]));
            }
        }
        let phases = fired.iter().zip(&csdf.actors).map(|(fired, actor)| (fired % actor.phases) as usize).collect();
        let state = (tokens.clone(), claimed.clone(), running.clone(), phases);
        if let Some(&(then, fired_then)) = seen.get(&state) {
            let rounds = u128::from(fired[0] - fired_then);
            let (time, per) = (u128::from(now - then) * u128::from(iteration[0]), rounds);
            let common = gcd(time, per);
            return (time / common, per / common);
        }
        seen.insert(state, (now, fired[0]));
        let step = running.iter().flatten().copied().min().expect("a live graph always runs");
        now += step;
        for actor in 0..running.len() {
            running[actor] = running[actor].map(|left| left - step);
            if running[actor] == Some(0) {
                let phase = |sequence: &[u64]| sequence[fired[actor] as usize % sequence.len()];
                for (c, (channel, [put, take])) in csdf.channels.iter().zip(&rates).enumerate() {
                    tokens[c] += if channel.from == actor { phase(put) } else { 0 };
                    claimed[c] -= if channel.to == actor { phase(take) } else { 0 };
                }
                running[actor] = None;
                fired[actor] += 1;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// Both methods agree exactly: cycles of dependencies, and the exploration of states.
    #[test]
    fn cycles_and_states_give_the_same_period(
        csdf in consistent(),
        times in prop::collection::vec(1u64..6, 16),
        more in prop::collection::vec(0u64..4, 16),
    ) {
        let Ok(buffers) = least_buffers(&csdf) else { return Ok(()) };
        let sizes: Vec<u64> = buffers.capacities.iter().zip(&more).map(|(size, more)| size + more).collect();
        let times: Vec<Sequence> = csdf.actors.iter().enumerate().map(|(index, actor)| {
            Sequence::new((0..actor.phases as usize).map(|phase| times[(index * 3 + phase) % times.len()]))
        }).collect();
        let cycles = texpool_dataflow::repetition(&csdf).unwrap();
        let iteration: Vec<u64> = csdf.actors.iter().zip(cycles).map(|(actor, cycles)| actor.phases * cycles).collect();
        let states = simulated(&csdf, &times, &sizes, &iteration);
        prop_assert_eq!(period(&csdf, &times, Some(&sizes)), states);
    }
}
