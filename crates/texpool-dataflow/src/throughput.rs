//! Throughput of self-timed execution: every actor fires as soon as it has tokens and space.
//!
//! **Semantics**, those of SDF3 (Stuijk, Geilen and Basten, "Throughput-Buffering Trade-Off Exploration for Cyclo-Static and
//! Synchronous Dataflow Graphs", 2008): a firing takes its tokens and claims space for its results at its begin; it puts its
//! results and releases the space of its inputs at its end. Every actor has a separate processor and executes one phase at
//! a time. Rows on a loop stay in place, so a loop claims no space.
//!
//! **Method**: firings of one iteration are nodes, and each dependency on the end of another firing is an edge with that
//! firing's time and its distance in iterations. The period of an iteration is the maximum over all cycles of the sum of
//! times divided by the sum of distances. A first ratio is the load of the busiest actor. While some cycle has a larger
//! ratio, longest paths find it (Lawler 1976), and its ratio is the next one; all numbers are exact.

use super::{Csdf, DataflowError, Order, Sequence, execute::Machine};
use texpool_plan::{Progress, SearchControl};

/// Exact time of an iteration in steady state: `time / iterations`, in the unit of the execution times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Time on the critical cycle.
    pub time: u128,
    /// Iterations that the critical cycle spans.
    pub iterations: u128,
}

impl Period {
    /// Returns the time of an iteration.
    pub fn value(self) -> f64 {
        self.time as f64 / self.iterations as f64
    }

    fn exceeds(self, other: Self) -> bool {
        self.time.saturating_mul(other.iterations) > other.time.saturating_mul(self.iterations)
    }
}

/// Returns the sum of the times of all firings of an iteration: its time if one actor fires at a time.
///
/// # Errors
/// The errors of [`repetition`](super::repetition), and [`DataflowError::Times`].
pub fn serial_time(csdf: &Csdf, times: &[Sequence]) -> Result<u128, DataflowError> {
    let cycles = super::repetition(csdf)?;
    check_times(csdf, times)?;
    Ok(loads(times, &cycles).fold(0, u128::saturating_add))
}

/// Returns the time that each actor fires in an iteration, in which it repeats its phases `cycles` times.
fn loads(times: &[Sequence], cycles: &[u64]) -> impl Iterator<Item = u128> {
    times.iter().zip(cycles).map(|(times, &cycles)| times.sum().saturating_mul(u128::from(cycles)))
}

/// Returns the period of self-timed execution with these execution times of phases by actor. `capacities` are the sizes of
/// the channels in tokens; `None` stands for unlimited ones. `control` can stop the analysis.
///
/// ```
/// use texpool_dataflow::{Sequence, least_buffers, published::EXAMPLES, self_timed_period};
/// use texpool_plan::SearchControl;
///
/// // Without phases each layer takes a unit of time, and the next frame's input can enter as soon as the first layer ends.
/// let csdf = EXAMPLES[0].csdf()?;
/// let times: Vec<Sequence> = csdf.actors.iter().map(|actor| Sequence::constant(actor.phases, 1)).collect();
/// let sizes = least_buffers(&csdf)?.capacities;
/// let period = |sizes| self_timed_period(&csdf, &times, sizes, &SearchControl::new());
/// // A buffer is claimed while it is written, and until it has been read.
/// assert_eq!((period(Some(&sizes))?.value(), period(None)?.value()), (2.0, 1.0));
/// # Ok::<(), texpool_dataflow::DataflowError>(())
/// ```
///
/// # Errors
/// The errors of [`check_live`](super::check_live); [`DataflowError::Times`] if a sequence has other phases than its actor;
/// [`DataflowError::Capacities`] if an iteration does not complete; [`DataflowError::ThroughputStopped`].
pub fn self_timed_period(
    csdf: &Csdf,
    times: &[Sequence],
    capacities: Option<&[u64]>,
    control: &SearchControl<'_>,
) -> Result<Period, DataflowError> {
    super::check_live(csdf)?;
    check_times(csdf, times)?;
    let unlimited = vec![u64::MAX; csdf.channels.len()];
    let order = Order::new(csdf, capacities.unwrap_or(&unlimited))?.ok_or(DataflowError::Capacities)?;
    let graph = EventGraph::new(csdf, times, capacities, &order)?;
    let mut period = graph.busiest();
    while let Some(larger) = graph.larger_cycle(period, control)? {
        period = larger;
    }
    Ok(period)
}

