//! The TensorFlow Lite schema, limited to the tables and fields that are used.
//!
//! Design: tables are declared once, by a macro that generates both the verification (by the `flatbuffers` crate's
//! verifier, which runs over the whole file first) and the accessors (bounds-checked loads). Every field that can be
//! read is therefore verified, without `unsafe`.

mod options;
mod table;
mod union;
mod vectors;

use super::reader::{Numbers, Octets, Table, TableOf, TablesOf, Text, Unknown};

pub(super) use options::*;
use table::tables;
use union::{INDICES, OPTIONS, SEGMENTS, indices, options};
use vectors::{Int32Vector, Uint8Vector, Uint16Vector};

pub(super) use union::Options;

tables! {
    /// The root of the file.
    Model {
        version: u32 = 4, 0;
        operator_codes: TablesOf<OperatorCode<'static>> = 6;
        subgraphs: TablesOf<SubGraph<'static>> = 8;
        description: Text = 10;
        buffers: TablesOf<Buffer<'static>> = 12;
    }
    /// The root again, with the facts beside the graphs.
    Described {
        metadata: TablesOf<Metadata<'static>> = 16;
    }
    /// A buffer with facts for a tool or a runtime, by its name.
    Metadata {
        name: Text = 4;
    }
    /// The operator that an index in [`Operator`] refers to.
    OperatorCode {
        old_code: i8 = 4, 0;
        custom_code: Text = 6;
        new_code: i32 = 10, 0;
    }
    /// A graph.
    SubGraph {
        tensors: TablesOf<Tensor<'static>> = 4;
        inputs: Numbers<i32> = 6;
        outputs: Numbers<i32> = 8;
        operators: TablesOf<Operator<'static>> = 10;
        name: Text = 12;
    }
    /// A tensor of a graph; `shape` is absent for a scalar.
    Tensor {
        shape: Numbers<i32> = 4;
        dtype: i8 = 6, 0;
        buffer: u32 = 8, 0;
        name: Text = 10;
        quantization: TableOf<Quantization<'static>> = 12;
        is_variable: bool = 14, false;
        sparsity: TableOf<Sparsity<'static>> = 16;
        shape_signature: Numbers<i32> = 18;
    }
    /// Maps a tensor's integers to reals: one scale and zero point for all elements, or one per index of `axis`.
    Quantization {
        scale: Numbers<f32> = 8;
        zero_point: Numbers<i64> = 10;
        axis: i32 = 16, 0;
    }
    /// Values, either inside the file's tables, or behind them at `offset` (which is then above 1).
    Buffer {
        data: Octets = 4;
        offset: u64 = 6, 0;
        size: u64 = 8, 0;
    }
    /// An operator of a graph. -1 among its inputs means an omitted operand.
    Operator union options {
        opcode: u32 = 4, 0;
        inputs: Numbers<i32> = 6;
        outputs: Numbers<i32> = 8;
        custom_options: Octets = 14;
        large_custom_options_offset: u64 = 22, 0;
    }
    /// Positions of a sparse tensor's values.
    Sparsity {
        traversal_order: Numbers<i32> = 4;
        block_map: Numbers<i32> = 6;
        dimensions: TablesOf<Dimension<'static>> = 8;
    }
    /// One level of a sparse tensor.
    Dimension union indices {
        format: i8 = 4, 0;
        dense_size: i32 = 6, 0;
    }
}

impl OperatorCode<'_> {
    /// Code of the operator. Codes above 126 are only in the newer field.
    pub(crate) fn code(&self) -> i32 {
        i32::from(self.old_code()).max(self.new_code())
    }
}

impl<'a> Operator<'a> {
    /// The options, with default values if they are missing. `None` if they belong to another operator.
    pub(crate) fn options<O: Options>(&self) -> Option<O::Wrapper<'a>> {
        match (self.0.get::<u8>(OPTIONS[0]).unwrap_or(0), Unknown::at(self.0, OPTIONS[1])) {
            (0, _) | (_, None) => Some(O::wrap(Table::EMPTY)),
            (tag, Some(table)) => (tag == O::TAG).then(|| O::wrap(table)),
        }
    }
}

impl Dimension<'_> {
    /// For each position of the level above, the start of its indices in [`indices`](Self::indices).
    pub(crate) fn segments(&self) -> Option<Vec<usize>> {
        self.numbers(SEGMENTS)
    }

    /// Indices along this level that contain values.
    pub(crate) fn indices(&self) -> Option<Vec<usize>> {
        self.numbers(INDICES)
    }

    fn numbers(&self, [tag, value]: [u16; 2]) -> Option<Vec<usize>> {
        let table = Unknown::at(self.0, value)?;
        match self.0.get::<u8>(tag)? {
            1 => Int32Vector(table).values()?.into_iter().map(|n| usize::try_from(n).ok()).collect(),
            2 => Some(Uint16Vector(table).values()?.into_iter().map(usize::from).collect()),
            3 => Some(Uint8Vector(table).values()?.into_iter().map(usize::from).collect()),
            _ => None,
        }
    }
}
