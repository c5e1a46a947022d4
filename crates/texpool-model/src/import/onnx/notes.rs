//! Counts of what an import does otherwise than the file says, for warnings.

/// The counts of an import.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Nodes whose random numbers were drawn.
    pub(super) drawn: usize,
    /// Inputs, constants and casts of 64-bit floats that became 32-bit ones.
    pub(super) rounded: usize,
    /// Inputs, constants and casts of bfloat16 that became 32-bit floats.
    pub(super) widened: usize,
}

impl Notes {
    /// Writes the warnings.
    pub(super) fn warn(&self) {
        if self.rounded > 0 {
            let values = self.rounded;
            tracing::warn!(values, "64-bit floats are rounded to 32 bits, and what is computed from them has 32 bits");
        }
        if self.widened > 0 {
            let values = self.widened;
            tracing::warn!(
                values,
                "floats of type bfloat16 are held in 32 bits, and what is computed from them is not rounded"
            );
        }
        if self.drawn > 0 {
            let nodes = self.drawn;
            tracing::warn!(nodes, "random numbers are drawn while importing, so every run has the same ones");
        }
    }
}
