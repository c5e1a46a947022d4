//! Works around glslang's HLSL front end, which accepts less than the language allows.
//!
//! One construct in naga's output is affected: a scalar cast to an array, as in `uint x[8] = (uint[8])0;`.
//! Microsoft's compilers read it as an array of zeros; glslang 12 answers "array constructor needs one argument per
//! array element". A global is substituted, which HLSL initialises to zero.

use std::collections::BTreeMap;

/// Returns `text` without casts to arrays.
pub(super) fn for_glslang(text: &str) -> String {
    let mut zeros = BTreeMap::new();
    let mut body = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(end) = rest.find("])0") {
        let (before, after) = rest.split_at(end + 1);
        let start = before.rfind('(').unwrap_or_else(|| panic!("a cast without its parenthesis: {before}"));
        let (element, extents) = before[start + 1..].split_once('[').unwrap_or_else(|| panic!("no array: {before}"));
        let name = format!("zero_{element}_{}", extents.replace("][", "_").trim_end_matches(']'));
        body += &before[..start];
        body += &name;
        zeros.insert(name.clone(), format!("static {element} {name}[{extents};\n"));
        rest = &after[")0".len()..];
    }
    zeros.into_values().collect::<String>() + &body + rest
}

/// The rewriting that glslang needs of naga's HLSL.
#[test]
fn casts_to_arrays_become_globals() {
    let text = "uint x[8] = (uint[8])0; float4 y[8][4] = (float4[8][4])0; return (uint[8])0;";
    let expected = "static float4 zero_float4_8_4[8][4];\nstatic uint zero_uint_8[8];\n\
                    uint x[8] = zero_uint_8; float4 y[8][4] = zero_float4_8_4; return zero_uint_8;";
    assert_eq!(for_glslang(text), expected);
}
