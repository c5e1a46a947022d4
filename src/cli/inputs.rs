//! What a model is run on: arrays, pictures, or numbers out of a hat.

use super::{CliError, opening::file_or_name};
use crate::{
    graph::{Graph, TensorId},
    io::{Fit, IoError, Range, prepare, read_npy, read_picture},
};
use std::path::Path;

/// Where a run's inputs come from.
#[derive(Debug, clap::Args)]
pub(super) struct InputArgs {
    /// A .npy array, a PNG or a JPEG, or a photo's name from `texpool models list`; once for each input of the model,
    /// in order. Without any, seeded random numbers from -1 to 1.
    #[arg(long, value_name = "FILE")]
    input: Vec<String>,
    /// How a picture becomes one of the input's aspect.
    #[arg(long, value_enum, default_value_t)]
    fit: Fit,
    /// The values that a picture's bytes become: -1 to 1, 0 to 1, 0 to 255, or with the mean and deviation of ImageNet's
    /// photos taken out of 0 to 1. The model does not say what it wants; most of PyTorch's take `imagenet`.
    #[arg(long, value_enum, default_value_t)]
    range: Range,
}

impl InputArgs {
    /// Dense values, a vector an input.
    pub(super) fn read(&self, graph: &Graph) -> Result<Vec<Vec<f32>>, CliError> {
        if self.input.is_empty() {
            return Ok(random(graph));
        }
        if self.input.len() != graph.inputs.len() {
            let shapes = graph.inputs.iter().map(|&t| format!("{:?}", graph.tensors[t].dims)).collect::<Vec<_>>();
            let (expected, found) = (graph.inputs.len(), self.input.len());
            return Err(CliError::InputCount { expected, found, shapes: shapes.join(", ") });
        }
        let pairs = self.input.iter().zip(&graph.inputs);
        pairs.map(|(text, &tensor)| self.read_one(&file_or_name(text)?, graph, tensor)).collect()
    }

    fn read_one(&self, path: &Path, graph: &Graph, tensor: TensorId) -> Result<Vec<f32>, CliError> {
        let dims = &graph.tensors[tensor].dims;
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy")) {
            return Ok(read_npy(path, dims)?);
        }
        let picture = read_picture(path)?;
        match dims[..] {
            [1, height, width, 3] => Ok(prepare(&picture, width as u32, height as u32, self.fit, self.range).values),
            [1, 3, height, width] => Ok(prepare(&picture, width as u32, height as u32, self.fit, self.range).planar()),
            _ => Err(IoError::NotAPictureInput { path: path.into(), expected: dims.clone() }.into()),
        }
    }
}

/// Numbers from -1 to 1, the same every time: the high bits of Steele, Lea and Flood's SplitMix64 (2014).
pub(super) fn random(graph: &Graph) -> Vec<Vec<f32>> {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    };
    graph.inputs.iter().map(|&tensor| (0..graph.shape(tensor).len()).map(|_| next()).collect()).collect()
}
