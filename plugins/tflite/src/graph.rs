//! The runtime's nodes and tensors, as a file would have them.

use std::{collections::BTreeMap, ptr, slice};

use crate::{
    abi::{
        FloatArray, IntArray, TfLiteAffineQuantization, TfLiteQuantization, TfLiteTensor, allocation, code,
        quantization, type_of,
    },
    builtin_data::{Options, options},
    flatbuffer::Table,
    host::{Host, text},
    sparsity::sparsity_table,
};

/// A node. It is a copy: the runtime shows its nodes only while a delegate is applied.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Its number in the graph.
    pub(crate) index: i32,
    pub(crate) code: i32,
    /// Name of a custom operator.
    pub(crate) custom: Option<String>,
    /// Options of a builtin operator, or why they cannot be read.
    pub(crate) options: Result<Option<Options>, String>,
    /// Options of a custom operator.
    pub(crate) custom_options: Vec<u8>,
    pub(crate) inputs: Vec<i32>,
    pub(crate) outputs: Vec<i32>,
    /// Whether the runtime has nothing that runs it: a custom operator that nobody has registered.
    pub(crate) unresolved: bool,
}

impl Node {
    pub(crate) fn read(host: &Host, index: i32) -> Result<Self, String> {
        let (node, registration) = host.node(index)?;
        let code = registration.builtin_code;
        // SAFETY: the lists, the name and the options are the runtime's, as its headers say.
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

/// A tensor. Its constant is the runtime's memory, which stays as long as the graph.
#[derive(Clone, Debug)]
pub(crate) struct Tensor<'h> {
    pub(crate) name: String,
    pub(crate) dims: Vec<i32>,
    /// The number of its type in a file.
    pub(crate) dtype: i8,
    pub(crate) constant: Option<&'h [u8]>,
    pub(crate) quantization: Quantization,
    pub(crate) variable: bool,
    /// Whether its extents are known only while the graph runs.
    pub(crate) dynamic: bool,
    pub(crate) sparsity: Option<Table>,
}

/// What a tensor's integers stand for: nothing else than themselves where there are no scales.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Quantization {
    pub(crate) scale: Vec<f32>,
    pub(crate) zero_point: Vec<i64>,
    pub(crate) axis: i32,
    /// Whether it is of a kind that is not read.
    pub(crate) unknown: bool,
}

impl<'h> Tensor<'h> {
    fn read(tensor: &'h TfLiteTensor) -> Self {
        let values = tensor.data.cast_const().cast::<u8>();
        let constant = tensor.allocation_type == allocation::MMAP_RO && !values.is_null() && tensor.bytes > 0;
        // SAFETY: the lists, the name and the values are the runtime's, as its header says; those of the file never
        // change.
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
    /// The parameters are what their kind says.
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
            // What programs say that build graphs without a file.
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

/// The tensors that nodes name, by their numbers in the graph.
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

    pub(crate) fn is_constant(&self, index: i32) -> bool {
        self.get(index).is_some_and(|tensor| tensor.constant.is_some())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (i32, &Tensor<'h>)> {
        self.0.iter().map(|(index, tensor)| (*index, tensor))
    }

    /// Extents of all tensors: what a plan is for.
    pub(crate) fn extents(&self) -> Vec<(i32, Vec<i32>)> {
        self.iter().map(|(index, tensor)| (index, tensor.dims.clone())).collect()
    }

    /// Which values and types the constants have, told by where they lie.
    pub(crate) fn identity(&self) -> Vec<(i32, i8, usize, usize)> {
        let place = |tensor: &Tensor<'_>| tensor.constant.map_or((0, 0), |c| (ptr::from_ref(c).addr(), c.len()));
        self.iter().map(|(index, tensor)| (index, tensor.dtype, place(tensor).0, place(tensor).1)).collect()
    }
}

/// Marks the nodes that compute from constants alone, all of them in the order in which they run.
pub(crate) fn of_constants(nodes: &[Node], tensors: &Tensors<'_>) -> Vec<bool> {
    let mut computed = std::collections::BTreeSet::new();
    nodes
        .iter()
        .map(|node| {
            let mut inputs = node.inputs.iter().filter(|&&index| index >= 0).peekable();
            let all =
                inputs.peek().is_some() && inputs.all(|&index| tensors.is_constant(index) || computed.contains(&index));
            if all {
                computed.extend(node.outputs.iter().copied());
            }
            all
        })
        .collect()
}
