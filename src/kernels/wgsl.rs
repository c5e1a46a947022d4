//! What a shader and its Rust side share by name: constants and parameters.
//!
//! Constants are stated once, in Rust; the WGSL that declares them is written from that when a pipeline's source is put
//! together. Parameters are a struct on either side, so that a shader can be read alone; the function that reads them
//! is written from the Rust side, and a test holds the names of the fields together (`tests/library/shaders.rs`).

use std::fmt::Write as _;

/// Names and values of constants.
pub(crate) type ConstantTable = &'static [(&'static str, u32)];

/// States constants by name, each here and in the table that shaders are given.
macro_rules! shared_constants {
    ($(#[$about:meta])* $table:ident: $($(#[$doc:meta])* $name:ident = $value:expr,)*) => {
        $($(#[$doc])* pub(crate) const $name: u32 = $value;)*
        $(#[$about])*
        pub(crate) const $table: $crate::kernels::wgsl::ConstantTable = &[$((stringify!($name), $name)),*];
    };
}

/// States the parameters of a shader: a struct whose counterpart in WGSL has the same fields in the same order.
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
                // Shaders read groups of four, and tables behind the parameters begin with a group.
                words.resize(words.len().next_multiple_of(4), 0);
                words
            }
        }
    };
}

pub(crate) use {shader_params, shared_constants};

/// A value of 32 bits that parameters hold.
pub(crate) trait Word: Copy {
    /// Its type in WGSL.
    const TYPE: &'static str;
    fn bits(self) -> u32;
}

impl Word for u32 {
    const TYPE: &'static str = "u32";
    fn bits(self) -> u32 {
        self
    }
}

/// A count, which `ops::check` has found to be below 2^32.
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

/// An index or a distance, which `ops::check` has found to be within 31 bits.
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

/// A parameter's value: a word, a vector of two or four, or a tensor.
pub(crate) trait ParamValue: Copy {
    /// The type of its words in WGSL, or its own where it is no vector.
    const TYPE: &'static str;
    /// Words that it takes.
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

/// The type of tensors in WGSL.
pub(crate) const TENSOR: &str = "Tensor";

/// A parameter of a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Field {
    /// Its name on both sides.
    pub(crate) name: &'static str,
    scalar: &'static str,
    words: usize,
}

impl Field {
    pub(crate) const fn new<V: ParamValue>(name: &'static str) -> Self {
        Self { name, scalar: V::TYPE, words: V::WORDS }
    }

    /// The WGSL that reads it, where `READER(BASE + n)` are words `4n..4n + 4`, and it begins with word `at`.
    fn read(self, reader: &str, base: &str, at: usize) -> String {
        // `aligned` keeps a field within one group, so that one read is enough.
        let group = format!("{base}{}u", at / 4);
        if self.scalar == TENSOR {
            return format!("tensor({group})");
        }
        let lanes: String = "xyzw".chars().skip(at % 4).take(self.words).collect();
        let word = format!("{reader}({group}).{lanes}");
        match (self.scalar, self.words) {
            // The words of the table are `u32`.
            ("u32", _) => word,
            (scalar, 1) => format!("bitcast<{scalar}>({word})"),
            (scalar, words) => format!("bitcast<vec{words}<{scalar}>>({word})"),
        }
    }
}

/// The parameters of a shader, in order.
pub(crate) trait ShaderParams {
    const FIELDS: &'static [Field];
    /// Their words, a multiple of four.
    fn words(&self) -> Vec<u32>;
}

/// Groups of four words that parameters take.
pub(crate) const fn groups(fields: &[Field]) -> usize {
    let (mut words, mut i) = (0, 0);
    while i < fields.len() {
        words = aligned(words, fields[i].words) + fields[i].words;
        i += 1;
    }
    words.div_ceil(4)
}

/// Where a field of so many words begins when `at` words are taken: vectors lie in one group, tensors begin with one.
const fn aligned(at: usize, words: usize) -> usize {
    if at % 4 + words > 4 { at.next_multiple_of(4) } else { at }
}

pub(crate) fn put<V: ParamValue>(words: &mut Vec<u32>, value: V) {
    words.resize(aligned(words.len(), V::WORDS), 0);
    value.append(words);
}

/// WGSL that declares constants.
pub(crate) fn declare(constants: ConstantTable, wgsl: &mut String) {
    for (name, value) in constants {
        // Writing to a string cannot fail.
        let _ = writeln!(wgsl, "const {name}: u32 = {value}u;");
    }
}

/// Functions of `texel.wgsl` that read a group of four words: of a dispatch's block, and of what it alone is told.
pub(crate) const BLOCK: &str = "param";
pub(crate) const OWN: &str = "dispatch_param";

/// WGSL of `fn SIGNATURE -> TYPE`, which reads parameters that begin with `READER(BASE 0u)`.
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
