//! Inputs of a run: arrays, pictures, or random numbers.

use super::{
    error::CliError,
    model_source::{ModelSource, file_or_name},
    out,
    picture_args::{PictureArgs, PictureUse},
};
use crate::{
    io::{InputFile, IoError, printable},
    report::ValueSummary,
};
use serde::Serialize;
use std::{
    ffi::OsString,
    fmt::{self, Display},
    path::{Path, PathBuf},
};
use texpool::{
    graph::{ElementType, Graph, Quantization, Tensor},
    plan::TexelFormat,
    tensor::{
        ConvertError, TensorView,
        convert::{TensorSpec, borrow_reals},
    },
};

/// Where a run's inputs come from.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(super) struct InputArgs {
    /// Input of the model: a .npy array, a PNG or JPEG, the name of a photo from `texpool models list`, or `-` for
    /// standard input. Repeat for each input, in order. The input's type must be able to hold an array's values; for
    /// a quantised input, elements of its own type are stored integers. Default: as with --random.
    #[arg(long, value_name = "FILE")]
    input: Vec<OsString>,
    /// Run on random numbers from -1 to 1, the same every time. The results have no meaning.
    #[arg(long, conflicts_with = "input")]
    random: bool,
    #[command(flatten)]
    picture: PictureArgs,
}

/// Dense values, a vector per input, and a description of each.
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
    /// True for random values.
    random: bool,
    file: Option<String>,
    /// Conversion of a picture to the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    preprocessing: Option<PictureUse>,
    /// Number of values outside the range of the input's quantised integers, which are clamped.
    #[serde(skip_serializing_if = "is_zero")]
    clamped: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, shape, values, random, file, preprocessing, clamped } = self;
        write!(f, "{} {shape:?}: {values}", printable(name))?;
        match file {
            Some(file) => write!(f, ", from {file}")?,
            None if *random => f.write_str(", random numbers, the same every time")?,
            None => {}
        }
        if *clamped > 0 {
            write!(f, "; {clamped} values are beyond what the input's 8 bits can stand for, and are clamped")?;
        }
        match preprocessing {
            Some(preprocessing) => write!(f, "\n  photo → {preprocessing}"),
            None => Ok(()),
        }
    }
}

impl Input {
    /// Returns true if the input shows a photo.
    pub(super) fn is_picture(&self) -> bool {
        self.preprocessing.is_some()
    }
}

impl InputArgs {
    /// Returns the paths of the given files, and downloads them if necessary.
    pub(super) fn paths(&self) -> impl Iterator<Item = Result<PathBuf, CliError>> {
        self.input.iter().map(|text| file_or_name(text))
    }

    /// Number of inputs that are read from standard input.
    pub(super) fn of_stdin(&self) -> usize {
        self.input.iter().filter(|input| *input == "-").count()
    }

    /// Reads the files, or generates random numbers, with a note if the user did not request them. The values are
    /// stored in texels of `format`.
    pub(super) fn read(&self, graph: &Graph, model: &ModelSource, format: TexelFormat) -> Result<Inputs, CliError> {
        let tensors = || graph.inputs.iter().map(|&t| &graph.tensors[t]);
        let listed = || {
            let one = |t: &Tensor| format!("{} {:?}", printable(&t.name), t.dims);
            tensors().map(one).collect::<Vec<_>>().join(", ")
        };
        if self.of_stdin() > 1 {
            return Err(CliError::Usage("standard input can be read once; say `--input -` for one input only".into()));
        }
        let read: Vec<(Vec<f32>, Option<PictureUse>)> = if self.input.is_empty() {
            if !self.random && !graph.inputs.is_empty() {
                out::stderr(&format!(
                    "note: no --input, so this runs on random numbers from -1 to 1, the same every time; the model takes: {}",
                    listed()
                ));
            }
            random(graph).into_iter().map(|values| (values, None)).collect()
        } else if self.input.len() != graph.inputs.len() {
            let (expected, found) = (graph.inputs.len(), self.input.len());
            return Err(CliError::InputCount { expected, found, shapes: listed() });
        } else {
            let read = self.input.iter().zip(tensors()).map(|(text, tensor)| {
                let path = file_or_name(text)?;
                self.read_one(&path, tensor, model, format).map_err(|source| CliError::input(tensor, source))
            });
            read.collect::<Result<_, _>>()?
        };
        let (values, pictures): (Vec<_>, Vec<_>) = read.into_iter().unzip();
        let described =
            tensors().zip(&values).zip(pictures).enumerate().map(|(i, ((tensor, values), picture))| Input {
                name: tensor.name.clone(),
                shape: tensor.dims.clone(),
                values: ValueSummary::from_slice(values),
                random: self.input.is_empty(),
                file: self.input.get(i).map(|file| printable(file).to_string()),
                preprocessing: picture,
                clamped: clamped(tensor, values),
            });
        let described = described.collect();
        Ok(Inputs { values, described })
    }

