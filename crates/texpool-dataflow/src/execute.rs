//! Execution of one iteration, firing by firing, with bounded or unbounded channels.
//!
//! A firing takes its tokens and puts its results as one event. On a channel between two actors this needs the same
//! capacity as holding the input until the firing ends, because firings can always run one at a time. On a loop it
//! means that rows kept for the next phase may stay in place. A firing never takes another actor's tokens or space,
//! so the order of firings does not affect whether an iteration completes, and a single execution decides it.

use super::{Channel, Csdf, DataflowError, repetition};

/// Upper limit on the firings of an iteration; larger graphs are rejected. A chosen value: each firing is a step of a
/// loop, and the execution is repeated for every set of capacities that is tried.
pub const FIRING_LIMIT: u64 = 1 << 22;

/// A graph prepared for execution: rates by phase, channels by actor, firings per iteration.
pub(super) struct Machine {
    pub(super) links: Vec<Link>,
    pub(super) inputs: Vec<Vec<usize>>,
    pub(super) outputs: Vec<Vec<usize>>,
    pub(super) firings: Vec<u64>,
}

/// A channel's ends and rates.
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) production: Vec<u64>,
    pub(super) consumption: Vec<u64>,
    pub(super) initial: u64,
}

/// Tokens on each channel, and the number of firings already done by each actor.
#[derive(Clone)]
pub(super) struct State {
    pub(super) tokens: Vec<u64>,
    pub(super) fired: Vec<u64>,
}

impl Machine {
    /// Creates the machine of a whole graph.
    pub(super) fn new(csdf: &Csdf) -> Result<Self, DataflowError> {
        let cycles = repetition(csdf)?;
        // Uses 128 bits, which hold the product of two 64-bit numbers.
        let per_actor = csdf.actors.iter().zip(&cycles).map(|(a, &q)| u128::from(a.phases) * u128::from(q));
        let firings: Vec<u128> = per_actor.collect();
        // The sum of several such products can overflow.
        let total = firings.iter().fold(0, |sum: u128, &n| sum.saturating_add(n));
        if total > u128::from(FIRING_LIMIT) {
            return Err(DataflowError::TooManyFirings { firings: total, limit: FIRING_LIMIT });
        }
        // A channel never holds more than its initial tokens plus the production of an iteration, so token counts
        // cannot overflow later.
        for (channel, &cycles) in csdf.channels.iter().map(|channel| (channel, &cycles[channel.from])) {
            let moved = channel.production.sum().saturating_mul(u128::from(cycles));
            if moved.saturating_add(u128::from(channel.initial)) > u128::from(u64::MAX) {
                return Err(DataflowError::Overflow { channel: channel.name.clone() });
            }
        }
        let firings = firings.into_iter().map(|n| n as u64).collect();
        Ok(Self::of(csdf.channels.iter(), csdf.actors.len(), firings))
    }

