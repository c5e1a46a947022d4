//! Ports: the inputs and outputs of a session, with their textures and the transfer of their values.

use std::{borrow::Cow, ops::Range, sync::Arc};

use super::{
    Gpu, GpuError, Role, TensorRole, TextureProblem,
    allocations::Allocations,
    pack::saturated,
    staging::{HostLayout, Readback, Staging, Upload},
    textures::make,
    transfer::{self, Transfer},
    wait::Wait,
};
use texpool_compile::{PIECE, io_texture};
use texpool_ops::graph::Tensor;
use texpool_plan::{TexelFormat, printable};

/// Location of an input or output.
#[derive(Debug)]
enum Place {
    /// Not allocated yet; the session creates its own texture on first use.
    None,
    Own(wgpu::Texture),
    /// In a texture that the caller bound.
    Bound(wgpu::Texture),
}

/// One input or output.
#[derive(Debug)]
pub(super) struct Port {
    role: TensorRole,
    index: usize,
    name: String,
    /// Its role, index and name, as errors say them.
    called: String,
    /// Readbacks outlive a borrow of the port, so they hold it, too.
    layout: Arc<HostLayout>,
    place: Place,
    upload: Option<Upload>,
    /// True if its values enter or leave the pool in the middle of a run. Such a port has no texture.
    streamed: bool,
    /// Packed texels for a transfer in pieces. The lanes after the last channel are zeroed once, because packing
    /// never writes them.
    packed: Vec<u8>,
    /// Number of values in the last write that exceeded the range of the format.
    saturated: u64,
    /// True if its texture is known to hold values. The contents of a texture that the caller bound are the caller's
    /// responsibility.
    filled: bool,
}

impl Port {
    pub(super) fn new(tensor: &Tensor, (role, index): (TensorRole, usize), format: TexelFormat, max: u32) -> Self {
        let &Tensor { shape, storage, .. } = tensor;
        let spec = io_texture(tensor, format, max);
        let layout = HostLayout { shape, permutation: tensor.host_permutation.clone(), storage, spec };
        Self {
            role,
            index,
            name: tensor.name.clone(),
            called: format!("{role} {index} (`{}`)", printable(&tensor.name)),
            layout: Arc::new(layout),
            place: Place::None,
            upload: None,
            packed: Vec::new(),
            saturated: 0,
            streamed: false,
            filled: false,
        }
    }

    /// Sets whether its values enter or leave the pool in the middle of a run.
    pub(super) fn streamed(mut self, streamed: bool) -> Self {
        self.streamed = streamed;
        self
    }

    /// Returns whether it is streamed and therefore has no texture.
    pub(super) const fn is_streamed(&self) -> bool {
        self.streamed
    }

    /// Returns a range of the bytes that [`pack`](Self::pack) wrote.
    pub(super) fn packed(&self, range: Range<usize>) -> Option<&[u8]> {
        self.packed.get(range)
    }

    /// Packs dense values for a run.
    pub(crate) fn pack(&mut self, values: &[f32]) {
        self.count_saturated(values);
        self.packed.resize(self.layout.spec.bytes() as usize, 0);
        self.layout.pack(values, &mut self.packed);
        self.filled = true;
    }

    fn count_saturated(&mut self, values: &[f32]) {
        self.saturated = saturated(values, self.layout.spec.format, self.layout.storage);
    }

    /// Returns how many values of the last write exceeded the range of the format.
    pub(super) const fn saturated(&self) -> u64 {
        self.saturated
    }

