//! The order in which phases execute, and the contents of buffers after each.
//!
//! A graph has many orders that keep its capacities. This one fires the last actor that can fire, so that data is consumed
//! as soon as it suffices and a new row is produced only where it is needed next. On the published example it is the order
//! of Table II (Minakova and Stefanov 2020).

use std::{collections::BTreeSet, fmt};

use super::{Csdf, DataflowError, execute::Machine};

/// An execution of one phase of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Firing {
    /// Index of the actor.
    pub actor: usize,
    /// Number of the firing within the iteration, counted from 1. It exceeds the actor's phases where the actor repeats
    /// them.
    pub phase: u64,
}

/// Firings of one iteration, in order.
///
/// ```
/// use texpool_dataflow::{Order, least_buffers, published::EXAMPLES};
///
/// let csdf = EXAMPLES[1].csdf()?;
/// let order = Order::new(&csdf, &least_buffers(&csdf)?.capacities)?.expect("the capacities suffice");
/// assert_eq!(order.to_string(), "n11, n21, n12, n22, n31, n41, n51");
/// # Ok::<(), texpool_dataflow::DataflowError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The firings.
    pub firings: Vec<Firing>,
}

impl Order {
    /// Returns the order of an iteration within the given capacities, in tokens per channel, or `None` if the iteration
    /// does not complete within them.
    ///
    /// # Errors
    /// The errors of [`executes`](super::executes).
    pub fn new(csdf: &Csdf, capacities: &[u64]) -> Result<Option<Self>, DataflowError> {
        let machine = Machine::new(csdf)?;
        let holds = csdf.channels.iter().zip(capacities).all(|(channel, &size)| channel.initial <= size);
        if capacities.len() != csdf.channels.len() || !holds {
            return Ok(None);
        }
        let mut state = machine.start();
        let mut firings = Vec::new();
        // Every actor that can fire is among the candidates.
        let mut candidates: BTreeSet<usize> = (0..csdf.actors.len()).collect();
        while let Some(actor) = candidates.pop_last() {
            let unfinished = state.fired[actor] < machine.firings[actor];
            if !unfinished || !machine.can_fire(actor, &state, Some(capacities)) {
                continue;
            }
            machine.fire(actor, &mut state);
            firings.push(Firing { actor, phase: state.fired[actor] });
            candidates.insert(actor);
            candidates.extend(machine.neighbours(actor));
        }
        Ok(machine.ended(&state).then_some(Self { firings }))
    }

    /// Calls `visit` after each firing with the tokens on each channel. `csdf` must be the graph of this order.
    ///
    /// # Errors
    /// The errors of [`check_live`](super::check_live).
    pub fn replay(&self, csdf: &Csdf, mut visit: impl FnMut(Firing, &[u64])) -> Result<(), DataflowError> {
        let machine = Machine::new(csdf)?;
        let mut state = machine.start();
        for &firing in &self.firings {
            let ready = state.fired.get(firing.actor).is_some() && machine.lacking(firing.actor, &state).is_none();
            if !ready {
                return Err(DataflowError::OtherGraph);
            }
            machine.fire(firing.actor, &mut state);
            visit(firing, &state.tokens);
        }
        Ok(())
    }

    /// Returns the order as terms of the paper's notation.
    pub fn terms(&self) -> Vec<OrderTerm> {
        let runs = self.runs();
        let mut terms = Vec::new();
        let mut next = 0;
        while next < runs.len() {
            let length = match loop_at(&runs, next) {
                // A loop that starts one run later and is as long begins with the producer, like those of the paper.
                Some(body) if body.covered > loop_at(&runs, next + 1).map_or(0, |later| later.covered) => {
                    terms.push(OrderTerm {
                        repeats: body.repeats,
                        runs: joined(&runs[next..next + body.covered], body.runs),
                    });
                    body.covered
                }
                _ => {
                    terms.push(OrderTerm { repeats: 1, runs: vec![runs[next]] });
                    1
                }
            };
            next += length;
        }
        terms
    }