    /// Creates the machine of some channels. Actors keep their indices.
    pub(super) fn of<'a>(channels: impl Iterator<Item = &'a Channel>, actors: usize, firings: Vec<u64>) -> Self {
        let (mut inputs, mut outputs) = (vec![Vec::new(); actors], vec![Vec::new(); actors]);
        let mut links = Vec::new();
        for channel in channels {
            inputs[channel.to].push(links.len());
            outputs[channel.from].push(links.len());
            links.push(Link {
                from: channel.from,
                to: channel.to,
                production: channel.production.iter().collect(),
                consumption: channel.consumption.iter().collect(),
                initial: channel.initial,
            });
        }
        Self { links, inputs, outputs, firings }
    }

    pub(super) fn start(&self) -> State {
        State { tokens: self.links.iter().map(|link| link.initial).collect(), fired: vec![0; self.firings.len()] }
    }

    pub(super) fn consumes(&self, channel: usize, state: &State) -> u64 {
        let link = &self.links[channel];
        link.consumption[state.fired[link.to] as usize % link.consumption.len()]
    }

    fn produces(&self, channel: usize, state: &State) -> u64 {
        let link = &self.links[channel];
        link.production[state.fired[link.from] as usize % link.production.len()]
    }

    /// Returns the first input channel that lacks tokens for the actor's next firing.
    pub(super) fn lacking(&self, actor: usize, state: &State) -> Option<usize> {
        self.inputs[actor].iter().copied().find(|&channel| state.tokens[channel] < self.consumes(channel, state))
    }

    /// Returns the tokens on an output channel after the actor's next firing. The actor must have the tokens that it
    /// needs.
    pub(super) fn after(&self, channel: usize, state: &State) -> u64 {
        let link = &self.links[channel];
        let own_tokens = if link.from == link.to { self.consumes(channel, state) } else { 0 };
        state.tokens[channel] - own_tokens + self.produces(channel, state)
    }

    pub(super) fn fire(&self, actor: usize, state: &mut State) {
        for &channel in &self.inputs[actor] {
            state.tokens[channel] -= self.consumes(channel, state);
        }
        for &channel in &self.outputs[actor] {
            state.tokens[channel] += self.produces(channel, state);
        }
        state.fired[actor] += 1;
    }

    /// Fires actors until none can fire or the iteration is complete.
    pub(super) fn run(&self, capacities: Option<&[u64]>) -> State {
        let mut state = self.start();
        // Taken from the end of the list, so that the first actor, usually the network's input, fires first.
        let mut waiting: Vec<usize> = (0..self.firings.len()).rev().collect();
        let mut queued = vec![true; self.firings.len()];
        while let Some(actor) = waiting.pop() {
            queued[actor] = false;
            let mut fired = false;
            while state.fired[actor] < self.firings[actor] && self.can_fire(actor, &state, capacities) {
                self.fire(actor, &mut state);
                fired = true;
            }
            // Neighbours gain tokens or space only if this actor has fired.
            for other in self.neighbours(actor).filter(|_| fired) {
                if !std::mem::replace(&mut queued[other], true) {
                    waiting.push(other);
                }
            }
        }
        state
    }

    /// Returns the other ends of an actor's channels.
    pub(super) fn neighbours(&self, actor: usize) -> impl Iterator<Item = usize> + '_ {
        let sources = self.inputs[actor].iter().map(|&channel| self.links[channel].from);
        sources.chain(self.outputs[actor].iter().map(|&channel| self.links[channel].to))
    }

    pub(super) fn can_fire(&self, actor: usize, state: &State, capacities: Option<&[u64]>) -> bool {
        let fits = |&channel: &usize| capacities.is_none_or(|sizes| self.after(channel, state) <= sizes[channel]);
        self.lacking(actor, state).is_none() && self.outputs[actor].iter().all(fits)
    }

    pub(super) fn ended(&self, state: &State) -> bool {
        state.fired == self.firings
    }
}

/// Checks that an iteration completes with unbounded buffers.
///
/// # Errors
/// Those of [`repetition`]; [`DataflowError::TooManyFirings`]; [`DataflowError::Deadlock`] with one of the waiting
/// actors.
pub fn check_live(csdf: &Csdf) -> Result<(), DataflowError> {
    let machine = Machine::new(csdf)?;
    let state = machine.run(None);
    let unfinished = (0..csdf.actors.len()).filter(|&actor| state.fired[actor] < machine.firings[actor]);
    match unfinished.map(|actor| (actor, machine.lacking(actor, &state))).find(|(_, channel)| channel.is_some()) {
        Some((actor, Some(channel))) => Err(DataflowError::Deadlock {
            actor: csdf.actors[actor].name.clone(),
            channel: csdf.channels[channel].name.clone(),
            tokens: machine.consumes(channel, &state) - state.tokens[channel],
            firing: state.fired[actor] + 1,
        }),
        _ => Ok(()),
    }
}

/// Returns whether an iteration completes within the given capacities, in tokens per channel.
///
/// # Errors
/// Those of [`check_live`], except for the deadlock.
pub fn executes(csdf: &Csdf, capacities: &[u64]) -> Result<bool, DataflowError> {
    let machine = Machine::new(csdf)?;
    let fits = capacities.len() == csdf.channels.len();
    // `run` checks a channel only when an actor fires, so the initial tokens are compared here.
    let holds = csdf.channels.iter().zip(capacities).all(|(channel, &size)| channel.initial <= size);
    Ok(fits && holds && machine.ended(&machine.run(Some(capacities))))
}
