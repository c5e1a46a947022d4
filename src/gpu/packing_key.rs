//! What packed weights follow from: which file holds them, and whether it holds these.

use std::{
    fmt::{self, Write as _},
    hash::{DefaultHasher, Hasher as _},
};

use super::weight_source::WeightSource;
use crate::{
    graph::{Act, NodeSet},
    ops,
};

/// Hashes of 64 bits. Another version of Rust may hash otherwise, which costs packing once more.
pub(super) struct PackingKey {
    form: u64,
    contents: u64,
}

impl PackingKey {
    /// Of the weights of `which`. Reads all of them.
    pub(super) fn new(source: &WeightSource<'_>, which: &NodeSet) -> Self {
        let &WeightSource { graph, format, .. } = source;
        let (mut form, mut contents) = (Hash::default(), Hash::default());
        contents.number(ops::PACKING.into());
        contents.text(env!("CARGO_PKG_VERSION"));
        form.text(format);
        for (id, node) in graph.nodes.iter_enumerated().filter(|&(id, _)| which.contains(id)) {
            form.text(source.packing(id));
            // Without the numbers of tensors: a graph that is rewritten for phases may have others.
            form.text(&node.op);
            for act in [node.epilogue.first, node.epilogue.then] {
                form.number(matches!(act, Act::Prelu(_)).into());
            }
            form.text(graph.shape(node.output));
            for tensor in node.operands() {
                let constant = &graph.tensors[tensor].constant;
                form.text(graph.shape(tensor));
                form.text(constant);
                let Some(constant) = constant else { continue };
                // Of a constant of one value that is all, and it is not written out.
                let bytes = constant.bytes.element().unwrap_or_else(|| constant.bytes.as_slice());
                contents.number(bytes.len() as u64);
                contents.0.write(bytes);
            }
        }
        contents.number(form.0.finish());
        Self { form: form.0.finish(), contents: contents.0.finish() }
    }

    /// The name of the file: by the model's name, and what its weights are like. Other values take the place of those
    /// that it holds.
    pub(super) fn file_name(&self, model: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        // Names of files may have no more than 255 bytes.
        let name: String = model.chars().map(plain).take(100).collect();
        format!("{name}-{:016x}.weights", self.form)
    }

    /// What the file holds.
    pub(super) const fn contents(&self) -> u64 {
        self.contents
    }
}

#[derive(Default)]
struct Hash(DefaultHasher);

impl Hash {
    fn number(&mut self, number: u64) {
        self.0.write(&number.to_le_bytes());
    }

    /// What is written of something for those who look for errors: all that it is, but not the bytes of constants.
    fn text(&mut self, what: impl fmt::Debug) {
        // A hash takes whatever is written to it.
        let _ = write!(self, "{what:?};");
    }
}

impl fmt::Write for Hash {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
