//! The device, opened by us or supplied by the caller, and the conversion of its errors into typed errors.

use std::{
    fmt, mem,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
    time::Duration,
};
#[cfg(not(target_arch = "wasm32"))]
use std::{task::Waker, time::Instant};

use super::{DispatchBinding, GpuError, loss::Loss, poll::poll_once, process::Process};
#[cfg(not(target_arch = "wasm32"))]
use super::{
    driver::Driver,
    interrupt::Interrupt,
    poller::{Poller, Polling},
};
use texpool_compile::CompileOptions;
use texpool_ops::graph::{Blocks, DeviceClass};
use texpool_plan::TextureLimits;

/// Default timeout of a wait for the device. It is far longer than any healthy device needs: the largest networks of
/// the catalogue take minutes on SwiftShader with two cores.
pub const TIMEOUT: Duration = Duration::from_secs(600);

/// Options for opening an adapter.
///
/// ```
/// use std::time::Duration;
/// use texpool::{GpuOptions, Polling};
///
/// let options = GpuOptions { adapter: Some("nvidia".to_owned()), timestamps: true, ..GpuOptions::default() };
/// assert_eq!((options.timeout, options.polling), (Duration::from_secs(600), Polling::Thread));
/// ```
#[derive(Clone, Debug)]
pub struct GpuOptions {
    /// Part of the adapter's name, in any case, or its [PCI address](AdapterSummary::pci_bus_id), which distinguishes
    /// two adapters of the same name. If `None`, the environment variable `WGPU_ADAPTER_NAME` is used.
    pub adapter: Option<String>,
    /// Request timestamps if the adapter supports them.
    pub timestamps: bool,
    /// Longest wait for a run or a transfer before the call fails; 600 seconds by default. Browsers ignore it: there,
    /// race the future against a timer of the page. Dropping the future is safe.
    pub timeout: Duration,
    /// Selects which thread polls the device while a future waits.
    #[cfg(not(target_arch = "wasm32"))]
    pub polling: Polling,
    /// Handle that can end blocking waits early; `None` by default.
    #[cfg(not(target_arch = "wasm32"))]
    pub interrupt: Option<Interrupt>,
}

impl Default for GpuOptions {
    fn default() -> Self {
        Self {
            adapter: None,
            timestamps: false,
            timeout: TIMEOUT,
            #[cfg(not(target_arch = "wasm32"))]
            polling: Polling::default(),
            #[cfg(not(target_arch = "wasm32"))]
            interrupt: None,
        }
    }
}

/// Description of an adapter, for listings.
///
/// ```no_run
/// # fn example(adapters: Vec<texpool::AdapterSummary>) -> texpool::GpuOptions {
/// use texpool::GpuOptions;
///
/// // A discrete card, by its address, because two cards may have the same name.
/// let card = adapters.iter().find(|adapter| adapter.kind == "DiscreteGpu" && !adapter.pci_bus_id.is_empty());
/// let adapter = card.map(|card| card.pci_bus_id.clone());
/// GpuOptions { adapter, ..GpuOptions::default() }
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AdapterSummary {
    /// The adapter's name.
    pub name: String,
    /// The backend: `Vulkan`, `Metal`, `Dx12`.
    pub backend: String,
    /// The device type: `Cpu`, `IntegratedGpu`, `DiscreteGpu`, ...
    pub kind: String,
    /// The driver and its version.
    pub driver: String,
    /// Its address on the PCI bus, such as `0000:01:00.0`; empty if it has none or the driver does not report it.
    pub pci_bus_id: String,
    /// Largest extent of a texture.
    pub max_texture_extent: u32,
    /// True if it can time dispatches.
    pub timestamps: bool,
}

/// An open device and its queue. Clones refer to the same device.
#[derive(Clone, Debug)]
pub struct Gpu {
    /// The device.
    pub device: wgpu::Device,
    /// Its queue.
    pub queue: wgpu::Queue,
    shared: Arc<Shared>,
    unsettled: Arc<Mutex<Unsettled>>,
    timeout: Duration,
}

