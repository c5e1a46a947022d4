//! Creates, runs and closes sessions.

use std::{
    collections::BTreeMap,
    ffi::CString,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use pyo3::{
    exceptions::{PyRuntimeError, PyRuntimeWarning, PyUserWarning},
    prelude::*,
    types::{PyBytes, PyDict, PyList},
};
use texpool::{CompiledModel, Error, ModelMetadata, Outputs, RunWarnings, StopReason, TensorError, TensorInfo};

use crate::{
    array::{Array, name_of, numpy_name},
    device::Device,
    errors::{
        classes::{ClosedError, NoSuchTensorError, TensorValueError},
        of_planner, raised,
    },
    interrupt::{detached, take_raised},
    memory::{self, Block},
    model::{ModelOnDevice, Source},
    options::{Options, Pair},
    slot::{Slot, Unusable},
    values::array_of,
};

/// A model on a device. Only one thread at a time uses it.
#[pyclass(frozen)]
pub(crate) struct Session {
    slot: Arc<Slot<texpool::Session>>,
    compiled: CompiledModel,
    device: Arc<Device>,
    timeout: Duration,
    /// Duration of the last run inside the library, in nanoseconds.
    run_nanoseconds: AtomicU64,
    /// Set once the warnings of a run were issued.
    warned: AtomicBool,
    /// Open batches that were taken as 1: an input for each, and its name.
    assumed: Vec<(String, String)>,
    /// Outputs and inputs whose values are carried, by index.
    carried: Mutex<Vec<(usize, usize)>>,
}

/// Name, shape, type, and quantization (scale and zero point) of an input or output.
type TensorTuple = (String, Vec<usize>, &'static str, Option<(f32, i32)>);

/// Facts that a model's file states about its origin.
type Metadata<'s> = (&'s str, &'s str, &'s str, &'s str, &'s str, i64, &'s BTreeMap<String, String>);

/// Reasons for which a run can fail.
enum Failure {
    Unusable(Unusable),
    View(usize, TensorError),
    Texpool(Error),
}

impl Session {
    /// Creates a session of a compiled model on its device.
    fn create(py: Python<'_>, compiled: CompiledModel, device: Arc<Device>, timeout: Duration) -> PyResult<Self> {
        let mut session = detached(py, || compiled.session())?.map_err(raised)?;
        // Sessions share the device, but each has a separate timeout.
        session.set_timeout(timeout);
        Ok(Self {
            slot: Arc::new(Slot::new(session)),
            compiled,
            device,
            timeout,
            run_nanoseconds: AtomicU64::new(0),
            warned: AtomicBool::new(false),
            assumed: Vec::new(),
            carried: Mutex::new(Vec::new()),
        })
    }

    /// Uses the session without the interpreter's lock, once no other thread is using it.
    fn with<R: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut texpool::Session) -> R + Send) -> PyResult<R> {
        self.check_process()?;
        detached(py, || self.slot.with(work))?.map_err(unusable)
    }

    /// Fails in a forked child: it inherits the parent's memory, but cannot use its device.
    fn check_process(&self) -> PyResult<()> {
        if !self.device.context.is_inherited() {
            return Ok(());
        }
        Err(PyRuntimeError::new_err(
            "the session was made before this process was forked; make sessions in the process that runs them, or start \
             processes by the method \"spawn\"",
        ))
    }

    /// Returns the outputs and inputs whose values are carried.
    fn carried(&self) -> Vec<(usize, usize)> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens the given arrays, and pairs each with the index of its input.
    fn arrays(&self, feed: &Bound<'_, PyDict>) -> PyResult<Vec<(usize, Array)>> {
        let inputs = self.compiled.inputs();
        let mut arrays = Vec::with_capacity(inputs.len());
        for (key, value) in feed.iter() {
            let name = name_of(&key)?;
            let index = index_of(inputs, &name, "input")?;
            arrays.push((index, Array::new(&value, &inputs[index])?));
        }
        let carried = self.carried();
        let has_values = |index: &usize| {
            arrays.iter().any(|(fed, _)| fed == index) || carried.iter().any(|(_, input)| input == index)
        };
        let missing: Vec<&str> =
            (0..inputs.len()).filter(|index| !has_values(index)).map(|index| inputs[index].name.as_str()).collect();
        if missing.is_empty() {
            return Ok(arrays);
        }
        Err(TensorValueError::new_err(format!("these inputs have no values: {}", missing.join(", "))))
    }
}

