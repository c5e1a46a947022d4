//! A device with the resources that all its sessions share.

#[cfg(not(target_arch = "wasm32"))]
use std::{ops::ControlFlow, path::PathBuf};

use super::Error;
#[cfg(not(target_arch = "wasm32"))]
use texpool_compile::{Clock, DeviceProfile};
use texpool_gpu::{AdapterSummary, Gpu, GpuError, GpuOptions, SharedPipelines, SharedWeights, adapters_async};
#[cfg(not(target_arch = "wasm32"))]
use texpool_gpu::{Stopwatch, adapters, calibrate};
#[cfg(not(target_arch = "wasm32"))]
use texpool_plan::TexelFormat;

/// A device and its queue, with the resources that its sessions share: pipelines, and the thread that waits for the
/// device. Clones refer to the same device.
///
/// ```no_run
/// use texpool::{Context, Model, TensorView};
///
/// let context = Context::open(&Default::default())?;
/// let model = Model::open("mobilenet_v2.tflite")?;
/// let mut session = context.compile(&model).memory_budget(2 << 20).build()?.session()?;
/// let pixels = vec![0.5f32; model.input(0)?.len()];
/// let outputs = session.run([(0, TensorView::from(&pixels))])?;
/// println!("{:?}", outputs[0].as_slice::<f32>()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Context {
    gpu: Gpu,
    pipelines: SharedPipelines,
    /// Storage of packed weights that are uploaded in every run.
    #[cfg(not(target_arch = "wasm32"))]
    weights_folder: Option<PathBuf>,
}

