//! Options for importing a file.

use std::{collections::BTreeMap, fmt};

use super::Array;
use texpool_ops::graph::MAX_ELEMENTS;

/// Options for importing a model.
///
/// ```no_run
/// use texpool::import::{Array, ImportOptions, open_with};
///
/// // A detector with an open batch. Its second input, the size of the picture, is always the same.
/// let sizes = Array::ints(&[1, 2], &[640, 640]).expect("two values");
/// let (dims, constants) = ([("batch".to_owned(), 1)].into(), [("orig_target_sizes".to_owned(), sizes)].into());
/// let graph = open_with("detector.onnx", &ImportOptions { dims, constants, ..ImportOptions::default() })?;
/// assert_eq!(graph.inputs.len(), 1); // the picture alone
/// # Ok::<(), texpool::import::ImportError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Values for extents that the file leaves open, by name. `INPUT:AXIS` names an extent without a name, and the
    /// axes of an input without a stated shape. An input of an ONNX file with an extent of 0, such as an empty cache, has no
    /// values to give, and is no input of the graph.
    pub dims: BTreeMap<String, usize>,
    /// Most that extents can be which an ONNX file leaves open, by the same names as [`dims`](Self::dims). A run may give
    /// inputs any extent up to that, without another plan. Outputs that have the extent are cut to it. An extent whose name
    /// is the sum of such a name and of numbers, or of names with values, follows from it.
    ///
    /// Other names are those of single integers that a run computes, and that operators such as `Range` or `Slice` take as
    /// extents. A run that computes a greater one fails ([`BeyondLimit`](texpool_ops::graph::ExtentError::BeyondLimit)).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use texpool::import::{ImportOptions, from_bytes_with};
    ///
    /// // An ONNX file of `y = Relu(x)` that leaves the extent `n` of `x` open.
    /// let file = *b"\x08\x08:2\n\x0c\n\x01x\x12\x01y\x22\x04ReluZ\x10\n\x01x\x12\x0b\n\x09\x08\x01\x12\x05\n\x03\x12\x01n\
    ///     b\x10\n\x01y\x12\x0b\n\x09\x08\x01\x12\x05\n\x03\x12\x01nB\x02\x10\x11";
    /// let bounds = [("n".to_owned(), 300.into())].into();
    /// let graph = from_bytes_with(Arc::new(file), &ImportOptions { bounds, ..ImportOptions::default() })?;
    /// assert_eq!(graph.tensors[graph.inputs[0]].dims, [300]);
    /// assert_eq!((graph.bounded_inputs[0].axis, graph.bounded[0].axis), (0, 0));
    /// # Ok::<(), texpool::import::ImportError>(())
    /// ```
    pub bounds: BTreeMap<String, ExtentBound>,
    /// Graph inputs to turn into constants, by name. They are converted to the type and extents of the file, and a
    /// single number is repeated.
    pub constants: BTreeMap<String, Array>,
    /// Selects whether values that the file stores in 8 or 16 bits are rounded to the representable ones.
    pub fake_quant: FakeQuant,
}

/// The extents that runs may give: the multiples of a step up to a number.
///
/// A step of more than 1 is for networks that halve an image, enlarge it again and add both, because the extents of both
/// agree for such multiples only.
///
/// ```
/// use texpool::import::ExtentBound;
///
/// assert_eq!(ExtentBound::from(300), ExtentBound { most: 300, step: 1 });
/// assert_eq!(ExtentBound { most: 960, step: 32 }.to_string(), "960:32");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtentBound {
    /// The greatest extent, a multiple of the step.
    pub most: usize,
    /// The least extent, and the distance between two.
    pub step: usize,
}

impl From<usize> for ExtentBound {
    fn from(most: usize) -> Self {
        Self { most, step: 1 }
    }
}

impl fmt::Display for ExtentBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { most, step: 1 } => write!(f, "{most}"),
            Self { most, step } => write!(f, "{most}:{step}"),
        }
    }
}

/// Selects the treatment of quantised values, that is, integers with a scale, in either format.
///
/// Convolutions, matrix products, sums, products and means of 8-bit tensors are computed with their integers. All other
/// operators are computed with the reals that the integers represent, and halves are rounded like in each format's
/// reference implementation: away from zero in TensorFlow Lite, and to even in ONNX's `QuantizeLinear`.
///
/// ```no_run
/// use texpool::import::{FakeQuant, ImportOptions, open_with};
///
/// assert_eq!(ImportOptions::default().fake_quant, FakeQuant::On);
/// // The same network before quantisation, for comparison.
/// let options = ImportOptions { fake_quant: FakeQuant::Off, ..ImportOptions::default() };
/// let graph = open_with("mobilenet_v2_int8.tflite", &options)?;
/// # Ok::<(), texpool::import::ImportError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FakeQuant {
    /// Results equal the integers that the file's runtime computes: ONNX Runtime, or TensorFlow Lite with its default
    /// kernels (XNNPACK).
    #[default]
    On,
    /// Like [`On`](Self::On), but layers of `.tflite` files round as TensorFlow Lite's reference kernels do: twice, in
    /// fixed point.
    Reference,
    /// Results are limited to the range that the integers can represent, but not rounded. Apart from the quantised
    /// weights, this is the network before quantisation.
    Off,
}

