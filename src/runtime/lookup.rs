//! Inputs and outputs by name or index.

use super::{Error, TensorInfo, TensorKey, WantedTensor};
use texpool_gpu::TensorRole;

/// Finds the index of the input or output with this key.
pub(super) fn find(role: TensorRole, tensors: &[TensorInfo], key: TensorKey<'_>) -> Result<usize, Error> {
    let names = || tensors.iter().map(|tensor| tensor.name.clone()).collect();
    match key {
        TensorKey::Index(index) if index < tensors.len() => Ok(index),
        TensorKey::Index(index) => Err(Error::NoSuchTensor { role, key: WantedTensor::Index(index), known: names() }),
        TensorKey::Name(name) => {
            let mut indices = (0..tensors.len()).filter(|&i| tensors[i].name == name);
            match (indices.next(), indices.next()) {
                (Some(index), None) => Ok(index),
                (None, _) => {
                    Err(Error::NoSuchTensor { role, key: WantedTensor::Name(name.to_owned()), known: names() })
                }
                (Some(first), Some(second)) => {
                    let indices = [first, second].into_iter().chain(indices).collect();
                    Err(Error::AmbiguousName { role, name: name.to_owned(), indices })
                }
            }
        }
    }
}
