//! Converts the sparsity parameters of a constant into a file's table.

use std::slice;

use crate::{
    abi::{IntArray, TfLiteDimensionMetadata, TfLiteSparsity},
    flatbuffer::{Field, Table},
};

/// Number of the vector of 32-bit indices in the union. The runtime stores all indices in this form.
const INDICES_OF_32_BITS: i8 = 1;

/// Returns the file's table for these parameters.
///
/// # Safety
/// Each pointer is NULL or satisfies the requirements of the runtime's header.
pub(crate) unsafe fn sparsity_table(sparsity: &TfLiteSparsity) -> Table {
    let &TfLiteSparsity { traversal_order, block_map, dim_metadata, dim_metadata_size } = sparsity;
    let levels = match usize::try_from(dim_metadata_size) {
        // SAFETY: as the caller of this function promises.
        Ok(count @ 1..) if !dim_metadata.is_null() => unsafe { slice::from_raw_parts(dim_metadata, count) },
        _ => &[],
    };
    // SAFETY: as the caller of this function promises.
    let numbers = |list: *const IntArray| Field::Ints(unsafe { IntArray::numbers(list) }.to_vec());
    let mut fields = vec![(4, numbers(traversal_order))];
    if !block_map.is_null() {
        fields.push((6, numbers(block_map)));
    }
    // SAFETY: as the caller of this function promises.
    fields.push((8, Field::Tables(levels.iter().map(|level| unsafe { level_table(level) }).collect())));
    Table(fields)
}

/// # Safety
/// Each pointer is NULL or points to a list.
unsafe fn level_table(level: &TfLiteDimensionMetadata) -> Table {
    let &TfLiteDimensionMetadata { format, dense_size, array_segments, array_indices } = level;
    let mut fields = vec![(4, Field::I8(i8::try_from(format).unwrap_or(i8::MAX))), (6, Field::I32(dense_size))];
    for (slot, list) in [(8, array_segments), (12, array_indices)] {
        if !list.is_null() {
            // SAFETY: as the caller of this function promises.
            let values = Table(vec![(4, Field::Ints(unsafe { IntArray::numbers(list) }.to_vec()))]);
            fields.extend([(slot, Field::I8(INDICES_OF_32_BITS)), (slot + 2, Field::Table(values))]);
        }
    }
    Table(fields)
}
