//! Writes small `.tflite` files for tests: FlatBuffers tables as trees, and a model put together from them.
//!
//! Slots are vtable offsets of the TensorFlow Lite schema: 4 for a table's first field, 6 for its second, and so on.

use flatbuffers::{FlatBufferBuilder, TableFinishedWIPOffset, WIPOffset};

/// Element types by their number in the schema.
pub(crate) const F32: i8 = 0;
pub(crate) const F16: i8 = 1;
pub(crate) const I32: i8 = 2;
pub(crate) const I64: i8 = 4;
pub(crate) const U8: i8 = 3;
pub(crate) const I8: i8 = 9;

/// A value of a table's field.
#[derive(Clone, Debug)]
pub(crate) enum Field {
    I8(i8),
    Bool(bool),
    I32(i32),
    U64(u64),
    F32(f32),
    Text(String),
    Bytes(Vec<u8>),
    Shorts(Vec<u16>),
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Floats(Vec<f32>),
    Table(Table),
    Tables(Vec<Table>),
}

/// A table: its fields by slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(pub(crate) Vec<(u16, Field)>);

/// A builtin operator's options: their tag in the union, and their table.
pub(crate) type Options = (i8, Table);

/// Writes a table and all below it.
fn write<'a>(builder: &mut FlatBufferBuilder<'a>, table: &Table) -> WIPOffset<TableFinishedWIPOffset> {
    let below: Vec<Option<u32>> = table.0.iter().map(|(_, field)| below(builder, field)).collect();
    let start = builder.start_table();
    for ((slot, field), below) in table.0.iter().zip(below) {
        match (field, below) {
            (Field::I8(v), _) => builder.push_slot_always(*slot, *v),
            (Field::Bool(v), _) => builder.push_slot_always(*slot, *v),
            (Field::I32(v), _) => builder.push_slot_always(*slot, *v),
            (Field::U64(v), _) => builder.push_slot_always(*slot, *v),
            (Field::F32(v), _) => builder.push_slot_always(*slot, *v),
            (_, Some(at)) => builder.push_slot_always(*slot, WIPOffset::<()>::new(at)),
            (_, None) => {}
        }
    }
    builder.end_table(start)
}

/// Writes what a field points to.
fn below(builder: &mut FlatBufferBuilder<'_>, field: &Field) -> Option<u32> {
    match field {
        Field::Text(text) => Some(builder.create_string(text).value()),
        Field::Bytes(bytes) => Some(builder.create_vector(bytes).value()),
        Field::Shorts(shorts) => Some(builder.create_vector(shorts).value()),
        Field::Ints(ints) => Some(builder.create_vector(ints).value()),
        Field::Longs(longs) => Some(builder.create_vector(longs).value()),
        Field::Floats(floats) => Some(builder.create_vector(floats).value()),
        Field::Table(table) => Some(write(builder, table).value()),
        Field::Tables(tables) => {
            let tables: Vec<_> = tables.iter().map(|table| write(builder, table)).collect();
            Some(builder.create_vector(&tables).value())
        }
        _ => None,
    }
}

/// The file of a root table.
pub(crate) fn file(root: &Table) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let root = write(&mut builder, root);
    builder.finish(root, Some("TFL3"));
    builder.finished_data().to_vec()
}

/// A model being put together; every method that adds a tensor gives its index.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) tensors: Vec<Table>,
    pub(crate) buffers: Vec<Table>,
    pub(crate) operators: Vec<Table>,
    codes: Vec<Table>,
}

impl Model {
    pub(crate) fn new() -> Self {
        // Buffer 0 is the one of tensors without values.
        Self { tensors: Vec::new(), buffers: vec![Table::default()], operators: Vec::new(), codes: Vec::new() }
    }

    /// A tensor without values.
    pub(crate) fn tensor(&mut self, name: &str, dims: &[i32], dtype: i8) -> i32 {
        self.with_buffer(name, dims, dtype, 0)
    }

