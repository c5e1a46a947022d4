//! The inputs and outputs of a session: where each lies, and how its values come and go.

use std::{borrow::Cow, ops::Range, sync::Arc};

use super::{
    Gpu, GpuError, Role, TensorRole, TextureProblem,
    allocations::Allocations,
    io_texture,
    pack::saturated,
    staging::{HostLayout, Readback, Staging, Upload},
    textures::make,
    transfer::{self, Transfer},
    wait::Wait,
};
use crate::{
    compile::PIECE,
    graph::Tensor,
    plan::{TexelFormat, printable},
};

/// Where an input or output lies.
#[derive(Debug)]
enum Place {
    /// Nowhere yet: a texture of the session's own is made when it is needed.
    None,
    Own(wgpu::Texture),
    /// In a texture of the caller's.
    Bound(wgpu::Texture),
}

/// One input or output.
#[derive(Debug)]
pub(super) struct Port {
    role: TensorRole,
    index: usize,
    name: String,
    layout: HostLayout,
    place: Place,
    upload: Option<Upload>,
    /// Whether its values go into the pool or come out of it in the middle of a run, so that it has no texture.
    streamed: bool,
    /// Texels on their way in pieces. Zeroed once: packing writes the same lanes each time and leaves the others.
    packed: Vec<u8>,
    /// How many of the values that it was given last its format does not hold.
    saturated: u64,
    /// Whether there are values in its texture, as far as is known here: those of a texture that the caller has are the
    /// caller's business.
    filled: bool,
}

impl Port {
    pub(super) fn new(tensor: &Tensor, (role, index): (TensorRole, usize), format: TexelFormat, max: u32) -> Self {
        let spec = io_texture(tensor.shape, format, max);
        let layout = HostLayout { shape: tensor.shape, permutation: tensor.host_permutation.clone(), spec };
        Self {
            role,
            index,
            name: tensor.name.clone(),
            layout,
            place: Place::None,
            upload: None,
            packed: Vec::new(),
            saturated: 0,
            streamed: false,
            filled: false,
        }
    }

    /// The same, where its values go into the pool or come out of it in the middle of a run.
    pub(super) fn streamed(mut self, streamed: bool) -> Self {
        self.streamed = streamed;
        self
    }

    /// Whether it has no texture.
    pub(super) const fn is_streamed(&self) -> bool {
        self.streamed
    }

    /// Some of the bytes that [`pack`](Self::pack) made.
    pub(super) fn packed(&self, range: Range<usize>) -> Option<&[u8]> {
        self.packed.get(range)
    }

    /// Packs dense values for a run.
    pub(super) fn pack(&mut self, values: &[f32]) {
        self.count_saturated(values);
        self.packed.resize(self.layout.spec.bytes() as usize, 0);
        self.layout.pack(values, &mut self.packed);
        self.filled = true;
    }

    fn count_saturated(&mut self, values: &[f32]) {
        self.saturated = saturated(values, self.layout.spec.format);
    }

    /// How many of the values that it was given last its format does not hold.
    pub(super) const fn saturated(&self) -> u64 {
        self.saturated
    }

