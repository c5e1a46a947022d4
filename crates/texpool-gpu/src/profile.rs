//! Measures the time of each dispatch with timestamps of the device.

use std::ops::Range;

use super::{
    Gpu, GpuError, Program,
    allocations::Allocations,
    wait::{Mapping, Submitted},
};

/// Time of one dispatch.
///
/// ```no_run
/// # fn example(times: Vec<texpool::DispatchTime>) {
/// use std::collections::BTreeMap;
///
/// let mut of_kernels = BTreeMap::new();
/// for time in &times {
///     *of_kernels.entry(time.kernel).or_insert(0.0) += time.ms;
/// }
/// println!("{of_kernels:?}");
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DispatchTime {
    /// The schedule step that it belongs to; `None` for poison.
    pub step: Option<usize>,
    /// The kernel.
    pub kernel: &'static str,
    /// Milliseconds from the first timestamp of the run to the one before it.
    pub begin_ms: f64,
    /// Milliseconds between the timestamps before and after it.
    pub ms: f64,
}

/// Number of dispatches per query set, with two timestamps each: WebGPU allows 4096 queries per set. A longer program
/// is submitted in pieces that reuse the set.
const DISPATCHES_PER_QUERY_SET: usize = wgpu::QUERY_SET_MAX_QUERIES as usize / 2;
/// Size of a dispatch's two timestamps in bytes.
const TIMESTAMP_BYTES: u64 = 2 * wgpu::QUERY_SIZE as u64;

/// Timestamp queries for a program that runs each dispatch in a separate pass.
#[derive(Debug)]
pub(super) struct TimestampQueries {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    mapped: wgpu::Buffer,
    dispatches: usize,
}

impl TimestampQueries {
    /// Allocates two timestamps per dispatch; `None` if the device has no timestamps.
    pub(super) fn new(gpu: &Gpu, allocations: &Allocations, dispatches: usize) -> Result<Option<Self>, GpuError> {
        if !gpu.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return Ok(None);
        }
        let piece = dispatches.clamp(1, DISPATCHES_PER_QUERY_SET);
        let buffer = |label, dispatches: usize, usage| {
            let size = dispatches.max(1) as u64 * TIMESTAMP_BYTES;
            let labelled = allocations.label(label);
            let label = Some(&labelled[..]);
            gpu.buffer("timestamps", &wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false })
        };
        let queries = gpu.scoped("creating timestamps", || {
            gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("timestamps"),
                ty: wgpu::QueryType::Timestamp,
                count: 2 * piece as u32,
            })
        })?;
        let resolve = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let read = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ;
        // Two buffers, because WebGPU allows a buffer mapped for reading only as the destination of copies.
        let (resolved, mapped) =
            (buffer("timestamps", piece, resolve)?, buffer("timestamps to read", dispatches, read)?);
        Ok(Some(Self { queries, resolved, mapped, dispatches }))
    }

    /// Submits one run of the program. Calls `before` ahead of each dispatch in `borders`, and `submitted` with each
    /// submission. Returns the mapping request for the timestamps.
    pub(super) fn run(
        &self,
        gpu: &Gpu,
        program: &Program,
        borders: &[usize],
        before: &dyn Fn(usize) -> Result<(), GpuError>,
        submitted: &mut dyn FnMut(Submitted),
    ) -> Result<Mapping, GpuError> {
        let mut first = 0;
        while first < self.dispatches {
            if borders.binary_search(&first).is_ok() {
                before(first)?;
            }
            let next = borders.get(borders.partition_point(|&border| border <= first));
            let end = next.copied().unwrap_or(self.dispatches).min(first + DISPATCHES_PER_QUERY_SET);
            let piece = first..self.dispatches.min(end);
            first = piece.end;
            submitted(gpu.scoped("timing", || self.submit(gpu, program, piece))?);
        }
        gpu.scoped("timing", || Mapping::new(&self.mapped, wgpu::MapMode::Read))
    }

    fn submit(&self, gpu: &Gpu, program: &Program, piece: Range<usize>) -> Submitted {
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let (at, length) = (piece.start as u64 * TIMESTAMP_BYTES, piece.len() as u64 * TIMESTAMP_BYTES);
        let queries = 0..2 * piece.len() as u32;
        program.encode_timed(&mut encoder, piece, &self.queries);
        encoder.resolve_query_set(&self.queries, queries, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.mapped, at, length);
        gpu.submit([encoder.finish()])
    }

    /// Returns the milliseconds of each dispatch: from the first timestamp to its beginning, and to its end from there.
    /// The device must be done and the timestamps mapped.
    pub(super) fn times(&self, gpu: &Gpu) -> Result<Vec<[f64; 2]>, GpuError> {
        let view = self
            .mapped
            .get_mapped_range(..)
            .map_err(|e| GpuError::Refused { doing: "reading timestamps".into(), reason: e.to_string() })?;
        let ticks: Vec<u64> = bytemuck::pod_collect_to_vec(&view);
        let period = f64::from(gpu.queue.get_timestamp_period()) / 1e6;
        let times = ticks.as_chunks::<2>().0.iter().take(self.dispatches);
        let first = ticks.first().copied().unwrap_or_default();
        // Saturating, because WebGPU does not guarantee that timestamps increase.
        let between = |begin: u64, end: u64| end.saturating_sub(begin) as f64 * period;
        Ok(times.map(|&[begin, end]| [between(first, begin), between(begin, end)]).collect())
    }
}
