//! How long each dispatch takes on the device, by its own timestamps.

use super::{Gpu, GpuError, Program};

/// One dispatch's time.
#[derive(Clone, Debug, PartialEq)]
pub struct DispatchTime {
    /// The schedule's step it belongs to; none for poison.
    pub step: Option<usize>,
    /// The shader family.
    pub kernel: &'static str,
    /// Milliseconds between the timestamps around it.
    pub ms: f64,
}

/// Timestamps of a program, each dispatch in a pass of its own.
#[derive(Debug)]
pub(super) struct Clock {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    mapped: wgpu::Buffer,
    count: u32,
}

impl Clock {
    /// Room for two timestamps a dispatch; `None` where the device has no timestamps or not as many.
    pub(super) fn new(gpu: &Gpu, dispatches: usize) -> Result<Option<Self>, GpuError> {
        let count = 2 * dispatches as u32;
        if !gpu.device.features().contains(wgpu::Features::TIMESTAMP_QUERY)
            || !(1..=wgpu::QUERY_SET_MAX_QUERIES).contains(&count)
        {
            return Ok(None);
        }
        let buffer = |label, usage| {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: u64::from(count) * 8,
                usage,
                mapped_at_creation: false,
            })
        };
        gpu.scoped("creating timestamps", || {
            Some(Self {
                queries: gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                    label: Some("timestamps"),
                    ty: wgpu::QueryType::Timestamp,
                    count,
                }),
                resolved: buffer("timestamps", wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC),
                mapped: buffer("timestamps read", wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ),
                count,
            })
        })
    }

    /// Runs the program once and answers each dispatch's milliseconds.
    pub(super) fn time(&self, gpu: &Gpu, program: &Program) -> Result<Vec<f64>, GpuError> {
        gpu.scoped("timing", || {
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            program.encode_timed(&mut encoder, &self.queries);
            encoder.resolve_query_set(&self.queries, 0..self.count, &self.resolved, 0);
            encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.mapped, 0, None);
            gpu.queue.submit([encoder.finish()]);
            self.mapped.map_async(wgpu::MapMode::Read, .., |_| {});
        })?;
        gpu.wait()?;
        let view = self
            .mapped
            .get_mapped_range(..)
            .map_err(|e| GpuError::Refused { doing: "reading timestamps".into(), reason: e.to_string() })?;
        let ticks: Vec<u64> = bytemuck::pod_collect_to_vec(&view);
        drop(view);
        self.mapped.unmap();
        let period = f64::from(gpu.queue.get_timestamp_period()) / 1e6;
        Ok(ticks.as_chunks::<2>().0.iter().map(|[begin, end]| end.saturating_sub(*begin) as f64 * period).collect())
    }
}
