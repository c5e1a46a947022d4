//! Functions shared by the tests of the ONNX importer.

pub(crate) use crate::support::{bounded, inputs, lines, onnx, zoo};

use std::sync::Arc;

use texpool_model::import::{ImportError, ImportOptions, from_bytes_with};
use texpool_ops::{
    graph::{Graph, TensorId},
    ops::reference,
};

pub(crate) fn import(bytes: Vec<u8>) -> Result<Graph, ImportError> {
    import_with(bytes, &ImportOptions::default())
}

pub(crate) fn import_with(bytes: Vec<u8>, options: &ImportOptions) -> Result<Graph, ImportError> {
    from_bytes_with(Arc::new(bytes), options)
}

/// Extents and values of the outputs, for inputs that count on from 1.
pub(crate) fn run(model: &onnx::Model) -> Vec<(Vec<usize>, Vec<f32>)> {
    let graph = import(model.bytes()).unwrap();
    let mut next = 0;
    let counted = |&tensor: &TensorId| {
        let first = next;
        next += graph.shape(tensor).len();
        (first..next).map(|i| (i + 1) as f32).collect::<Vec<f32>>()
    };
    let inputs: Vec<Vec<f32>> = graph.inputs.iter().map(counted).collect();
    let outputs = reference::outputs(&graph, &inputs).unwrap();
    graph.outputs.iter().map(|&tensor| graph.tensors[tensor].dims.clone()).zip(outputs).collect()
}