    /// A computed tensor of 32-bit floats.
    pub(crate) fn floats(&mut self, name: &str, dims: &[i32]) -> i32 {
        self.tensor(name, dims, F32)
    }

    /// A constant.
    pub(crate) fn constant(&mut self, name: &str, dims: &[i32], dtype: i8, bytes: Vec<u8>) -> i32 {
        self.buffers.push(Table(vec![(4, Field::Bytes(bytes))]));
        self.with_buffer(name, dims, dtype, self.buffers.len() as i32 - 1)
    }

    /// A constant of 32-bit floats, all different: 1, 2, 3 and so on, halved.
    pub(crate) fn weights(&mut self, name: &str, dims: &[i32]) -> i32 {
        let count = dims.iter().product::<i32>();
        let bytes = (1..=count).flat_map(|i| (i as f32 / 2.0).to_le_bytes()).collect();
        self.constant(name, dims, F32, bytes)
    }

    /// A constant vector of 32-bit integers.
    pub(crate) fn ints(&mut self, name: &str, values: &[i32]) -> i32 {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.constant(name, &[values.len() as i32], I32, bytes)
    }

    /// Says what a tensor's integers stand for.
    pub(crate) fn scaled(&mut self, tensor: i32, scale: &[f32], zero: &[i64], axis: i32) -> i32 {
        let scales = (8, Field::Floats(scale.to_vec()));
        let stated = Table(vec![scales, (10, Field::Longs(zero.to_vec())), (16, Field::I32(axis))]);
        self.tensors[tensor as usize].0.push((12, Field::Table(stated)));
        tensor
    }

    fn with_buffer(&mut self, name: &str, dims: &[i32], dtype: i8, buffer: i32) -> i32 {
        self.tensors.push(Table(vec![
            (4, Field::Ints(dims.to_vec())),
            (6, Field::I8(dtype)),
            (8, Field::I32(buffer)),
            (10, Field::Text(name.to_owned())),
        ]));
        self.tensors.len() as i32 - 1
    }

    /// An operator by its code.
    pub(crate) fn op(&mut self, code: i32, inputs: &[i32], output: i32, options: Option<Options>) {
        self.op_of_many(code, inputs, &[output], options);
    }

    /// An operator of several results.
    pub(crate) fn op_of_many(&mut self, code: i32, inputs: &[i32], outputs: &[i32], options: Option<Options>) {
        let code_table = Table(vec![(4, Field::I8(code.min(127) as i8)), (10, Field::I32(code))]);
        let mut fields = self.operator(code_table, inputs, outputs);
        if let Some((tag, options)) = options {
            fields.extend([(10, Field::I8(tag)), (12, Field::Table(options))]);
        }
        self.operators.push(Table(fields));
    }

    /// A custom operator.
    pub(crate) fn custom(&mut self, name: &str, inputs: &[i32], output: i32, options: Vec<u8>) {
        self.custom_of_many(name, inputs, &[output], options);
    }

    /// A custom operator of several results.
    pub(crate) fn custom_of_many(&mut self, name: &str, inputs: &[i32], outputs: &[i32], options: Vec<u8>) {
        let code = Table(vec![(4, Field::I8(32)), (6, Field::Text(name.to_owned())), (10, Field::I32(32))]);
        let mut fields = self.operator(code, inputs, outputs);
        fields.push((14, Field::Bytes(options)));
        self.operators.push(Table(fields));
    }

    fn operator(&mut self, code: Table, inputs: &[i32], outputs: &[i32]) -> Vec<(u16, Field)> {
        self.codes.push(code);
        vec![
            (4, Field::I32(self.codes.len() as i32 - 1)),
            (6, Field::Ints(inputs.to_vec())),
            (8, Field::Ints(outputs.to_vec())),
        ]
    }

