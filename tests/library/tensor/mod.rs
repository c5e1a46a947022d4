//! Tensor values on the host: views, conversions, and the element types of models.

#![cfg(test)]

mod convert;
mod models;
mod views;

use texpool::{ElementType, TensorView};
use texpool_model::tensor::{
    ConvertError,
    convert::{TensorSpec, write_reals},
};
use texpool_plan::TexelFormat;

/// An input of these extents that is not quantised.
fn spec(dims: &[usize], element_type: ElementType) -> TensorSpec<'_> {
    TensorSpec { dims, element_type, quantization: None, integer_range: None }
}

/// Returns the values of a view in 32-bit texels.
fn written(view: &TensorView<'_>, spec: TensorSpec<'_>) -> Result<Vec<f32>, ConvertError> {
    let mut reals = Vec::new();
    write_reals(view, spec, TexelFormat::Rgba32Float, &mut reals).map(|()| reals)
}

/// The elements of a view in its own extents and type.
fn seen(view: &TensorView<'_>) -> Vec<f32> {
    let elements = [view.len()];
    written(view, spec(view.dims().unwrap_or(&elements), view.element_type())).unwrap()
}
