//! Models that are ready to run on the device, and errors for those that are not.

use std::{fmt, sync::Arc};

use texpool::{Error, Model, Session};

use crate::{device::Device, report::PartMemory};

/// A model on the device, ready to run.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) session: Session,
    pub(crate) planned: PartMemory,
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
