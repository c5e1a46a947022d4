//! Runs that upload weights and inputs, and download outputs, between dispatches. Such a run takes several
//! submissions. It uses one transfer buffer per direction, or two that alternate: the host fills or empties one while
//! the device copies the other.

mod copy;
mod slots;
mod sources;
mod submissions;
mod texel_transfer;

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Gpu, GpuError,
    packed_weights::PackedWeights,
    staging::Staging,
    wait::{Mapping, Submitted, Wait},
};
use slots::Slots;
use sources::WHAT;
use submissions::{Command, Room, Submission, submissions};
use texpool_compile::TransferBuffers;
use texpool_plan::TexelFormat;

pub(super) use {
    sources::Run,
    texel_transfer::{TexelTransfer, TransferOf},
};

/// The submissions of a run, with their transfer buffers.
#[derive(Debug)]
pub(super) struct StreamedRun {
    staging: Arc<Staging>,
    format: TexelFormat,
    room: Room,
    submissions: Vec<Submission>,
    /// Buffer sets, which consecutive submissions use in rotation.
    slots: Vec<Slots>,
    received: Received,
}

/// Downloaded outputs.
#[derive(Debug, Default)]
struct Received {
    /// Texels of each output.
    bytes: BTreeMap<usize, Vec<u8>>,
    /// True if the texels come from a run that completed.
    is_whole: bool,
}

impl StreamedRun {
    /// Plans the submissions for `dispatches` dispatches with these transfers, in order, through the given buffers.
    pub(super) fn new(
        staging: &Arc<Staging>,
        packed: &PackedWeights,
        transfers: &[TexelTransfer],
        format: TexelFormat,
        buffers: TransferBuffers,
        dispatches: usize,
    ) -> Self {
        let (room, submissions) = submissions(packed, transfers, format, buffers.bytes, dispatches);
        let mut bytes: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        for take in submissions.iter().flat_map(|submission| &submission.takes) {
            let texels = bytes.entry(take.output).or_default();
            texels.resize(texels.len().max(take.range.end), 0);
        }
        let received = Received { bytes, is_whole: false };
        let slots = (0..buffers.count).map(|_| Slots::default()).collect();
        Self { staging: Arc::clone(staging), format, room, submissions, slots, received }
    }

    /// Returns true if the run transfers nothing between dispatches.
    pub(super) fn is_empty(&self) -> bool {
        self.submissions.is_empty()
    }

    /// Drops the buffers, because their state is unknown.
    pub(super) fn reset(&mut self) {
        self.slots.fill_with(Slots::default);
    }

    /// Returns the texels of an output from the last run. `None` if it is not downloaded, or if that run did not
    /// complete.
    pub(super) fn received(&self, output: usize) -> Option<&[u8]> {
        self.received.bytes.get(&output).filter(|_| self.received.is_whole).map(Vec::as_slice)
    }

