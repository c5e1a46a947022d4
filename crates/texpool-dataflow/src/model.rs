//! The model: actors that fire in phases, channels that carry tokens between them (Bilsen et al. 1996).

use super::{DataflowError, Sequence};

/// A cyclo-static dataflow graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Csdf {
    /// Name of the graph.
    pub name: String,
    /// The actors; channels refer to them by index.
    pub actors: Vec<Actor>,
    /// The channels.
    pub channels: Vec<Channel>,
}

/// A computation that fires in phases. After the last phase it starts again with the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// Name; unique if the conversion created it.
    pub name: String,
    /// Operator that it executes in each phase.
    pub op: String,
    /// Number of phases in its cycle.
    pub phases: u64,
}

/// A first-in, first-out queue of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Name; unique if the conversion created it.
    pub name: String,
    /// The actor that produces.
    pub from: usize,
    /// The actor that consumes. The same actor if the channel keeps data from one phase for the next.
    pub to: usize,
    /// Tokens produced in each phase of the source.
    pub production: Sequence,
    /// Tokens consumed in each phase of the sink.
    pub consumption: Sequence,
    /// Tokens present before the first firing.
    pub initial: u64,
}

impl Channel {
    /// Returns whether the source and the sink are the same actor.
    pub fn is_loop(&self) -> bool {
        self.from == self.to
    }
}

impl Csdf {
    /// Checks that every channel connects existing actors and has a number for each of their phases.
    ///
    /// # Errors
    /// [`DataflowError::Empty`], [`NoPhase`](DataflowError::NoPhase), [`NoSuchActor`](DataflowError::NoSuchActor),
    /// [`Phases`](DataflowError::Phases).
    pub fn check(&self) -> Result<(), DataflowError> {
        if self.actors.is_empty() {
            return Err(DataflowError::Empty);
        }
        if let Some(actor) = self.actors.iter().find(|actor| actor.phases == 0) {
            return Err(DataflowError::NoPhase { actor: actor.name.clone() });
        }
        for channel in &self.channels {
            for (end, sequence) in [(channel.from, &channel.production), (channel.to, &channel.consumption)] {
                let actor = self.actors.get(end).ok_or_else(|| DataflowError::NoSuchActor {
                    channel: channel.name.clone(),
                    actor: end,
                    actors: self.actors.len(),
                })?;
                if sequence.phases() != actor.phases {
                    return Err(DataflowError::Phases {
                        channel: channel.name.clone(),
                        actor: actor.name.clone(),
                        expected: actor.phases,
                        found: sequence.phases(),
                    });
                }
            }
        }
        Ok(())
    }
}