    /// The root table.
    pub(crate) fn root(&self, inputs: &[i32], outputs: &[i32]) -> Table {
        let graph = Table(vec![
            (4, Field::Tables(self.tensors.clone())),
            (6, Field::Ints(inputs.to_vec())),
            (8, Field::Ints(outputs.to_vec())),
            (10, Field::Tables(self.operators.clone())),
            (12, Field::Text("main".to_owned())),
        ]);
        Table(vec![
            (4, Field::I32(3)),
            (6, Field::Tables(self.codes.clone())),
            (8, Field::Tables(vec![graph])),
            (12, Field::Tables(self.buffers.clone())),
        ])
    }

    /// The file.
    pub(crate) fn bytes(&self, inputs: &[i32], outputs: &[i32]) -> Vec<u8> {
        file(&self.root(inputs, outputs))
    }
}

/// Options of CONV_2D.
pub(crate) fn conv(padding: i8, stride: i32, dilation: i32, activation: i8) -> Option<Options> {
    let numbers = [(6, stride), (8, stride), (12, dilation), (14, dilation)];
    let mut fields = vec![(4, Field::I8(padding)), (10, Field::I8(activation))];
    fields.extend(numbers.map(|(slot, n)| (slot, Field::I32(n))));
    Some((1, Table(fields)))
}

/// Options that are 32-bit numbers, in the order of their fields.
pub(crate) fn numbers(tag: i8, values: &[i32]) -> Option<Options> {
    Some((tag, Table(values.iter().zip((4..).step_by(2)).map(|(&v, slot)| (slot, Field::I32(v))).collect())))
}

/// Options that are bytes or truth values, in the order of their fields.
pub(crate) fn flags(tag: i8, values: &[i8]) -> Option<Options> {
    Some((tag, Table(values.iter().zip((4..).step_by(2)).map(|(&v, slot)| (slot, Field::I8(v))).collect())))
}

/// A value of a FlexBuffers map.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flex<'a> {
    Number(f32),
    List(&'a [f32]),
}

/// A FlexBuffers map of 32-bit floats, whose names are sorted.
pub(crate) fn flex_map(entries: &[(&str, f32)]) -> Vec<u8> {
    flex_map_of(&entries.iter().map(|&(name, number)| (name, Flex::Number(number))).collect::<Vec<_>>())
}

/// A FlexBuffers map of 32-bit floats and of lists of them, whose names are sorted.
pub(crate) fn flex_map_of(entries: &[(&str, Flex<'_>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut names, mut lists) = (Vec::new(), Vec::new());
    let put = |bytes: &mut Vec<u8>, number: usize| bytes.extend((number as u32).to_le_bytes());
    for (name, value) in entries {
        names.push(bytes.len());
        bytes.extend([name.as_bytes(), &[0]].concat());
        if let Flex::List(list) = value {
            put(&mut bytes, list.len());
            lists.push(bytes.len());
            list.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        }
    }
    put(&mut bytes, entries.len());
    let keys = bytes.len();
    for name in names {
        let back = bytes.len() - name;
        put(&mut bytes, back);
    }
    let back = bytes.len() - keys;
    [back, size_of::<u32>(), entries.len()].into_iter().for_each(|number| put(&mut bytes, number));
    let values = bytes.len();
    let mut lists = lists.into_iter();
    for (_, value) in entries {
        match (value, bytes.len()) {
            (Flex::Number(number), _) => bytes.extend(number.to_le_bytes()),
            (Flex::List(_), at) => lists.by_ref().take(1).for_each(|list| put(&mut bytes, at - list)),
        }
    }
    // The types of 32-bit floats and of lists of them, then the root: a map of 32-bit entries.
    bytes
        .extend(entries.iter().map(|(_, value)| if matches!(value, Flex::List(_)) { 13 << 2 | 2 } else { 3 << 2 | 2 }));
    let back = bytes.len() - values;
    put(&mut bytes, back);
    bytes.extend([9 << 2 | 2, size_of::<u32>() as u8]);
    bytes
}
