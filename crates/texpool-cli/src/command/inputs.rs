//! Inputs of a run: arrays, pictures, or random numbers.

use super::{
    error::CliError,
    model_source::{ModelSource, file_or_name},
    out,
    picture_args::{PictureArgs, PictureUse},
};
use crate::{
    answer::View,
    fetch::Entry,
    io::{InputFile, IoError, printable, with_bound},
    report::ValueSummary,
};
use image::RgbImage;
use serde::Serialize;
use std::{
    ffi::{OsStr, OsString},
    fmt::{self, Display},
    path::{Path, PathBuf},
};
use texpool_model::tensor::{
    ConvertError, TensorView,
    convert::{TensorSpec, borrow_reals},
};
use texpool_ops::graph::{BoundedInput, ElementType, Graph, InputValues, Quantization, Tensor, TensorId};
use texpool_plan::TexelFormat;

/// Where a run's inputs come from.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(super) struct InputArgs {
    /// Input of the model: a .npy array, a PNG or JPEG, the name of a photo from `texpool models list`, or `-` for
    /// standard input. A model of several inputs takes one for each, in order; more are one run after another. The
    /// input's type must be able to hold an array's values; for a quantised input, elements of its own type are stored
    /// integers. Default: as with --random.
    #[arg(long, value_name = "FILE")]
    input: Vec<OsString>,
    /// More inputs, as in `--input A.jpg B.jpg`.
    #[arg(value_name = "FILE")]
    more: Vec<OsString>,
    /// Run on random numbers from -1 to 1, the same every time. The results have no meaning.
    #[arg(long, conflicts_with_all = ["input", "more"])]
    random: bool,
    #[command(flatten)]
    picture: PictureArgs,
}

/// The files of one run, one for each input; none for random numbers.
pub(super) struct InputSet<'a>(Vec<&'a OsStr>);

/// Dense values, a vector per input, and a description of each.
pub(super) struct Inputs {
    pub(super) values: Vec<Vec<f32>>,
    pub(super) described: Vec<Input>,
    /// The picture of the first input that shows one.
    pub(super) picture: Option<RgbImage>,
}

/// An input as it was read.
struct Read {
    dims: Vec<usize>,
    values: Vec<f32>,
    picture: Option<(RgbImage, PictureUse)>,
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
    /// Returns the part of a photo that the input shows; `None` for random numbers. An array stands for a picture of
    /// the input's extents.
    pub(super) fn view(&self) -> Option<View> {
        match (&self.preprocessing, &self.shape[..]) {
            (Some(picture), _) => Some(picture.view),
            _ if self.random => None,
            (None, &[_, height, width, 3] | &[_, 3, height, width]) => Some(View::of_input(width, height)),
            (None, _) => Some(View::of_input(1, 1)),
        }
    }

    /// Describes the input in a line: the file and its conversion.
    pub(super) fn short(&self) -> String {
        let Self { name, shape, values, file, preprocessing, clamped, .. } = self;
        let from = file.as_deref().unwrap_or("random numbers");
        let mut line = match preprocessing {
            Some(picture) => format!("{from} → {}", picture.short()),
            None => format!("{from} → {} {shape:?}, {values}", printable(name)),
        };
        if *clamped > 0 {
            line += &format!("; {clamped} values are beyond the input's 8 bits and clamped");
        }
        line
    }

    /// Returns the name of the file without its folder and extension.
    pub(super) fn stem(&self) -> Option<String> {
        let stem = Path::new(self.file.as_ref()?).file_stem()?;
        Some(stem.to_string_lossy().into_owned())
    }
}

impl InputSet<'_> {
    /// Returns true if the run is on random numbers.
    pub(super) fn is_random(&self) -> bool {
        self.0.is_empty()
    }
}

