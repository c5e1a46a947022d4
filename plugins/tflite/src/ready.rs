//! Models that are ready to run on the device, and errors for those that are not.

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
    /// Keeps the device open.
    pub(crate) device: Arc<Device>,
}

/// Reason why a model is not on the device.
#[derive(Debug)]
pub(crate) enum Unready {
    /// An error of the library.
    Library(Error),
    /// An error before the library was called.
    Other(String),
}

/// Function that puts a model on the device.
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

/// Reason why nodes are not computed on the device.
pub(crate) enum NotComputed {
    /// The device cannot compute these nodes, so the runtime computes them.
    Refused(Vec<Refusal>),
    /// A problem of the device or of an option, which is reported to the runtime as an error.
    Failed(String),
}

/// Puts nodes on the device, unless they are there already. `nodes` are the nodes that were read, in the same order.
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
