//! CPU reference of functions of one value.

use crate::{
    graph::{Unary, evaluate},
    ops::reference::view::View,
};

/// Applies a function to each value.
pub(crate) fn unary(x: &View<'_>, unary: Unary) -> Vec<f32> {
    x.data.iter().map(|&x| evaluate::unary(unary, x)).collect()
}
