//! Transfer buffers of one submission: one for uploads and one for downloads.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    sources::{Run, WHAT},
    submissions::{OutputRange, Room, Submission},
};
use crate::{
    Gpu, GpuError,
    staging::{Staging, StagingBuffer},
    wait::{Mapping, RUN, Submitted, Wait},
};

/// An upload and a download buffer, created on first use.
#[derive(Debug, Default)]
pub(super) struct Slots {
    upload: Option<StagingBuffer>,
    /// Pending mapping from the last submission; `None` while the host may write the buffer.
    uploaded: Option<(Mapping, Submitted)>,
    download: Option<StagingBuffer>,
    /// Pending mapping from the last submission, with the expected contents of the buffer; `None` once they have been
    /// taken.
    downloaded: Option<(Mapping, Submitted, Vec<OutputRange>)>,
}

impl Slots {
    pub(super) fn upload(&self) -> Option<&wgpu::Buffer> {
        self.upload.as_ref().map(StagingBuffer::get)
    }

    pub(super) fn download(&self) -> Option<&wgpu::Buffer> {
        self.download.as_ref().map(StagingBuffer::get)
    }

    /// Waits until the host may write the upload buffer, and takes the downloaded bytes.
    pub(super) async fn settle(
        &mut self,
        gpu: &Gpu,
        wait: Wait,
        received: &mut BTreeMap<usize, Vec<u8>>,
    ) -> Result<(), GpuError> {
        if let Some((mapping, submitted)) = self.uploaded.take() {
            mapping.finish(gpu, wait, Some(&submitted), RUN).await?;
        }
        self.empty(gpu, wait, received).await
    }

    /// Waits for the downloaded bytes and copies them to `received`.
    pub(super) async fn empty(
        &mut self,
        gpu: &Gpu,
        wait: Wait,
        received: &mut BTreeMap<usize, Vec<u8>>,
    ) -> Result<(), GpuError> {
        let (Some((mapping, submitted, takes)), Some(buffer)) = (self.downloaded.take(), self.download()) else {
            return Ok(());
        };
        mapping.finish(gpu, wait, Some(&submitted), RUN).await?;
        let view = buffer.get_mapped_range(..).map_err(|error| gpu.unmapped(error))?;
        for OutputRange { output, range, offset } in takes {
            if let Some(texels) = received.get_mut(&output).and_then(|bytes| bytes.get_mut(range.clone())) {
                texels.copy_from_slice(&view[offset..offset + range.len()]);
            }
        }
        drop(view);
        buffer.unmap();
        Ok(())
    }

    /// Writes the uploads of a submission into the buffer, and creates the download buffer if needed.
    pub(super) fn fill(
        &mut self,
        gpu: &Gpu,
        staging: &Arc<Staging>,
        room: &Room,
        submission: &Submission,
        run: &Run<'_>,
    ) -> Result<(), GpuError> {
        if self.download.is_none() && !submission.takes.is_empty() {
            self.download = Some(staging.readback(gpu, WHAT, room.download)?);
        }
        if submission.fills.is_empty() {
            return Ok(());
        }
        let buffer = match self.upload.take() {
            Some(buffer) => self.upload.insert(buffer),
            None => self.upload.insert(staging.upload(gpu, WHAT, room.upload)?),
        };
        let mut mapped = buffer.get().get_mapped_range_mut(..).map_err(|error| gpu.unmapped(error))?;
        for (source, offset) in &submission.fills {
            run.read(source, &mut |at, bytes| {
                mapped.slice(offset + at..offset + at + bytes.len()).copy_from_slice(bytes);
            });
        }
        drop(mapped);
        buffer.get().unmap();
        Ok(())
    }

    /// Records which buffers are now in use by the device.
    pub(super) fn submitted(
        &mut self,
        (upload, download): (Option<Mapping>, Option<Mapping>),
        submitted: &Submitted,
        takes: &[OutputRange],
    ) {
        self.uploaded = upload.map(|mapping| (mapping, submitted.clone()));
        self.downloaded = download.map(|mapping| (mapping, submitted.clone(), takes.to_vec()));
    }
}
