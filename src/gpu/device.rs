//! The device: found, or brought by the caller; its errors turned into types.

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
use crate::plan::TextureLimits;

/// How long the host waits for the device unless it is told otherwise: no answer takes that long where something is at
/// work. The largest networks of the catalogue take minutes on SwiftShader with two cores.
pub const TIMEOUT: Duration = Duration::from_secs(600);

/// Which adapter to open.
#[derive(Clone, Debug)]
pub struct GpuOptions {
    /// Part of the adapter's name, in any case, or its [PCI address](AdapterSummary::pci_bus_id), which tells two of one
    /// name apart; the environment's `WGPU_ADAPTER_NAME` stands in where none is given.
    pub adapter: Option<String>,
    /// Ask for timestamps where the adapter has them.
    pub timestamps: bool,
    /// How long to wait for the device before it is given up: for a run, or a transfer. [`TIMEOUT`] unless another is
    /// named. A browser has none: race the future with a timer of the page's, dropping it is safe.
    pub timeout: Duration,
    /// Who drives the device while a future waits.
    #[cfg(not(target_arch = "wasm32"))]
    pub polling: Polling,
    /// Who may end blocking waits early; nobody unless it is named.
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

/// An adapter, for lists.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AdapterSummary {
    /// The adapter's name.
    pub name: String,
    /// `Vulkan`, `Metal`, `Dx12`.
    pub backend: String,
    /// `Cpu`, `IntegratedGpu`, `DiscreteGpu`, ...
    pub kind: String,
    /// The driver and its version.
    pub driver: String,
    /// Its address on the PCI bus, such as `0000:01:00.0`; empty where it has none or the driver does not say.
    pub pci_bus_id: String,
    /// Largest extent of a texture.
    pub max_texture_extent: u32,
    /// Whether it can time dispatches.
    pub timestamps: bool,
}

/// An open device and its queue. Clones are the same device.
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

/// What all handles of a device share.
#[derive(Debug)]
struct Shared {
    /// No other device's. wgpu's own handles compare equal where they are of different instances.
    number: u64,
    /// The process that opened it.
    process: Process,
    /// Handles that a fork of the process keeps for ever.
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
        // A device that is closed waits for its queue, whose threads a fork does not have.
        if self.process.was_forked() {
            mem::forget((self.device.clone(), self.queue.clone()));
        }
    }
}

/// What the device has yet to say of what was made through a handle: natively it says so at once, in a browser later.
#[derive(Default)]
struct Unsettled {
    open: Vec<(String, Pin<Box<PoppedScope>>)>,
    /// The first error of those that were settled without anybody waiting for them.
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

    /// Forgets what is settled by now, so that nothing piles up where nobody waits.
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
            // Validation layers only where `WGPU_VALIDATION` asks for them, in debug builds too.
            flags: wgpu::InstanceFlags::empty(),
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        }
        .with_env(),
    )
}

/// Every adapter there is.
#[cfg(not(target_arch = "wasm32"))]
pub fn adapters() -> Vec<AdapterSummary> {
    pollster::block_on(adapters_async())
}

/// The same where nobody may block.
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

/// Whether somebody who asks for `name` means the adapter.
fn is_called(adapter: &wgpu::AdapterInfo, name: &str) -> bool {
    let name = name.to_lowercase();
    adapter.name.to_lowercase().contains(&name) || adapter.device_pci_bus_id.to_lowercase() == name
}