fn check_times(csdf: &Csdf, times: &[Sequence]) -> Result<(), DataflowError> {
    if times.len() != csdf.actors.len() {
        return Err(DataflowError::Times {
            actor: csdf.name.clone(),
            expected: csdf.actors.len() as u64,
            found: times.len() as u64,
        });
    }
    match csdf.actors.iter().zip(times).find(|(actor, times)| times.phases() != actor.phases) {
        Some((actor, times)) => {
            Err(DataflowError::Times { actor: actor.name.clone(), expected: actor.phases, found: times.phases() })
        }
        None => Ok(()),
    }
}

/// A dependency: the firing can begin only after the end of another, `distance` iterations earlier.
#[derive(Clone, Copy)]
struct Dependency {
    after: u32,
    distance: u64,
}

/// Firings of one iteration, numbered in an order in which they can execute, with their dependencies.
struct EventGraph {
    /// Execution time of each firing.
    time: Vec<u64>,
    /// Dependencies of each firing: those of firing `i` end at `ends[i]`.
    dependencies: Vec<Dependency>,
    ends: Vec<usize>,
    /// Load of the busiest actor.
    busiest: u128,
}

impl EventGraph {
    fn new(csdf: &Csdf, times: &[Sequence], capacities: Option<&[u64]>, order: &Order) -> Result<Self, DataflowError> {
        let machine = Machine::new(csdf)?;
        let mut position: Vec<Vec<u32>> = machine.firings.iter().map(|&n| Vec::with_capacity(n as usize)).collect();
        for (index, firing) in (0u32..).zip(&order.firings) {
            position[firing.actor].push(index);
        }
        let phase_times: Vec<Vec<u64>> = times.iter().map(|times| times.iter().collect()).collect();
        let flows: Vec<Flow> = csdf.channels.iter().map(|channel| Flow::new(channel, &machine.firings)).collect();
        let mut graph = Self { time: Vec::new(), dependencies: Vec::new(), ends: Vec::new(), busiest: 0 };
        for &firing in &order.firings {
            let (actor, at) = (firing.actor, (firing.phase - 1) as usize);
            let cycle = &phase_times[actor];
            graph.time.push(cycle[at % cycle.len()]);
            // An actor ends a phase before it begins the next.
            let (before, distance) = if at == 0 { (machine.firings[actor] as usize - 1, 1) } else { (at - 1, 0) };
            graph.dependencies.push(Dependency { after: position[actor][before], distance });
            for &channel in &machine.inputs[actor] {
                let (flow, link) = (&flows[channel], &machine.links[channel]);
                if let Some((firing, distance)) = flow.producer_of(at) {
                    graph.dependencies.push(Dependency { after: position[link.from][firing], distance });
                }
            }
            for &channel in machine.outputs[actor].iter().filter(|_| capacities.is_some()) {
                let (flow, link) = (&flows[channel], &machine.links[channel]);
                let size = capacities.map_or(u64::MAX, |sizes| sizes[channel]);
                if let Some((firing, distance)) = flow.consumer_before(at, size).filter(|_| link.from != link.to) {
                    graph.dependencies.push(Dependency { after: position[link.to][firing], distance });
                }
            }
            graph.ends.push(graph.dependencies.len());
        }
        let cycles: Vec<u64> =
            machine.firings.iter().zip(times).map(|(&firings, times)| firings / times.phases().max(1)).collect();
        graph.busiest = loads(times, &cycles).max().unwrap_or(0);
        Ok(graph)
    }

    /// Returns the period of the cycle of the busiest actor, which bounds the result from below.
    fn busiest(&self) -> Period {
        Period { time: self.busiest, iterations: 1 }
    }

    fn of(&self, firing: usize) -> &[Dependency] {
        let start = firing.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.dependencies[start..self.ends[firing]]
    }

    /// Returns a cycle with a larger ratio than `period`, or `None` if every cycle has a smaller or equal one.
    ///
    /// Values are begins of firings if an iteration takes `period`. They converge if and only if no cycle is longer.
    fn larger_cycle(&self, period: Period, control: &SearchControl<'_>) -> Result<Option<Period>, DataflowError> {
        let (time, iterations) = (period.time as i128, period.iterations as i128);
        let mut begin = vec![0i128; self.time.len()];
        // The dependency that decided each begin.
        let mut decisive: Vec<Option<Dependency>> = vec![None; self.time.len()];
        loop {
            control.report(Progress::new("computing the throughput", 0, 0));
            if let Some(reason) = control.should_stop().then(|| control.stopped()).flatten() {
                return Err(DataflowError::ThroughputStopped { reason });
            }
            let mut changed = false;
            for firing in 0..self.time.len() {
                for &dependency in self.of(firing) {
                    let after = dependency.after as usize;
                    let end = begin[after] + i128::from(self.time[after]) * iterations;
                    let earliest = end - i128::from(dependency.distance) * time;
                    if earliest > begin[firing] {
                        (begin[firing], decisive[firing], changed) = (earliest, Some(dependency), true);
                    }
                }
            }
            if !changed {
                return Ok(None);
            }
            if let Some(larger) = self.cycle_of(&decisive).filter(|cycle| cycle.exceeds(period)) {
                return Ok(Some(larger));
            }
        }
    }

