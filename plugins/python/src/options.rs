//! Options of sessions, by name and text as `python/texpool/_options.py` writes them.

use std::time::Duration;

use pyo3::{exceptions::PyValueError, prelude::*};
use texpool::NamedOptions;

/// An option's name and text.
pub(crate) type Pair = (String, String);

/// Options that have no part in which plan is found: those of the device, of time, and the folder that it is kept in.
const BESIDE_THE_PLAN: [&str; 4] = ["adapter", "timeout", "deadline", "cache_dir"];
/// Options that ask for a search which may take long.
const SEARCHED: [&str; 4] = ["budget", "phases", "stream", "strategy"];

/// The options of a session, and of the front of a model.
pub(crate) struct Options {
    pub(crate) named: NamedOptions,
    pairs: Vec<Pair>,
}

impl Options {
    /// Reads their texts.
    pub(crate) fn parse(mut pairs: Vec<Pair>) -> PyResult<Self> {
        let texts = pairs.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let named = NamedOptions::parse(texts).map_err(|error| PyValueError::new_err(error.to_string()))?;
        pairs.sort();
        Ok(Self { named, pairs })
    }

    /// Whether the search for a plan may take long, so that the plan is worth keeping.
    pub(crate) fn search_is_long(&self) -> bool {
        self.pairs.iter().any(|(name, _)| SEARCHED.contains(&name.as_str()))
    }

    /// All that decides which plan is found.
    pub(crate) fn plan_key(&self) -> String {
        let decides = |(name, _): &&Pair| !BESIDE_THE_PLAN.contains(&name.as_str());
        format!("{:?}", self.pairs.iter().filter(decides).collect::<Vec<_>>())
    }
}

/// A time in seconds.
pub(crate) fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(format!("{seconds} seconds: {error}")))
}
