//! What a caller may say of a file that is imported.

use std::collections::BTreeMap;

use super::Array;
#[cfg(feature = "gpu")]
use crate::graph::MAX_ELEMENTS;

/// What is bound when a model is imported.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Extents that the file leaves open, by their names; `INPUT:AXIS` for one without a name, and for every axis of an input
    /// that states no shape.
    pub dims: BTreeMap<String, usize>,
    /// Graph inputs that are part of the model, by their names.
    pub constants: BTreeMap<String, Array>,
    /// Whether values that a file stores in 8 bits are rounded to what those can say.
    pub fake_quant: FakeQuant,
}

/// What becomes of values that a file has as integers of a scale, in whichever format; they are computed as the reals that
/// the integers stand for.
///
/// Halves are rounded as each format's reference does: TensorFlow Lite's away from zero, ONNX's `QuantizeLinear` to the
/// even one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FakeQuant {
    /// Each result is rounded to the nearest value that the file's integers stand for, as the file's runtime does.
    #[default]
    On,
    /// Results are held within the values that the integers stand for, and not rounded: what the network computed before it
    /// was quantised, but for its weights.
    Off,
}

/// A name and the extent that it is bound to: `NAME=VALUE`.
#[cfg(feature = "gpu")]
pub(crate) fn parse_dim(text: &str) -> Result<(String, usize), String> {
    let such = "write NAME=VALUE, such as batch=1";
    // The last one: a name may hold `=`, an extent cannot.
    let (name, extent) = text.rsplit_once('=').ok_or_else(|| such.to_owned())?;
    match extent.parse() {
        _ if name.is_empty() => Err(format!("no name is before `=`; {such}")),
        Ok(0) => Err(format!("`0` is no extent that is supported: tensors have elements; {such}")),
        Ok(extent) if (1..=MAX_ELEMENTS).contains(&extent) => Ok((name.to_owned(), extent)),
        _ => Err(format!("`{extent}` is no extent; {such}, with a whole number from 1 to {MAX_ELEMENTS}")),
    }
}

/// `on` or `off`.
#[cfg(feature = "gpu")]
pub(crate) fn parse_fake_quant(text: &str) -> Result<FakeQuant, String> {
    match text {
        "on" => Ok(FakeQuant::On),
        "off" => Ok(FakeQuant::Off),
        _ => Err("it must be `on` or `off`".to_owned()),
    }
}
