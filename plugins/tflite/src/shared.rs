//! State shared by a delegate and its kernels.

use std::{
    ops::ControlFlow,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use texpool::{Model, Session};
use texpool_cache::write_report;
use texpool_gpu::PerProcess;

use crate::{
    abi::TfLiteDelegate,
    device::Device,
    first_values::FirstValues,
    log::tell,
    options::Options,
    python_signals::interruptible,
    ready::{Ready, Unready},
    report::{self, GraphReport, PartMemory},
    select::Part,
};

/// Maximum number of graphs whose reports are kept. An arbitrary choice; older graphs have probably been deleted.
const REMEMBERED: usize = 8;

/// State of a delegate.
#[derive(Debug)]
pub(crate) struct DelegateState {
    pub(crate) options: Options,
    /// The device, once it is open.
    device: PerProcess<Mutex<Option<Arc<Device>>>>,
    /// Parts that the runtime is about to turn into kernels, by graph.
    waiting: Mutex<Vec<(usize, Part)>>,
    reports: Mutex<Vec<(usize, GraphReport)>>,
    pub(crate) first_values: FirstValues,
    /// Set once the warnings of a run were printed.
    warned: AtomicBool,
}

/// Returns the shared state of the delegate that a kernel is created for.
///
/// # Safety
/// The pointer is NULL, or it points to a delegate whose data comes from an [`Arc`] of [`DelegateState`].
pub(crate) unsafe fn shared_of(delegate: *const TfLiteDelegate) -> Result<Arc<DelegateState>, String> {
    // SAFETY: as the caller of this function promises.
    unsafe {
        let shared = delegate.as_ref().map(|delegate| delegate.data.cast_const().cast::<DelegateState>());
        let shared = shared.ok_or_else(|| "the runtime gives no delegate".to_owned())?;
        Arc::increment_strong_count(shared);
        Ok(Arc::from_raw(shared))
    }
}

impl DelegateState {
    pub(crate) fn new(options: Options) -> Result<Self, String> {
        let shared = Self {
            options,
            device: PerProcess::new(),
            waiting: Mutex::default(),
            reports: Mutex::default(),
            first_values: FirstValues::default(),
            warned: AtomicBool::new(false),
        };
        shared.device()?;
        Ok(shared)
    }

    /// Returns the device. Opens a new one if the last one is lost, or if this process is a fork of the one that
    /// opened it.
    fn device(&self) -> Result<Arc<Device>, String> {
        let mut device = locked(self.device.get());
        match &*device {
            Some(open) if !open.is_lost() => Ok(Arc::clone(open)),
            _ => Ok(Arc::clone(device.insert(Device::open(&self.options.named)?))),
        }
    }

    /// Loads the saved plan or, without a valid one, searches for a plan. Then puts the model on the device.
    pub(crate) fn session(&self, model: &Model, plan: Option<&[u8]>) -> Result<Ready, Unready> {
        let device = self.device().map_err(Unready::Other)?;
        let context = self.options.named.with_folder(device.context().clone());
        let compiled = match plan.and_then(|plan| context.load(model, plan).ok()) {
            Some(compiled) => compiled,
            None => {
                let builder = context.compile(model).named_options(&self.options.named);
                let searched = interruptible(|ends| {
                    let ended = || ends.load(Ordering::Relaxed);
                    builder
                        .progress(|_| if ended() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                        .build()
                });
                let searched = searched.map_err(|error| Unready::Other(format!("no thread to plan on: {error}")))?;
                searched?
            }
        };
        let session = compiled.session()?;
        let memory = session.memory();
        let planned = PartMemory {
            pool: compiled.pool_bytes(),
            device: memory.planned.sum(),
            reserved: memory.reserved,
            stopped: compiled.stopped().is_some(),
        };
        Ok(Ready { session, planned, device })
    }

    /// Prints warnings about a run, once per delegate, for problems that do not show in the results: NaN or infinite
    /// values, and values that were clamped.
    pub(crate) fn warn_once(&self, session: &mut Session) -> Result<(), String> {
        if self.warned.load(Ordering::Relaxed) {
            return Ok(());
        }
        let warnings = session.warnings().map_err(|error| error.to_string())?;
        if !warnings.is_empty() && !self.warned.swap(true, Ordering::Relaxed) {
            tell(&format!("warning, told once: {warnings}"));
        }
        Ok(())
    }

    /// Stores parts until the runtime has turned them into kernels. Returns the number of earlier parts that were not
    /// used.
    pub(crate) fn wait(&self, graph: usize, parts: Vec<Part>) -> usize {
        let mut waiting = locked(&self.waiting);
        let before = waiting.len();
        waiting.retain(|(other, _)| *other != graph);
        let removed = before - waiting.len();
        waiting.extend(parts.into_iter().map(|part| (graph, part)));
        removed
    }

    /// Removes and returns the part of a graph that has these nodes.
    pub(crate) fn take(&self, graph: usize, nodes: &[i32]) -> Option<Part> {
        let mut waiting = locked(&self.waiting);
        let at = waiting.iter().position(|(other, part)| *other == graph && part.partition.nodes == nodes)?;
        Some(waiting.swap_remove(at).1)
    }

    /// Stores the report on a graph.
    pub(crate) fn note(&self, graph: usize, report: GraphReport) -> Result<(), String> {
        let mut reports = locked(&self.reports);
        reports.retain(|(other, _)| *other != graph);
        if reports.len() == REMEMBERED {
            reports.remove(0);
        }
        reports.push((graph, report));
        self.write(&reports)
    }

    /// Adds the memory usage of a part to its report.
    pub(crate) fn note_planned(&self, graph: usize, nodes: &[i32], planned: PartMemory) -> Result<(), String> {
        let mut reports = locked(&self.reports);
        let graphs = reports.iter_mut().filter(|(other, _)| *other == graph);
        for part in graphs.flat_map(|(_, report)| &mut report.parts).filter(|part| part.nodes == nodes) {
            part.planned = Some(planned);
        }
        self.write(&reports)
    }

    fn write(&self, reports: &[(usize, GraphReport)]) -> Result<(), String> {
        let Some(file) = &self.options.report else { return Ok(()) };
        let text = report::file(reports.iter().map(|(_, report)| report));
        write_report(file, &text).map_err(|error| format!("option `report`: cannot write {}: {error}", file.display()))
    }
}

/// Locks a mutex. A poisoned lock is fine, because every change to these lists is a single operation.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{DelegateState, Options};

    /// Kernels on a lost device fail; later ones are created on a new device.
    #[test]
    fn a_lost_device_is_replaced() {
        let shared = DelegateState::new(Options::parse(&[]).unwrap()).unwrap();
        let first = shared.device().unwrap();
        assert!(std::sync::Arc::ptr_eq(&first, &shared.device().unwrap()));
        first.context().device().destroy();
        let _ = first.context().device().poll(texpool::wgpu::PollType::Poll);
        assert!(first.is_lost());
        assert!(!shared.device().unwrap().is_lost());
    }
}
