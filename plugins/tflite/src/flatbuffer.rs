//! FlatBuffers tables as trees, and a writer for them.

use flatbuffers::{FlatBufferBuilder, TableFinishedWIPOffset, WIPOffset};

/// Value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Field {
    I8(i8),
    Bool(bool),
    I32(i32),
    U32(u32),
    U64(u64),
    F32(f32),
    Text(String),
    Bytes(Vec<u8>),
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Floats(Vec<f32>),
    Table(Table),
    Tables(Vec<Table>),
}

/// A table. Fields are given with their offsets in the vtable: 4 for a table's first field, 6 for its second, and so
/// on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table(pub(crate) Vec<(u16, Field)>);

/// Returns a file with this root table.
pub(crate) fn file(root: &Table, identifier: &str) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let root = write(&mut builder, root);
    builder.finish(root, Some(identifier));
    builder.finished_data().to_vec()
}

/// Writes a table and everything below it.
fn write(builder: &mut FlatBufferBuilder<'_>, table: &Table) -> WIPOffset<TableFinishedWIPOffset> {
    let below: Vec<Option<u32>> = table.0.iter().map(|(_, field)| below(builder, field)).collect();
    let start = builder.start_table();
    for ((slot, field), below) in table.0.iter().zip(below) {
        match (field, below) {
            (Field::I8(value), _) => builder.push_slot_always(*slot, *value),
            (Field::Bool(value), _) => builder.push_slot_always(*slot, *value),
            (Field::I32(value), _) => builder.push_slot_always(*slot, *value),
            (Field::U32(value), _) => builder.push_slot_always(*slot, *value),
            (Field::U64(value), _) => builder.push_slot_always(*slot, *value),
            (Field::F32(value), _) => builder.push_slot_always(*slot, *value),
            (_, Some(at)) => builder.push_slot_always(*slot, WIPOffset::<()>::new(at)),
            (_, None) => {}
        }
    }
    builder.end_table(start)
}

/// Writes the data that a field points to, if it does.
fn below(builder: &mut FlatBufferBuilder<'_>, field: &Field) -> Option<u32> {
    match field {
        Field::Text(text) => Some(builder.create_string(text).value()),
        Field::Bytes(bytes) => Some(builder.create_vector(bytes).value()),
        Field::Ints(ints) => Some(builder.create_vector(ints).value()),
        Field::Longs(longs) => Some(builder.create_vector(longs).value()),
        Field::Floats(floats) => Some(builder.create_vector(floats).value()),
        Field::Table(table) => Some(write(builder, table).value()),
        Field::Tables(tables) => {
            let tables: Vec<_> = tables.iter().map(|table| write(builder, table)).collect();
            Some(builder.create_vector(&tables).value())
        }
        Field::I8(_) | Field::Bool(_) | Field::I32(_) | Field::U32(_) | Field::U64(_) | Field::F32(_) => None,
    }
}
