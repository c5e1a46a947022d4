//! Complex tensors: operands that may be complex, and results that must be.

use super::OperatorLowering;
use crate::import::{error::Problem, tflite::spectra::Spectrum};
use texpool_ops::graph::TensorId;

impl OperatorLowering<'_, '_> {
    /// Returns an operand that gets another shape. If it is complex, the result must be, too.
    pub(in crate::import::tflite) fn operand_of_any_type(&mut self, position: usize) -> Result<TensorId, Problem> {
        let id = self.id(position)?;
        if self.lowering.spectra.get(id).is_none() {
            return self.operand(position);
        }
        self.gives_complex = true;
        Ok(id)
    }

    /// Lets the result be a spectrum with these extents.
    pub(in crate::import::tflite) fn give_spectrum(
        &mut self,
        dims: &[usize],
        spectrum: Spectrum,
    ) -> Result<(), Problem> {
        self.gives_complex = true;
        self.gives(dims)?;
        self.check_unset()?;
        self.lowering.spectra.add(self.output, spectrum);
        Ok(())
    }

    /// Returns an operand that must be complex, and its spectrum.
    pub(in crate::import::tflite) fn spectrum(&self, position: usize) -> Result<(TensorId, Spectrum), Problem> {
        let id = self.id(position)?;
        let tensor = &self.lowering.tensors[id];
        tensor.complex()?;
        let spectrum = self.lowering.spectra.get(id);
        let spectrum = spectrum
            .ok_or_else(|| Problem::unsupported(format!("no RFFT2D gives its complex operand `{}`", tensor.name)))?;
        Ok((id, spectrum))
    }

    /// Returns whether an operand is complex.
    pub(in crate::import::tflite) fn is_complex(&self, position: usize) -> Result<bool, Problem> {
        self.id(position).map(|id| self.lowering.tensors[id].is_complex())
    }

    /// Keeps a part of a spectrum for further readers.
    pub(in crate::import::tflite) fn keep_part(&mut self, of: TensorId, part: usize, tensor: TensorId) {
        self.lowering.spectra.keep_part(of, part, tensor);
    }
}
