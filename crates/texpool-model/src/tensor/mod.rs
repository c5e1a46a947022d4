//! Values on the host: views of a caller's inputs, and the tensors that a model returns.

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
