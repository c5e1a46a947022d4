//! Maps ONNX's numbers to element types.

use crate::import::error::Problem;
use texpool_ops::graph::ElementType;

/// Names of ONNX's element types, by number.
const NAMES: [&str; 25] = [
    "no type",
    "float",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "string",
    "bool",
    "float16",
    "double",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
    "bfloat16",
    "float8e4m3fn",
    "float8e4m3fnuz",
    "float8e5m2",
    "float8e5m2fnuz",
    "uint4",
    "int4",
    "float4e2m1",
    "float8e8m0",
];

/// The supported types, with their numbers.
const SUPPORTED: [(i64, ElementType); 11] = [
    (1, ElementType::F32),
    (2, ElementType::U8),
    (3, ElementType::I8),
    (4, ElementType::U16),
    (5, ElementType::I16),
    (6, ElementType::I32),
    (7, ElementType::I64),
    (9, ElementType::Bool),
    (10, ElementType::F16),
    (12, ElementType::U32),
    (13, ElementType::U64),
];

/// Returns the element type with an ONNX number, if it is supported.
pub(super) fn element_type(code: i64) -> Result<ElementType, Problem> {
    let element_type = SUPPORTED.iter().find(|(number, _)| *number == code).map(|(_, element_type)| *element_type);
    element_type.ok_or_else(|| {
        let name = usize::try_from(code).ok().and_then(|i| NAMES.get(i)).copied().unwrap_or("unknown");
        Problem::new(
            format!("its elements are of type {name} ({code})"),
            "convert it to float, float16, an integer or bool",
        )
    })
}

/// Returns the ONNX number of an element type.
pub(super) fn number(element_type: ElementType) -> i64 {
    SUPPORTED.iter().find(|(_, listed)| *listed == element_type).map_or(0, |(number, _)| *number)
}
