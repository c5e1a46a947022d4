//! Every shader, with every constant it is made with, in both formats and with both tables, through naga to SPIR-V, MSL
//! and HLSL, and the SPIR-V through `spirv-val`. Failures are collected and shown together. Needs no adapter.

#![cfg(test)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use naga::{
    back::{PipelineConstants, hlsl, msl, pipeline_constants::process_overrides, spv},
    valid::{Capabilities, ValidationFlags, Validator},
};
use texpool::{
    gpu::{ParamBinding, source},
    kernels::Shader,
    ops::shaders,
    plan::TexelFormat,
};

/// A family's `override` constants by name.
type Constants = &'static [(&'static str, &'static [f64])];

/// The numbers below `N`.
const fn below<const N: usize>() -> [f64; N] {
    let mut numbers = [0.0; N];
    let mut i = 0;
    while i < N {
        numbers[i] = i as f64;
        i += 1;
    }
    numbers
}

const BINARY: [f64; 24] = below();
const UNARY: [f64; 61] = below();

/// Values that `override` constants take, by family. A family must list every constant of its own.
const CONSTANTS: &[(&str, Constants)] = &[
    ("binary", &[("FUNCTION", &BINARY), ("CONSTANT", &[0.0, 1.0, 2.0])]),
    (
        "concat",
        &[
            ("FIRST_PART", &[0.0, 1.0]),
            ("SECOND_PART", &[0.0, 1.0]),
            ("CONSTANTS", &[0.0, 1.0]),
            ("ALIGNED", &[0.0, 1.0]),
        ],
    ),
    ("conv", &[("PIXELS", &[1.0, 8.0]), ("SLICES", &[1.0, 4.0])]),
    ("cum_sum", &[("EXCLUSIVE", &[0.0, 1.0]), ("REVERSE", &[0.0, 1.0])]),
    ("dense", &[("ALIGNED", &[0.0, 1.0])]),
    (
        "depthwise",
        &[
            ("PIXELS", &[1.0, 4.0]),
            ("WINDOW_Y", &[3.0]),
            ("WINDOW_X", &[3.0]),
            ("STRIDE_X", &[1.0]),
            ("DILATION_X", &[1.0]),
            ("COLUMNS", &[6.0]),
        ],
    ),
    ("fill", &[("PAD_BORDER", &[0.0, 1.0])]),
    (
        "gather",
        &[
            ("OPERAND_IN_WEIGHTS", &[0.0, 1.0]),
            ("INDICES", &[0.0, 1.0, 2.0]),
            ("ELEMENTWISE", &[0.0, 1.0]),
            ("WHOLE_TEXELS", &[0.0, 1.0]),
        ],
    ),
    (
        "grid_sample",
        &[("LINEAR", &[0.0, 1.0]), ("BORDER", &[0.0, 1.0]), ("ALIGN_CORNERS", &[0.0, 1.0]), ("CONSTANT", &[0.0, 1.0])],
    ),
    ("lrn", &[]),
    (
        "matmul",
        &[
            ("PIXELS", &[1.0, 8.0]),
            ("SLICES", &[1.0, 4.0]),
            ("TRANSPOSED", &[0.0, 1.0]),
            ("CONSTANT", &[0.0, 1.0, 2.0]),
        ],
    ),
    ("mean", &[]),
    ("normalize", &[("TEAM", &[1.0, 64.0])]),
    ("pointwise", &[("PIXELS", &[1.0, 8.0]), ("SLICES", &[1.0, 4.0])]),
    ("pool", &[("KIND", &[0.0, 1.0, 2.0]), ("COUNTED", &[0.0, 1.0])]),
    (
        "rearrange",
        &[("MAP", &[0.0, 1.0, 2.0, 3.0, 4.0]), ("OUTSIDE", &[0.0, 1.0, 2.0, 3.0, 4.0]), ("WHOLE_TEXELS", &[0.0, 1.0])],
    ),
    ("reduce", &[("KIND", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0])]),
    ("resample", &[("TAPS", &[1.0, 2.0, 4.0]), ("OUTSIDE", &[0.0, 1.0])]),
    ("resize", &[("BILINEAR", &[0.0, 1.0]), ("COORDS", &[0.0, 1.0, 2.0])]),
    ("softmax", &[("LOG", &[0.0, 1.0])]),
    ("softmax_wide", &[("LOG", &[0.0, 1.0])]),
    ("top_k", &[("LARGEST", &[0.0, 1.0]), ("INDICES", &[0.0, 1.0])]),
    ("transpose_conv", &[]),
    ("unary", &[("FUNCTION", &UNARY)]),
];

/// Constants of `texel.wgsl`: no epilogue, and every part of one.
const EPILOGUES: [&[(&str, f64)]; 2] = [&[("ADD", 0.0)], &[("FIRST", 15.0), ("ADD", 1.0), ("THEN", 4.0)]];
const SHARED: [&str; 3] = ["FIRST", "ADD", "THEN"];

fn family(name: &'static str) -> Shader {
    shaders().into_iter().find(|shader| shader.name() == name).unwrap()
}

/// Every choice of one value for each constant.
fn choices(constants: Constants) -> Vec<Vec<(&'static str, f64)>> {
    constants.iter().fold(vec![Vec::new()], |chosen, &(name, values)| {
        let with = |made: &Vec<_>| values.iter().map(|&value| [made.as_slice(), &[(name, value)]].concat()).collect();
        chosen.iter().flat_map(|made| -> Vec<Vec<_>> { with(made) }).collect()
    })
}