/// Returns the index of the input or output with this name.
fn index_of(tensors: &[TensorInfo], name: &str, role: &str) -> PyResult<usize> {
    tensors.iter().position(|tensor| tensor.name == name).ok_or_else(|| {
        let names: Vec<&str> = tensors.iter().map(|tensor| tensor.name.as_str()).collect();
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let are = if let [_] = names[..] { " is" } else { "s are" };
        NoSuchTensorError::new_err(format!("the model has no {role} `{name}`; its {role}{are} {}", names.join(", ")))
    })
}

fn unusable(why: Unusable) -> PyErr {
    match why {
        Unusable::Closed => ClosedError::new_err("the session is closed"),
        Unusable::Interrupted => take_raised().unwrap_or_else(|| PyRuntimeError::new_err("the wait was interrupted")),
    }
}

fn described(tensors: &[TensorInfo]) -> Vec<TensorTuple> {
    let one = |tensor: &TensorInfo| {
        let quantization = tensor.quantization.map(|stated| (stated.scale, stated.zero_point));
        (tensor.name.clone(), tensor.dims.clone(), numpy_name(tensor.element_type), quantization)
    };
    tensors.iter().map(one).collect()
}

/// Warns the caller of `InferenceSession` of a batch that was taken as 1.
fn warn_of_assumed(py: Python<'_>, assumed: &[(String, String)]) -> PyResult<()> {
    let names: Vec<&str> = assumed.iter().map(|(_, name)| &name[..]).collect();
    let [first, ..] = names[..] else { return Ok(()) };
    let text = format!(
        "the model's batch `{}` is open and taken as 1; a run of another plans for it, dims={{{first:?}: N}} beforehand",
        names.join("`, `")
    );
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(text)?, 2)
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (source, options, plan, kept_plan, progress))]
    fn new(
        py: Python<'_>,
        source: Source,
        options: Vec<Pair>,
        plan: Option<&[u8]>,
        kept_plan: Option<&[u8]>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let options = Options::parse(&options)?;
        let opened = ModelOnDevice::new(py, &source, &options)?;
        warn_of_assumed(py, &opened.assumed)?;
        let compiled = opened.compile(py, &options, (plan, kept_plan), progress)?;
        // The model keeps a copy of the bytes, or the file.
        drop(source);
        let created = Self::create(py, compiled, opened.device, options.named.gpu().timeout)?;
        Ok(Self { assumed: opened.assumed, ..created })
    }

    /// Creates another session of the same compiled model, which shares the weights.
    fn another(&self, py: Python<'_>) -> PyResult<Self> {
        self.check_process()?;
        let created = Self::create(py, self.compiled.clone(), Arc::clone(&self.device), self.timeout)?;
        Ok(Self { assumed: self.assumed.clone(), ..created })
    }

    fn run<'py>(
        &self,
        py: Python<'py>,
        names: Option<Vec<String>>,
        feed: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (outputs, carried) = (self.compiled.outputs(), self.carried());
        let is_carried = |index: &usize| carried.iter().any(|(output, _)| output == index);
        let indices: Vec<usize> = match names {
            None => (0..outputs.len()).filter(|index| !is_carried(index)).collect(),
            Some(names) => {
                let index = |name: &String| index_of(outputs, name, "output");
                names.iter().map(index).collect::<PyResult<Vec<_>>>()?
            }
        };
        // A run returns no output that is carried.
        let mut on_device: Vec<usize> = indices.iter().copied().filter(is_carried).collect();
        on_device.dedup();
        let arrays = self.arrays(feed)?;
        let run = |session: &mut texpool::Session| {
            let mut views = Vec::with_capacity(arrays.len());
            for (index, array) in &arrays {
                views.push((*index, array.view().map_err(|error| Failure::View(*index, error))?));
            }
            let begun = Instant::now();
            let results = session.run(views).map_err(Failure::Texpool);
            let of_state = match on_device[..] {
                [] => Ok(Outputs::default()),
                _ => session.read(on_device.iter().copied()).map_err(Failure::Texpool),
            };
            let took = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.run_nanoseconds.store(took, Ordering::Relaxed);
            let (results, of_state) = (results?, of_state?);
            // Query the warnings only until they were issued once, because that waits for the device.
            let warnings = match self.warned.load(Ordering::Relaxed) {
                true => RunWarnings::default(),
                false => session.warnings().map_err(Failure::Texpool)?,
            };
            Ok((results, of_state, warnings))
        };
        self.check_process()?;
        let ran = detached(py, || self.slot.with(run).map_err(Failure::Unusable).flatten())?;
        let (mut results, mut of_state, warnings) = ran.map_err(|failure| match failure {
            Failure::Unusable(why) => unusable(why),
            Failure::View(input, error) => {
                let name = &self.compiled.inputs()[input].name;
                TensorValueError::new_err(format!("input `{name}`: {error}"))
            }
            Failure::Texpool(error) => raised(error),
        })?;
        if !warnings.is_empty() && !self.warned.swap(true, Ordering::Relaxed) {
            // Stack level 2 attributes the warning to the caller of `InferenceSession.run`. If the caller has turned
            // warnings into errors, `?` raises it.
            let text = CString::new(format!("{warnings}; later runs of this session are not warned of"))?;
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 2)?;
        }
        // An output requested twice returns the same array.
        let mut result_arrays: Vec<(usize, Bound<'py, PyAny>)> = Vec::with_capacity(indices.len());
        let list = PyList::empty(py);
        for index in indices {
            let array = match result_arrays.iter().find(|(other, _)| *other == index) {
                Some((_, array)) => array.clone(),
                None => {
                    let tensor = results
                        .take(index)
                        .or_else(|| of_state.take(index))
                        .ok_or_else(|| PyRuntimeError::new_err(format!("the run has no output {index}")))?;
                    let array = array_of(py, tensor)?;
                    result_arrays.push((index, array.clone()));
                    array
                }
            };
            list.append(array)?;
        }
        Ok(list)
    }

    fn inputs(&self) -> Vec<TensorTuple> {
        described(self.compiled.inputs())
    }

    fn outputs(&self) -> Vec<TensorTuple> {
        described(self.compiled.outputs())
    }

    /// Open batches that were taken as 1: an input for each, and its name.
    fn assumed(&self) -> Vec<(String, String)> {
        self.assumed.clone()
    }

    /// Fields of the Python class `ModelMetadata`, in its order.
    fn metadata(&self) -> Metadata<'_> {
        let ModelMetadata {
            producer_name, graph_name, graph_description, domain, description, version, custom, ..
        } = self.compiled.model().metadata();
        (producer_name, graph_name, domain, description, graph_description, *version, custom)
    }

    fn memory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let memory = self.with(py, |session| session.memory())?;
        memory::account(py, memory)
    }

    /// Carries the values of an output to an input.
    fn carry(&self, py: Python<'_>, output: &str, input: &str) -> PyResult<()> {
        let from = index_of(self.compiled.outputs(), output, "output")?;
        let to = index_of(self.compiled.inputs(), input, "input")?;
        self.with(py, |session| session.carry(from, to))?.map_err(raised)?;
        self.carried.lock().unwrap_or_else(PoisonError::into_inner).push((from, to));
        Ok(())
    }

    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, texpool::Session::reset)
    }

    fn trim(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, texpool::Session::trim)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.check_process()?;
        // Dropped without the interpreter's lock, because dropping waits for the driver.
        detached(py, || self.slot.close().map(drop))?.map_err(unusable)
    }

    #[getter]
    fn adapter(&self) -> String {
        self.device.context.device().adapter_info().name
    }

    #[getter]
    fn precision(&self) -> &'static str {
        match self.compiled.texels() {
            texpool::TexelFormat::Rgba32Float | texpool::TexelFormat::Rgba32Uint => "f32",
            texpool::TexelFormat::Rgba16Float => "f16",
            texpool::TexelFormat::Rgba8Uint => "u8",
        }
    }

    #[getter]
    fn pool_bytes(&self) -> u64 {
        self.compiled.pool_bytes()
    }

    #[getter]
    fn predicted_seconds(&self) -> Option<f64> {
        self.compiled.predicted_time().map(|time| time.as_secs_f64())
    }

    /// Returns the duration of the last run inside the library, without the overhead of Python.
    #[getter]
    fn run_seconds(&self) -> f64 {
        self.run_nanoseconds.load(Ordering::Relaxed) as f64 / 1e9
    }

    #[getter]
    fn stopped(&self) -> Option<&'static str> {
        self.compiled.stopped().map(stop_name)
    }

    fn plan<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.compiled.save())
    }

    /// Returns the size of each texture in bytes, the number of steps, and all blocks in the pool.
    fn memory_map(&self) -> PyResult<(Vec<u64>, usize, Vec<Block>)> {
        let textures = self.compiled.plan().textures.iter().map(|texture| texture.bytes()).collect();
        let blocks = memory::blocks(&self.compiled).map_err(|error| of_planner(&error))?;
        Ok((textures, self.compiled.compiled().schedule().steps.len(), blocks))
    }
}

/// Returns Python's name for the reason.
pub(crate) const fn stop_name(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Deadline => "deadline",
        StopReason::Cancelled => "cancelled",
        StopReason::TooManyTensors => "too_many_tensors",
        _ => "other",
    }
}
