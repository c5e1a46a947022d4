//! Elements of an array as the values of a model's input: only those that the input's own type holds.

use crate::{
    graph::{ElementType, Quantization},
    plan::TexelFormat,
    tensor::convert::TensorSpec,
};
use npyz::TypeChar;

/// What an array's elements become.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target<'a> {
    /// 32-bit floats, whatever they are used for.
    Floats,
    /// Values of a model's input, which lie in texels of this format.
    Input(TensorSpec<'a>, TexelFormat),
    /// Values that another runtime computed for a model's output.
    Output(TensorSpec<'a>),
}

/// How the elements of one array are taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conversion<'a> {
    target: Target<'a>,
    /// What its integers stand for, if the array has the very type of a quantised tensor: they are those that the model
    /// stores.
    stored: Option<Quantization>,
}

impl<'a> Conversion<'a> {
    /// For an array of this kind of elements, of so many bytes each; where no element of it could be taken, what could be
    /// in words.
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

    /// The value of an integer or of a truth value; where it has none, why not.
    pub(super) fn integer(&self, integer: i128) -> Result<f32, String> {
        if let Some(quantization) = self.stored {
            // They have at most 32 bits (`graph::check`).
            return Ok(quantization.dequantize(integer as i64));
        }
        let float = integer as f32;
        match self.target {
            Target::Input(spec, format) if !spec.element_type.is_float() => {
                let within = within(spec.element_type, integer);
                within.and_then(|()| exact(integer, format)).map(|()| float)
            }
            // Back in 128 bits, which hold whatever an integer of 64 bits is rounded to.
            _ if float as i128 != integer => Err("which 32-bit floats cannot hold; give a number that they can".into()),
            Target::Input(spec, _) => finite(spec.element_type, f64::from(float)).map(|()| float),
            Target::Floats | Target::Output(_) => Ok(float),
        }
    }

    /// The value of a float; where it has none, why not.
    pub(super) fn float(&self, value: f64) -> Result<f32, String> {
        let float = value as f32;
        match self.target {
            Target::Input(spec, format) if !spec.element_type.is_float() => {
                if spec.quantization.is_some() {
                    let real = "a real number that its integers can stand for";
                    return if value.is_finite() { Ok(float) } else { Err(format!("and the input takes {real}")) };
                }
                // Casting ends at the bounds of 128 bits, and such a float is beyond every type.
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
            // A finite number must not become infinite without a word.
            _ if float.is_infinite() && value.is_finite() => {
                Err("which 32-bit floats cannot hold; give a number that they can".into())
            }
            Target::Input(spec, _) => finite(spec.element_type, value).map(|()| float),
            Target::Floats | Target::Output(_) => Ok(float),
        }
    }
}

/// Checks that an integer is one of the type.
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

/// Checks that texels hold an integer and all that are nearer to zero.
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

/// Checks that a finite number stays finite in 16 bits, where the input's type is that.
fn finite(element_type: ElementType, value: f64) -> Result<(), String> {
    if element_type != ElementType::F16 || !value.is_finite() || half::f16::from_f64(value).is_finite() {
        return Ok(());
    }
    let most = half::f16::MAX;
    Err(format!("and the input takes 16-bit floats, -{most} to {most}: give a number within these"))
}

/// The type's name in NumPy.
fn numpy_name(element_type: ElementType) -> &'static str {
    match element_type {
        ElementType::F32 => "float32",
        ElementType::F16 => "float16",
        ElementType::I8 => "int8",
        ElementType::U8 => "uint8",
        ElementType::I16 => "int16",
        ElementType::U16 => "uint16",
        ElementType::I32 => "int32",
        ElementType::U32 => "uint32",
        ElementType::I64 => "int64",
        ElementType::U64 => "uint64",
        ElementType::Bool => "bool",
    }
}