    /// Unpacks downloaded bytes into dense values.
    pub(crate) fn unpack(&self, bytes: &[u8], values: &mut [f32]) {
        self.layout.unpack(bytes, values);
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn layout(&self) -> &HostLayout {
        &self.layout
    }

    pub(super) fn is_bound(&self) -> bool {
        matches!(self.place, Place::Bound(_))
    }

    pub(super) fn is_filled(&self) -> bool {
        self.filled
    }

    /// Returns whether it has a texture that the session created.
    pub(super) fn is_own(&self) -> bool {
        matches!(self.place, Place::Own(_))
    }

    /// Returns the size of the session's own texture in bytes, or 0 without one.
    pub(super) fn bytes(&self) -> u64 {
        if self.is_own() { self.layout.spec.bytes() } else { 0 }
    }

    /// Binds a texture of the caller in place of the session's own.
    pub(super) fn bind(&mut self, texture: &wgpu::Texture) -> Result<(), GpuError> {
        self.refuse_streamed()?;
        TextureProblem::check(texture, self.layout.spec).map_err(|problem| self.refuse(problem))?;
        self.place = Place::Bound(texture.clone());
        (self.upload, self.filled, self.saturated) = (None, true, 0);
        Ok(())
    }

    /// Builds the error for a texture of the caller that does not match.
    pub(super) fn refuse(&self, problem: TextureProblem) -> GpuError {
        let (role, index, name, expected) = (self.role, self.index, self.name.clone(), self.layout.spec);
        GpuError::ExternalTexture { role, index, name, expected, problem }
    }

    /// Returns an error if the port is streamed, for calls that need a texture.
    pub(super) fn refuse_streamed(&self) -> Result<(), GpuError> {
        let (role, index) = (self.role, self.index);
        match self.streamed {
            true => Err(GpuError::TensorStreamed { role, index, name: self.name.clone() }),
            false => Ok(()),
        }
    }

    /// Releases a texture that the caller bound.
    pub(super) fn unbind(&mut self) {
        if self.is_bound() {
            (self.place, self.filled) = (Place::None, false);
        }
    }

    /// Returns its texture, if it has one.
    pub(super) fn texture(&self) -> Option<&wgpu::Texture> {
        match &self.place {
            Place::None => None,
            Place::Own(texture) | Place::Bound(texture) => Some(texture),
        }
    }

    /// Returns its texture; creates it on first use.
    pub(super) fn ensure(&mut self, gpu: &Gpu, allocations: &Allocations) -> Result<&wgpu::Texture, GpuError> {
        self.refuse_streamed()?;
        if matches!(self.place, Place::None) {
            let label = format!("{} {}", self.role, self.index);
            self.place = Place::Own(make(gpu, allocations, &label, self.layout.spec, Role::Shared)?);
        }
        match &self.place {
            Place::Own(texture) | Place::Bound(texture) => Ok(texture),
            Place::None => Err(GpuError::Refused { doing: "making a texture".into(), reason: "there is none".into() }),
        }
    }

    /// Marks its texture as filled: values were submitted, or the caller will write them.
    pub(super) fn set_filled(&mut self) {
        self.filled = true;
    }

    /// Releases its device memory.
    pub(super) fn trim(&mut self) {
        if self.is_own() {
            (self.place, self.filled) = (Place::None, false);
        }
        self.upload = None;
    }

    /// Drops the upload buffer, whose state is unknown after a failed run.
    pub(super) fn reset(&mut self) {
        self.upload = None;
    }

    /// Checks that the number of values matches the number of elements.
    pub(super) fn check_len(&self, found: usize) -> Result<(), GpuError> {
        let expected = self.layout.shape.len();
        if expected == found {
            return Ok(());
        }
        let (role, index, name) = (self.role, self.index, self.name.clone());
        Err(GpuError::TensorLength { role, index, name, expected, found })
    }

    /// Writes dense values into the upload buffer.
    pub(super) fn write(&mut self, gpu: &Gpu, staging: &Arc<Staging>, values: &[f32]) -> Result<(), GpuError> {
        self.count_saturated(values);
        let upload = match self.upload.take() {
            Some(upload) => upload,
            None => Upload::new(gpu, staging, &self.called, &self.layout)?,
        };
        // Stored before the write, which is safe: an upload tracks its own state when it fails.
        self.upload.insert(upload).write(gpu, &self.called, &self.layout, values)
    }

    /// Returns whether its values are transferred in pieces by waiting calls. That applies to large tensors in the
    /// session's own texture, because nothing else writes that texture meanwhile.
    pub(super) fn is_in_pieces(&self) -> bool {
        !self.streamed && !self.is_bound() && self.layout.spec.bytes() > PIECE
    }

    /// Writes dense values to its texture in pieces and waits until they arrive; `what` names the wait in errors. On
    /// failure the texture counts as empty.
    pub(super) async fn send(
        &mut self,
        gpu: &Gpu,
        wait: Wait,
        what: &str,
        (allocations, staging): (&Allocations, &Arc<Staging>),
        transfer: &mut Option<Transfer>,
        values: &[f32],
    ) -> Result<(), GpuError> {
        self.count_saturated(values);
        let spec = self.layout.spec;
        let texture = self.ensure(gpu, allocations)?.clone();
        (self.upload, self.filled) = (None, false);
        let held = match transfer.take().filter(|held| held.fits(spec)) {
            Some(held) => transfer.insert(held),
            None => transfer.insert(Transfer::new(gpu, staging, &self.called, spec)?),
        };
        self.packed.resize(spec.bytes() as usize, 0);
        self.layout.pack(values, &mut self.packed);
        let packed = &self.packed[..];
        held.write(gpu, wait, what, &texture, spec, |range| Cow::Borrowed(&packed[range])).await?;
        self.filled = true;
        Ok(())
    }

    /// Reads its texture in pieces; `what` names the wait in errors.
    pub(super) async fn receive(
        &self,
        gpu: &Gpu,
        wait: Wait,
        what: &str,
        staging: &Arc<Staging>,
        values: &mut [f32],
    ) -> Result<(), GpuError> {
        if let Some(texture) = self.texture() {
            let bytes = transfer::read(gpu, wait, staging, what, texture, self.layout.spec).await?;
            self.layout.unpack(&bytes, values);
        }
        Ok(())
    }

    /// Encodes the copy of the written values into the texture.
    pub(super) fn encode_upload(&mut self, encoder: &mut wgpu::CommandEncoder) {
        if let (Some(upload), Place::Own(texture) | Place::Bound(texture)) = (&mut self.upload, &self.place) {
            upload.encode(&self.layout, texture, encoder);
        }
    }

    pub(super) fn upload(&mut self) -> Option<&mut Upload> {
        self.upload.as_mut()
    }

    /// Creates a buffer to read its texture through.
    pub(super) fn readback(&self, gpu: &Gpu, staging: &Arc<Staging>) -> Result<Readback, GpuError> {
        Readback::new(gpu, staging, &self.called, &self.layout)
    }

    /// Encodes a copy of its texture into a readback buffer, to be read later.
    pub(super) fn encode_readback(
        &self,
        gpu: &Gpu,
        staging: &Arc<Staging>,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<Readback, GpuError> {
        let mut readback = self.readback(gpu, staging)?;
        if let Some(texture) = self.texture() {
            readback.encode(texture, encoder);
        }
        Ok(readback)
    }
}