impl InputArgs {
    /// Returns the given files in order.
    fn files(&self) -> Result<Vec<&OsStr>, CliError> {
        if self.input.len() > 1 && !self.more.is_empty() {
            let message =
                "files behind several --input have no order; write `--input A B`, or --input in front of each";
            return Err(CliError::Usage(message.into()));
        }
        Ok(self.input.iter().chain(&self.more).map(OsString::as_os_str).collect())
    }

    /// Number of inputs that are read from standard input.
    pub(super) fn of_stdin(&self) -> usize {
        self.input.iter().chain(&self.more).filter(|input| *input == "-").count()
    }

    /// Returns the paths of the given files, and downloads them if necessary.
    pub(super) fn paths(&self) -> Result<Vec<PathBuf>, CliError> {
        self.files()?.into_iter().map(file_or_name).collect()
    }

    /// Divides the files into runs: as many for each as the model has inputs. Without any, there is one run on random
    /// numbers, with a note if the user did not request them.
    pub(super) fn sets(&self, graph: &Graph) -> Result<Vec<InputSet<'_>>, CliError> {
        let files = self.files()?;
        if self.of_stdin() > 1 {
            return Err(CliError::Usage("standard input can be read once; say `--input -` for one input only".into()));
        }
        if files.is_empty() {
            if !self.random && !graph.caller_inputs().is_empty() {
                out::stderr(&format!(
                    "note: no --input, so this runs on random numbers from -1 to 1, the same every time; the model takes: {}",
                    listed(graph)
                ));
            }
            return Ok(vec![InputSet(vec![])]);
        }
        let (expected, count) = (graph.caller_inputs().len(), files.len());
        if expected == 0 || count % expected != 0 {
            return Err(CliError::InputCount { expected, files: count, shapes: listed(graph) });
        }
        Ok(files.chunks_exact(expected).map(|files| InputSet(files.to_vec())).collect())
    }

    /// Reads the inputs of a single run.
    pub(super) fn read(&self, graph: &Graph, model: &ModelSource, format: TexelFormat) -> Result<Inputs, CliError> {
        let sets = self.sets(graph)?;
        let [set] = &sets[..] else {
            let (expected, count) = (graph.caller_inputs().len(), sets.iter().map(|set| set.0.len()).sum());
            return Err(CliError::InputCount { expected, files: count, shapes: listed(graph) });
        };
        let entry = if set.0.is_empty() { None } else { model.catalogue_entry() };
        self.read_set(set, graph, entry.as_ref(), format)
    }

    /// Reads the files of a run, or generates random numbers. The values are stored in texels of `format`.
    pub(super) fn read_set(
        &self,
        set: &InputSet<'_>,
        graph: &Graph,
        entry: Option<&Entry>,
        format: TexelFormat,
    ) -> Result<Inputs, CliError> {
        let tensors = || graph.caller_inputs().iter().map(|&t| &graph.tensors[t]);
        let read: Vec<Read> = if set.0.is_empty() {
            let all = random(graph).into_iter().zip(tensors());
            all.map(|(values, tensor)| Read { dims: tensor.dims.clone(), values, picture: None }).collect()
        } else {
            let read = set.0.iter().zip(tensors()).enumerate().map(|(i, (text, tensor))| {
                let path = file_or_name(text)?;
                let bounded: Vec<BoundedInput> = graph.bounded_axes_of_input(i).copied().collect();
                let read = self.read_one(&path, (tensor, &bounded), entry, format);
                read.map_err(|source| CliError::input(tensor, source))
            });
            read.collect::<Result<_, _>>()?
        };
        let mut inputs = Inputs { values: vec![], described: vec![], picture: None };
        for (i, (tensor, Read { dims, values, picture })) in tensors().zip(read).enumerate() {
            let (picture, preprocessing) = picture.unzip();
            inputs.described.push(Input {
                name: tensor.name.clone(),
                shape: dims,
                values: ValueSummary::from_slice(&values),
                random: set.0.is_empty(),
                file: set.0.get(i).map(|file| printable(file).to_string()),
                preprocessing,
                clamped: clamped(tensor, &values),
            });
            inputs.values.push(values);
            inputs.picture = inputs.picture.or(picture);
        }
        Ok(inputs)
    }

    fn read_one(
        &self,
        path: &Path,
        (tensor, bounded): (&Tensor, &[BoundedInput]),
        entry: Option<&Entry>,
        format: TexelFormat,
    ) -> Result<Read, IoError> {
        let file = InputFile::open(path)?;
        if file.is_array() {
            let axes: Vec<usize> = bounded.iter().map(|bounded| bounded.axis).collect();
            let (dims, values) = file.input(tensor.into(), &axes, format)?;
            return Ok(Read { dims, values, picture: None });
        }
        let picture = file.picture()?;
        let Some((values, used)) = self.picture.values(path, &picture, (tensor, bounded), entry)? else {
            return Err(IoError::NotAPictureInput { path: path.into(), expected: tensor.dims.clone() });
        };
        check_pixels(path, tensor, &values)?;
        Ok(Read { dims: used.dims.clone(), values, picture: Some((picture, used)) })
    }
}