    fn read_one(
        &self,
        path: &Path,
        tensor: &Tensor,
        model: &ModelSource,
        format: TexelFormat,
    ) -> Result<(Vec<f32>, Option<PictureUse>), IoError> {
        let file = InputFile::open(path)?;
        if file.is_array() {
            return Ok((file.input(tensor.into(), format)?, None));
        }
        let picture = file.picture()?;
        let entry = || model.catalogue_entry();
        let Some((values, used)) = self.picture.values(&picture, tensor, entry) else {
            return Err(IoError::NotAPictureInput { path: path.into(), expected: tensor.dims.clone() });
        };
        check_pixels(path, tensor, &values)?;
        Ok((values, Some(used)))
    }
}

impl Inputs {
    /// Returns the values in the form that sessions take.
    pub(super) fn slices(&self) -> Vec<&[f32]> {
        self.values.iter().map(Vec::as_slice).collect()
    }

    /// Checks that the compiled model, with texels of `format`, computes exactly with the integers among the values.
    pub(super) fn check_ranges(&self, compiled: &Graph, format: TexelFormat) -> Result<(), CliError> {
        let mut unused = Vec::new();
        for (&tensor, values) in compiled.inputs.iter().zip(&self.values) {
            let tensor = &compiled.tensors[tensor];
            let refused = |source| CliError::Value { input: tensor.name.clone(), source };
            let counts = !tensor.element_type.is_float() && tensor.quantization.is_none();
            let exact = f64::from(format.max_exact_integer());
            if let Some(index) = values.iter().position(|&value| counts && f64::from(value).abs() > exact) {
                return Err(refused(ConvertError::Inexact { index, value: values[index] as i128, format }));
            }
            borrow_reals(&TensorView::from(&values[..]), TensorSpec::from(tensor), format, &mut unused)
                .map_err(refused)?;
        }
        Ok(())
    }
}

/// Checks that pixel values fit the input's type, if that is an integer type without quantization.
fn check_pixels(path: &Path, tensor: &Tensor, values: &[f32]) -> Result<(), IoError> {
    let element_type = tensor.element_type;
    if element_type.is_float() || tensor.quantization.is_some() {
        return Ok(());
    }
    let (least, greatest) = integers(element_type);
    let fits = |value: f32| value.fract() == 0.0 && (least..=greatest).contains(&f64::from(value));
    match values.iter().find(|&&value| !fits(value)) {
        Some(value) => Err(IoError::Pixels { path: path.into(), value: value.to_string(), element_type }),
        None => Ok(()),
    }
}

/// Returns the number of values outside the range of a quantised input by more than one step. A difference of one
/// step is common for a picture's largest value, such as 1 in a range that ends at 127/128.
fn clamped(tensor: &Tensor, values: &[f32]) -> usize {
    let Some(Quantization { scale, zero_point }) = tensor.quantization else { return 0 };
    let (least, greatest) = integers(tensor.element_type);
    let real = |integer: f64| f64::from(scale) * (integer - f64::from(zero_point));
    let held = real(least - 1.0)..=real(greatest + 1.0);
    values.iter().filter(|&&value| !held.contains(&f64::from(value))).count()
}

/// Returns the smallest and the largest integer of a type.
fn integers(element_type: ElementType) -> (f64, f64) {
    let (least, greatest) = element_type.range();
    (least as f64, greatest as f64)
}

/// Generates numbers from -1 to 1, the same every time; zero or one for integers. Uses the high bits of SplitMix64
/// (Steele, Lea and Flood, 2014).
pub(super) fn random(graph: &Graph) -> Vec<Vec<f32>> {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // Uses 24 bits, so that a 32-bit float represents each number exactly.
        ((bits ^ (bits >> 31)) >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    };
    let tensors = graph.inputs.iter().map(|&tensor| &graph.tensors[tensor]);
    let values = |tensor: &Tensor| -> Vec<f32> {
        // Plain integers and booleans only get zero and one.
        let counts = !tensor.element_type.is_float() && tensor.quantization.is_none();
        (0..tensor.shape.len()).map(|_| next()).map(|v| if counts { f32::from(u8::from(v > 0.0)) } else { v }).collect()
    };
    tensors.map(values).collect()
}
