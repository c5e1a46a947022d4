//! Values that the executor carries from the outputs of a run to the inputs of the next.

use std::sync::Arc;

use super::Executor;
use crate::{
    GpuError, TensorRole, TextureProblem,
    carry::{Carry, Start, first_values},
    ports::Port,
};

impl Executor {
    /// Lets the values of an output become those of an input at the next run. Both must have the same number of
    /// elements, in the file's order. An input without values begins with the `initial` ones, as it does after each
    /// reset; with zeros if there are none.
    ///
    /// # Errors
    /// [`GpuError::NoSuchTensor`] for an index out of range; [`GpuError::TensorLength`] for another number of initial
    /// values; [`GpuError::ExternalTexture`] for a bound texture that
    /// cannot be copied, or that another input uses, too.
    pub fn carry(&mut self, output: usize, input: usize, initial: Option<Vec<f32>>) -> Result<(), GpuError> {
        for (role, index) in [(TensorRole::Output, output), (TensorRole::Input, input)] {
            let ports = self.ports(role);
            let port = ports.get(index).ok_or(GpuError::NoSuchTensor { role, index, count: ports.len() })?;
            if let Some(texture) = port.texture().filter(|_| port.is_bound()) {
                check_usage(role, port, texture)?;
                let mut others =
                    self.inputs.iter().enumerate().filter(|&(i, _)| (role, i) != (TensorRole::Input, index));
                if let Some((index, _)) = others.find(|(_, other)| other.texture() == Some(texture)) {
                    return Err(port.refuse(TextureProblem::InUse { role: TensorRole::Input, index }));
                }
            }
        }
        if let (Some(from), Some(to)) = (self.outputs.get(output), self.inputs.get(input)) {
            initial.as_ref().map_or(Ok(()), |initial| to.check_len(initial.len()))?;
            self.carries.push(Carry::new((output, from), (input, to), initial));
        }
        Ok(())
    }

    /// Carries the model's variables.
    pub(super) fn carry_variables(&mut self) -> Result<(), GpuError> {
        let compiled = Arc::clone(&self.compiled);
        let mut variables = compiled.graph().variables.iter();
        variables.try_for_each(|variable| self.carry(variable.output, variable.input, first_values(variable)))
    }