    /// Dense values of the bytes that were downloaded.
    pub(super) fn unpack(&self, bytes: &[u8], values: &mut [f32]) {
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

    /// Whether it lies in a texture of the session's own.
    pub(super) fn is_own(&self) -> bool {
        matches!(self.place, Place::Own(_))
    }

    /// Bytes of its own texture.
    pub(super) fn bytes(&self) -> u64 {
        if self.is_own() { self.layout.spec.bytes() } else { 0 }
    }

    /// Takes a texture of the caller's in place of its own.
    pub(super) fn bind(&mut self, texture: &wgpu::Texture) -> Result<(), GpuError> {
        self.refuse_streamed()?;
        TextureProblem::check(texture, self.layout.spec).map_err(|problem| self.refuse(problem))?;
        self.place = Place::Bound(texture.clone());
        (self.upload, self.filled, self.saturated) = (None, true, 0);
        Ok(())
    }

    /// The error where a texture of the caller's cannot be taken.
    pub(super) fn refuse(&self, problem: TextureProblem) -> GpuError {
        let (role, index, name, expected) = (self.role, self.index, self.name.clone(), self.layout.spec);
        GpuError::ExternalTexture { role, index, name, expected, problem }
    }

    /// Refuses what needs a texture, where there is none.
    pub(super) fn refuse_streamed(&self) -> Result<(), GpuError> {
        let (role, index) = (self.role, self.index);
        match self.streamed {
            true => Err(GpuError::TensorStreamed { role, index, name: self.name.clone() }),
            false => Ok(()),
        }
    }

    /// Gives a texture of the caller's back.
    pub(super) fn unbind(&mut self) {
        if self.is_bound() {
            (self.place, self.filled) = (Place::None, false);
        }
    }

    /// Its texture, if it has one.
    pub(super) fn texture(&self) -> Option<&wgpu::Texture> {
        match &self.place {
            Place::None => None,
            Place::Own(texture) | Place::Bound(texture) => Some(texture),
        }
    }

    /// Its texture, which is made if it has none.
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

    /// Notes that there will be values in its texture: they were submitted, or the caller will write them.
    pub(super) fn set_filled(&mut self) {
        self.filled = true;
    }

    /// Gives back what it has of the device's memory.
    pub(super) fn trim(&mut self) {
        if self.is_own() {
            (self.place, self.filled) = (Place::None, false);
        }
        self.upload = None;
    }

    /// Drops the buffer that values go through, of which nothing is known after a run that failed.
    pub(super) fn reset(&mut self) {
        self.upload = None;
    }

    /// Checks that there are as many values as elements.
    pub(super) fn check_len(&self, found: usize) -> Result<(), GpuError> {
        let expected = self.layout.shape.len();
        if expected == found {
            return Ok(());
        }
        let (role, index, name) = (self.role, self.index, self.name.clone());
        Err(GpuError::TensorLength { role, index, name, expected, found })
    }

    /// Writes dense values where the device will fetch them.
    pub(super) fn write(&mut self, gpu: &Gpu, staging: &Arc<Staging>, values: &[f32]) -> Result<(), GpuError> {
        self.count_saturated(values);
        let upload = match self.upload.take() {
            Some(upload) => upload,
            None => Upload::new(gpu, staging, &self.called(), &self.layout)?,
        };
        let called = self.called();
        // Put back before it is written: an upload that fails knows its own state.
        self.upload.insert(upload).write(gpu, &called, &self.layout, values)
    }

    /// Whether its values go in pieces where somebody waits for them: there are many, and the texture is its own, so that
    /// nobody else writes it meanwhile.
    pub(super) fn is_in_pieces(&self) -> bool {
        !self.streamed && !self.is_bound() && self.layout.spec.bytes() > PIECE
    }

    /// Writes dense values to its texture in pieces of `what`, and waits until they are there. There are none where that
    /// fails.
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
        let (called, spec) = (self.called(), self.layout.spec);
        let texture = self.ensure(gpu, allocations)?.clone();
        (self.upload, self.filled) = (None, false);
        let held = match transfer.take().filter(|held| held.fits(spec)) {
            Some(held) => transfer.insert(held),
            None => transfer.insert(Transfer::new(gpu, staging, &called, spec)?),
        };
        self.packed.resize(spec.bytes() as usize, 0);
        self.layout.pack(values, &mut self.packed);
        let packed = &self.packed[..];
        held.write(gpu, wait, what, &texture, spec, |range| Cow::Borrowed(&packed[range])).await?;
        self.filled = true;
        Ok(())
    }

    /// Reads its texture in pieces of `what`.
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

    /// Encodes the copy of what was written.
    pub(super) fn encode_upload(&mut self, encoder: &mut wgpu::CommandEncoder) {
        if let (Some(upload), Place::Own(texture) | Place::Bound(texture)) = (&mut self.upload, &self.place) {
            upload.encode(&self.layout, texture, encoder);
        }
    }

    pub(super) fn upload(&mut self) -> Option<&mut Upload> {
        self.upload.as_mut()
    }

    /// A buffer to read it through.
    pub(super) fn readback(&self, gpu: &Gpu, staging: &Arc<Staging>) -> Result<Readback, GpuError> {
        Readback::new(gpu, staging, &self.called(), &self.layout)
    }

    /// What it is called in errors.
    fn called(&self) -> String {
        format!("{} {} (`{}`)", self.role, self.index, printable(&self.name))
    }

    /// Encodes a copy of it, to be read later.
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
