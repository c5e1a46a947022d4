//! Values on the host: what a caller gives a model, seen where it lies, and what a model answers.

mod axes;
pub mod convert;
mod element;
mod error;
mod number;
mod owned;
mod storage;
mod view;
mod view_mut;

pub use element::Element;
pub use error::{ConvertError, TensorError};
pub use owned::Tensor;
pub use view::TensorView;
pub use view_mut::TensorViewMut;
