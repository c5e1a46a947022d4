//! The blocks that are fastest on a device, kept like its profile. Measured only where the user asks for it.

use std::{ops::ControlFlow, path::Path};

use super::{SetupError, clock_of, clock_time, kept_measurement::KeptMeasurement};
use crate::fetch::TUNED;
use texpool_gpu::{Gpu, Stopwatch, TuneLayer, TunedKind, tune};
use texpool_ops::graph::Blocks;
use texpool_plan::TexelFormat;

/// Returns the blocks of a device for texels of `format`: those stored in `folder`, or those of its class if the file
/// is missing or damaged, or belongs to another driver.
pub fn device_blocks(gpu: &Gpu, format: TexelFormat, folder: &Path) -> Blocks {
    let class = gpu.blocks();
    let kept: Option<Blocks> = KeptMeasurement::new(gpu, format, folder, TUNED).read();
    // The class of a device may differ between versions.
    kept.filter(|kept| kept.class() == class.class()).unwrap_or(class)
}

/// Stores the blocks of a device for texels of `format` in `folder`, in place of those stored before. A folder that
/// cannot be written to is not an error.
pub fn keep_device_blocks(gpu: &Gpu, format: TexelFormat, folder: &Path, blocks: Blocks) {
    KeptMeasurement::new(gpu, format, folder, TUNED).keep(&blocks);
}

/// Measures which blocks are fastest for `layers` on a device for texels of `format`, and stores those that are faster
/// than the blocks of its class in `folder`, in place of all that was stored. `progress` receives the state of the
/// measurement and decides if it goes on.
///
/// # Errors
/// [`SetupError::Gpu`] if the device cannot be measured, or if `progress` breaks off; nothing is stored then. A folder
/// that cannot be written to is not an error.
pub fn tuned_blocks(
    gpu: &Gpu,
    format: TexelFormat,
    folder: &Path,
    layers: &[TuneLayer],
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<(Blocks, Vec<TunedKind>), SetupError> {
    let clock = clock_of(gpu);
    let mut blocks = gpu.blocks();
    let kinds = tune(gpu, format, blocks, layers, &Stopwatch { clock, read: &|| clock_time(clock) }, progress)?;
    for kind in &kinds {
        blocks.tune(kind.kind, kind.chosen());
    }
    keep_device_blocks(gpu, format, folder, blocks);
    Ok((blocks, kinds))
}
