//! The device that `texpool plan --measure` predicts for and measures on.

use super::{
    args::AdapterArgs,
    error::CliError,
    inputs::random,
    setup_model::{self, Medians},
};
use std::time::Duration;
use texpool_compile::{BlockChoice, CompileOptions, CompiledModel, DeviceProfile};
use texpool_gpu::Gpu;
use texpool_ops::graph::{Blocks, Graph, InputValues};
use texpool_plan::TexelFormat;

/// A device with its profile.
pub(super) struct Device {
    gpu: Gpu,
    pub(super) name: String,
    profile: DeviceProfile,
    blocks: Blocks,
}

impl Device {
    /// Opens the device, and measures it if it has no stored profile.
    pub(super) fn open(adapter: &AdapterArgs, format: TexelFormat, blocks: BlockChoice) -> Result<Self, CliError> {
        let gpu = adapter.open(false)?;
        let blocks = setup_model::blocks_on(&gpu, format, blocks);
        let profile = setup_model::device_profile(&gpu, format, blocks, false)?;
        Ok(Self { name: gpu.device.adapter_info().name, gpu, profile, blocks })
    }

    /// Returns the options for this device.
    pub(super) fn adapt(&self, options: CompileOptions) -> CompileOptions {
        let (limits, blocks) = (self.gpu.texture_limits(), BlockChoice::Fixed(self.blocks));
        CompileOptions { limits, blocks, device_profile: self.profile.clone(), ..options }
    }

    /// Runs plans, and returns the median times of each.
    pub(super) fn times(
        &self,
        plans: (usize, impl Fn(usize) -> Option<CompiledModel>),
        graph: &Graph,
        options: &CompileOptions,
        seconds: Duration,
    ) -> Result<Vec<Medians>, CliError> {
        setup_model::check_interrupted("the search for plans")?;
        let inputs = random(graph);
        let given: Vec<InputValues<'_>> = inputs.iter().map(InputValues::from).collect();
        setup_model::measured(&self.gpu, plans, options, &given, seconds)
    }
}