    /// Returns the inputs or outputs of the caller, without those of the model's variables and the extents of bounded
    /// outputs.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn caller_ports(&self, role: TensorRole) -> &[Port] {
        let (ports, graph) = (self.ports(role), self.compiled.graph());
        let of_caller = match role {
            TensorRole::Input => graph.caller_inputs(),
            TensorRole::Output => graph.caller_outputs(),
        };
        &ports[..of_caller.len().min(ports.len())]
    }

    /// Returns the pairs of output and input whose values are carried.
    pub fn carried(&self) -> impl Iterator<Item = (usize, usize)> {
        self.carries.iter().map(|carry| (carry.output, carry.input))
    }

    /// Returns whether the values of an input or output are carried.
    pub fn is_carried(&self, role: TensorRole, index: usize) -> bool {
        self.carries.iter().any(|carry| carry.uses(role, index))
    }

    /// Lets all carried inputs begin with their initial values at the next run.
    pub fn reset_carried(&mut self) {
        self.carries.iter_mut().for_each(Carry::reset);
    }

    /// Lets one carried input begin with its initial values at the next run.
    pub(super) fn reset_input(&mut self, input: usize) {
        self.carries.iter_mut().filter(|carry| carry.input == input).for_each(Carry::reset);
    }

    /// Records that the port of an input holds the values with which the next run begins.
    pub(super) fn settle_input(&mut self, input: usize) {
        self.carries.iter_mut().filter(|carry| carry.input == input).for_each(Carry::settle);
    }

    /// Returns whether the port of an input holds a carried value that no other place has.
    pub(super) fn holds_carried(&self, input: usize) -> bool {
        self.carries.iter().any(|carry| carry.input == input && !carry.is_pending())
    }

    /// Creates the resources that the carried values of a run need, except those of inputs that are given. The
    /// textures must exist.
    pub(super) fn prepare_carried(&mut self, given: &[usize]) -> Result<Vec<Start>, GpuError> {
        let Self { gpu, allocations, staging, inputs, outputs, carries, .. } = self;
        let mut starts = Vec::new();
        for carry in carries {
            let (Some(from), Some(to)) = (outputs.get(carry.output), inputs.get(carry.input)) else { continue };
            carry.prepare(gpu, allocations, from, to)?;
            if !given.contains(&carry.input) {
                starts.extend(carry.start(gpu, staging, to)?);
            }
        }
        Ok(starts)
    }

    /// Records that a run was encoded, after which the ports hold the values that stay on the device.
    pub(super) fn settle_carried(&mut self) {
        self.carries.iter_mut().filter(|carry| !carry.is_on_host()).for_each(Carry::settle);
    }

    /// Writes the values with which the next run begins to the port of an input, in a separate submission.
    pub(super) fn flush_input(&mut self, input: usize) -> Result<(), GpuError> {
        let Some(carry) = self.carries.iter().find(|carry| carry.input == input && carry.is_pending()) else {
            return Ok(());
        };
        if let Some(values) = carry.pending_values() {
            let values = values.to_vec();
            return self.write(input, &values);
        }
        let Self { gpu, allocations, staging, inputs, .. } = self;
        if let Some(port) = inputs.get_mut(input) {
            port.ensure(gpu, allocations)?;
            if let Some(start) = carry.start(gpu, staging, port)? {
                gpu.scoped("resetting an input", || {
                    let descriptor = wgpu::CommandEncoderDescriptor { label: Some("reset") };
                    let mut encoder = gpu.device.create_command_encoder(&descriptor);
                    start.encode(&mut encoder, inputs);
                    gpu.submit([encoder.finish()])
                })?;
            }
        }
        self.settle_input(input);
        Ok(())
    }

    /// Writes the values with which the next run begins to the ports of all carried inputs.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn flush_carried(&mut self) -> Result<(), GpuError> {
        let inputs: Vec<usize> = self.carries.iter().map(|carry| carry.input).collect();
        inputs.into_iter().try_for_each(|input| self.flush_input(input))
    }

    /// Returns the values that the host passes to the next run for carried inputs, except those that are given.
    pub(super) fn values_from_host(&self, given: &[usize]) -> Vec<(usize, Vec<f32>)> {
        let carries = self.carries.iter().filter(|carry| !given.contains(&carry.input));
        carries.filter_map(|carry| Some((carry.input, carry.pending_values()?.to_vec()))).collect()
    }

    /// Returns memory for the outputs that the host takes from a run to carry them.
    pub(super) fn values_for_host(&self) -> Vec<(usize, Vec<f32>)> {
        let carries = self.carries.iter().filter(|carry| carry.is_on_host());
        let len = |output: usize| self.outputs.get(output).map_or(0, |port| port.layout().shape.len());
        carries.map(|carry| (carry.output, vec![0.0; len(carry.output)])).collect()
    }

    /// Stores outputs of a run in the order of [`values_for_host`](Self::values_for_host).
    pub(super) fn store_on_host(&mut self, values: Vec<(usize, Vec<f32>)>) {
        let carries = self.carries.iter_mut().filter(|carry| carry.is_on_host());
        carries.zip(values).for_each(|(carry, (_, values))| carry.store(values));
    }
}

/// Checks that the values of a texture of the caller can be carried.
pub(super) fn check_usage(role: TensorRole, port: &Port, texture: &wgpu::Texture) -> Result<(), GpuError> {
    let lacking = Carry::usage(role).difference(texture.usage());
    if lacking.is_empty() { Ok(()) } else { Err(port.refuse(TextureProblem::Usage(lacking))) }
}
