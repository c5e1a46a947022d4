//! What is wrong with a dataflow graph, or too much to be found exactly.

use crate::{plan::StopReason, schedule::ScheduleError};

/// Why a dataflow graph cannot be executed, or its buffers not be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DataflowError {
    /// The graph has no actor.
    #[error("the dataflow graph has no actor")]
    Empty,
    /// A channel of an actor that is not there.
    #[error("channel `{channel}` has actor {actor} at an end; the graph has {actors}")]
    NoSuchActor {
        /// Name of the channel.
        channel: String,
        /// The index it names.
        actor: usize,
        /// How many actors there are.
        actors: usize,
    },
    /// An actor without phases.
    #[error("actor `{actor}` has no phase")]
    NoPhase {
        /// Name of the actor.
        actor: String,
    },
    /// A sequence that is longer or shorter than its actor's cycle.
    #[error("channel `{channel}`: its sequence at actor `{actor}` has {found} phases; the actor has {expected}")]
    Phases {
        /// Name of the channel.
        channel: String,
        /// Name of the actor.
        actor: String,
        /// Phases of the actor.
        expected: u64,
        /// Phases of the sequence.
        found: u64,
    },
    /// No numbers of cycles make a channel's production equal its consumption.
    #[error(
        "channel `{channel}` does not balance: while all else repeats, `{from}` produces {produced} tokens and `{to}` \
         consumes {consumed}"
    )]
    Unbalanced {
        /// Name of the channel.
        channel: String,
        /// Name of its source.
        from: String,
        /// Name of its sink.
        to: String,
        /// Tokens that the source produces in the cycles that the other channels ask of it.
        produced: u128,
        /// Tokens that the sink consumes in the cycles that the other channels ask of it.
        consumed: u128,
    },
    /// Numbers that 64 bits do not hold.
    #[error("channel `{channel}`: an iteration moves more tokens, or takes more cycles, than 64 bits count")]
    Overflow {
        /// Name of the channel.
        channel: String,
    },
    /// An iteration with more firings than are executed.
    #[error("an iteration has {firings} firings; {limit} are executed at most")]
    TooManyFirings {
        /// How many it has.
        firings: u128,
        /// How many are executed.
        limit: u64,
    },
    /// Actors wait for one another, whatever the buffers.
    #[error(
        "the graph deadlocks with buffers of any size: `{actor}` waits for {tokens} tokens of channel `{channel}` in its \
         firing {firing}"
    )]
    Deadlock {
        /// Name of an actor that waits.
        actor: String,
        /// Name of the channel it waits on.
        channel: String,
        /// Tokens that are missing.
        tokens: u64,
        /// Which of its firings, from 1.
        firing: u64,
    },
    /// The search for the least capacities was cut off.
    #[error("the least buffers are not found within {limit} executions; they take {at_least} tokens at least")]
    SearchLimit {
        /// Executions allowed.
        limit: u64,
        /// Tokens below which nothing works.
        at_least: u128,
    },
    /// The search for the least capacities was stopped.
    #[error(
        "the least buffers are not found: the search was stopped because {reason}; give it more time, or \
         fewer phases"
    )]
    Stopped {
        /// Why.
        reason: StopReason,
    },
    /// Layers with more phases than are converted.
    #[error("layers and edges have {phases} phases together; {limit} are converted at most: ask for fewer a layer")]
    TooManyPhases {
        /// How many there are.
        phases: u64,
        /// How many are converted.
        limit: u64,
    },
    /// A layer that reads a layer which does not come before it.
    #[error("layer `{layer}` reads layer {input}, which does not come before it")]
    LayerOrder {
        /// Name of the layer.
        layer: String,
        /// Index of what it reads.
        input: usize,
    },
    /// A layer without rows, or whose rows are empty.
    #[error("layer `{layer}` has no row, or nothing in a row")]
    EmptyLayer {
        /// Name of the layer.
        layer: String,
    },
    /// A network and a list of bands that differ in length.
    #[error("{found} numbers of phases were given for {expected} layers")]
    Bands {
        /// Layers.
        expected: usize,
        /// Numbers.
        found: usize,
    },
    /// A model graph that cannot be put in steps.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}