    /// Encodes and submits a run, starting with the commands in `encoder` and ending with those that `finish` adds.
    /// Returns the last submission. All downloads have arrived by then.
    pub(super) async fn run(
        &mut self,
        gpu: &Gpu,
        wait: Wait,
        encoder: wgpu::CommandEncoder,
        run: Run<'_>,
        finish: impl FnOnce(&mut wgpu::CommandEncoder),
    ) -> Result<Submitted, GpuError> {
        let Self { staging, format, room, submissions, slots, received } = self;
        let (mut encoder, mut finish) = (Some(encoder), Some(finish));
        received.is_whole = false;
        let mut last = None;
        for (number, submission) in submissions.iter().enumerate() {
            let turn = number % slots.len().max(1);
            let Some(slots) = slots.get_mut(turn) else { continue };
            slots.settle(gpu, wait, &mut received.bytes).await?;
            tracing::debug_span!("fill transfer buffer", submission = number as u64)
                .in_scope(|| slots.fill(gpu, staging, room, submission, &run))?;
            let is_last = number + 1 == submissions.len();
            let (mappings, submitted) = gpu.scoped(WHAT, || {
                let descriptor = wgpu::CommandEncoderDescriptor { label: Some("run") };
                let mut encoder = encoder.take().unwrap_or_else(|| gpu.device.create_command_encoder(&descriptor));
                for command in &submission.commands {
                    match command {
                        Command::Dispatches(dispatches) => run.program.encode_some(&mut encoder, dispatches.clone()),
                        Command::Upload(copy) => {
                            if let Some(buffer) = slots.upload() {
                                copy.encode_upload(buffer, run.textures, *format, &mut encoder);
                            }
                        }
                        Command::Download(copy) => {
                            if let Some(buffer) = slots.download() {
                                copy.encode_download(buffer, run.textures, *format, &mut encoder);
                            }
                        }
                    }
                }
                if let Some(finish) = finish.take_if(|_| is_last) {
                    finish(&mut encoder);
                }
                let map = |buffer: Option<&wgpu::Buffer>, mode| {
                    buffer.map(|buffer| Mapping::on_submit(&encoder, buffer, mode))
                };
                let upload = map(slots.upload().filter(|_| !submission.fills.is_empty()), wgpu::MapMode::Write);
                let download = map(slots.download().filter(|_| !submission.takes.is_empty()), wgpu::MapMode::Read);
                ((upload, download), gpu.submit([encoder.finish()]))
            })?;
            slots.submitted(mappings, &submitted, &submission.takes);
            last = Some(submitted);
        }
        for slots in slots {
            slots.empty(gpu, wait, &mut received.bytes).await?;
        }
        received.is_whole = true;
        last.ok_or_else(|| GpuError::NotSubmitted { what: WHAT.to_owned() })
    }
}

/// Uploads through the queue, without transfer buffers, for runs that are executed piece by piece.
#[cfg(not(target_arch = "wasm32"))]
impl StreamedRun {
    fn uploads(&self) -> impl Iterator<Item = (&Submission, &copy::Copy)> {
        self.submissions.iter().flat_map(|submission| {
            submission.commands.iter().filter_map(move |command| match command {
                Command::Upload(copy) => Some((submission, copy)),
                Command::Dispatches(_) | Command::Download(_) => None,
            })
        })
    }

    /// Returns the dispatches that are preceded by an upload, in order.
    pub(super) fn borders(&self) -> impl Iterator<Item = usize> + '_ {
        self.uploads().map(|(_, copy)| copy.before)
    }

    /// Writes, through the queue, the texture contents that dispatch `before` needs. They are copied before the next
    /// submission.
    pub(super) fn write(&self, gpu: &Gpu, before: usize, run: &Run<'_>) -> Result<(), GpuError> {
        self.uploads_before(before, run)
            .try_for_each(|(copy, bytes)| gpu.scoped(WHAT, || copy.write(gpu, &bytes, run.textures, self.format)))
    }

    /// Version of `write` for buffers that hold the texels of the textures.
    pub(super) fn write_to_buffers(
        &self,
        gpu: &Gpu,
        before: usize,
        run: &Run<'_>,
        buffers: &[wgpu::Buffer],
    ) -> Result<(), GpuError> {
        self.uploads_before(before, run).try_for_each(|(copy, bytes)| {
            let offset = u64::from(copy.first) * self.format.texel_bytes();
            gpu.scoped(WHAT, || gpu.queue.write_buffer(&buffers[copy.texture], offset, &bytes))
        })
    }

    /// Returns each upload that precedes a dispatch, with its bytes.
    fn uploads_before(&self, before: usize, run: &Run<'_>) -> impl Iterator<Item = (&copy::Copy, Vec<u8>)> {
        let uploads = self.uploads().filter(move |(_, copy)| copy.before == before);
        uploads.map(|(submission, copy)| (copy, submission.uploaded(copy, run, self.format)))
    }
}
