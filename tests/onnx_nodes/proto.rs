//! As much of a model's messages as tells which inputs and operators it has. The importer has a reader of its own.

/// What a model states of itself.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Names of its operators, in order, with their domains where these are not the format's own.
    pub(crate) operators: Vec<String>,
    /// Names of its inputs.
    pub(crate) inputs: Vec<String>,
    /// What it takes or gives beside tensors: sequences, optionals, maps.
    pub(crate) others: Vec<&'static str>,
}

/// Reads a model.
pub(crate) fn facts(model: &[u8]) -> Facts {
    let mut facts = Facts::default();
    for (_, graph) in fields(model).into_iter().filter(|(number, _)| *number == 7) {
        for (number, message) in fields(graph) {
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
    }
    facts
}

/// What an input or output is, if it is no tensor.
fn other(port: &[u8]) -> Option<&'static str> {
    let (_, kind) = fields(port).into_iter().find(|field| field.0 == 2)?;
    fields(kind).into_iter().find_map(|(number, _)| match number {
        4 => Some("a sequence"),
        5 => Some("a map"),
        8 => Some("a sparse tensor"),
        9 => Some("an optional"),
        _ => None,
    })
}

/// The text of the first field with that number.
fn text(message: &[u8], number: u64) -> String {
    let found = fields(message).into_iter().find(|field| field.0 == number);
    found.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
}

/// The fields of a message that have a length.
fn fields(mut message: &[u8]) -> Vec<(u64, &[u8])> {
    let mut fields = Vec::new();
    while !message.is_empty() {
        let key = varint(&mut message);
        let length = match key & 7 {
            0 => {
                varint(&mut message);
                continue;
            }
            1 => 8,
            5 => 4,
            _ => varint(&mut message) as usize,
        };
        let (field, rest) = message.split_at(length);
        message = rest;
        if key & 7 == 2 {
            fields.push((key >> 3, field));
        }
    }
    fields
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
