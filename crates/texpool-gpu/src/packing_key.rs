//! Hashes of everything that determines packed weights: they select the file and verify its contents.

use std::{
    fmt::{self, Write as _},
    hash::{DefaultHasher, Hasher as _},
};

use super::weight_source::WeightSource;
use texpool_ops::{
    kernels::SectionRole,
    ops::{self, GroupSection, WeightGroup},
};

/// 64-bit hashes. Another version of Rust may hash differently, which only costs packing the weights again.
pub(super) struct PackingKey {
    form: u64,
    contents: u64,
}

impl PackingKey {
    /// Computes the key for the weights of `groups`. Reads all of them.
    pub(super) fn new(source: &WeightSource<'_>, groups: &[WeightGroup]) -> Self {
        let (mut form, mut contents) = (Hash::default(), Hash::default());
        contents.number(ops::PACKING.into());
        contents.text(env!("CARGO_PKG_VERSION"));
        form.text(source.format);
        for group in groups {
            form.text(group.packing);
            // Excludes numbers of tensors, because a graph that was rewritten for tiling may have different ones.
            for GroupSection { section, texels, .. } in &group.sections {
                form.number(*texels);
                form.number((section.role == SectionRole::Own).into());
                form.text(&section.layout);
                for constant in section.constants(source.graph).unwrap_or_default() {
                    form.text(constant);
                    // A constant that repeats one value is hashed by that value, without expanding it.
                    let bytes = constant.bytes.element().unwrap_or_else(|| constant.bytes.as_slice());
                    contents.number(bytes.len() as u64);
                    contents.0.write(bytes);
                }
            }
        }
        contents.number(form.0.finish());
        Self { form: form.0.finish(), contents: contents.0.finish() }
    }

    /// Returns the file name, built from the model's name and the form of its weights. Weights of the same form with
    /// other values use the same name, so they replace the file.
    pub(super) fn file_name(&self, model: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        // File names are limited to 255 bytes.
        let name: String = model.chars().map(plain).take(100).collect();
        format!("{name}-{:016x}.weights", self.form)
    }

    /// Returns the hash of the contents that the file must hold.
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

    /// Hashes the `Debug` output, which covers everything except the bytes of constants.
    fn text(&mut self, what: impl fmt::Debug) {
        // Writing to a hash cannot fail.
        let _ = write!(self, "{what:?};");
    }
}

impl fmt::Write for Hash {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
