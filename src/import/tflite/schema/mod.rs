//! The TensorFlow Lite schema, trimmed to the tables and fields that are read.
//!
//! Decision: tables are declared once, by a macro that makes both the verification (by the `flatbuffers` crate's
//! verifier, run over the whole file first) and the accessors (bounds-checked loads), so that no field can be read that
//! was not verified, and no `unsafe` is needed.

mod options;
mod union;

use super::reader::{Many, Numbers, Octets, One, Text};

pub(super) use options::*;
use union::{indices, options};

pub(super) use union::Options;

/// One accessor: with a default where the schema states one, else an option.
macro_rules! accessor {
    ($field:ident, $slot:literal, $kind:ty) => {
        pub(crate) fn $field(&self) -> Option<<$kind as $crate::import::tflite::reader::Kind>::Value<'a>> {
            self.0.get::<$kind>($slot)
        }
    };
    ($field:ident, $slot:literal, $kind:ty, $default:expr) => {
        pub(crate) fn $field(&self) -> $kind {
            self.0.get::<$kind>($slot).unwrap_or($default)
        }
    };
}
use accessor;

/// Declares tables: `field: Kind = vtable slot, default if it has one;`, and how a table's union is verified.
macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident $(union $union:ident)? {
        $($field:ident: $kind:ty = $slot:literal $(, $default:expr)?;)*
    })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name<'a>(pub(super) $crate::import::tflite::reader::Table<'a>);

        impl<'a> $name<'a> {
            $($crate::import::tflite::schema::accessor!($field, $slot, $kind $(, $default)?);)*
        }

        impl flatbuffers::Verifiable for $name<'_> {
            fn run_verifier(
                verifier: &mut flatbuffers::Verifier,
                position: usize,
            ) -> Result<(), flatbuffers::InvalidFlatbuffer> {
                let table = verifier.visit_table(position)?
                    $(.visit_field::<<$kind as $crate::import::tflite::reader::Kind>::Checked>(
                        stringify!($field), $slot, false)?)*;
                $(let table = $union(table)?;)?
                table.finish();
                Ok(())
            }
        }

        impl $crate::import::tflite::reader::Schema for $name<'static> {
            type Of<'a> = $name<'a>;
            fn wrap(table: $crate::import::tflite::reader::Table<'_>) -> $name<'_> {
                $name(table)
            }
        }
    )* };
}
use tables;

tables! {
    /// The file's root.
    Model {
        version: u32 = 4, 0;
        operator_codes: Many<OperatorCode<'static>> = 6;
        subgraphs: Many<SubGraph<'static>> = 8;
        buffers: Many<Buffer<'static>> = 12;
    }
    /// Which operator an index of [`Operator`] means.
    OperatorCode {
        old_code: i8 = 4, 0;
        custom_code: Text = 6;
        new_code: i32 = 10, 0;
    }
    /// A graph.
    SubGraph {
        tensors: Many<Tensor<'static>> = 4;
        inputs: Numbers<i32> = 6;
        outputs: Numbers<i32> = 8;
        operators: Many<Operator<'static>> = 10;
        name: Text = 12;
    }
    /// A tensor of a graph; `shape` is absent for a scalar.
    Tensor {
        shape: Numbers<i32> = 4;
        dtype: i8 = 6, 0;
        buffer: u32 = 8, 0;
        name: Text = 10;
        quantization: One<Quantization<'static>> = 12;
        is_variable: bool = 14, false;
        sparsity: One<Sparsity<'static>> = 16;
    }
    /// What a tensor's integers stand for: one scale and zero point, or one for each index of `axis`.
    Quantization {
        scale: Numbers<f32> = 8;
        zero_point: Numbers<i64> = 10;
        axis: i32 = 16, 0;
    }
    /// Values: inside the file's tables, or behind them at `offset` (then `offset` is above 1).
    Buffer {
        data: Octets = 4;
        offset: u64 = 6, 0;
        size: u64 = 8, 0;
    }
    /// An operator of a graph; -1 among its inputs stands for an operand left out.
    Operator union options {
        opcode: u32 = 4, 0;
        inputs: Numbers<i32> = 6;
        outputs: Numbers<i32> = 8;
        custom_options: Octets = 14;
        large_custom_options_offset: u64 = 22, 0;
    }
    /// How a sparse tensor's values are spread.
    Sparsity {
        traversal_order: Numbers<i32> = 4;
        block_map: Numbers<i32> = 6;
        dimensions: Many<Dimension<'static>> = 8;
    }
    /// One level of a sparse tensor.
    Dimension union indices {
        format: i8 = 4, 0;
        dense_size: i32 = 6, 0;
    }
    /// Indices of 32 bits.
    Int32Vector { values: Numbers<i32> = 4; }
    /// Indices of 16 bits.
    Uint16Vector { values: Numbers<u16> = 4; }
    /// Indices of 8 bits.
    Uint8Vector { values: Numbers<u8> = 4; }
}

impl OperatorCode<'_> {
    /// The operator's code: codes above 126 are only in the newer field.
    pub(crate) fn code(&self) -> i32 {
        i32::from(self.old_code()).max(self.new_code())
    }
}