    /// Returns the runs of consecutive firings of one actor.
    fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for &Firing { actor, phase } in &self.firings {
            match runs.last_mut() {
                Some(run) if run.actor == actor => run.last = phase,
                _ => runs.push(Run { actor, first: phase, last: phase }),
            }
        }
        runs
    }
}

/// Consecutive phases of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index of the actor.
    pub actor: usize,
    /// First phase, counted from 1.
    pub first: u64,
    /// Last phase, inclusive.
    pub last: u64,
}

impl Run {
    fn count(&self) -> u64 {
        self.last - self.first + 1
    }
}

/// Part of an order: consecutive phases of one actor, or a loop in which actors alternate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderTerm {
    /// Number of repetitions; 1 for consecutive phases.
    pub repeats: u64,
    /// The actors in order, each with its phases of all repetitions.
    pub runs: Vec<Run>,
}

/// Fewest repetitions that are written as a loop. The paper writes two repetitions out (Ex2).
const MIN_REPEATS: usize = 3;
/// Most actors of a loop that are recognised.
const MAX_ACTORS: usize = 16;

/// A loop: runs per repetition, repetitions, and runs of all repetitions.
struct Loop {
    runs: usize,
    repeats: u64,
    covered: usize,
}

/// Returns the longest loop that starts at this run.
fn loop_at(runs: &[Run], start: usize) -> Option<Loop> {
    let runs = runs.get(start..).unwrap_or_default();
    let repeats = |length: usize| {
        let (body, rest) = runs.split_at_checked(length)?;
        let distinct = body.iter().enumerate().all(|(index, run)| body[..index].iter().all(|r| r.actor != run.actor));
        let same = |block: &&[Run]| {
            let pairs = || block.iter().zip(body);
            block.len() == length && pairs().all(|(a, b)| a.actor == b.actor && a.count() == b.count())
        };
        let repeats = 1 + rest.chunks(length).take_while(same).count();
        (distinct && repeats >= MIN_REPEATS).then_some(Loop {
            runs: length,
            repeats: repeats as u64,
            covered: length * repeats,
        })
    };
    // The shortest body wins among loops of equal length.
    (2..=MAX_ACTORS).filter_map(repeats).reduce(|best, other| if other.covered > best.covered { other } else { best })
}

/// Joins the runs of all repetitions, of which each has `length` runs.
fn joined(runs: &[Run], length: usize) -> Vec<Run> {
    let (body, last) = (&runs[..length], &runs[runs.len() - length..]);
    body.iter().zip(last).map(|(run, last)| Run { last: last.last, ..*run }).collect()
}

/// Writes the order in the notation of Table II: `n1(1-17)` is phases 1 to 17 of the first actor, `n21` phase 1 of the
/// second, and brackets are a loop in which each actor executes a phase in turns. Numbers of two digits are written as
/// `n12(1)`, and several phases a turn as `n1(18-47 by 2)`.
impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<String> = self.terms().iter().map(ToString::to_string).collect();
        f.write_str(&terms.join(", "))
    }
}

impl fmt::Display for OrderTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = |&Run { actor, first, last }: &Run| {
            let (actor, each) = (actor + 1, (last - first + 1) / self.repeats.max(1));
            match (self.repeats, each) {
                (1, 1) if actor < 10 && first < 10 => format!("n{actor}{first}"),
                (1, 1) => format!("n{actor}({first})"),
                (1, _) | (_, 1) => format!("n{actor}({first}-{last})"),
                _ => format!("n{actor}({first}-{last} by {each})"),
            }
        };
        let runs: Vec<String> = self.runs.iter().map(run).collect();
        if self.repeats == 1 { f.write_str(&runs.join(", ")) } else { write!(f, "[{}]", runs.join(", ")) }
    }
}