    /// Returns the largest ratio of the cycles that decisive dependencies form.
    fn cycle_of(&self, decisive: &[Option<Dependency>]) -> Option<Period> {
        // The number of the walk that visited each firing; 0 for none.
        let mut visited = vec![0usize; decisive.len()];
        let mut largest: Option<Period> = None;
        for start in 0..decisive.len() {
            let (mut firing, walk) = (start, start + 1);
            while visited[firing] == 0 {
                visited[firing] = walk;
                let Some(dependency) = decisive[firing] else { break };
                firing = dependency.after as usize;
            }
            // The walk ended at a firing that waits for none, or at one that an earlier walk visited.
            if visited[firing] != walk || decisive[firing].is_none() {
                continue;
            }
            let cycle = self.ratio_from(firing, decisive);
            if largest.is_none_or(|other| cycle.exceeds(other)) {
                largest = Some(cycle);
            }
        }
        largest
    }

    /// Returns the ratio of the cycle through a firing.
    fn ratio_from(&self, start: usize, decisive: &[Option<Dependency>]) -> Period {
        let mut period = Period { time: 0, iterations: 0 };
        let mut firing = start;
        while let Some(dependency) = decisive[firing] {
            firing = dependency.after as usize;
            period.time += u128::from(self.time[firing]);
            period.iterations += u128::from(dependency.distance);
            if firing == start {
                break;
            }
        }
        period
    }
}

/// Tokens that have passed the ends of a channel after each firing of an iteration.
struct Flow {
    /// Sum of the production of firings up to and including each one.
    produced: Vec<u64>,
    /// Sum of the consumption of firings up to and including each one.
    consumed: Vec<u64>,
    initial: u64,
}

impl Flow {
    fn new(channel: &super::Channel, firings: &[u64]) -> Self {
        let sums = |sequence: &Sequence, firings: u64| {
            let tokens: Vec<u64> = sequence.iter().collect();
            let cycle = tokens.iter().copied().cycle().take(firings as usize);
            cycle
                .scan(0u64, |sum, tokens| {
                    *sum = sum.saturating_add(tokens);
                    Some(*sum)
                })
                .collect()
        };
        Self {
            produced: sums(&channel.production, firings[channel.from]),
            consumed: sums(&channel.consumption, firings[channel.to]),
            initial: channel.initial,
        }
    }

    /// Returns the firing of the source whose tokens complete those of the sink's firing `at`, and how many iterations
    /// earlier it is. `None` if that firing takes no tokens.
    fn producer_of(&self, at: usize) -> Option<(usize, u64)> {
        let needed = i128::from(self.consumed[at]) - i128::from(self.initial);
        let takes = self.consumed[at] > at.checked_sub(1).map_or(0, |before| self.consumed[before]);
        takes.then(|| reaches(&self.produced, needed)).flatten()
    }

    /// Returns the firing of the sink that releases the last space for the source's firing `at`, and how many iterations
    /// earlier it is. `None` if that firing needs no space.
    fn consumer_before(&self, at: usize, size: u64) -> Option<(usize, u64)> {
        let needed = i128::from(self.initial) + i128::from(self.produced[at]) - i128::from(size);
        let puts = self.produced[at] > at.checked_sub(1).map_or(0, |before| self.produced[before]);
        puts.then(|| reaches(&self.consumed, needed)).flatten()
    }
}

/// Returns the first firing at which the running `sums` of an iteration reach `needed`, and how many iterations earlier than
/// the present one that is.
fn reaches(sums: &[u64], needed: i128) -> Option<(usize, u64)> {
    let all = sums.last().copied().filter(|&all| all > 0).map(i128::from)?;
    let distance = if needed > 0 { 0 } else { -needed / all + 1 };
    let firing = sums.partition_point(|&sum| i128::from(sum) < needed + distance * all);
    (firing < sums.len()).then_some((firing, u64::try_from(distance).ok()?))
}
