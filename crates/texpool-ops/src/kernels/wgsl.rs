//! Constants and parameters that shaders share with Rust by name.
//!
//! Constants are declared once, in Rust; their WGSL declarations are generated when a pipeline's source is assembled.
//! Parameters are declared as a struct on both sides, so that a shader can be read without the Rust code. The WGSL
//! function that reads them is generated from the Rust struct, and a test compares the field names
//! (`tests/library/shaders.rs`).

use std::fmt::Write as _;

/// Names and values of constants.
pub(crate) type ConstantTable = &'static [(&'static str, u32)];

/// Declares constants by name, both in Rust and in the table for shaders.
macro_rules! shared_constants {
    ($(#[$about:meta])* $table:ident: $($(#[$doc:meta])* $name:ident = $value:expr,)*) => {
        $($(#[$doc])* pub(crate) const $name: u32 = $value;)*
        $(#[$about])*
        pub(crate) const $table: $crate::kernels::wgsl::ConstantTable = &[$((stringify!($name), $name)),*];
    };
}

/// Declares the parameters of a shader as a struct. Its WGSL counterpart has the same fields in the same order.
macro_rules! shader_params {
    ($(#[$about:meta])* struct $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name { $($(#[$doc])* pub(crate) $field: $type,)* }

        impl $crate::kernels::wgsl::ShaderParams for $name {
            const FIELDS: &'static [$crate::kernels::wgsl::Field] =
                &[$($crate::kernels::wgsl::Field::new::<$type>(stringify!($field))),*];

            fn words(&self) -> Vec<u32> {
                let mut words = Vec::new();
                $($crate::kernels::wgsl::put(&mut words, self.$field);)*
                // Shaders read groups of four words, and the tables after the parameters start at a group.
                words.resize(words.len().next_multiple_of(4), 0);
                words
            }
        }
    };
}

pub(crate) use {shader_params, shared_constants};

/// A 32-bit parameter value.
pub(crate) trait Word: Copy {
    /// The WGSL type.
    const TYPE: &'static str;
    fn bits(self) -> u32;
}

impl Word for u32 {
    const TYPE: &'static str = "u32";
    fn bits(self) -> u32 {
        self
    }
}

/// A count; `ops::check` verified that it is below 2^32.
impl Word for usize {
    const TYPE: &'static str = "u32";
    fn bits(self) -> u32 {
        self as u32
    }
}

impl Word for bool {
    const TYPE: &'static str = "u32";
    fn bits(self) -> u32 {
        u32::from(self)
    }
}

/// An index or a distance; `ops::check` verified that it fits in 31 bits.
impl Word for isize {
    const TYPE: &'static str = "i32";
    fn bits(self) -> u32 {
        (self as i32).cast_unsigned()
    }
}

impl Word for f32 {
    const TYPE: &'static str = "f32";
    fn bits(self) -> u32 {
        self.to_bits()
    }
}

/// A parameter value: a word, a vector of two or four words, or a tensor.
pub(crate) trait ParamValue: Copy {
    /// WGSL type of one word; for a tensor, the type of the whole value.
    const TYPE: &'static str;
    /// Size in words.
    const WORDS: usize;
    fn append(self, words: &mut Vec<u32>);
}

impl<W: Word> ParamValue for W {
    const TYPE: &'static str = W::TYPE;
    const WORDS: usize = 1;
    fn append(self, words: &mut Vec<u32>) {
        words.push(self.bits());
    }
}

impl<W: Word, const N: usize> ParamValue for [W; N] {
    const TYPE: &'static str = W::TYPE;
    const WORDS: usize = N;
    fn append(self, words: &mut Vec<u32>) {
        words.extend(self.map(Word::bits));
    }
}

/// The WGSL type of tensors.
pub(crate) const TENSOR: &str = "Tensor";

/// A parameter of a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Field {
    /// Name in both Rust and WGSL.
    pub(crate) name: &'static str,
    scalar: &'static str,
    words: usize,
}

impl Field {
    pub(crate) const fn new<V: ParamValue>(name: &'static str) -> Self {
        Self { name, scalar: V::TYPE, words: V::WORDS }
    }

    /// Returns the WGSL expression that reads the field, which begins at word `at`. `READER(BASE + n)` returns words
    /// `4n..4n + 4`.
    fn read(self, reader: &str, base: &str, at: usize) -> String {
        // `aligned` keeps a field within one group, so one read is enough.
        let group = format!("{base}{}u", at / 4);
        if self.scalar == TENSOR {
            return format!("tensor({group})");
        }
        let lanes: String = "xyzw".chars().skip(at % 4).take(self.words).collect();
        let word = format!("{reader}({group}).{lanes}");
        match (self.scalar, self.words) {
            // Words are read as `u32`, so no conversion is needed.
            ("u32", _) => word,
            (scalar, 1) => format!("bitcast<{scalar}>({word})"),
            (scalar, words) => format!("bitcast<vec{words}<{scalar}>>({word})"),
        }
    }
}

/// The parameters of a shader, in order.
pub(crate) trait ShaderParams {
    const FIELDS: &'static [Field];
    /// Returns the parameters as words, padded to a multiple of four.
    fn words(&self) -> Vec<u32>;
}

/// Returns the number of groups of four words that the parameters take.
pub(crate) const fn groups(fields: &[Field]) -> usize {
    let (mut words, mut i) = (0, 0);
    while i < fields.len() {
        words = aligned(words, fields[i].words) + fields[i].words;
        i += 1;
    }
    words.div_ceil(4)
}

/// Returns the offset of a field of `words` words after `at` used words. Vectors stay within one group, and tensors
/// start a group.
const fn aligned(at: usize, words: usize) -> usize {
    if at % 4 + words > 4 { at.next_multiple_of(4) } else { at }
}

pub(crate) fn put<V: ParamValue>(words: &mut Vec<u32>, value: V) {
    words.resize(aligned(words.len(), V::WORDS), 0);
    value.append(words);
}

/// Appends WGSL declarations of the constants.
pub(crate) fn declare(constants: ConstantTable, wgsl: &mut String) {
    for (name, value) in constants {
        // Writing to a string cannot fail.
        let _ = writeln!(wgsl, "const {name}: u32 = {value}u;");
    }
}

/// Functions of `texel.wgsl` that read a group of four words: `BLOCK` from a dispatch's block, `OWN` from its private
/// words.
pub(crate) const BLOCK: &str = "param";
pub(crate) const OWN: &str = "dispatch_param";

/// Appends a WGSL function that reads the parameters, the first group of which is `READER(BASE 0u)`.
pub(crate) fn load(signature: &str, name: &str, [reader, base]: [&str; 2], fields: &[Field], wgsl: &mut String) {
    let mut at = 0;
    let reads = fields.iter().map(|field| {
        let start = aligned(at, field.words);
        at = start + field.words;
        field.read(reader, base, start)
    });
    let reads = reads.collect::<Vec<_>>().join(", ");
    let _ = writeln!(wgsl, "fn {signature} -> {name} {{ return {name}({reads}); }}");
}
