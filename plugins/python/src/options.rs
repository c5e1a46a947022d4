//! Options of sessions, as names and strings written by `python/texpool/_options.py`.

use std::time::Duration;

use pyo3::{exceptions::PyValueError, prelude::*};
use texpool::NamedOptions;

/// Name and value of an option.
pub(crate) type Pair = (String, String);

/// Options of a session or of a Pareto front.
pub(crate) struct Options {
    pub(crate) named: NamedOptions,
}

impl Options {
    /// Parses the values of the options.
    pub(crate) fn parse(pairs: &[Pair]) -> PyResult<Self> {
        let texts = pairs.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let named = NamedOptions::parse(texts).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { named })
    }
}

/// Converts seconds into a duration.
pub(crate) fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(format!("{seconds} seconds: {error}")))
}
