//! Functions of one value.

use crate::{
    graph::{Unary, evaluate},
    ops::reference::view::View,
};

/// A function of each value.
pub(crate) fn unary(x: &View<'_>, unary: Unary) -> Vec<f32> {
    x.data.iter().map(|&x| evaluate::unary(unary, x)).collect()
}
