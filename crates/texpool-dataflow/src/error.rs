//! Errors of dataflow graphs: invalid graphs, and graphs that are too large for an exact result.

use texpool_compile::schedule::ScheduleError;
use texpool_plan::StopReason;

/// Reason why a dataflow graph cannot be executed, or its buffers cannot be determined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DataflowError {
    /// The graph has no actor.
    #[error("the dataflow graph has no actor")]
    Empty,
    /// A channel refers to an actor that does not exist.
    #[error("channel `{channel}` has actor {actor} at an end; the graph has {actors}")]
    NoSuchActor {
        /// Name of the channel.
        channel: String,
        /// The index it names.
        actor: usize,
        /// Number of actors.
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
    /// A channel whose production cannot equal its consumption for any numbers of cycles.
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
        /// Tokens that the source produces in the number of cycles that the other channels imply.
        produced: u128,
        /// Tokens that the sink consumes in the number of cycles that the other channels imply.
        consumed: u128,
    },
    /// A number that does not fit into 64 bits.
    #[error("channel `{channel}`: an iteration moves more tokens, or takes more cycles, than 64 bits count")]
    Overflow {
        /// Name of the channel.
        channel: String,
    },
    /// An iteration with more firings than the limit.
    #[error("an iteration has {firings} firings; {limit} are executed at most")]
    TooManyFirings {
        /// Number of firings.
        firings: u128,
        /// Upper limit on firings.
        limit: u64,
    },
    /// Actors wait for each other, even with unlimited buffers.
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
        /// Number of the firing that waits, counted from 1.
        firing: u64,
    },
    /// The search for the least capacities reached its limit.
    #[error("the least buffers are not found within {limit} executions; they take {at_least} tokens at least")]
    SearchLimit {
        /// Executions allowed.
        limit: u64,
        /// Proven lower bound on the tokens of a working set.
        at_least: u128,
    },
    /// The search for the least capacities was stopped.
    #[error(
        "the least buffers are not found: the search was stopped because {reason}; give it more time, or \
         fewer phases"
    )]
    Stopped {
        /// The reason.
        reason: StopReason,
    },
    /// The analysis of the throughput was stopped.
    #[error("the throughput is not known: its analysis was stopped because {reason}")]
    ThroughputStopped {
        /// The reason.
        reason: StopReason,
    },
    /// Layers and edges with more phases than the limit.
    #[error("layers and edges have {phases} phases together; {limit} are converted at most: ask for fewer a layer")]
    TooManyPhases {
        /// Number of phases.
        phases: u64,
        /// Upper limit on phases.
        limit: u64,
    },
    /// A layer reads a layer that does not come before it.
    #[error("layer `{layer}` reads layer {input}, which does not come before it")]
    LayerOrder {
        /// Name of the layer.
        layer: String,
        /// Index of the layer that it reads.
        input: usize,
    },
    /// A layer without rows, or whose rows are empty.
    #[error("layer `{layer}` has no row, or nothing in a row")]
    EmptyLayer {
        /// Name of the layer.
        layer: String,
    },
    /// The list of bands and the network differ in length.
    #[error("{found} numbers of phases were given for {expected} layers")]
    Bands {
        /// Number of layers.
        expected: usize,
        /// Number of entries in the list.
        found: usize,
    },
    /// A list of execution times that does not fit its actor, or a list of lists that does not fit the graph.
    #[error("`{actor}` has {found} execution times; {expected} are needed")]
    Times {
        /// Name of the actor, or of the graph.
        actor: String,
        /// Phases of the actor, or actors of the graph.
        expected: u64,
        /// Number of entries.
        found: u64,
    },
    /// Capacities within which no iteration completes.
    #[error("an iteration does not complete with buffers of these sizes")]
    Capacities,
    /// An order of firings that belongs to another graph.
    #[error("the order of firings belongs to another graph")]
    OtherGraph,
    /// A model graph that cannot be turned into steps.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}