/// The SPIR-V of one pipeline, which also goes to MSL and HLSL.
fn translate(text: &str, constants: &[(&str, f64)]) -> Result<Vec<u32>, String> {
    let module = naga::front::wgsl::parse_str(text).map_err(|e| e.emit_to_string(text))?;
    let validate = |module: &naga::Module| {
        Validator::new(ValidationFlags::all(), Capabilities::default())
            .validate(module)
            .map_err(|e| e.emit_to_string(text))
    };
    let info = validate(&module)?;
    let mut values = PipelineConstants::default();
    for &(name, value) in constants {
        values.insert(name.to_owned(), value);
    }
    let (module, info) = process_overrides(&module, &info, None, &values).map_err(|e| format!("constants: {e}"))?;
    validate(&module)?;
    let msl_options = msl::Options { lang_version: (2, 3), ..msl::Options::default() };
    msl::write_string(&module, &info, &msl_options, &msl::PipelineOptions::default())
        .map_err(|e| format!("MSL: {e}"))?;
    let mut text = String::new();
    hlsl::Writer::new(&mut text, &hlsl::Options::default(), &hlsl::PipelineOptions::default())
        .write(&module, &info, None)
        .map_err(|e| format!("HLSL: {e}"))?;
    let options = spv::Options { lang_version: (1, 3), ..spv::Options::default() };
    spv::write_vec(&module, &info, &options, None).map_err(|e| format!("SPIR-V: {e}"))
}

/// Runs `spirv-val` on a file.
fn spirv_val(file: &Path) -> Result<(), String> {
    let output = Command::new("spirv-val")
        .args(["--target-env", "vulkan1.1"])
        .arg(file)
        .output()
        .map_err(|e| format!("spirv-val does not run ({e}); `apt-get install spirv-tools` installs it"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
fn every_pipeline_is_portable() {
    let folder = tempfile::tempdir().unwrap();
    let mut failures = Vec::new();
    let mut seen = 0;
    for &(name, constants) in CONSTANTS {
        let shader = family(name);
        for format in [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float] {
            for table in [ParamBinding::Uniform, ParamBinding::Storage] {
                let text = source(shader, format, table);
                for own in choices(constants) {
                    for epilogue in EPILOGUES {
                        let all = [own.as_slice(), epilogue].concat();
                        seen += 1;
                        let file: PathBuf = folder.path().join(format!("{seen}.spv"));
                        let result = translate(&text, &all).and_then(|words| {
                            fs::write(&file, bytemuck::cast_slice::<u32, u8>(&words)).map_err(|e| e.to_string())?;
                            spirv_val(&file)
                        });
                        if let Err(failure) = result {
                            failures.push(format!("{name} {format:?} {table:?} {all:?}: {failure}"));
                        }
                    }
                }
            }
        }
    }
    println!("{seen} pipelines");
    assert!(
        failures.is_empty(),
        "{} of {seen} failed:\n{}",
        failures.len(),
        failures[..failures.len().min(8)].join("\n")
    );
}

#[test]
fn every_family_and_every_constant_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let mut families: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    families.sort();
    assert_eq!(families, CONSTANTS.iter().map(|family| family.0).collect::<Vec<_>>());
    assert_eq!(families, shaders().iter().map(Shader::name).collect::<Vec<_>>());
    for &(name, constants) in CONSTANTS {
        let text = source(family(name), TexelFormat::Rgba32Float, ParamBinding::Uniform);
        let module = naga::front::wgsl::parse_str(&text).unwrap();
        let mut found: Vec<&str> = module.overrides.iter().filter_map(|(_, o)| o.name.as_deref()).collect();
        found.retain(|name| !SHARED.contains(name));
        found.sort_unstable();
        let mut listed: Vec<&str> = constants.iter().map(|constant| constant.0).collect();
        listed.sort_unstable();
        assert_eq!(found, listed, "{name}");
    }
}

/// Params are read by position, in the order in which the Rust side states them.
#[test]
fn structs_of_params_have_the_fields_that_are_written() {
    for shader in shaders() {
        let text = source(shader, TexelFormat::Rgba32Float, ParamBinding::Uniform);
        let module = naga::front::wgsl::parse_str(&text).unwrap();
        let structs = shader.structs();
        for &(name, ref fields) in &structs {
            let found = module.types.iter().find(|(_, t)| t.name.as_deref() == Some(name)).map(|(_, t)| &t.inner);
            let Some(naga::TypeInner::Struct { members, .. }) = found else {
                panic!("{}: no struct {name}", shader.name())
            };
            let found: Vec<&str> = members.iter().filter_map(|member| member.name.as_deref()).collect();
            assert_eq!(&found, fields, "{}: {name}", shader.name());
        }
        let own = module.types.iter().any(|(_, t)| t.name.as_deref() == Some("Params"));
        assert_eq!(own, structs.iter().any(|&(name, _)| name == "Params"), "{}", shader.name());
    }
}

#[test]
fn only_four_storage_textures_and_one_table_are_bound() {
    for &(name, _) in CONSTANTS {
        let text = source(family(name), TexelFormat::Rgba32Float, ParamBinding::Uniform);
        let module = naga::front::wgsl::parse_str(&text).unwrap();
        let mut bound: Vec<u32> =
            module.global_variables.iter().filter_map(|(_, v)| v.binding).map(|binding| binding.binding).collect();
        bound.sort_unstable();
        assert_eq!(bound, [0, 1, 2, 3, 4], "{name}");
    }
}