/// State shared by all handles of a device.
#[derive(Debug)]
struct Shared {
    /// Unique number of the device. wgpu's own handles cannot be used instead: they compare equal across instances.
    number: u64,
    /// The process that opened the device.
    process: Process,
    /// Handles that a forked process leaks on purpose, see `Drop`.
    device: wgpu::Device,
    queue: wgpu::Queue,
    loss: Arc<Loss>,
    #[cfg(not(target_arch = "wasm32"))]
    driver: Arc<Driver>,
    #[cfg(not(target_arch = "wasm32"))]
    poller: Arc<Poller>,
    #[cfg(not(target_arch = "wasm32"))]
    polling: Polling,
    #[cfg(not(target_arch = "wasm32"))]
    interrupt: Option<Interrupt>,
}

impl Shared {
    fn new(device: &wgpu::Device, queue: &wgpu::Queue, loss: Loss, options: &GpuOptions) -> Arc<Self> {
        #[cfg(target_arch = "wasm32")]
        let _ = options;
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Arc::new(Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            process: Process::current(),
            device: device.clone(),
            queue: queue.clone(),
            loss: Arc::new(loss),
            #[cfg(not(target_arch = "wasm32"))]
            driver: Arc::default(),
            #[cfg(not(target_arch = "wasm32"))]
            poller: Arc::default(),
            #[cfg(not(target_arch = "wasm32"))]
            polling: options.polling,
            #[cfg(not(target_arch = "wasm32"))]
            interrupt: options.interrupt.clone(),
        })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Closing a device waits for its queue, whose threads do not exist in a forked process.
        if self.process.was_forked() {
            mem::forget((self.device.clone(), self.queue.clone()));
        }
    }
}

/// Error scopes that the device has not answered yet, for the work done through one handle. Native backends answer at
/// once, browsers later.
#[derive(Default)]
struct Unsettled {
    open: Vec<(String, Pin<Box<PoppedScope>>)>,
    /// The first error among the scopes that were answered while no caller waited for them.
    error: Option<GpuError>,
}

#[cfg(not(target_arch = "wasm32"))]
type PoppedScope = dyn Future<Output = Option<wgpu::Error>> + Send;
#[cfg(target_arch = "wasm32")]
type PoppedScope = dyn Future<Output = Option<wgpu::Error>>;

impl Unsettled {
    fn note(&mut self, doing: &str, error: Option<wgpu::Error>) {
        if let (None, Some(error)) = (&self.error, error) {
            self.error = Some(refusal(doing, &error));
        }
    }

    /// Removes the scopes that have been answered, so that they do not pile up when no caller waits.
    fn sweep(&mut self) {
        for (doing, mut error) in mem::take(&mut self.open) {
            match poll_once(error.as_mut()) {
                Poll::Ready(error) => self.note(&doing, error),
                Poll::Pending => self.open.push((doing, error)),
            }
        }
    }
}

impl fmt::Debug for Unsettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let doing: Vec<&str> = self.open.iter().map(|(doing, _)| &doing[..]).collect();
        f.debug_struct("Unsettled").field("open", &doing).field("error", &self.error).finish()
    }
}

fn instance() -> wgpu::Instance {
    #[cfg(target_os = "linux")]
    super::fork_stacks::keep();
    wgpu::Instance::new(
        wgpu::InstanceDescriptor {
            backends: wgpu::Backends::PRIMARY,
            // Enables validation layers only if `WGPU_VALIDATION` requests them, in debug builds too.
            flags: wgpu::InstanceFlags::empty(),
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        }
        .with_env(),
    )
}

/// Lists all adapters.
#[cfg(not(target_arch = "wasm32"))]
pub fn adapters() -> Vec<AdapterSummary> {
    pollster::block_on(adapters_async())
}

/// Async version of `adapters`, for callers that must not block.
pub async fn adapters_async() -> Vec<AdapterSummary> {
    instance().enumerate_adapters(wgpu::Backends::PRIMARY).await.iter().map(summary).collect()
}

