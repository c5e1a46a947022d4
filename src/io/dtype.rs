//! NumPy's element types in words: `<i8` says nothing to whoever saved an array.

use npyz::{DType, TypeChar};

/// Bytes of the widest element that is read.
pub(super) const MAX_ELEMENT_BYTES: usize = 8;

/// Kind and bytes of an element that is one number.
pub(super) fn numeric(dtype: &DType) -> Option<(TypeChar, u64)> {
    let DType::Plain(plain) = dtype else { return None };
    let number = matches!(plain.type_char(), TypeChar::Bool | TypeChar::Int | TypeChar::Uint | TypeChar::Float);
    (number && plain.size_field() <= MAX_ELEMENT_BYTES as u64).then(|| (plain.type_char(), plain.size_field()))
}

/// What the elements are, as in "an array of ...".
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