/// A number that is bound to an extent.
///
/// ```
/// use texpool::import::{BoundDim, ImportOptions};
///
/// let mut options = ImportOptions::default();
/// assert!(options.bind("boxes", BoundDim::AtMost(300.into())));
/// assert!(!options.bind("boxes", BoundDim::Is(5)), "it has one already");
/// assert_eq!(options.bounds["boxes"].most, 300);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BoundDim {
    /// The extent is this number ([`ImportOptions::dims`]), which may be 0.
    Is(usize),
    /// Each run gives the extent, up to this bound ([`ImportOptions::bounds`]).
    AtMost(ExtentBound),
}

impl fmt::Display for BoundDim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(extent) => write!(f, "={extent}"),
            Self::AtMost(bound) => write!(f, "<={bound}"),
        }
    }
}

impl ImportOptions {
    /// Binds an extent by its name. Returns false, and changes nothing, if the name is bound already.
    pub fn bind(&mut self, name: &str, to: BoundDim) -> bool {
        if self.dims.contains_key(name) || self.bounds.contains_key(name) {
            return false;
        }
        match to {
            BoundDim::Is(extent) => _ = self.dims.insert(name.to_owned(), extent),
            BoundDim::AtMost(bound) => _ = self.bounds.insert(name.to_owned(), bound),
        }
        true
    }

    /// Returns whether any extent is bound.
    pub(super) fn binds_extents(&self) -> bool {
        !self.dims.is_empty() || !self.bounds.is_empty()
    }

    /// Returns the extents that are bound, with the most that each can be.
    pub(super) fn most(&self) -> BTreeMap<String, usize> {
        let bounds = self.bounds.iter().map(|(name, bound)| (name, &bound.most));
        self.dims.iter().chain(bounds).map(|(name, &extent)| (name.clone(), extent)).collect()
    }
}

/// Parses a name and the extent to bind to it: `NAME=VALUE`, `NAME<=VALUE`, or `NAME<=VALUE:STEP`.
pub fn parse_dim(text: &str) -> Result<(String, BoundDim), String> {
    let such = "write NAME=VALUE, such as batch=1; NAME<=VALUE for any extent up to a number; or NAME<=VALUE:STEP for \
                multiples up to it";
    // Splits at the last `=`: a name may contain one, an extent cannot.
    let (name, number) = text.rsplit_once('=').ok_or_else(|| such.to_owned())?;
    let (name, is_bound) = name.strip_suffix('<').map_or((name, false), |name| (name, true));
    if name.is_empty() {
        return Err(format!("no name is before `=`; {such}"));
    }
    let extent = |number: &str| match number.parse() {
        Ok(0) if !is_bound => Ok(0),
        Ok(0) => Err(format!("`0` is no extent up to which a run can have places; {such}")),
        Ok(extent) if (1..=MAX_ELEMENTS).contains(&extent) => Ok(extent),
        _ => Err(format!("`{number}` is no extent; {such}, with whole numbers from 1 to {MAX_ELEMENTS}")),
    };
    let bound = match number.split_once(':') {
        _ if !is_bound => BoundDim::Is(extent(number)?),
        None => BoundDim::AtMost(extent(number)?.into()),
        Some((most, step)) => {
            let (most, step) = (extent(most)?, extent(step)?);
            if !most.is_multiple_of(step) {
                return Err(format!("`{most}` is no multiple of {step}; {} is one", (most - most % step).max(step)));
            }
            BoundDim::AtMost(ExtentBound { most, step })
        }
    };
    Ok((name.to_owned(), bound))
}

/// Parses an input and the numbers to bind to it: `INPUT=NUMBER`, or `INPUT=NUMBER,NUMBER` and so on.
pub fn parse_constant(text: &str) -> Result<(String, Array), String> {
    let such = "write INPUT=NUMBER, such as sr=16000";
    let (name, numbers) = text.rsplit_once('=').ok_or_else(|| such.to_owned())?;
    if name.is_empty() {
        return Err(format!("no name is before `=`; {such}"));
    }
    let numbers: Vec<&str> = numbers.split(',').map(str::trim).collect();
    let dims = [numbers.len()];
    let integers: Option<Vec<i64>> = numbers.iter().map(|number| number.parse().ok()).collect();
    let array = match integers {
        Some(integers) => Array::ints(&dims, &integers),
        None => {
            let parsed = |number: &&str| number.parse().map_err(|_| format!("`{number}` is no number; {such}"));
            Array::floats(&dims, &numbers.iter().map(parsed).collect::<Result<Vec<f32>, String>>()?)
        }
    };
    Ok((name.to_owned(), array.ok_or_else(|| format!("`{name}` has too many numbers"))?))
}

/// Parses `on`, `reference` or `off`.
pub fn parse_fake_quant(text: &str) -> Result<FakeQuant, String> {
    match text {
        "on" => Ok(FakeQuant::On),
        "reference" => Ok(FakeQuant::Reference),
        "off" => Ok(FakeQuant::Off),
        _ => Err("it must be `on`, `reference` or `off`".to_owned()),
    }
}
