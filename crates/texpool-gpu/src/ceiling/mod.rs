//! Measures the ceilings of a device: the speeds of kernels that only compute, only read or only write, the cost of a
//! dispatch, and the cost of a submission. Times are those of the wall clock, like those of timestamps.
//!
//! The constants below were chosen by judgement; each comment says which problem the value avoids.

use std::{ops::ControlFlow, time::Instant};

use super::{Gpu, GpuError, Wait, texture_format, wait::now};
use texpool_compile::{DeviceCeiling, MemorySpeed};
use texpool_plan::TexelFormat;

/// Invocations of a dispatch: several times the number that run side by side on a large GPU.
const INVOCATIONS: u32 = 1 << 20;
/// Invocations of a workgroup, as in the shader.
const LANES: u32 = 64;
/// Workgroups of a row of the grid. WebGPU allows 65535.
const GROUPS: u32 = 1 << 10;
/// Operations of an invocation and round: two chains of eight fused multiply-adds of four lanes.
const FLOPS: f64 = (2 * 8 * 4 * 2) as f64;
/// Texels of an invocation and round.
const TEXELS: f64 = 4.0;
/// Sizes that are read or written again and again: those of a first-level cache, a second-level cache and a large
/// cache, and more than the caches of most devices.
const SIZES: [u64; 4] = [64 << 10, 1 << 20, 16 << 20, 128 << 20];
/// Distance between two texels of an invocation: another one than the number of invocations, which would have each of
/// them read the same texel of a small texture again and again.
const DISTANCE: u32 = INVOCATIONS + LANES;
/// Logarithm of the width of the texture. The height then is at most 8192, which every device has.
const WIDTH_BITS: u32 = 11;
/// Rounds are doubled until a dispatch takes so long, in seconds. Shorter ones would be lost in the cost of submitting.
const LONG: f64 = 0.02;
/// Upper limit on the rounds, so that their number never overflows.
const MAX_ROUNDS: u32 = 1 << 20;
/// Number of runs. The fastest counts, because other load on the machine can only add time.
const RUNS: usize = 6;
/// Dispatches of the long chain, and runs of it. The median counts, because waking threads is part of the cost.
const CHAIN: (u32, usize) = (256, 33);
/// Parts of the measurement: overhead, arithmetic, and each size of writes and reads.
const PARTS: usize = 2 + 2 * SIZES.len();

/// Measures the ceilings of a device for texels of `format`, with 128 MiB of its memory. A pool of bytes gets those of
/// 32-bit floats. `progress` gets the number of finished parts and the total, and returns whether to continue.
///
/// # Errors
/// Errors of the device; [`GpuError::Cancelled`] if `progress` stops.
pub fn measure_ceiling(
    gpu: &Gpu,
    format: TexelFormat,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<DeviceCeiling, GpuError> {
    let mut at = |done: usize| match progress(done, PARTS) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(GpuError::Cancelled { doing: "measuring the device's ceilings" }),
    };
    at(0)?;
    let format = format.of_floats();
    let probe = Probe::new(gpu, format)?;
    let [run, dispatch] = probe.overhead()?;
    at(1)?;
    let arithmetic = Work { kernel: Kernel::Arithmetic, texels: 1, amount: FLOPS };
    let gflop_per_s = probe.speed(&arithmetic, run)?;
    at(2)?;
    let bytes = TEXELS * format.texel_bytes() as f64;
    let of = |kernel, size: u64| Work { kernel, texels: (size / format.texel_bytes()) as u32, amount: bytes };
    let mut done = 2;
    let mut speeds = |kernel| {
        let speed = |size| {
            let gb_per_s = probe.speed(&of(kernel, size), run)?;
            done += 1;
            at(done)?;
            Ok(MemorySpeed { bytes: size, gb_per_s })
        };
        SIZES.into_iter().map(speed).collect::<Result<Vec<_>, GpuError>>()
    };
    // Before the reads, which need contents that no driver can compress.
    let writes = speeds(Kernel::Write)?;
    let reads = speeds(Kernel::Read)?;
    let (dispatch_us, run_us) = (dispatch * 1e6, run * 1e6);
    Ok(DeviceCeiling { gflop_per_s, reads, writes, dispatch_us, run_us })
}

#[derive(Clone, Copy)]
enum Kernel {
    Arithmetic,
    Read,
    Write,
    Dispatch,
}

impl Kernel {
    const ALL: [Self; 4] = [Self::Arithmetic, Self::Read, Self::Write, Self::Dispatch];

    /// Returns the name of the entry point, and its bindings.
    const fn entry(self) -> (&'static str, &'static [u32]) {
        match self {
            Self::Arithmetic => ("arithmetic", &[0, 1]),
            Self::Read => ("read_texels", &[0, 1, 2]),
            Self::Write => ("write_texels", &[0, 3]),
            Self::Dispatch => ("dispatch", &[1]),
        }
    }
}

/// Work of a dispatch.
struct Work {
    kernel: Kernel,
    /// The first texels of the texture, a power of two, which it touches.
    texels: u32,
    /// Operations or bytes of an invocation and round.
    amount: f64,
}

