//! Converts options of builtin operators from the runtime's structs back into a file's tables.
//!
//! The structs are declared in `tflite/converter/core/c/builtin_op_data.h`, their operators in
//! `tflite/core/api/flatbuffer_conversions.cc`, and the tables in `tflite/converter/schema/schema.fbs`, all of LiteRT
//! at f6745779. The header promises that fields are only added at the end of a struct. All fields read here also
//! exist in `tflite-runtime` 2.14.0. Tables and fields that texpool does not read are not written.

use std::ffi::{c_char, c_void};

use crate::{
    flatbuffer::{Field, Table},
    host::text,
};

/// Options in a file: the table's number in the union of options, and the table.
pub(crate) type Options = (u8, Table);

/// Type of a field in a struct, and how a file stores it.
#[derive(Clone, Copy)]
enum Kind {
    /// 1 for SAME, 2 for VALID; in a file 0 and 1.
    Padding,
    /// 1 for REFLECT, 2 for SYMMETRIC; in a file 0 and 1.
    Mirror,
    /// An enumeration in 32 bits; in a file 8 bits with the same numbers.
    Small,
    Int,
    Float,
    Bool,
    /// Eight numbers, followed by the count of those that are used; in a file a list.
    List,
    /// A pointer to a string, or NULL.
    Text,
}
use Kind::{Bool, Float, Int, List, Mirror, Padding, Small, Text};

/// A field: its offset in the struct, its slot in the file's table, and its type.
type Row = (usize, u16, Kind);

/// For each struct: the operators' codes, the table's number in the union, and the fields.
#[rustfmt::skip]
const STRUCTS: [(&[i32], u8, &[Row]); 32] = [
    // TfLiteConvParams: CONV_2D
    (&[3], 1, &[(0, 4, Padding), (4, 6, Int), (8, 8, Int), (12, 10, Small), (16, 12, Int), (20, 14, Int)]),
    // TfLiteConv3DParams: CONV_3D, CONV_3D_TRANSPOSE
    (&[132, 141], 106,
        &[(0, 4, Padding), (4, 8, Int), (8, 10, Int), (12, 6, Int), (16, 16, Int), (20, 18, Int), (24, 14, Int),
            (28, 12, Small)]),
    // TfLiteDepthwiseConvParams: DEPTHWISE_CONV_2D
    (&[4], 2,
        &[(0, 4, Padding), (4, 6, Int), (8, 8, Int), (12, 10, Int), (16, 12, Small), (20, 14, Int), (24, 16, Int)]),
    // TfLitePoolParams: AVERAGE_POOL_2D, MAX_POOL_2D
    (&[1, 17], 5, &[(0, 4, Padding), (4, 6, Int), (8, 8, Int), (12, 10, Int), (16, 12, Int), (20, 14, Small)]),
    // TfLiteFullyConnectedParams: FULLY_CONNECTED
    (&[9], 8, &[(0, 4, Small), (4, 6, Small), (8, 8, Bool)]),
    // TfLiteSoftmaxParams: SOFTMAX
    (&[25], 9, &[(0, 4, Float)]),
    // TfLiteConcatenationParams: CONCATENATION
    (&[2], 10, &[(0, 4, Int), (4, 6, Small)]),
    // TfLiteAddParams: ADD
    (&[0], 11, &[(0, 4, Small)]),
    // TfLiteL2NormParams: L2_NORMALIZATION
    (&[11], 12, &[(0, 4, Small)]),
    // TfLiteLocalResponseNormParams: LOCAL_RESPONSE_NORMALIZATION
    (&[13], 13, &[(0, 4, Int), (4, 6, Float), (8, 8, Float), (12, 10, Float)]),
    // TfLiteResizeBilinearParams: RESIZE_BILINEAR
    (&[23], 15, &[(0, 8, Bool), (1, 10, Bool)]),
    // TfLiteReshapeParams: RESHAPE
    (&[22], 17, &[(0, 4, List)]),
    // TfLiteSpaceToDepthParams: SPACE_TO_DEPTH
    (&[26], 19, &[(0, 4, Int)]),
    // TfLiteMulParams: MUL
    (&[18], 21, &[(0, 4, Small)]),
    // TfLiteGatherParams: GATHER
    (&[36], 23, &[(0, 4, Int), (4, 6, Int)]),
    // TfLiteReducerParams: MEAN, SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_ANY, REDUCE_ALL
    (&[40, 74, 81, 82, 89, 91, 140], 27, &[(0, 4, Bool)]),
    // TfLiteSubParams: SUB
    (&[41], 28, &[(0, 4, Small)]),
    // TfLiteDivParams: DIV
    (&[42], 29, &[(0, 4, Small)]),
    // TfLiteSqueezeParams: SQUEEZE
    (&[43], 30, &[(0, 4, List)]),
    // TfLiteStridedSliceParams: STRIDED_SLICE
    (&[45], 32, &[(0, 4, Int), (4, 6, Int), (8, 8, Int), (12, 10, Int), (16, 12, Int), (20, 14, Bool)]),
    // TfLiteTransposeConvParams: TRANSPOSE_CONV
    (&[67], 49, &[(0, 4, Padding), (4, 6, Int), (8, 8, Int), (12, 10, Small)]),
    // TfLitePackParams: PACK
    (&[83], 59, &[(0, 4, Int), (4, 6, Int)]),
    // TfLiteUnpackParams: UNPACK
    (&[88], 64, &[(0, 4, Int), (4, 6, Int)]),
    // TfLiteResizeNearestNeighborParams: RESIZE_NEAREST_NEIGHBOR
    (&[97], 74, &[(0, 4, Bool), (1, 6, Bool)]),
    // TfLiteLeakyReluParams: LEAKY_RELU
    (&[98], 75, &[(0, 4, Float)]),
    // TfLiteMirrorPaddingParams: MIRROR_PAD
    (&[100], 77, &[(0, 4, Mirror)]),
    // TfLiteDepthToSpaceParams: DEPTH_TO_SPACE
    (&[5], 94, &[(0, 4, Int)]),
    // TfLiteBatchMatMulParams: BATCH_MATMUL
    (&[126], 101, &[(0, 4, Bool), (1, 6, Bool)]),
    // TfLiteCumsumParams: CUMSUM
    (&[128], 102, &[(0, 4, Bool), (1, 6, Bool)]),
    // TfLiteCallOnceParams: CALL_ONCE
    (&[129], 103, &[(0, 4, Int)]),
    // TfLiteVarHandleParams: VAR_HANDLE
    (&[142], 111, &[(0, 4, Text), (8, 6, Text)]),
    // TfLiteGeluParams: GELU
    (&[150], 116, &[(0, 4, Bool)]),
];

