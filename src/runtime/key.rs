//! Names or indices of inputs and outputs.

use std::fmt;

use texpool_plan::printable;

/// Identifies an input or output by name or index.
///
/// ```
/// use texpool::TensorKey;
///
/// // Calls like `session.read(["scores"])` and `session.read([0])` convert their keys.
/// assert_eq!(TensorKey::from("scores"), TensorKey::Name("scores"));
/// assert_eq!((TensorKey::from(0), TensorKey::from(0).to_string()), (TensorKey::Index(0), "0".to_owned()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorKey<'a> {
    /// By its name, which must be unique.
    Name(&'a str),
    /// By its index among the inputs or outputs.
    Index(usize),
}

impl<'a> From<&'a str> for TensorKey<'a> {
    fn from(name: &'a str) -> Self {
        Self::Name(name)
    }
}

impl<'a> From<&'a String> for TensorKey<'a> {
    fn from(name: &'a String) -> Self {
        Self::Name(name)
    }
}

impl From<usize> for TensorKey<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl fmt::Display for TensorKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "`{}`", printable(name)),
            Self::Index(index) => index.fmt(f),
        }
    }
}

/// The key of a tensor that does not exist.
///
/// ```
/// use texpool::{Error, Model, WantedTensor, graph::{GraphBuilder, Unary}};
///
/// let mut b = GraphBuilder::new("relu");
/// let x = b.input("image", &[1, 4, 4, 3])?;
/// let y = b.unary("y", Unary::Relu, x)?;
/// let model = Model::from_graph(b.finish(&[y])?)?;
/// let Err(Error::NoSuchTensor { key, known, .. }) = model.output(1) else { panic!("there is one output") };
/// assert_eq!((key, known), (WantedTensor::Index(1), vec!["y".to_owned()]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedTensor {
    /// By its name.
    Name(String),
    /// By its index.
    Index(usize),
}

impl fmt::Display for WantedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => TensorKey::Name(name).fmt(f),
            Self::Index(index) => TensorKey::Index(*index).fmt(f),
        }
    }
}
