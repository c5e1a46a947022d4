//! What is asked of a session, as `python/texpool/_options.py` has checked it.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use pyo3::{exceptions::PyValueError, prelude::*};
use texpool::{
    CompileBuilder, ImportOptions, TexelFormat,
    import::FakeQuant,
    rewrite::{Rules, UnknownRule},
};

/// An operator that runs over all its rows at once has streamed weights in tiles of so many bytes, as the command has it.
const WEIGHT_TILE: u64 = 64 << 10;

/// The options of a session, and of the front of a model, by name.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    budget: Option<u64>,
    phases: Option<String>,
    stream: Option<String>,
    precision: Option<String>,
    rules: Option<Vec<String>>,
    deadline: Option<f64>,
    dims: BTreeMap<String, usize>,
    fake_quant: bool,
    pub(crate) device: Option<String>,
    pub(crate) timeout: Option<f64>,
    pub(crate) cache_dir: Option<PathBuf>,
}

impl Options {
    /// What is bound when the model is read.
    pub(crate) fn import(&self) -> ImportOptions {
        let fake_quant = if self.fake_quant { FakeQuant::On } else { FakeQuant::Off };
        ImportOptions { dims: self.dims.clone(), fake_quant, ..ImportOptions::default() }
    }

    /// Whether the search for a plan may take long, so that the plan is worth keeping.
    pub(crate) fn search_is_long(&self) -> bool {
        self.budget.is_some() || self.phases.is_some() || self.stream.is_some()
    }

    /// All that decides which plan is found.
    pub(crate) fn plan_key(&self) -> String {
        let Self { budget, phases, stream, precision, rules, dims, fake_quant, .. } = self;
        format!("{budget:?} {phases:?} {stream:?} {precision:?} {rules:?} {dims:?} {fake_quant}")
    }

    /// What the rewriter may do.
    fn rules(&self) -> Result<Option<Rules>, UnknownRule> {
        let Some(names) = &self.rules else { return Ok(None) };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Ok(Some(match names[..] {
            ["default"] => Rules::default(),
            ["exact"] => Rules::exact(),
            ["all"] => Rules::all(),
            ["none"] => Rules::none(),
            _ => Rules::only(&names)?,
        }))
    }

    /// Says all of it to a builder.
    pub(crate) fn apply<'a>(&self, mut builder: CompileBuilder<'a>) -> PyResult<CompileBuilder<'a>> {
        if let Some(bytes) = self.budget {
            builder = builder.device_budget(bytes);
        }
        let phases = self.phases.as_deref();
        builder = match phases {
            Some("auto") => builder.balanced(),
            Some("min") => builder.smallest(),
            _ => builder,
        };
        // As the command has it: the smallest pool is meant to be small.
        let stream = self.stream.as_deref().unwrap_or(if phases == Some("min") { "all" } else { "none" });
        if matches!(stream, "weights" | "all") {
            builder = builder.stream_weights(WEIGHT_TILE);
        }
        if matches!(stream, "io" | "all") {
            builder = builder.stream_inputs().stream_outputs();
        }
        if self.precision.as_deref() == Some("f16") {
            builder = builder.texels(TexelFormat::Rgba16Float);
        }
        if let Some(rules) = self.rules().map_err(|error| PyValueError::new_err(error.to_string()))? {
            builder = builder.rules(rules);
        }
        if let Some(seconds) = self.deadline {
            builder = builder.deadline(duration(seconds)?);
        }
        Ok(builder)
    }
}

/// A time in seconds.
pub(crate) fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(format!("{seconds} seconds: {error}")))
}
