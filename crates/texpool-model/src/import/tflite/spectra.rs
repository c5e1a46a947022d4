//! Complex tensors of the file, which no tensor of the graph holds. Each is the transform of a real one, and its real or
//! imaginary part is computed where an operator reads it.

use std::collections::HashMap;

use texpool_ops::graph::TensorId;

/// The Fourier transform of real images.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spectrum {
    /// The images without the values that the transform leaves out: stacked along H, or along W if each is a single
    /// row.
    pub(super) images: TensorId,
    /// Numbers of rows and columns that are transformed.
    pub(super) points: [usize; 2],
    /// Real and imaginary part, if computed yet.
    pub(super) parts: [Option<TensorId>; 2],
}

/// The complex tensors that were given so far.
#[derive(Debug, Default)]
pub(super) struct Spectra {
    list: Vec<Spectrum>,
    /// Places in the list. Tensors that differ in shape only have the same.
    of: HashMap<TensorId, usize>,
}

impl Spectra {
    pub(super) fn add(&mut self, id: TensorId, spectrum: Spectrum) {
        self.of.insert(id, self.list.len());
        self.list.push(spectrum);
    }

    pub(super) fn get(&self, id: TensorId) -> Option<Spectrum> {
        self.list.get(*self.of.get(&id)?).copied()
    }

    /// Lets `to` be the spectrum that `from` is.
    pub(super) fn alias(&mut self, from: TensorId, to: TensorId) {
        if let Some(&place) = self.of.get(&from) {
            self.of.insert(to, place);
        }
    }

    pub(super) fn keep_part(&mut self, id: TensorId, part: usize, tensor: TensorId) {
        let spectrum = self.of.get(&id).and_then(|&place| self.list.get_mut(place));
        if let Some(slot) = spectrum.and_then(|spectrum| spectrum.parts.get_mut(part)) {
            *slot = Some(tensor);
        }
    }
}