impl Context {
    /// Opens the named adapter, or by default the one that wgpu prefers. Falls back to a software adapter if the
    /// machine has no other.
    ///
    /// ```no_run
    /// let context = texpool::Context::open(&Default::default())?;
    /// # Ok::<(), texpool::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`GpuError::NoAdapter`], [`GpuError::NoDevice`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(options: &GpuOptions) -> Result<Self, Error> {
        Ok(Self::from_gpu(Gpu::open(options)?))
    }

    /// Like [`open`](Self::open), without blocking.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), texpool::Error> {
    /// let context = texpool::Context::open_async(&Default::default()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_async(options: &GpuOptions) -> Result<Self, Error> {
        Ok(Self::from_gpu(Gpu::open_async(options).await?))
    }

    /// Uses the caller's device and queue. WebGPU's default limits suffice, and no features are needed.
    ///
    /// The caller's callbacks on the device are not replaced. wgpu reports the reason for a lost device to a single
    /// callback, so by default errors of a session lack the reason. Callers can pass it on from their callback:
    ///
    /// ```no_run
    /// # fn embed(device: texpool::wgpu::Device, queue: texpool::wgpu::Queue) -> Result<(), texpool::Error> {
    /// let context = texpool::Context::from_wgpu(device.clone(), queue)?;
    /// let handle = context.clone();
    /// device.set_device_lost_callback(move |reason, message| handle.device_lost(reason, message));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`GpuError::Limit`] if the device was opened with lower limits than the WebGPU defaults.
    pub fn from_wgpu(device: wgpu::Device, queue: wgpu::Queue) -> Result<Self, Error> {
        Self::from_wgpu_with(device, queue, &GpuOptions::default())
    }

    /// Like [`from_wgpu`](Self::from_wgpu), with a timeout and a polling mode. The other options apply only to
    /// opening a device.
    ///
    /// ```no_run
    /// # fn embed(device: texpool::wgpu::Device, queue: texpool::wgpu::Queue) -> Result<(), texpool::Error> {
    /// use std::time::Duration;
    /// use texpool::{Context, GpuOptions, Polling};
    ///
    /// // A game polls the device in each frame itself. No run may take more than a second.
    /// let (timeout, polling) = (Duration::from_secs(1), Polling::Host);
    /// let context = Context::from_wgpu_with(device, queue, &GpuOptions { timeout, polling, ..Default::default() })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`from_wgpu`](Self::from_wgpu).
    pub fn from_wgpu_with(device: wgpu::Device, queue: wgpu::Queue, options: &GpuOptions) -> Result<Self, Error> {
        check_limits(&device.limits())?;
        Ok(Self::from_gpu(Gpu::from_device_with(device, queue, options)))
    }

    /// Creates a context for a device that is already open.
    #[doc(hidden)]
    pub fn from_gpu(gpu: Gpu) -> Self {
        Self {
            gpu,
            pipelines: SharedPipelines::default(),
            #[cfg(not(target_arch = "wasm32"))]
            weights_folder: None,
        }
    }

    /// Stores the packed form of weights that are [uploaded in every run](crate::CompileBuilder::stream_weights) in
    /// this folder: one file per model, written by its first session and read piece by piece by all. The packed
    /// weights then take no memory between runs, and later starts do not pack them again; they only read the model's
    /// own weights to verify that they are unchanged. Without a folder, the packed weights stay in memory.
    ///
    /// The folder is created if necessary. A file that is damaged, truncated or belongs to other weights is rewritten,
    /// under a temporary name until it is complete. If no file can be written, the weights stay in memory. Sessions
    /// verify checksums when they first read data and after the file changes. Damage therefore only costs packing the
    /// weights again, with a warning in the log, and never affects results. Removing a file is safe on Unix.
    ///
    /// ```no_run
    /// # fn example(model: texpool::Model, cache: std::path::PathBuf) -> Result<(), texpool::Error> {
    /// let context = texpool::Context::open(&Default::default())?.with_weights_folder(cache.join("weights"));
    /// // No more than 64 KiB of an operator's packed weights on the device, and as much on the host.
    /// let session = context.compile(&model).smallest().stream_weights(64 << 10).build()?.session()?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(not(target_arch = "wasm32"))]
    #[must_use]
    pub fn with_weights_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { weights_folder: Some(folder.into()), ..self }
    }

    /// Returns the weights that the sessions of a model share.
    pub(super) fn new_weights(&self) -> SharedWeights {
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(folder) = &self.weights_folder {
            return SharedWeights::kept_in(folder.as_path());
        }
        SharedWeights::default()
    }

    /// Lists all adapters.
    ///
    /// ```no_run
    /// for adapter in texpool::Context::adapters() {
    ///     println!("{adapter:?}");
    /// }
    /// ```
    #[cfg(not(target_arch = "wasm32"))]
    pub fn adapters() -> Vec<AdapterSummary> {
        adapters()
    }

    /// Like [`adapters`](Self::adapters), without blocking.
    ///
    /// ```no_run
    /// # async fn example() {
    /// for adapter in texpool::Context::adapters_async().await {
    ///     println!("{} ({}, {})", adapter.name, adapter.backend, adapter.kind);
    /// }
    /// # }
    /// ```
    pub async fn adapters_async() -> Vec<AdapterSummary> {
        adapters_async().await
    }

    /// Returns the wgpu device.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context) {
    /// use texpool::wgpu;
    ///
    /// // A texture of the program's on texpool's device.
    /// let size = wgpu::Extent3d { width: 640, height: 480, depth_or_array_layers: 1 };
    /// let camera = context.device().create_texture(&wgpu::TextureDescriptor {
    ///     label: Some("camera"),
    ///     size,
    ///     mip_level_count: 1,
    ///     sample_count: 1,
    ///     dimension: wgpu::TextureDimension::D2,
    ///     format: wgpu::TextureFormat::Rgba8Unorm,
    ///     usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
    ///     view_formats: &[],
    /// });
    /// # }
    /// ```
    pub fn device(&self) -> &wgpu::Device {
        &self.gpu.device
    }

    /// Returns the queue of the device.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, session: &mut texpool::Session) -> Result<(), texpool::Error> {
    /// let mut encoder = context.device().create_command_encoder(&Default::default());
    /// session.encode(&mut encoder)?;
    /// context.queue().submit([encoder.finish()]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn queue(&self) -> &wgpu::Queue {
        &self.gpu.queue
    }

    /// Measures the time of a dispatch on this device for each kind of operator, and the time of uploads, for
    /// [`CompileBuilder::device_profile`](crate::CompileBuilder::device_profile). It uses the wall clock and takes some
    /// seconds, during which nothing else should run on the device, and about 60 MB of device memory. Each device needs
    /// its own profile. Profiles can be stored: with the feature `serde` they can be serialised.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// let profile = context.calibrate(texpool::TexelFormat::Rgba32Float)?;
    /// let compiled = context.compile(&model).memory_budget(1 << 20).device_profile(profile).build()?;
    /// println!("{} bytes, about {:?}", compiled.pool_bytes(), compiled.predicted_time());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Gpu`]: the device is lost, too slow, or has too little memory.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn calibrate(&self, texels: TexelFormat) -> Result<DeviceProfile, Error> {
        let begun = std::time::Instant::now();
        let stopwatch = Stopwatch { clock: Clock::Wall, read: &|| begun.elapsed() };
        Ok(calibrate(&self.gpu, texels, self.gpu.blocks(), &stopwatch, &mut |_, _| ControlFlow::Continue(()))?)
    }

    /// Records why the device was lost, for later errors. Only the first reason is stored.
    pub fn device_lost(&self, reason: wgpu::DeviceLostReason, message: impl Into<String>) {
        self.gpu.device_lost(reason, message);
    }

    /// Checks that the device is usable.
    ///
    /// ```no_run
    /// # fn example(context: &mut texpool::Context) -> Result<(), texpool::Error> {
    /// if context.check().is_err_and(|error| error.is_lost()) {
    ///     *context = texpool::Context::open(&Default::default())?; // models have to be compiled for it again
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`GpuError::Lost`], with the reason if it is known, and [`GpuError::Forked`] in a [fork](Self::is_inherited) of
    /// the process that opened the device.
    pub fn check(&self) -> Result<(), Error> {
        Ok(self.gpu.check_lost()?)
    }

    /// Returns true if this process was forked from the one that opened the device. The device then works only in the
    /// parent: here each call that needs it returns [`GpuError::Forked`], and dropping its objects has no effect.
    /// [`open`](Self::open) opens another device in this process. The check costs one system call and takes no lock.
    ///
    /// ```no_run
    /// # fn example(context: &mut texpool::Context) -> Result<(), texpool::Error> {
    /// // In a worker that was forked after its parent had opened a device.
    /// if context.is_inherited() {
    ///     *context = texpool::Context::open(&Default::default())?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_inherited(&self) -> bool {
        self.gpu.is_inherited()
    }

    pub(super) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    pub(super) fn pipelines(&self) -> &SharedPipelines {
        &self.pipelines
    }

    /// Returns true if both are clones of the same context.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.gpu.number() == other.gpu.number()
    }
}