/// Lists the inputs of a model.
fn listed(graph: &Graph) -> String {
    let one = |(i, &t): (usize, &TensorId)| {
        let axes: Vec<usize> = graph.bounded_axes_of_input(i).map(|bounded| bounded.axis).collect();
        format!("{} {}", printable(&graph.tensors[t].name), with_bound(&graph.tensors[t].dims, &axes))
    };
    graph.caller_inputs().iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
}

impl Inputs {
    /// Returns the part of a photo that the first input shows which is no random one.
    pub(super) fn view(&self) -> Option<View> {
        let pictures = self.described.iter().filter(|input| input.preprocessing.is_some());
        pictures.chain(&self.described).find_map(Input::view)
    }

    /// Returns a copy of the extents and values of each input.
    pub(super) fn arrays(&self) -> Vec<(Vec<usize>, Vec<f32>)> {
        self.described.iter().zip(&self.values).map(|(input, values)| (input.shape.clone(), values.clone())).collect()
    }

    /// Returns the values in the form that sessions take.
    pub(super) fn given(&self) -> Vec<InputValues<'_>> {
        self.values.iter().zip(&self.described).map(|(values, input)| InputValues::new(values, &input.shape)).collect()
    }

    /// Checks that the compiled model, with texels of `format`, computes exactly with the integers among the values.
    pub(super) fn check_ranges(&self, compiled: &Graph, format: TexelFormat) -> Result<(), CliError> {
        let mut unused = Vec::new();
        for (&tensor, (values, input)) in compiled.inputs.iter().zip(self.values.iter().zip(&self.described)) {
            let tensor = &compiled.tensors[tensor];
            let refused = |source| CliError::Value { input: tensor.name.clone(), source };
            let counts = !tensor.element_type.is_float() && tensor.quantization.is_none();
            let exact = f64::from(format.max_exact_integer());
            if let Some(index) = values.iter().position(|&value| counts && f64::from(value).abs() > exact) {
                return Err(refused(ConvertError::Inexact { index, value: values[index] as i128, format }));
            }
            let spec = TensorSpec { dims: &input.shape, ..TensorSpec::from(tensor) };
            borrow_reals(&TensorView::from(&values[..]), spec, format, &mut unused).map_err(refused)?;
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
    let representable = real(least - 1.0)..=real(greatest + 1.0);
    values.iter().filter(|&&value| !representable.contains(&f64::from(value))).count()
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
    let tensors = graph.caller_inputs().iter().map(|&tensor| &graph.tensors[tensor]);
    let values = |tensor: &Tensor| -> Vec<f32> {
        // Plain integers and booleans only get zero and one.
        let counts = !tensor.element_type.is_float() && tensor.quantization.is_none();
        (0..tensor.shape.len()).map(|_| next()).map(|v| if counts { f32::from(u8::from(v > 0.0)) } else { v }).collect()
    };
    tensors.map(values).collect()
}
