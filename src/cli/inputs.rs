//! What a model is run on: arrays, pictures, or random numbers.

use super::{error::CliError, model_source::file_or_name, out};
use crate::{
    graph::{Graph, Tensor, TensorId},
    io::{Fit, InputFile, IoError, Range, preprocess, printable},
    report::ValueSummary,
};
use serde::Serialize;
use std::{
    ffi::OsString,
    fmt::{self, Display},
    path::{Path, PathBuf},
};

/// Where a run's inputs come from.
#[derive(Debug, clap::Args)]
pub(super) struct InputArgs {
    /// A .npy array, a PNG or a JPEG, or a photo's name from `texpool models list`; once for each input of the model,
    /// in order. Arrays are taken as the numbers they hold. Without any, as with --random.
    #[arg(long, value_name = "FILE")]
    input: Vec<OsString>,
    /// Run on random numbers from -1 to 1, the same every time: for trying out, since what comes out means nothing.
    #[arg(long, conflicts_with = "input")]
    random: bool,
    /// How a picture becomes one of the input's aspect.
    #[arg(long, value_enum, default_value_t)]
    fit: Fit,
    /// The values that a picture's bytes become: -1 to 1, 0 to 1, 0 to 255, or with the mean and deviation of
    /// ImageNet's photos taken out of 0 to 1. The model does not say what it wants; most of PyTorch's take `imagenet`.
    #[arg(long, value_enum, default_value_t)]
    range: Range,
}

/// Dense values, a vector an input, and what is said of each.
pub(super) struct Inputs {
    pub(super) values: Vec<Vec<f32>>,
    pub(super) described: Vec<Input>,
}

/// An input of a run.
#[derive(Debug, Serialize)]
pub(super) struct Input {
    name: String,
    shape: Vec<usize>,
    #[serde(flatten)]
    values: ValueSummary,
    /// Whether the values mean nothing.
    random: bool,
    file: Option<String>,
}

impl Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, shape, values, random, file } = self;
        write!(f, "{} {shape:?}: {values}", printable(name))?;
        match file {
            Some(file) => write!(f, ", from {file}"),
            None if *random => write!(f, ", random numbers, the same every time"),
            None => Ok(()),
        }
    }
}

impl InputArgs {
    /// The files that are named, fetched if need be.
    pub(super) fn paths(&self) -> impl Iterator<Item = Result<PathBuf, CliError>> {
        self.input.iter().map(|text| file_or_name(text))
    }

    /// Reads the files, or makes up numbers; who did not ask for these is told.
    pub(super) fn read(&self, graph: &Graph) -> Result<Inputs, CliError> {
        let tensors = || graph.inputs.iter().map(|&t| &graph.tensors[t]);
        let listed = || {
            let one = |t: &Tensor| format!("{} {:?}", printable(&t.name), t.dims);
            tensors().map(one).collect::<Vec<_>>().join(", ")
        };
        let values = if self.input.is_empty() {
            if !self.random && !graph.inputs.is_empty() {
                out::stderr(&format!(
                    "note: no --input, so this runs on random numbers from -1 to 1, the same every time; the model takes: {}",
                    listed()
                ));
            }
            random(graph)
        } else if self.input.len() != graph.inputs.len() {
            let (expected, found) = (graph.inputs.len(), self.input.len());
            return Err(CliError::InputCount { expected, found, shapes: listed() });
        } else {
            let pairs = self.input.iter().zip(&graph.inputs);
            let read = pairs.map(|(text, &tensor)| self.read_one(&file_or_name(text)?, graph, tensor));
            read.collect::<Result<_, _>>()?
        };
        let described = tensors().zip(&values).enumerate().map(|(i, (tensor, values))| Input {
            name: tensor.name.clone(),
            shape: tensor.dims.clone(),
            values: ValueSummary::from_slice(values),
            random: self.input.is_empty(),
            file: self.input.get(i).map(|file| printable(file).to_string()),
        });
        let described = described.collect();
        Ok(Inputs { values, described })
    }

    fn read_one(&self, path: &Path, graph: &Graph, tensor: TensorId) -> Result<Vec<f32>, CliError> {
        let dims = &graph.tensors[tensor].dims;
        let file = InputFile::open(path)?;
        if file.is_array() {
            return Ok(file.array(dims)?);
        }
        let picture = file.picture()?;
        match dims[..] {
            [1, height, width, 3] => Ok(preprocess(&picture, width as u32, height as u32, self.fit, self.range).values),
            [1, 3, height, width] => {
                Ok(preprocess(&picture, width as u32, height as u32, self.fit, self.range).planar())
            }
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
        // 24 bits, so that a 32-bit float holds each number exactly.
        ((bits ^ (bits >> 31)) >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    };
    graph.inputs.iter().map(|&tensor| (0..graph.shape(tensor).len()).map(|_| next()).collect()).collect()
}