impl Gpu {
    /// Opens an adapter: the one named, else the one that wgpu prefers, a software one where there is no other.
    ///
    /// # Errors
    /// [`GpuError::NoAdapter`], [`GpuError::NoDevice`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(options: &GpuOptions) -> Result<Self, GpuError> {
        pollster::block_on(Self::open_async(options))
    }

    /// The same where nobody may block.
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
                    .find(|adapter| is_called(&adapter.get_info(), &name))
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
        if let Some(reason) = super::unforkable::refusal(&adapter.get_info()) {
            return Err(GpuError::NoDevice { adapter: adapter.get_info().name, reason });
        }
        // Dispatches are told a few words each; that costs nothing where they travel with the commands.
        let mut required_features = adapter.features() & wgpu::Features::IMMEDIATES;
        if options.timestamps {
            required_features |= adapter.features() & wgpu::Features::TIMESTAMP_QUERY;
        }
        // Every pipeline keeps within WebGPU's default limits, so that a plan runs anywhere; only sizes of textures and
        // buffers follow the adapter.
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
                // By default wgpu takes device memory in blocks of many megabytes, so that a pool of one would save
                // nothing. These are the smallest there are, 4 MiB, in which many textures and buffers lie side by side;
                // what is larger than a block gets memory of its own, to the byte.
                memory_hints: wgpu::MemoryHints::Manual { suballocated_device_memory_block_size: 0..0 },
                ..Default::default()
            })
            .await
            .map_err(|e| GpuError::NoDevice { adapter: adapter.get_info().name, reason: e.to_string() })?;
        let shared = Shared::new(&device, &queue, Loss::told_by(&device), options);
        Ok(Self { device, queue, shared, unsettled: Arc::default(), timeout: options.timeout })
    }

    /// Uses a device and queue of the caller's. Core WebGPU limits suffice; with `IMMEDIATES` of 32 bytes no buffer is
    /// needed for what single dispatches are told. Waits for it take at most [`TIMEOUT`].
    ///
    /// The device's callbacks stay the caller's. wgpu says why a device was lost to one callback alone, so a session only
    /// sees that it is lost, and its error has no reason; a caller whose callback says it to this handle gets it there:
    ///
    /// ```no_run
    /// # fn embed(device: texpool::wgpu::Device, queue: texpool::wgpu::Queue) {
    /// let gpu = texpool::gpu::Gpu::from_device(device.clone(), queue);
    /// let told = gpu.clone();
    /// device.set_device_lost_callback(move |reason, message| told.device_lost(reason, message));
    /// # }
    /// ```
    pub fn from_device(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        Self::from_device_with(device, queue, &GpuOptions::default())
    }

    /// The same with a timeout and a way of polling of the caller's; the other options are for opening a device.
    pub fn from_device_with(device: wgpu::Device, queue: wgpu::Queue, options: &GpuOptions) -> Self {
        let shared = Shared::new(&device, &queue, Loss::probed(&device), options);
        Self { device, queue, shared, unsettled: Arc::default(), timeout: options.timeout }
    }

    /// A number that all clones of this handle have, and no other handle.
    pub(crate) fn number(&self) -> u64 {
        self.shared.number
    }

    /// Notes why the device was lost, for the errors of all that use this device from then on. What was said first
    /// counts.
    pub fn device_lost(&self, reason: wgpu::DeviceLostReason, message: impl Into<String>) {
        self.shared.loss.note(Some(reason), message.into());
    }

    /// The same device; waits through this handle, and those of sessions made with it, take at most `timeout`.
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// How long a wait for the device may take.
    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Runs `make`, and turns what the device says of it into an error: at once, or in a browser when it is
    /// [settled](Self::settle).
    pub(super) fn scoped<T>(&self, doing: &str, make: impl FnOnce() -> T) -> Result<T, GpuError> {
        self.check_told()?;
        let scopes = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::OutOfMemory]
            .map(|filter| self.device.push_error_scope(filter));
        let made = make();
        // Scopes are a stack: the last pushed is popped first.
        let mut first = None;
        for scope in scopes.into_iter().rev() {
            let mut error: Pin<Box<PoppedScope>> = Box::pin(scope.pop());
            match poll_once(error.as_mut()) {
                Poll::Ready(error) => first = first.or(error),
                Poll::Pending => self.unsettled().open.push((doing.to_owned(), error)),
            }
        }
        self.unsettled().sweep();
        self.check_lost()?;
        let Some(error) = first else { return Ok(made) };
        // A lost device refuses everything, perhaps before it has said that it is lost.
        self.check_again()?;
        Err(refusal(doing, &error))
    }

    fn unsettled(&self) -> MutexGuard<'_, Unsettled> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same device, for work that hears what the device says of it and of no other.
    pub(super) fn for_work(&self) -> Self {
        Self { unsettled: Arc::default(), ..self.clone() }
    }

    /// Waits for what the device had yet to say of all that was made through this handle, in a browser.
    pub(super) async fn settle(&self) -> Result<(), GpuError> {
        let Unsettled { open, error } = mem::take(&mut *self.unsettled());
        let mut settled = Unsettled { open: Vec::new(), error };
        for (doing, error) in open {
            settled.note(&doing, error.await);
        }
        settled.error.map_or(Ok(()), Err)
    }

    /// Whether this process has the handle from the one that it was forked from.
    pub(crate) fn is_inherited(&self) -> bool {
        self.shared.process.was_forked()
    }

    /// Checks that the process that runs is the one that opened the device. What waits for the device, or takes a lock that
    /// another thread may have held during a fork, comes after this.
    ///
    /// # Errors
    /// [`GpuError::Forked`].
    pub(crate) fn check_process(&self) -> Result<(), GpuError> {
        self.shared.process.check()
    }

    /// What is known of the device's loss, without asking it.
    pub(super) fn check_told(&self) -> Result<(), GpuError> {
        self.check_process()?;
        self.shared.loss.check_told()
    }

    /// Has the device polled until the answer that a task waits for is there.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn watch(&self, waker: &Waker, deadline: Option<Instant>) -> Option<u64> {
        let Shared { poller, driver, loss, .. } = &*self.shared;
        poller.watch(&self.device, driver, loss, waker.clone(), deadline)
    }

    /// Who has turns with the device.
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

    /// Asks whether a blocking wait for `what` goes on.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn check_interrupted(&self, what: &str) -> Result<(), GpuError> {
        self.shared.interrupt.as_ref().map_or(Ok(()), |interrupt| interrupt.check(what))
    }

    /// What the device allows of a texture.
    pub fn texture_limits(&self) -> TextureLimits {
        TextureLimits { max_extent: self.device.limits().max_texture_dimension_2d }
    }

    /// Whether the device is still there.
    ///
    /// # Errors
    /// [`GpuError::Lost`], with the reason and what the driver says; [`GpuError::Forked`] in a process that was forked from
    /// the one that opened the device.
    pub fn check_lost(&self) -> Result<(), GpuError> {
        self.check_process()?;
        self.shared.loss.check(&self.device)
    }

    /// The same of a device that did what a lost one does, and may have had no occasion to say so.
    pub(super) fn check_again(&self) -> Result<(), GpuError> {
        self.check_process()?;
        #[cfg(not(target_arch = "wasm32"))]
        self.poll_now();
        self.check_lost()?;
        self.shared.loss.probe(&self.device)
    }

    /// Makes a buffer, called `what` in errors.
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

/// What the device said of something.
fn refusal(doing: &str, error: &wgpu::Error) -> GpuError {
    let doing = doing.to_owned();
    match error {
        wgpu::Error::OutOfMemory { .. } => GpuError::OutOfMemory { doing, bytes: None },
        error => GpuError::Refused { doing, reason: error.to_string() },
    }
}
