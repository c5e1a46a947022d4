//! Models and their plans.

use std::{path::PathBuf, sync::Arc};

use pyo3::{exceptions::PyValueError, prelude::*, pybacked::PyBackedBytes, types::PyBytes};
use texpool::{CompiledModel, Context, Error, ImportError, ImportOptions, Model};

use crate::{
    device::Device,
    errors::raised,
    interrupt::detached,
    options::{Options, Pair},
    search::search,
};

/// A model's bytes, or the path of its file.
#[derive(FromPyObject)]
pub(crate) enum Source {
    Bytes(PyBackedBytes),
    Path(PathBuf),
}

/// A model together with its device.
pub(crate) struct ModelOnDevice {
    pub(crate) model: Model,
    pub(crate) device: Arc<Device>,
    /// Open batches that nobody bound and that were taken as 1: an input for each, and its name.
    pub(crate) assumed: Vec<(String, String)>,
    context: Context,
}

impl ModelOnDevice {
    /// Reads a model and opens its device.
    pub(crate) fn new(py: Python<'_>, source: &Source, options: &Options) -> PyResult<Self> {
        let Options { named, .. } = options;
        let opened = detached(py, || {
            let (model, assumed) = read(source, named.import())?;
            Ok::<_, Error>((model, assumed, Device::open(named.gpu().adapter.clone())?))
        });
        let (model, assumed, device) = opened?.map_err(raised)?;
        let context = named.with_folder(device.context.clone());
        Ok(Self { model, device, assumed, context })
    }

    /// Loads the given plan if there is one. Otherwise uses the cached plan, if it belongs to this model and fits the
    /// device. Otherwise searches for a plan.
    pub(crate) fn compile(
        &self,
        py: Python<'_>,
        options: &Options,
        (plan, kept_plan): (Option<&[u8]>, Option<&[u8]>),
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<CompiledModel> {
        let Self { model, context, .. } = self;
        if let Some(plan) = plan {
            if let Some(name) = options.named.of_plan() {
                let says = "a saved plan says all that decides on a plan";
                return Err(PyValueError::new_err(format!("{says}; leave {name} out")));
            }
            return detached(py, || context.load(model, plan))?.map_err(raised);
        }
        if let Some(bytes) = kept_plan
            && let Ok(compiled) = detached(py, || context.load(model, bytes))?
        {
            return Ok(compiled);
        }
        let builder = context.compile(model).named_options(&options.named);
        search(py, progress, |tell| builder.progress(tell).build())?.map_err(raised)
    }
}

/// Reads a model. If only extents of batches are open, which programs written for ONNX Runtime leave open, they are taken
/// as 1; returns an input for each, and its name.
fn read(source: &Source, options: &ImportOptions) -> Result<(Model, Vec<(String, String)>), Error> {
    let read = |options: &ImportOptions| match source {
        Source::Bytes(bytes) => Model::from_bytes_with(&bytes[..], options),
        Source::Path(path) => Model::open_with(path, options),
    };
    match read(options) {
        Err(Error::Import(ImportError::UnresolvedDim(open))) if open.iter().all(|dim| dim.axis == 0 && !dim.zero) => {
            let mut assumed: Vec<(String, String)> = open.into_iter().map(|dim| (dim.input, dim.name)).collect();
            assumed.sort_by(|(_, one), (_, other)| one.cmp(other));
            assumed.dedup_by(|(_, one), (_, other)| one == other);
            let mut options = options.clone();
            options.dims.extend(assumed.iter().map(|(_, name)| (name.clone(), 1)));
            Ok((read(&options)?, assumed))
        }
        read => Ok((read?, Vec::new())),
    }
}

/// Device bytes, pool bytes among them, predicted seconds, and saved plan.
type Point<'py> = (u64, u64, Option<f64>, Bound<'py, PyBytes>);

/// Returns the Pareto front of plans by device bytes and time.
#[pyfunction]
#[pyo3(signature = (source, options, progress))]
pub(crate) fn pareto_front<'py>(
    py: Python<'py>,
    source: Source,
    options: Vec<Pair>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<Point<'py>>> {
    let options = Options::parse(&options)?;
    let opened = ModelOnDevice::new(py, &source, &options)?;
    let builder = opened.context.compile(&opened.model).named_options(&options.named);
    let points = search(py, progress, |tell| builder.progress(tell).pareto_front())?.map_err(raised)?;
    let point = |compiled: CompiledModel| {
        let seconds = compiled.predicted_time().map(|time| time.as_secs_f64());
        (compiled.device_bytes(), compiled.pool_bytes(), seconds, PyBytes::new(py, &compiled.save()))
    };
    Ok(points.into_iter().map(point).collect())
}
