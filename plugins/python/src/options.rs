//! Options of sessions, by name and text as `python/texpool/_options.py` writes them.

use std::time::Duration;

use pyo3::{exceptions::PyValueError, prelude::*};
use texpool::NamedOptions;

/// An option's name and text.
pub(crate) type Pair = (String, String);

/// The options of a session, and of the front of a model.
pub(crate) struct Options {
    pub(crate) named: NamedOptions,
}

impl Options {
    /// Reads their texts.
    pub(crate) fn parse(pairs: &[Pair]) -> PyResult<Self> {
        let texts = pairs.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let named = NamedOptions::parse(texts).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { named })
    }
}

/// A time in seconds.
pub(crate) fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(format!("{seconds} seconds: {error}")))
}
