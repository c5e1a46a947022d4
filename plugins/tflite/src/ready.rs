//! A model that is on the device, and why one is not.

use std::{fmt, sync::Arc};

use texpool::{Error, Model, Session, Uncomputable};

use crate::{
    device::Device,
    graph::Node,
    read::{Readable, Refusal},
    report::Planned,
};

/// A model on the device, ready to run.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) session: Session,
    pub(crate) planned: Planned,
    /// Kept open.
    pub(crate) device: Arc<Device>,
}

/// Why a model is not on the device.
#[derive(Debug)]
pub(crate) enum Unready {
    /// The library says.
    Library(Error),
    /// Nothing was tried.
    Other(String),
}

/// Puts a model on the device.
pub(crate) type Prepare<'p> = dyn Fn(&Model) -> Result<Ready, Unready> + 'p;

impl From<Error> for Unready {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl fmt::Display for Unready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => error.fmt(f),
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

/// Why nodes are not computed on the device.
pub(crate) enum NotComputed {
    /// These nodes cannot be; the runtime computes them.
    Refused(Vec<Refusal>),
    /// The device or an option is in the way, so that the runtime is told of an error.
    Failed(String),
}

/// Puts nodes on the device, unless they are there. `nodes` are those that were read, in their order.
pub(crate) fn make_ready(readable: &mut Readable, nodes: &[&Node], prepare: &Prepare<'_>) -> Result<(), NotComputed> {
    if readable.ready.is_some() {
        return Ok(());
    }
    let error = match prepare(&readable.model) {
        Ok(ready) => {
            readable.ready = Some(ready);
            return Ok(());
        }
        Err(error) => error,
    };
    let part = match &error {
        Unready::Library(library) => library.uncomputable(),
        Unready::Other(_) => None,
    };
    let named = match part {
        None => return Err(NotComputed::Failed(error.to_string())),
        Some(Uncomputable::Node(position)) => nodes.get(position).map(|node| vec![*node]),
        Some(_) => None,
    };
    let refusal = |node: &Node| Refusal { node: node.index, operator: None, reason: error.to_string() };
    Err(NotComputed::Refused(named.as_deref().unwrap_or(nodes).iter().map(|node| refusal(node)).collect()))
}
