//! Writes a plan for TensorFlow Lite Micro into a copy of a `.tflite` file.
//!
//! FlatBuffers refer forwards only. A vector that gains an element therefore has to lie before everything it refers to, so
//! the copy has a new root in front of the old file: a root table with the old fields, the vectors of buffers and metadata
//! with one more element each, and the plan. The old file follows unchanged; its old root is unused.

use super::{
    IDENTIFIER,
    micro_error::MicroError,
    reader::Table,
    schema::{Described, Operator},
    supported, verified,
};
use crate::import::ImportError;

/// Name of the metadata that the runtime looks for.
const NAME: &str = "OfflineMemoryAllocation";

/// Version of the plan's format, and number of graphs. The runtime reads neither today.
const FORMAT: [i32; 2] = [1, 1];

/// Alignment of the old file in the copy, which keeps the alignment of everything inside it: a multiple of the largest
/// alignment of the schema, 16 bytes.
const ALIGNMENT: usize = 64;

/// Number of fields of the root table in the schema, of which the last are the signatures.
const FIELDS: usize = 8;
/// Slots of fields in the root's vtable.
const VERSION: u16 = 4;
const BUFFERS: u16 = 12;
const METADATA: u16 = 16;

/// Returns a copy of the file with an offset for each tensor; -1 leaves a tensor to the runtime.
pub(super) fn with_offsets(bytes: &[u8], offsets: &[i32]) -> Result<Vec<u8>, MicroError> {
    let damaged = || ImportError::Malformed { what: "it has no root table".to_owned() };
    let root = Table::root(bytes).ok_or_else(damaged)?;
    check_positions(bytes, root)?;
    let described = verified::<Described<'static>>(bytes)?;
    let entries = described.metadata().unwrap_or_default();
    // An earlier plan is dropped from the list. Its buffer stays, since tensors count buffers by position.
    let is_kept =
        |(at, entry): (usize, &super::schema::Metadata<'_>)| (entry.name().as_deref() != Some(NAME)).then_some(at);
    let metadata: Vec<usize> =
        root.targets(METADATA).unwrap_or_default().into_iter().zip(&entries).filter_map(is_kept).collect();
    let buffers = root.targets(BUFFERS).unwrap_or_default();

    let mut front = Front::new(root);
    let new_buffers = front.vector(buffers.len() + 1);
    let new_metadata = front.vector(metadata.len() + 1);
    let plan = front.plan(offsets)?;
    let index = u32::try_from(buffers.len()).map_err(|_| MicroError::File("it has too many buffers"))?;
    let entry = front.entry(index)?;
    front.align(ALIGNMENT);

    // Positions in the old file move by the length of the front.
    let shift = front.bytes.len();
    for (slot, field) in front.fields.clone() {
        let target = match slot {
            BUFFERS => new_buffers,
            METADATA => new_metadata,
            slot => shift + root.target(slot).ok_or_else(damaged)?,
        };
        front.refer(field, target)?;
    }
    for (vector, old, new) in [(new_buffers, &buffers, plan), (new_metadata, &metadata, entry)] {
        let targets = old.iter().map(|at| shift + at).chain([new]);
        for (i, target) in targets.enumerate() {
            front.refer(vector + 4 * (i + 1), target)?;
        }
    }
    let copy = [&front.bytes, bytes].concat();
    if i32::try_from(copy.len()).is_err() {
        return Err(MicroError::File("the copy would exceed 2 GiB"));
    }
    // A fault here must not reach a device.
    supported(&copy)?;
    Ok(copy)
}

/// Refuses files with values or fields whose positions would have to change with the file.
fn check_positions(bytes: &[u8], root: Table<'_>) -> Result<(), MicroError> {
    let model = supported(bytes)?;
    let behind = model.buffers().unwrap_or_default().iter().any(|buffer| buffer.offset() > 1);
    let custom = |operator: &Operator<'_>| operator.large_custom_options_offset() > 1;
    let mut graphs = model.subgraphs().unwrap_or_default().into_iter();
    if behind || graphs.any(|graph| graph.operators().unwrap_or_default().iter().any(custom)) {
        return Err(MicroError::File("it keeps values behind its tables, at fixed positions"));
    }
    match root.vtable() {
        Some((_, length)) if length <= 4 + 2 * FIELDS as u16 => Ok(()),
        _ => Err(MicroError::File("its root table has fields of a newer schema")),
    }
}

/// The beginning of the copy, up to the old file.
struct Front {
    bytes: Vec<u8>,
    /// Slots of the root table that refer to something, with the positions of their references.
    fields: Vec<(u16, usize)>,
}

impl Front {
    /// Begins with a header and a root table that has the old root's fields, a list of buffers and one of metadata.
    fn new(root: Table<'_>) -> Self {
        const TABLE: usize = 8 + 4 + 2 * FIELDS;
        let is_present = |slot: u16| slot == BUFFERS || slot == METADATA || root.target(slot).is_some();
        let slots: Vec<u16> = (0..FIELDS as u16).map(|field| 4 + 2 * field).collect();
        let mut front = Self { bytes: Vec::new(), fields: Vec::new() };
        front.put(&(TABLE as u32).to_le_bytes());
        front.put(IDENTIFIER);
        front.put(&((4 + 2 * FIELDS) as u16).to_le_bytes());
        front.put(&((4 + 4 * FIELDS) as u16).to_le_bytes());
        for &slot in &slots {
            let present = slot == VERSION || is_present(slot);
            front.put(&(if present { 2 * slot - 4 } else { 0 }).to_le_bytes());
        }
        front.put(&((TABLE - 8) as i32).to_le_bytes());
        for &slot in &slots {
            if slot == VERSION {
                front.put(&root.get::<u32>(VERSION).unwrap_or_default().to_le_bytes());
                continue;
            }
            if is_present(slot) {
                front.fields.push((slot, front.bytes.len()));
            }
            front.put(&[0; 4]);
        }
        front
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn align(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }

    /// Adds a vector of references and returns its position.
    fn vector(&mut self, length: usize) -> usize {
        let at = self.bytes.len();
        self.put(&(length as u32).to_le_bytes());
        self.bytes.resize(at + 4 * (length + 1), 0);
        at
    }

    /// Adds a table with fields of 4 bytes and returns its position.
    fn table(&mut self, fields: &[[u8; 4]]) -> usize {
        let count = fields.len() as u16;
        self.put(&(4 + 2 * count).to_le_bytes());
        self.put(&(4 + 4 * count).to_le_bytes());
        for field in 0..count {
            self.put(&(4 + 4 * field).to_le_bytes());
        }
        // Tables are aligned to 4 bytes, and the distance to the vtable includes the padding.
        let vtable = self.bytes.len() - usize::from(4 + 2 * count);
        self.align(4);
        let at = self.bytes.len();
        self.put(&((at - vtable) as i32).to_le_bytes());
        for field in fields {
            self.put(field);
        }
        at
    }

    /// Adds a buffer with the plan: version, number of graphs, number of tensors, offsets. Returns its position.
    fn plan(&mut self, offsets: &[i32]) -> Result<usize, MicroError> {
        let table = self.table(&[[0; 4]]);
        // The values begin at a multiple of the alignment, behind their number of bytes.
        while !(self.bytes.len() + 4).is_multiple_of(16) {
            self.bytes.push(0);
        }
        let values = FORMAT.into_iter().chain([offsets.len() as i32]).chain(offsets.iter().copied());
        let values: Vec<u8> = values.flat_map(i32::to_le_bytes).collect();
        let at = self.bytes.len();
        self.put(&(values.len() as u32).to_le_bytes());
        self.put(&values);
        self.refer(table + 4, at)?;
        Ok(table)
    }

    /// Adds an entry of the metadata that names a buffer, and returns its position.
    fn entry(&mut self, buffer: u32) -> Result<usize, MicroError> {
        let table = self.table(&[[0; 4], buffer.to_le_bytes()]);
        let at = self.bytes.len();
        self.put(&(NAME.len() as u32).to_le_bytes());
        self.put(NAME.as_bytes());
        self.put(&[0]);
        self.refer(table + 4, at)?;
        Ok(table)
    }

    /// Writes a reference to a later position of the copy.
    fn refer(&mut self, field: usize, target: usize) -> Result<(), MicroError> {
        let distance = u32::try_from(target - field).map_err(|_| MicroError::File("the copy would exceed 2 GiB"))?;
        self.bytes[field..field + 4].copy_from_slice(&distance.to_le_bytes());
        Ok(())
    }
}
