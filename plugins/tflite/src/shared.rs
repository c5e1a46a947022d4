//! What a delegate has, and the kernels that it makes have with it.

use std::{
    fs, io,
    ops::ControlFlow,
    path::Path,
    process,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use texpool::{Model, Session, gpu::PerProcess};

use crate::{
    abi::TfLiteDelegate,
    device::Device,
    log::tell,
    options::Options,
    python_signals::interruptible,
    ready::{Ready, Unready},
    report::{self, GraphReport, Planned},
    select::Part,
};

/// Graphs that are remembered: their reports, and what was taken of them. Chosen; the rest are long gone.
const REMEMBERED: usize = 8;

/// What a delegate has.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    /// The device, once it is opened.
    device: PerProcess<Mutex<Option<Arc<Device>>>>,
    /// Parts that the runtime is about to make kernels of, by graph.
    waiting: Mutex<Vec<(usize, Part)>>,
    reports: Mutex<Vec<(usize, GraphReport)>>,
    /// Whether a run's warnings were told.
    warned: AtomicBool,
}

/// What a kernel has with the delegate that it is made for.
///
/// # Safety
/// The pointer is NULL, or to a delegate whose data is one that an [`Arc`] of this holds.
pub(crate) unsafe fn shared_of(delegate: *const TfLiteDelegate) -> Result<Arc<Shared>, String> {
    // SAFETY: as the caller of this function promises.
    unsafe {
        let shared = delegate.as_ref().map(|delegate| delegate.data.cast_const().cast::<Shared>());
        let shared = shared.ok_or_else(|| "the runtime gives no delegate".to_owned())?;
        Arc::increment_strong_count(shared);
        Ok(Arc::from_raw(shared))
    }
}

impl Shared {
    pub(crate) fn new(options: Options) -> Result<Self, String> {
        let made = Self {
            options,
            device: PerProcess::new(),
            waiting: Mutex::default(),
            reports: Mutex::default(),
            warned: AtomicBool::new(false),
        };
        made.device()?;
        Ok(made)
    }

    /// The device; another one where the last is lost, or in a fork of the process that opened it.
    fn device(&self) -> Result<Arc<Device>, String> {
        let mut device = locked(self.device.get());
        match &*device {
            Some(open) if !open.is_lost() => Ok(Arc::clone(open)),
            _ => Ok(Arc::clone(device.insert(Device::open(&self.options.named)?))),
        }
    }

    /// Plans a model, unless there is a saved plan, and puts it on the device.
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
        let planned = Planned {
            pool: compiled.pool_bytes(),
            device: memory.planned.sum(),
            reserved: memory.reserved,
            stopped: compiled.stopped().is_some(),
        };
        Ok(Ready { session, planned, device })
    }

    /// Tells once of what a run met that its answers do not show: values that are no numbers, or were clamped.
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

    /// Keeps parts until the runtime has made kernels of them. Answers how many there were of which it has made none.
    pub(crate) fn wait(&self, graph: usize, parts: Vec<Part>) -> usize {
        let mut waiting = locked(&self.waiting);
        let before = waiting.len();
        waiting.retain(|(other, _)| *other != graph);
        let removed = before - waiting.len();
        waiting.extend(parts.into_iter().map(|part| (graph, part)));
        removed
    }

    /// The part of a graph that has these nodes.
    pub(crate) fn take(&self, graph: usize, nodes: &[i32]) -> Option<Part> {
        let mut waiting = locked(&self.waiting);
        let at = waiting.iter().position(|(other, part)| *other == graph && part.partition.nodes == nodes)?;
        Some(waiting.swap_remove(at).1)
    }

    /// Notes what became of a graph.
    pub(crate) fn note(&self, graph: usize, report: GraphReport) -> Result<(), String> {
        let mut reports = locked(&self.reports);
        reports.retain(|(other, _)| *other != graph);
        if reports.len() == REMEMBERED {
            reports.remove(0);
        }
        reports.push((graph, report));
        self.write(&reports)
    }

    /// Notes what a part of it takes.
    pub(crate) fn note_planned(&self, graph: usize, nodes: &[i32], planned: Planned) -> Result<(), String> {
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
        write(file, &text).map_err(|error| format!("option `report`: cannot write {}: {error}", file.display()))
    }
}

/// Under another name until it is whole.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let mut part = file.as_os_str().to_owned();
    part.push(format!(".{}.part", process::id()));
    fs::write(&part, text)?;
    fs::rename(part, file)
}

/// Whoever panicked with it has left it whole: lists are put in and taken out at once.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Options, Shared};

    /// Kernels of a lost device fail; those that are made afterwards are on another one.
    #[test]
    fn a_lost_device_is_replaced() {
        let shared = Shared::new(Options::parse(&[]).unwrap()).unwrap();
        let first = shared.device().unwrap();
        assert!(std::sync::Arc::ptr_eq(&first, &shared.device().unwrap()));
        first.context().device().destroy();
        let _ = first.context().device().poll(texpool::wgpu::PollType::Poll);
        assert!(first.is_lost());
        assert!(!shared.device().unwrap().is_lost());
    }
}
