//! Names NumPy's element types in words, because `<i8` means nothing to most people who save an array.

use npyz::{DType, TypeChar};

/// Bytes of the widest element type that is supported.
pub(super) const MAX_ELEMENT_BYTES: usize = 8;

/// Returns the kind and the number of bytes of an element that is a single number.
pub(super) fn numeric(dtype: &DType) -> Option<(TypeChar, u64)> {
    let DType::Plain(plain) = dtype else { return None };
    let number = matches!(plain.type_char(), TypeChar::Bool | TypeChar::Int | TypeChar::Uint | TypeChar::Float);
    (number && plain.size_field() <= MAX_ELEMENT_BYTES as u64).then(|| (plain.type_char(), plain.size_field()))
}

/// Describes the elements, as in "an array of ...".
pub(super) fn in_words(dtype: &DType) -> String {
    let DType::Plain(plain) = dtype else { return "records of named fields".into() };
    let bits = plain.size_field().saturating_mul(8);
    match plain.type_char() {
        TypeChar::Bool => "booleans".into(),
        TypeChar::Int => format!("{bits}-bit integers"),
        TypeChar::Uint => format!("{bits}-bit unsigned integers"),
        TypeChar::Float => format!("{bits}-bit floats"),
        TypeChar::Complex => format!("complex numbers of {bits} bits"),
        TypeChar::TimeDelta => "spans of time".into(),
        TypeChar::DateTime => "dates".into(),
        TypeChar::ByteStr | TypeChar::UnicodeStr => "text".into(),
        TypeChar::Object => "Python objects".into(),
        TypeChar::RawData => format!("raw data of {} bytes each", plain.size_field()),
        _ => "elements of an unknown type".into(),
    }
}