fn summary(adapter: &wgpu::Adapter) -> AdapterSummary {
    let info = adapter.get_info();
    AdapterSummary {
        name: info.name,
        backend: format!("{:?}", info.backend),
        kind: format!("{:?}", info.device_type),
        driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
        pci_bus_id: info.device_pci_bus_id,
        max_texture_extent: adapter.limits().max_texture_dimension_2d,
        timestamps: adapter.features().contains(wgpu::Features::TIMESTAMP_QUERY),
    }
}

impl AdapterSummary {
    /// Returns whether `name`, as given in [`GpuOptions::adapter`], selects this adapter.
    ///
    /// ```no_run
    /// # fn example(adapters: Vec<texpool::AdapterSummary>) {
    /// // By a part of the name, or by the address of the card.
    /// for wanted in ["radeon", "0000:01:00.0"] {
    ///     println!("{wanted}: {:?}", adapters.iter().find(|adapter| adapter.is_called(wanted)));
    /// }
    /// # }
    /// ```
    pub fn is_called(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.name.to_lowercase().contains(&name) || self.pci_bus_id.to_lowercase() == name
    }
}

impl Gpu {
    /// Opens an adapter: the named one, or else the one that wgpu prefers. That may be a software adapter if the
    /// machine has no other.
    ///
    /// # Errors
    /// [`GpuError::NoAdapter`], [`GpuError::NoDevice`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(options: &GpuOptions) -> Result<Self, GpuError> {
        pollster::block_on(Self::open_async(options))
    }

    /// Async version of `open`, for callers that must not block.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_async(options: &GpuOptions) -> Result<Self, GpuError> {
        let instance = instance();
        let wanted = options.adapter.clone().or_else(|| std::env::var("WGPU_ADAPTER_NAME").ok());
        let adapter = match wanted {
            Some(name) => {
                let all = instance.enumerate_adapters(wgpu::Backends::PRIMARY).await;
                let names: Vec<String> = all.iter().map(|a| a.get_info().name).collect();
                all.into_iter()
                    .find(|adapter| summary(adapter).is_called(&name))
                    .ok_or_else(|| GpuError::NoAdapter { reason: format!("none is named like {name:?}: {names:?}") })?
            }
            None => instance
                .request_adapter(&wgpu::RequestAdapterOptions {
                    power_preference: wgpu::PowerPreference::HighPerformance,
                    ..Default::default()
                })
                .await
                .map_err(|e| GpuError::NoAdapter { reason: e.to_string() })?,
        };
        if let Some(reason) = super::process::refusal(&adapter.get_info()) {
            return Err(GpuError::NoDevice { adapter: adapter.get_info().name, reason });
        }
        // Each dispatch needs a few words of individual parameters. As immediates, they travel with the commands at
        // no cost.
        let mut required_features = adapter.features() & wgpu::Features::IMMEDIATES;
        if options.timestamps {
            required_features |= adapter.features() & wgpu::Features::TIMESTAMP_QUERY;
        }
        // Every pipeline stays within WebGPU's default limits, so that a plan runs on any device. Only the size
        // limits of textures and buffers are raised to the adapter's.
        let has = adapter.limits();
        let immediates = required_features.contains(wgpu::Features::IMMEDIATES);
        let required_limits = wgpu::Limits {
            max_texture_dimension_2d: has.max_texture_dimension_2d,
            max_buffer_size: has.max_buffer_size,
            max_storage_buffer_binding_size: has.max_storage_buffer_binding_size,
            max_immediate_size: if immediates { DispatchBinding::BYTES.min(has.max_immediate_size) } else { 0 },
            ..wgpu::Limits::default()
        };
        let (device, queue) = adapter
            .request_device(&wgpu::DeviceDescriptor {
                label: Some("texpool"),
                required_features,
                required_limits,
                // By default wgpu allocates device memory in blocks of many megabytes, so a pool of one megabyte
                // would save nothing. This setting selects the smallest blocks, 4 MiB, which many textures and
                // buffers share. Anything larger than a block gets its own allocation of exactly its size.
                memory_hints: wgpu::MemoryHints::Manual { suballocated_device_memory_block_size: 0..0 },
                ..Default::default()
            })
            .await
            .map_err(|e| GpuError::NoDevice { adapter: adapter.get_info().name, reason: e.to_string() })?;
        let shared = Shared::new(&device, &queue, Loss::told_by(&device), options);
        Ok(Self { device, queue, shared, unsettled: Arc::default(), timeout: options.timeout })
    }

    /// Uses a device and queue that the caller supplies. Core WebGPU limits suffice. If the device has `IMMEDIATES`
    /// of 32 bytes, the parameters of single dispatches need no buffer. Waits for the device take at most
    /// 600 seconds.
    ///
    /// The device's callbacks remain the caller's. wgpu reports the reason of a device loss to a single callback, so
    /// a session only detects the loss itself and its error has no reason. A caller can forward the reason from its
    /// callback:
    ///
    /// ```no_run
    /// # fn embed(device: texpool::wgpu::Device, queue: texpool::wgpu::Queue) {
    /// let gpu = texpool_gpu::Gpu::from_device(device.clone(), queue);
    /// let told = gpu.clone();
    /// device.set_device_lost_callback(move |reason, message| told.device_lost(reason, message));
    /// # }
    /// ```
    pub fn from_device(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        Self::from_device_with(device, queue, &GpuOptions::default())
    }

    /// Version of `from_device` with a timeout and a polling mode; the other options only apply to opening a device
    /// and are ignored.
    pub fn from_device_with(device: wgpu::Device, queue: wgpu::Queue, options: &GpuOptions) -> Self {
        let shared = Shared::new(&device, &queue, Loss::probed(&device), options);
        Self { device, queue, shared, unsettled: Arc::default(), timeout: options.timeout }
    }

    /// Returns a number that identifies this device: equal for all clones of this handle, different from any other
    /// handle.
    pub fn number(&self) -> u64 {
        self.shared.number
    }

    /// Records why the device was lost, for all later errors of this device's users. The first recorded reason wins.
    pub fn device_lost(&self, reason: wgpu::DeviceLostReason, message: impl Into<String>) {
        self.shared.loss.note(Some(reason), message.into());
    }

    /// Returns a handle to the same device whose waits, and those of sessions created with it, take at most
    /// `timeout`.
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Returns the longest time that a wait for the device may take.
    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Runs `make` and turns the errors that the device reports into a `GpuError`: immediately on native backends, at
    /// the next [`settle`](Self::settle) in a browser.
    pub(super) fn scoped<T>(&self, doing: &str, make: impl FnOnce() -> T) -> Result<T, GpuError> {
        self.check_told()?;
        let scopes = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::OutOfMemory]
            .map(|filter| self.device.push_error_scope(filter));
        let made = make();
        // Error scopes form a stack, so the last one pushed is popped first.
        let mut first = None;
        for scope in scopes.into_iter().rev() {
            let mut error = scope.pop();
            match poll_once(Pin::new(&mut error)) {
                Poll::Ready(error) => first = first.or(error),
                Poll::Pending => self.unsettled().open.push((doing.to_owned(), Box::pin(error))),
            }
        }
        self.unsettled().sweep();
        self.check_lost()?;
        let Some(error) = first else { return Ok(made) };
        // A lost device refuses everything, possibly before it has reported that it is lost.
        self.check_again()?;
        Err(refusal(doing, &error))
    }

    fn unsettled(&self) -> MutexGuard<'_, Unsettled> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a handle to the same device with its own list of pending errors, so that one piece of work does not
    /// see another's.
    pub(super) fn for_work(&self) -> Self {
        Self { unsettled: Arc::default(), ..self.clone() }
    }

    /// Waits until the device has reported all errors of the work done through this handle. Matters in browsers only.
    pub(super) async fn settle(&self) -> Result<(), GpuError> {
        let Unsettled { open, error } = mem::take(&mut *self.unsettled());
        let mut settled = Unsettled { open: Vec::new(), error };
        for (doing, error) in open {
            settled.note(&doing, error.await);
        }
        settled.error.map_or(Ok(()), Err)
    }

    /// Returns whether this process inherited the handle from the process that forked it.
    pub fn is_inherited(&self) -> bool {
        self.shared.process.was_forked()
    }

    /// Checks that the current process is the one that opened the device. Call it before waiting for the device and
    /// before taking any lock that another thread may have held during a fork.
    ///
    /// # Errors
    /// [`GpuError::Forked`].
    pub fn check_process(&self) -> Result<(), GpuError> {
        self.shared.process.check()
    }

    /// Checks for a loss that is already recorded, without querying the device.
    pub(super) fn check_told(&self) -> Result<(), GpuError> {
        self.check_process()?;
        self.shared.loss.check_told()
    }

    /// Has the poller poll the device until the answer that a task waits for has arrived.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn watch(&self, waker: &Waker, deadline: Option<Instant>) -> Option<u64> {
        let Shared { poller, driver, loss, .. } = &*self.shared;
        poller.watch(&self.device, driver, loss, waker.clone(), deadline)
    }

    /// Schedules which thread may use the device next.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn driver(&self) -> &Driver {
        &self.shared.driver
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn poller(&self) -> &Poller {
        &self.shared.poller
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn polling(&self) -> Polling {
        self.shared.polling
    }

    /// Checks whether a blocking wait for `what` should continue.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn check_interrupted(&self, what: &str) -> Result<(), GpuError> {
        self.shared.interrupt.as_ref().map_or(Ok(()), |interrupt| interrupt.check(what))
    }

    /// Returns the device's limits for textures.
    pub fn texture_limits(&self) -> TextureLimits {
        TextureLimits { max_extent: self.device.limits().max_texture_dimension_2d }
    }

    /// Returns the blocks of the device's class.
    pub fn blocks(&self) -> Blocks {
        let info = self.device.adapter_info();
        Blocks::of(DeviceClass::of(info.vendor, info.device_type == wgpu::DeviceType::Cpu, &info.name))
    }

    /// Returns these options for this device: within its limits for textures, and with its blocks unless others are
    /// chosen.
    pub fn options(&self, options: CompileOptions) -> CompileOptions {
        CompileOptions { limits: self.texture_limits(), blocks: options.blocks.on(self.blocks()), ..options }
    }

    /// Checks that the device has not been lost.
    ///
    /// # Errors
    /// [`GpuError::Lost`], with the reason and the driver's message; [`GpuError::Forked`] in a process that was
    /// forked from the one that opened the device.
    pub fn check_lost(&self) -> Result<(), GpuError> {
        self.check_process()?;
        self.shared.loss.check(&self.device)
    }

    /// Like `check_lost`, for a device that just behaved like a lost one but may not have reported the loss yet:
    /// polls and probes it first.
    pub(super) fn check_again(&self) -> Result<(), GpuError> {
        self.check_process()?;
        #[cfg(not(target_arch = "wasm32"))]
        self.poll_now();
        self.check_lost()?;
        self.shared.loss.probe(&self.device)
    }

    /// Creates a buffer; `what` names it in errors.
    pub(super) fn buffer(&self, what: &str, buffer: &wgpu::BufferDescriptor<'_>) -> Result<wgpu::Buffer, GpuError> {
        let allowed = self.device.limits().max_buffer_size;
        if buffer.size > allowed {
            let (what, needed) = (what.to_owned(), buffer.size);
            return Err(GpuError::Limit { what, node: None, limit: "maxBufferSize", needed, allowed });
        }
        self.scoped(&format!("creating a buffer for {what}"), || self.device.create_buffer(buffer))
            .map_err(|error| error.for_bytes(buffer.size))
    }
}

/// Converts an error that the device reported while `doing` something.
fn refusal(doing: &str, error: &wgpu::Error) -> GpuError {
    let doing = doing.to_owned();
    match error {
        wgpu::Error::OutOfMemory { .. } => GpuError::OutOfMemory { doing, bytes: None },
        error => GpuError::Refused { doing, reason: error.to_string() },
    }
}
