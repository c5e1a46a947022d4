//! The fields of `ModelProto` and `GraphProto` that state where a model comes from.

use std::cell::RefCell;

use super::{
    broken,
    model::each,
    wire::{Message, Read},
};
use crate::import::{ImportError, ModelMetadata, meter::Meter};

/// Reads those fields and skips all others.
pub(in crate::import) fn metadata(bytes: &[u8]) -> Result<ModelMetadata, ImportError> {
    let meter = RefCell::new(Meter::new(bytes.len()));
    let mut metadata = ModelMetadata::default();
    read(Message::of(bytes, &meter), &mut metadata).map_err(broken)?;
    Ok(metadata)
}

fn read(model: Message<'_>, to: &mut ModelMetadata) -> Read<()> {
    each(model, |m, number, value| {
        match number {
            2 => to.producer_name = m.loose_text(value)?,
            4 => to.domain = m.loose_text(value)?,
            5 => to.version = m.int(value)?,
            6 => to.description = m.loose_text(value)?,
            7 => graph(m.message(value)?, to)?,
            14 => {
                let (key, text) = entry(m.message(value)?)?;
                to.custom.insert(key, text);
            }
            _ => {}
        }
        Ok(())
    })
}

fn graph(graph: Message<'_>, to: &mut ModelMetadata) -> Read<()> {
    each(graph, |m, number, value| {
        match number {
            2 => to.graph_name = m.loose_text(value)?,
            10 => to.graph_description = m.loose_text(value)?,
            _ => {}
        }
        Ok(())
    })
}

/// Reads a `StringStringEntryProto`.
fn entry(entry: Message<'_>) -> Read<(String, String)> {
    entry.makes(size_of::<(String, String)>())?;
    let mut pair = (String::new(), String::new());
    each(entry, |m, number, value| {
        match number {
            1 => pair.0 = m.loose_text(value)?,
            2 => pair.1 = m.loose_text(value)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(pair)
}
