//! Reads a model's inputs and operators from its messages. Independent of the importer's reader.

/// Facts stated by a model.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Names of its operators, in order, with their domains unless these are the format's default.
    pub(crate) operators: Vec<String>,
    /// Names of its inputs.
    pub(crate) inputs: Vec<String>,
    /// Kinds of inputs and outputs that are not tensors: sequences, optionals, maps.
    pub(crate) others: Vec<&'static str>,
}

/// Reads a model.
pub(crate) fn facts(model: &[u8]) -> Facts {
    let mut facts = Facts::default();
    for (number, message) in graphs(model).flat_map(parts) {
        match number {
            1 => {
                let (name, domain) = (text(message, 4), text(message, 7));
                facts.operators.push(if domain.is_empty() { name } else { format!("{domain}.{name}") });
            }
            11 => facts.inputs.push(text(message, 1)),
            _ => {}
        }
        if matches!(number, 11 | 12) {
            facts.others.extend(other(message));
        }
    }
    facts
}

fn graphs(model: &[u8]) -> impl Iterator<Item = &[u8]> {
    parts(model).filter(|(number, _)| *number == 7).map(|(_, graph)| graph)
}

/// Returns the kind of an input or output that is not a tensor.
fn other(port: &[u8]) -> Option<&'static str> {
    let (_, kind) = parts(port).find(|part| part.0 == 2)?;
    parts(kind).find_map(|(number, _)| match number {
        4 => Some("a sequence"),
        5 => Some("a map"),
        8 => Some("a sparse tensor"),
        9 => Some("an optional"),
        _ => None,
    })
}

/// Numbers of element types: 64-bit floats, and 32-bit ones.
const DOUBLE: u8 = 11;
const FLOAT: u8 = 1;

/// Turns a model of 64-bit floats into one of 32-bit floats: inputs, outputs and intermediates of its graph, but not
/// its constants.
pub(crate) fn narrowed(model: &[u8]) -> Vec<u8> {
    let types = graphs(model)
        .flat_map(parts)
        .filter(|(number, _)| (11..=13).contains(number))
        .flat_map(|(_, port)| parts(port).filter(|part| part.0 == 2).flat_map(|(_, kind)| parts(kind)))
        .filter(|(number, tensor)| *number == 1 && tensor.starts_with(&[0x08, DOUBLE]));
    let places: Vec<usize> = types.map(|(_, tensor)| tensor.as_ptr() as usize - model.as_ptr() as usize + 1).collect();
    let mut narrowed = model.to_vec();
    for place in places {
        narrowed[place] = FLOAT;
    }
    narrowed
}

/// The extents and values of an array of 64-bit floats, if it is one.
pub(crate) fn doubles(tensor: &[u8]) -> Option<(Vec<usize>, Vec<f64>)> {
    let (mut dims, mut is, mut values) = (Vec::new(), false, Vec::new());
    for (number, field) in fields(tensor) {
        match (number, field) {
            (1, Field::Number(extent)) => dims.push(extent as usize),
            (1, Field::Bytes(mut packed)) => {
                while !packed.is_empty() {
                    dims.push(varint(&mut packed) as usize);
                }
            }
            (2, Field::Number(kind)) => is = kind == u64::from(DOUBLE),
            (9 | 10, Field::Bytes(bytes)) => values.extend(bytes.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b))),
            _ => {}
        }
    }
    is.then_some((dims, values))
}

/// The text of the first field with that number.
fn text(message: &[u8], number: u64) -> String {
    let field = parts(message).find(|part| part.0 == number);
    field.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
}

/// The fields of a message that have a length.
fn parts(message: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    fields(message).filter_map(|(number, field)| match field {
        Field::Bytes(bytes) => Some((number, bytes)),
        Field::Number(_) => None,
    })
}

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn fields(mut message: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    std::iter::from_fn(move || {
        if message.is_empty() {
            return None;
        }
        let key = varint(&mut message);
        let length = match key & 7 {
            0 => return Some((key >> 3, Field::Number(varint(&mut message)))),
            1 => 8,
            5 => 4,
            _ => varint(&mut message) as usize,
        };
        let (field, rest) = message.split_at(length);
        message = rest;
        Some((key >> 3, Field::Bytes(field)))
    })
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *bytes = &bytes[i + 1..];
            return value;
        }
    }
    panic!("a number without end");
}