/// Checks the device limits that kernels need. Sizes of textures and buffers are checked when these are created.
fn check_limits(limits: &wgpu::Limits) -> Result<(), GpuError> {
    let core = wgpu::Limits::default();
    let needed = [
        ("maxBindGroups", 1, limits.max_bind_groups),
        ("maxStorageTexturesPerShaderStage", 4, limits.max_storage_textures_per_shader_stage),
        ("maxStorageBuffersPerShaderStage", 1, limits.max_storage_buffers_per_shader_stage),
        ("maxUniformBuffersPerShaderStage", 2, limits.max_uniform_buffers_per_shader_stage),
        ("maxDynamicUniformBuffersPerPipelineLayout", 1, limits.max_dynamic_uniform_buffers_per_pipeline_layout),
        (
            "maxComputeInvocationsPerWorkgroup",
            core.max_compute_invocations_per_workgroup,
            limits.max_compute_invocations_per_workgroup,
        ),
        (
            "maxComputeWorkgroupStorageSize",
            core.max_compute_workgroup_storage_size,
            limits.max_compute_workgroup_storage_size,
        ),
        (
            "maxComputeWorkgroupsPerDimension",
            core.max_compute_workgroups_per_dimension,
            limits.max_compute_workgroups_per_dimension,
        ),
    ];
    for (limit, needed, allowed) in needed {
        if allowed < needed {
            let (needed, allowed) = (needed.into(), allowed.into());
            return Err(GpuError::Limit { what: "running models".into(), node: None, limit, needed, allowed });
        }
    }
    Ok(())
}