/// Length of a [`Kind::List`] in a struct (`TFLITE_RESHAPE_PARAMS_MAX_DIMENSION_COUNT`).
const LIST: usize = 8;

/// Reads the options of an operator, or returns `None` if the operator has none that are read.
///
/// # Safety
/// `data` is NULL, or it points to the runtime's struct for operators of this code.
pub(crate) unsafe fn options(code: i32, data: *const c_void) -> Result<Option<Options>, String> {
    let Some((_, tag, rows)) = STRUCTS.iter().find(|(codes, _, _)| codes.contains(&code)) else { return Ok(None) };
    if data.is_null() {
        return Err("the runtime gives no options of it".to_owned());
    }
    // SAFETY: as the caller of this function promises, each field exists at its offset.
    let fields = rows.iter().filter_map(|&(at, slot, kind)| Some((slot, unsafe { field(data.byte_add(at), kind) }?)));
    Ok(Some((*tag, Table(fields.collect()))))
}

/// # Safety
/// `at` points to a field of this kind.
unsafe fn field(at: *const c_void, kind: Kind) -> Option<Field> {
    // SAFETY: as the caller of this function promises; only the bytes of the field are read.
    unsafe {
        let int = || at.cast::<i32>().read_unaligned();
        let small = |number: i32| Field::I8(i8::try_from(number).unwrap_or(i8::MAX));
        Some(match kind {
            Int => Field::I32(int()),
            Small => small(int()),
            // A value unknown to the runtime stays invalid, because -1 is not a valid value in a file.
            Padding | Mirror => small(int() - 1),
            Float => Field::F32(at.cast::<f32>().read_unaligned()),
            Bool => Field::Bool(at.cast::<u8>().read() != 0),
            Text => Field::Text(text(at.cast::<*const c_char>().read_unaligned())),
            List => {
                let numbers = at.cast::<[i32; LIST]>().read_unaligned();
                let count = at.cast::<i32>().add(LIST).read_unaligned();
                let count = usize::try_from(count).unwrap_or(0).min(LIST);
                return (count > 0).then(|| Field::Ints(numbers[..count].to_vec()));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_has_one_struct() {
        let codes: Vec<i32> = STRUCTS.iter().flat_map(|(codes, _, _)| codes.iter().copied()).collect();
        assert!(codes.iter().all(|code| codes.iter().filter(|other| *other == code).count() == 1), "{codes:?}");
    }

    #[test]
    fn enumerations_become_those_of_files() {
        // Padding VALID, strides 2 along the width and 1 along the height, RELU6, dilations 1.
        let conv = [2i32, 2, 1, 3, 1, 1, 0];
        // SAFETY: the array is as long as the struct.
        let table = unsafe { options(3, conv.as_ptr().cast()) };
        let fields = vec![
            (4, Field::I8(1)),
            (6, Field::I32(2)),
            (8, Field::I32(1)),
            (10, Field::I8(3)),
            (12, Field::I32(1)),
            (14, Field::I32(1)),
        ];
        assert_eq!(table, Ok(Some((1, Table(fields)))));
        let reshape = [1i32, -1, 0, 0, 0, 0, 0, 0, 2];
        // SAFETY: the array is as long as the struct.
        let table = unsafe { options(22, reshape.as_ptr().cast()) };
        assert_eq!(table, Ok(Some((17, Table(vec![(4, Field::Ints(vec![1, -1]))])))));
    }

    #[test]
    fn operators_without_options_have_none() {
        // SAFETY: NULL is allowed.
        let [relu, conv] = [19, 3].map(|code| unsafe { options(code, std::ptr::null()) });
        assert!(relu == Ok(None) && conv.is_err());
    }
}
