//! Options for importing a file.

use std::collections::BTreeMap;

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
    /// axes of an input without a stated shape.
    pub dims: BTreeMap<String, usize>,
    /// Graph inputs to turn into constants, by name. They are converted to the type and extents of the file, and a
    /// single number is repeated.
    pub constants: BTreeMap<String, Array>,
    /// Selects whether values that the file stores in 8 bits are rounded to the representable ones.
    pub fake_quant: FakeQuant,
}

/// Selects the treatment of quantised values, that is, integers with a scale, in either format. They are always
/// computed as the reals that the integers represent.
///
/// Halves are rounded like in each format's reference implementation: away from zero in TensorFlow Lite, and to even
/// in ONNX's `QuantizeLinear`.
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
    /// Each result is rounded to the nearest value that the file's integers can represent, as in the file's runtime.
    #[default]
    On,
    /// Results are limited to the range that the integers can represent, but not rounded. Apart from the quantised
    /// weights, this is the network before quantisation.
    Off,
}

/// Parses a name and the extent to bind to it: `NAME=VALUE`.
pub fn parse_dim(text: &str) -> Result<(String, usize), String> {
    let such = "write NAME=VALUE, such as batch=1";
    // Splits at the last `=`: a name may contain one, an extent cannot.
    let (name, extent) = text.rsplit_once('=').ok_or_else(|| such.to_owned())?;
    match extent.parse() {
        _ if name.is_empty() => Err(format!("no name is before `=`; {such}")),
        Ok(0) => Err(format!("`0` is no extent that is supported: tensors have elements; {such}")),
        Ok(extent) if (1..=MAX_ELEMENTS).contains(&extent) => Ok((name.to_owned(), extent)),
        _ => Err(format!("`{extent}` is no extent; {such}, with a whole number from 1 to {MAX_ELEMENTS}")),
    }
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

/// Parses `on` or `off`.
pub fn parse_fake_quant(text: &str) -> Result<FakeQuant, String> {
    match text {
        "on" => Ok(FakeQuant::On),
        "off" => Ok(FakeQuant::Off),
        _ => Err("it must be `on` or `off`".to_owned()),
    }
}
