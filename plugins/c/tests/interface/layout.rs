//! Checks that C and C++ compilers see the same sizes, offsets and enum values in the header as Rust does here.

use std::{env, fmt::Write, fs, mem::offset_of, path::Path, process::Command};

use texpool::*;

/// Writes assertions about the layout of structs.
macro_rules! structs {
    ($text:ident, $($name:ident { $($field:ident),* $(,)? })*) => {$(
        // Must list all fields; otherwise this does not compile.
        let _ = |$name { $($field: _),* }: $name| {};
        writeln!($text, "static_assert(sizeof({0}) == {1}, \"{0}\");", stringify!($name), size_of::<$name>()).unwrap();
        $(writeln!(
            $text,
            "static_assert(offsetof({0}, {1}) == {2}, \"{0}.{1}\");",
            stringify!($name), stringify!($field), offset_of!($name, $field)
        ).unwrap();)*
    )*};
}

/// Writes assertions about the values of enums.
macro_rules! enums {
    ($text:ident, $($name:ident { $($variant:ident),* $(,)? })*) => {$(
        // Must list all variants; otherwise this does not compile.
        let _ = |number: $name| match number { $($name::$variant => {}),* };
        writeln!($text, "static_assert(sizeof({0}) == {1}, \"{0}\");", stringify!($name), size_of::<$name>()).unwrap();
        $(writeln!($text, "static_assert({0} == {1}, \"{0}\");", stringify!($variant), $name::$variant as i64).unwrap();)*
    )*};
}

fn assertions() -> String {
    let mut text = "#include <texpool.h>\n#include <assert.h>\n#include <stddef.h>\n\n".to_owned();
    structs! { text,
        texpool_option { name, value }
        texpool_session_descriptor {
            struct_size, device, model_path, model_data, model_bytes, plan_data, plan_bytes, options, option_count, progress,
            user_data,
        }
        texpool_tensor_info {
            struct_size, name, dims, rank, elements, bytes, element_type, quantized, scale, zero_point,
        }
        texpool_input { name, index, data, bytes, element_type, rank, dims, strides }
        texpool_output { name, index, data, bytes, element_type }
        texpool_memory_parts { sum, pool, weights, io, tables, transfer, other }
        texpool_memory { struct_size, planned, allocated, shared, reserved, peak_allocated, peak_reserved }
        texpool_warnings { struct_size, not_finite, saturated, index_outside }
        texpool_progress { stage, done, total, has_best, best }
        texpool_plan_buffer { first, last, bytes, alignment, offset, placement }
        texpool_plan_gap { buffer, first, last, window_begin, window_end }
        texpool_plan_pair { before, after }
        texpool_plan_descriptor {
            struct_size, buffers, buffer_count, gaps, gap_count, in_place, in_place_count, capacity, deadline, effort,
            progress, user_data,
        }
        texpool_plan_result { struct_size, peak, lower_bound, proof, fit, stopped }
    }
    enums! { text,
        texpool_status {
            TEXPOOL_OK, TEXPOOL_ERROR_ARGUMENT, TEXPOOL_ERROR_OPTION, TEXPOOL_ERROR_FILE, TEXPOOL_ERROR_MODEL,
            TEXPOOL_ERROR_SAVED_PLAN, TEXPOOL_ERROR_BUDGET, TEXPOOL_ERROR_PLAN, TEXPOOL_ERROR_NO_SUCH_TENSOR,
            TEXPOOL_ERROR_ELEMENT_TYPE, TEXPOOL_ERROR_SHAPE, TEXPOOL_ERROR_VALUE, TEXPOOL_ERROR_INPUTS,
            TEXPOOL_ERROR_NO_ADAPTER, TEXPOOL_ERROR_DEVICE, TEXPOOL_ERROR_DEVICE_LOST, TEXPOOL_ERROR_TIMEOUT,
            TEXPOOL_ERROR_OUT_OF_MEMORY, TEXPOOL_ERROR_BUFFERS, TEXPOOL_ERROR_FORKED,
            TEXPOOL_ERROR_INTERNAL,
        }
        texpool_element_type {
            TEXPOOL_F32, TEXPOOL_F16, TEXPOOL_I8, TEXPOOL_U8, TEXPOOL_I16, TEXPOOL_U16, TEXPOOL_I32, TEXPOOL_U32,
            TEXPOOL_I64, TEXPOOL_U64, TEXPOOL_BOOL,
        }
        texpool_stop {
            TEXPOOL_STOP_NONE, TEXPOOL_STOP_DEADLINE, TEXPOOL_STOP_CANCELLED, TEXPOOL_STOP_TOO_MANY, TEXPOOL_STOP_OTHER,
        }
        texpool_placement { TEXPOOL_PLACEMENT_ANYWHERE, TEXPOOL_PLACEMENT_FIXED, TEXPOOL_PLACEMENT_HINT }
        texpool_proof { TEXPOOL_PROOF_NONE, TEXPOOL_PROOF_WIDEST_STEP, TEXPOOL_PROOF_SEARCH }
        texpool_fit { TEXPOOL_FIT_UNDECIDED, TEXPOOL_FIT_YES, TEXPOOL_FIT_NO }
    }
    writeln!(text, "static_assert(TEXPOOL_ABI_VERSION == {TEXPOOL_ABI_VERSION}, \"version\");").unwrap();
    text
}

#[test]
fn c_and_cpp_see_the_same_sizes_offsets_and_numbers() {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("layout.c");
    fs::write(&source, assertions()).unwrap();
    for (variable, usual, language) in [
        ("CC", "cc", &["-x", "c", "-std=c11"][..]),
        ("CC", "cc", &["-x", "c", "-std=c17"]),
        ("CXX", "c++", &["-x", "c++", "-std=c++17"]),
        ("CXX", "c++", &["-x", "c++", "-std=c++20"]),
    ] {
        let compiler = env::var_os(variable).unwrap_or_else(|| usual.into());
        let mut command = Command::new(compiler);
        command.args(language).args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I"]);
        let answer = command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include")).arg(&source).output().unwrap();
        assert!(answer.status.success(), "{language:?}: {}", String::from_utf8_lossy(&answer.stderr));
    }
}