/// The pipelines and their resources.
struct Probe<'a> {
    gpu: &'a Gpu,
    params: wgpu::Buffer,
    /// In the order of [`Kernel::ALL`].
    made: Vec<(wgpu::ComputePipeline, wgpu::BindGroup)>,
}

impl<'a> Probe<'a> {
    fn new(gpu: &'a Gpu, format: TexelFormat) -> Result<Self, GpuError> {
        let buffer = |label, size, usage| {
            gpu.buffer(
                "a probe",
                &wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false },
            )
        };
        let params = buffer("params", 16, wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST)?;
        let sink = buffer("sink", 16, wgpu::BufferUsages::STORAGE)?;
        let doing = "creating the kernels that measure the device";
        let texels = SIZES.into_iter().max().unwrap_or_default() / format.texel_bytes();
        let size =
            wgpu::Extent3d { width: 1 << WIDTH_BITS, height: (texels >> WIDTH_BITS) as u32, depth_or_array_layers: 1 };
        let made = gpu.scoped(doing, || {
            let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
                label: Some("probe"),
                size,
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format: texture_format(format),
                usage: wgpu::TextureUsages::STORAGE_BINDING,
                view_formats: &[],
            });
            let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
            let name = if format == TexelFormat::Rgba16Float { "rgba16float" } else { "rgba32float" };
            let source = include_str!("ceiling.wgsl").replace("FORMAT", name);
            let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some("ceiling"),
                source: wgpu::ShaderSource::Wgsl(source.into()),
            });
            let made = |kernel: Kernel| {
                let (entry, bindings) = kernel.entry();
                let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: Some(entry),
                    layout: None,
                    module: &module,
                    entry_point: Some(entry),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    cache: None,
                });
                let resource = |binding| match binding {
                    0 => params.as_entire_binding(),
                    1 => sink.as_entire_binding(),
                    _ => wgpu::BindingResource::TextureView(&view),
                };
                let entries: Vec<_> = bindings
                    .iter()
                    .map(|&binding| wgpu::BindGroupEntry { binding, resource: resource(binding) })
                    .collect();
                let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: Some(entry),
                    layout: &pipeline.get_bind_group_layout(0),
                    entries: &entries,
                });
                (pipeline, group)
            };
            Kernel::ALL.map(made).into()
        })?;
        Ok(Self { gpu, params, made })
    }

    /// Returns the seconds from submitting some dispatches of a kernel to the end of the wait for them.
    fn time(&self, kernel: Kernel, dispatches: u32, grid: [u32; 2]) -> Result<f64, GpuError> {
        let begun = Instant::now();
        let submitted = self.gpu.scoped("measuring", || {
            let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            if let Some((pipeline, group)) = self.made.get(kernel as usize) {
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, group, &[]);
                (0..dispatches).for_each(|_| pass.dispatch_workgroups(grid[0], grid[1], 1));
            }
            drop(pass);
            self.gpu.submit([encoder.finish()])
        })?;
        now(self.gpu.done(Wait::Block, &submitted, "a measurement"))?;
        Ok(begun.elapsed().as_secs_f64())
    }

    /// Returns the seconds of a submission with its wait, and of a dispatch that depends on the one before.
    fn overhead(&self) -> Result<[f64; 2], GpuError> {
        let (links, runs) = CHAIN;
        let median = |dispatches| {
            let mut times =
                (0..runs).map(|_| self.time(Kernel::Dispatch, dispatches, [1, 1])).collect::<Result<Vec<_>, _>>()?;
            times.sort_by(f64::total_cmp);
            Ok::<_, GpuError>(times[runs / 2])
        };
        let (one, all) = (median(1)?, median(links)?);
        let dispatch = ((all - one) / f64::from(links - 1)).max(0.0);
        Ok([(one - dispatch).max(0.0), dispatch])
    }

    /// Returns a kernel's speed, in billions of operations or bytes per second. `run` is the seconds that an empty
    /// submission takes.
    fn speed(&self, work: &Work, run: f64) -> Result<f64, GpuError> {
        let mut rounds = 1;
        loop {
            let params = [rounds, work.texels - 1, DISTANCE, WIDTH_BITS];
            self.gpu.scoped("measuring", || {
                self.gpu.queue.write_buffer(&self.params, 0, bytemuck::bytes_of(&params));
            })?;
            let grid = [GROUPS, INVOCATIONS / LANES / GROUPS];
            // The first run also compiles the kernel on some drivers.
            let mut times = [0.0; RUNS];
            for time in &mut times {
                *time = (self.time(work.kernel, 1, grid)? - run).max(0.0);
            }
            let best = times.into_iter().fold(f64::INFINITY, f64::min);
            if best < LONG && rounds < MAX_ROUNDS {
                // Twice as much, or as much as is surely missing.
                let missing = (LONG / best.max(LONG / 1e3)).log2().floor().max(1.0);
                rounds = rounds.saturating_mul(1 << missing as u32).min(MAX_ROUNDS);
                continue;
            }
            let amount = work.amount * f64::from(INVOCATIONS) * f64::from(rounds);
            return Ok(if best > 0.0 { amount / best / 1e9 } else { 0.0 });
        }
    }
}
