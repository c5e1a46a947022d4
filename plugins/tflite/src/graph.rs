//! The runtime's nodes and tensors, in the form that a file has.

use std::{collections::BTreeMap, ptr, slice};

use crate::{
    abi::{
        FloatArray, IntArray, TfLiteAffineQuantization, TfLiteQuantization, TfLiteTensor, allocation, code,
        quantization, type_of,
    },
    builtin_data::{Options, options},
    flatbuffer::{Field, Table},
    host::{Host, text},
    sparsity::sparsity_table,
};

/// A node. It is a copy, because the runtime's nodes are only accessible while a delegate is applied.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Index of the node in the graph.
    pub(crate) index: i32,
    pub(crate) code: i32,
    /// Name of the operator, if it is a custom one.
    pub(crate) custom: Option<String>,
    /// Options of a builtin operator, or the reason why they cannot be read.
    pub(crate) options: Result<Option<Options>, String>,
    /// Options of a custom operator.
    pub(crate) custom_options: Vec<u8>,
    pub(crate) inputs: Vec<i32>,
    pub(crate) outputs: Vec<i32>,
    /// True if the runtime has no implementation, as for a custom operator that nobody has registered.
    pub(crate) unresolved: bool,
}

impl Node {
    /// Returns the index of the graph that the node runs once, before all else.
    pub(crate) fn calls_once(&self) -> Option<i32> {
        match &self.options {
            Ok(Some((_, Table(fields)))) if self.code == code::CALL_ONCE => match fields[..] {
                [(_, Field::I32(graph))] => Some(graph),
                _ => None,
            },
            _ => None,
        }
    }

    pub(crate) fn read(host: &Host, index: i32) -> Result<Self, String> {
        let (node, registration) = host.node(index)?;
        let code = registration.builtin_code;
        // SAFETY: the lists, the name and the options come from the runtime, and match its headers.
        unsafe {
            let custom_options = match usize::try_from(node.custom_initial_data_size) {
                Ok(count @ 1..) if !node.custom_initial_data.is_null() => {
                    slice::from_raw_parts(node.custom_initial_data.cast::<u8>(), count).to_vec()
                }
                _ => Vec::new(),
            };
            Ok(Self {
                index,
                code,
                custom: (code == code::CUSTOM).then(|| text(registration.custom_name)),
                options: options(code, node.builtin_data),
                custom_options,
                inputs: IntArray::numbers(node.inputs).to_vec(),
                outputs: IntArray::numbers(node.outputs).to_vec(),
                unresolved: code == code::CUSTOM && registration.prepare.is_none(),
            })
        }
    }
}

/// A tensor. Constant values are borrowed from the runtime's memory, which exists as long as the graph.
#[derive(Clone, Debug)]
pub(crate) struct Tensor<'h> {
    pub(crate) name: String,
    pub(crate) dims: Vec<i32>,
    /// Number of the element type in a file.
    pub(crate) dtype: i8,
    pub(crate) constant: Option<&'h [u8]>,
    pub(crate) quantization: Quantization,
    pub(crate) variable: bool,
    /// True if the extents are only known while the graph runs.
    pub(crate) dynamic: bool,
    pub(crate) sparsity: Option<Table>,
}

/// Quantization of a tensor. Without scales, its integers are not quantized.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Quantization {
    pub(crate) scale: Vec<f32>,
    pub(crate) zero_point: Vec<i64>,
    pub(crate) axis: i32,
    /// True for an unsupported kind of quantization.
    pub(crate) unknown: bool,
}

impl<'h> Tensor<'h> {
    fn read(tensor: &'h TfLiteTensor) -> Self {
        let values = tensor.data.cast_const().cast::<u8>();
        let constant = tensor.allocation_type == allocation::MMAP_RO && !values.is_null() && tensor.bytes > 0;
        // SAFETY: the lists, the name and the values come from the runtime, and match its header; constant values
        // never change.
        unsafe {
            Self {
                name: text(tensor.name),
                dims: IntArray::numbers(tensor.dims).to_vec(),
                dtype: type_of::file(tensor.element_type),
                constant: constant.then(|| slice::from_raw_parts(values, tensor.bytes)),
                quantization: Quantization::read(tensor),
                variable: tensor.is_variable(),
                dynamic: tensor.allocation_type == allocation::DYNAMIC,
                sparsity: tensor.sparsity.as_ref().map(|sparsity| sparsity_table(sparsity)),
            }
        }
    }
}

impl Quantization {
    /// # Safety
    /// The parameters match their kind.
    unsafe fn read(tensor: &TfLiteTensor) -> Self {
        let TfLiteQuantization { kind, params } = tensor.quantization;
        let affine = params.cast::<TfLiteAffineQuantization>();
        match kind {
            // SAFETY: as the caller of this function promises.
            quantization::AFFINE if !affine.is_null() => unsafe {
                Self {
                    scale: FloatArray::numbers((*affine).scale).to_vec(),
                    zero_point: IntArray::numbers((*affine).zero_point).iter().map(|&zero| zero.into()).collect(),
                    axis: (*affine).quantized_dimension,
                    unknown: false,
                }
            },
            // Used by programs that build graphs without a file.
            quantization::NONE if tensor.params.scale != 0.0 => Self {
                scale: vec![tensor.params.scale],
                zero_point: vec![tensor.params.zero_point.into()],
                ..Self::default()
            },
            quantization::NONE | quantization::AFFINE => Self::default(),
            _ => Self { unknown: true, ..Self::default() },
        }
    }
}

/// The tensors that nodes refer to, by their indices in the graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tensors<'h>(BTreeMap<i32, Tensor<'h>>);

impl<'h> Tensors<'h> {
    pub(crate) fn read<'n>(host: &'h Host, nodes: impl IntoIterator<Item = &'n Node>) -> Self {
        let mut tensors = BTreeMap::new();
        for node in nodes {
            for &index in node.inputs.iter().chain(&node.outputs) {
                if let (false, Some(tensor)) = (tensors.contains_key(&index), host.tensor(index)) {
                    tensors.insert(index, Tensor::read(tensor));
                }
            }
        }
        Self(tensors)
    }

    pub(crate) fn get(&self, index: i32) -> Option<&Tensor<'h>> {
        self.0.get(&index)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (i32, &Tensor<'h>)> {
        self.0.iter().map(|(index, tensor)| (*index, tensor))
    }

    /// Returns the extents of all tensors. A plan is only valid for these.
    pub(crate) fn extents(&self) -> Vec<(i32, Vec<i32>)> {
        self.iter().map(|(index, tensor)| (index, tensor.dims.clone())).collect()
    }

    /// Identifies the values and types of the constants, by their addresses.
    pub(crate) fn identity(&self) -> Vec<(i32, i8, usize, usize)> {
        let place = |tensor: &Tensor<'_>| tensor.constant.map_or((0, 0), |c| (ptr::from_ref(c).addr(), c.len()));
        self.iter().map(|(index, tensor)| (index, tensor.dtype, place(tensor).0, place(tensor).1)).collect()
    }
}
