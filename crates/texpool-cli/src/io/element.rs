//! Converts elements of an array to values of a model's input, if the input's type can represent them.

use npyz::TypeChar;
use texpool_model::tensor::convert::TensorSpec;
use texpool_ops::graph::{ElementType, Quantization};
use texpool_plan::TexelFormat;

/// Destination of an array's elements.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target<'a> {
    /// 32-bit floats for any use.
    Floats,
    /// Values of a model's input, stored in texels of this format.
    Input(TensorSpec<'a>, TexelFormat),
    /// Values of a model's output, computed by another runtime.
    Output(TensorSpec<'a>),
}

/// Conversion rule for the elements of one array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conversion<'a> {
    target: Target<'a>,
    /// Quantisation to apply, if the array has the exact type of a quantised tensor: its integers are then stored
    /// values.
    stored: Option<Quantization>,
}

impl<'a> Conversion<'a> {
    /// Creates the rule for elements of this kind and size in bytes. If no such element can be converted, returns the
    /// types that can.
    pub(super) fn new(target: Target<'a>, kind: TypeChar, size: u64) -> Result<Self, String> {
        let (Target::Input(spec, _) | Target::Output(spec)) = target else { return Ok(Self { target, stored: None }) };
        let TensorSpec { element_type, quantization: Some(quantization), .. } = spec else {
            return Ok(Self { target, stored: None });
        };
        let same = element_type.size() as u64 == size
            && match kind {
                TypeChar::Int => element_type.range().0 < 0,
                TypeChar::Uint => element_type.range().0 == 0,
                _ => false,
            };
        if same || kind == TypeChar::Float || matches!(target, Target::Output(_)) {
            return Ok(Self { target, stored: same.then_some(quantization) });
        }
        let numpy = numpy_name(element_type);
        Err(format!(
            "the model takes quantised {element_type}: save the integers that it stores with array.astype(\"{numpy}\"), or \
             the real numbers that they stand for with array.astype(\"float32\")"
        ))
    }

    /// Returns the value of an integer or boolean, or the reason why it has none.
    pub(super) fn integer(&self, integer: i128) -> Result<f32, String> {
        if let Some(quantization) = self.stored {
            // Quantised types have at most 32 bits (`graph::check`).
            return Ok(quantization.dequantize(integer as i64));
        }
        let float = integer as f32;
        match self.target {
            Target::Input(spec, format) if !spec.element_type.is_float() => {
                let within = within(spec.element_type, integer);
                within.and_then(|()| exact(integer, format)).map(|()| float)
            }
            // Compares in 128 bits, which hold the rounded value of any 64-bit integer.
            _ if float as i128 != integer => Err("which 32-bit floats cannot hold; give a number that they can".into()),
            Target::Input(spec, _) => finite(spec.element_type, f64::from(float)).map(|()| float),
            Target::Floats | Target::Output(_) => Ok(float),
        }
    }

    /// Returns the value of a float, or the reason why it has none.
    pub(super) fn float(&self, value: f64) -> Result<f32, String> {
        let float = value as f32;
        match self.target {
            Target::Input(spec, format) if !spec.element_type.is_float() => {
                if spec.quantization.is_some() {
                    let real = "a real number that its integers can stand for";
                    return if value.is_finite() { Ok(float) } else { Err(format!("and the input takes {real}")) };
                }
                // The cast saturates at 128 bits, and such a float is beyond every type.
                let integer = value as i128;
                if integer as f64 != value {
                    let numpy = numpy_name(spec.element_type);
                    return Err(format!(
                        "and the input takes whole numbers of type {}: round the values, \
                         np.rint(array).astype(\"{numpy}\")",
                        spec.element_type
                    ));
                }
                within(spec.element_type, integer)?;
                exact(integer, format).map(|()| float)
            }
            // A finite number must not silently become infinite.
            _ if float.is_infinite() && value.is_finite() => {
                Err("which 32-bit floats cannot hold; give a number that they can".into())
            }
            Target::Input(spec, _) => finite(spec.element_type, value).map(|()| float),
            Target::Floats | Target::Output(_) => Ok(float),
        }
    }
}

/// Checks that the type can represent an integer.
fn within(element_type: ElementType, integer: i128) -> Result<(), String> {
    let (least, greatest) = match element_type {
        ElementType::U64 => (0, u64::MAX.into()),
        of => (i128::from(of.range().0), i128::from(of.range().1)),
    };
    if (least..=greatest).contains(&integer) {
        return Ok(());
    }
    let those = if element_type == ElementType::Bool { "0 or 1, false or true" } else { "whole numbers" };
    Err(format!(
        "and the input takes {those} of type {element_type}, {least} to {greatest}: give a number within these"
    ))
}

/// Checks that texels can represent an integer and all smaller ones.
fn exact(integer: i128, format: TexelFormat) -> Result<(), String> {
    let (bits, most) = (format.float_bits(), format.max_exact_integer());
    if integer.unsigned_abs() <= most.into() {
        return Ok(());
    }
    Err(format!(
        "and texels of {bits}-bit floats hold whole numbers without gaps only from -{most} to {most}: give a number within \
         these{}",
        if bits < 32 { ", or take 32-bit texels" } else { "" }
    ))
}

/// Checks that a finite number stays finite if the input's type has 16 bits.
fn finite(element_type: ElementType, value: f64) -> Result<(), String> {
    if element_type != ElementType::F16 || !value.is_finite() || half::f16::from_f64(value).is_finite() {
        return Ok(());
    }
    let most = half::f16::MAX;
    Err(format!("and the input takes 16-bit floats, -{most} to {most}: give a number within these"))
}

/// Returns the type's name in NumPy: `float32` for `f32`.
fn numpy_name(element_type: ElementType) -> String {
    let name = element_type.name();
    let spelled = [("f", "float"), ("i", "int"), ("u", "uint")].into_iter();
    let mut numpy = spelled.filter_map(|(letter, word)| Some(format!("{word}{}", name.strip_prefix(letter)?)));
    numpy.next().unwrap_or_else(|| name.to_owned())
}
