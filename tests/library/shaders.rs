//! Translates every shader through naga to SPIR-V, MSL and HLSL, and checks the SPIR-V with `spirv-val`. Covers every
//! constant, every weight packing, every texel format, both tables, and both ways to pass dispatch parameters.
//! Failures are collected and shown together. Needs no adapter.

#![cfg(test)]

use std::{
    collections::HashSet,
    fmt::Debug,
    fs, iter,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
    thread,
};

use naga::{
    Module,
    back::{PipelineConstants, hlsl, msl, pipeline_constants::process_overrides, spv},
    valid::{Capabilities, ModuleInfo, ValidationFlags, Validator},
};
use texpool::TextureLayout;
use texpool_gpu::{DispatchBinding, ParamBinding, source, specialised};
use texpool_ops::{
    kernels::{Shader, WeightPacking},
    ops::shaders,
};
use texpool_plan::TexelFormat;

use crate::support::texture_layouts::Input;

/// The values that an `override` constant is tested with.
#[derive(Clone, Copy)]
enum Values {
    /// Off and on.
    Flag,
    /// Every constant of the kernel's WGSL whose name has this prefix: the functions, kinds and modes that it
    /// supports.
    Named(&'static [&'static str]),
    /// Numbers: sizes of blocks and windows that kernels choose (`kernels/block.rs`, `ops/depthwise/kernel.rs`).
    Sizes(&'static [f64]),
}

use Values::{Flag, Named, Sizes};

/// A kernel's `override` constants by name.
type Constants = &'static [(&'static str, Values)];

/// Values for `override` constants, by kernel. A kernel must list all its constants.
const CONSTANTS: &[(&str, Constants)] = &[
    ("binary", &[("FUNCTION", Named(&["BINARY_"])), ("CONSTANT", Named(&["CONSTANT_"]))]),
    ("concat", &[("FIRST_PART", Flag), ("SECOND_PART", Flag), ("CONSTANTS", Flag), ("ALIGNED", Flag)]),
    ("conv", &[("PIXELS", Sizes(&[1.0, 8.0])), ("SLICES", Sizes(&[1.0, 4.0])), ("THREE", Flag)]),
    (
        "conv_thin",
        &[("PIXELS", Sizes(&[8.0])), ("SLICES", Sizes(&[2.0])), ("THREE", Flag), ("STRIDE_X", Sizes(&[1.0, 2.0]))],
    ),
    ("cum_sum", &[("EXCLUSIVE", Flag), ("REVERSE", Flag), ("TAKEN", Sizes(&[1.0, 16.0]))]),
    ("dense", &[("ALIGNED", Flag), ("TAKEN", Sizes(&[1.0, 16.0]))]),
    (
        "depthwise",
        &[
            ("PIXELS", Sizes(&[1.0, 4.0])),
            ("WINDOW_Y", Sizes(&[3.0])),
            ("WINDOW_X", Sizes(&[3.0])),
            ("STRIDE_X", Sizes(&[1.0])),
            ("DILATION_X", Sizes(&[1.0])),
            ("COLUMNS", Sizes(&[6.0])),
            ("ROLLED", Flag),
        ],
    ),
    ("dynamic_quantize", &[("FROM_ZERO", Flag), ("CONSTANT", Flag)]),
    ("dynamic_scale", &[]),
    ("extremes", &[]),
    ("fill", &[("PAD_BORDER", Flag)]),
    (
        "gather",
        &[
            ("OPERAND_IN_WEIGHTS", Flag),
            ("INDICES", Named(&["INDICES_"])),
            ("ELEMENTWISE", Flag),
            ("WHOLE_TEXELS", Flag),
        ],
    ),
    ("grid_sample", &[("LINEAR", Flag), ("BORDER", Flag), ("ALIGN_CORNERS", Flag), ("CONSTANT", Flag)]),
    ("locate", &[]),
    ("lrn", &[]),
    (
        "matmul",
        &[
            ("PIXELS", Sizes(&[1.0, 8.0])),
            ("SLICES", Sizes(&[1.0, 4.0])),
            ("TRANSPOSED", Flag),
            ("CONSTANT", Named(&["CONSTANT_"])),
        ],
    ),
    ("mean", &[]),
    (
        "non_max_suppression",
        &[
            ("PLACES", Sizes(&[1.0, 100.0])),
            ("SCORE_INCLUDED", Flag),
            ("OVERLAP_INCLUDED", Flag),
            ("TAKEN", Sizes(&[1.0, 8.0])),
        ],
    ),
    (
        "normalize",
        &[("TEAM", Sizes(&[1.0, 64.0])), ("CENTRED", Flag), ("TAKEN", Sizes(&[1.0, 16.0])), ("ONE_PIXEL", Flag)],
    ),
    ("pointwise", &[("PIXELS", Sizes(&[1.0, 8.0])), ("SLICES", Sizes(&[1.0, 4.0])), ("THREE", Flag)]),
    ("pool", &[("KIND", Named(&["POOL_"])), ("COUNTED", Flag)]),
    ("quantized_add", &[("ARITHMETIC", Named(&["SUM_"])), ("CONSTANT", Named(&["CONSTANT_"]))]),
    ("rearrange", &[("MAP", Named(&["MAP_"])), ("OUTSIDE", Named(&["PAD_"])), ("WHOLE_TEXELS", Flag)]),
    (
        "recurrent",
        &[
            ("CELL", Named(&["CELL_"])),
            ("STEPS", Sizes(&[7.0])),
            ("HIDDEN_SLICES", Sizes(&[3.0])),
            ("CELL_CLIPPED", Flag),
            ("ROUNDED", Flag),
            ("OWNED", Flag),
            ("ROUNDS", Sizes(&[1.0])),
            ("GATE_FUNCTION", Sizes(&[7.0])),
            ("CANDIDATE_FUNCTION", Sizes(&[8.0])),
            ("CELL_FUNCTION", Sizes(&[8.0])),
            ("CLIPPED", Flag),
            ("INITIAL", Flag),
            ("LENGTHS", Flag),
            ("SEQUENCE", Sizes(&[1.0])),
            ("FINALS", Flag),
        ],
    ),
    ("reduce", &[("KIND", Named(&["REDUCE_"]))]),
    ("reduce_wide", &[("KIND", Named(&["REDUCE_"]))]),
    ("resample", &[("TAPS", Sizes(&[1.0, 2.0, 4.0])), ("INTEGER", Flag), ("OUTSIDE", Flag)]),
    ("resize", &[("BILINEAR", Flag), ("COORDS", Named(&["COORDS_"]))]),
    ("segment_reduce", &[("KIND", Named(&["SEGMENT_"]))]),
    ("segment_reduce_sorted", &[("KIND", Named(&["SEGMENT_"])), ("TAKEN", Sizes(&[1.0, 4.0]))]),
    (
        "separable",
        &[
            ("PIXELS", Sizes(&[1.0, 4.0])),
            ("SLICES", Sizes(&[1.0, 8.0])),
            ("WINDOW_Y", Sizes(&[3.0, 7.0])),
            ("WINDOW_X", Sizes(&[3.0])),
            ("STRIDE_X", Sizes(&[1.0])),
            ("DILATION_X", Sizes(&[1.0])),
            ("COLUMNS", Sizes(&[6.0])),
            ("BETWEEN", Named(&["ACT_"])),
        ],
    ),
    (
        "softmax",
        &[
            ("LOG", Flag),
            ("TAKEN", Sizes(&[1.0, 16.0])),
            ("PARTS", Sizes(&[1.0, 64.0])),
            ("FIRST_ADDEND", Named(&["ADDEND_"])),
            ("SECOND_ADDEND", Named(&["ADDEND_"])),
        ],
    ),
    (
        "softmax_wide",
        &[
            ("LOG", Flag),
            ("TAKEN", Sizes(&[1.0, 16.0])),
            ("FIRST_ADDEND", Named(&["ADDEND_"])),
            ("SECOND_ADDEND", Named(&["ADDEND_"])),
        ],
    ),
    ("strided", &[("AXES", Sizes(&[1.0, 2.0, 4.0, 6.0, 8.0])), ("WHOLE_TEXELS", Flag), ("ONE_PIXEL", Flag)]),
    ("top_k", &[("LARGEST", Flag), ("INDICES", Flag)]),
    (
        "top_k_wide",
        &[
            ("LARGEST", Flag),
            ("INDICES", Flag),
            ("DIGITS", Sizes(&[5.0, 8.0])),
            ("SORTED", Sizes(&[4.0, 1024.0])),
            ("WINDOWED", Flag),
            ("TAKEN", Sizes(&[1.0, 16.0])),
        ],
    ),
    ("transpose_conv", &[("PIXELS", Sizes(&[1.0, 8.0])), ("SLICES", Sizes(&[1.0, 4.0])), ("THREE", Flag)]),
    ("unary", &[("FUNCTION", Named(&["ACT_", "UNARY_"]))]),
    ("winograd_input", &[("TILE", Sizes(&[2.0, 4.0]))]),
    ("winograd_output", &[("TILE", Sizes(&[2.0, 4.0]))]),
];

/// Constants of `texel.wgsl`: no epilogue, and every part of one.
const EPILOGUES: [&[(&str, &str)]; 2] = [&[], &[("FIRST", "ACT_PRELU"), ("ADD", ""), ("THEN", "ACT_LEAKY_RELU")]];
const SHARED: [&str; 3] = ["FIRST", "ADD", "THEN"];

/// Returns the shaders of a kernel, one for each packing of weights that it reads, texels first.
fn kernels(name: &'static str) -> Vec<Shader> {
    let matches: Vec<Shader> = shaders().into_iter().filter(|shader| shader.name() == name).collect();
    assert_eq!(matches.first().map(Shader::weights), Some(WeightPacking::Texels), "{name}");
    matches
}

/// Returns the constants that a kernel's WGSL declares, by name, including those shared with Rust.
fn declared(text: &str) -> Vec<(String, f64)> {
    let module = naga::front::wgsl::parse_str(text).unwrap();
    let value = |constant: &naga::Constant| match module.global_expressions[constant.init] {
        naga::Expression::Literal(naga::Literal::U32(value)) => Some((constant.name.clone()?, f64::from(value))),
        _ => None,
    };
    module.constants.iter().filter_map(|(_, constant)| value(constant)).collect()
}

/// The numbers of a constant's values.
fn numbers(values: Values, declared: &[(String, f64)]) -> Vec<f64> {
    match values {
        Flag => vec![0.0, 1.0],
        Sizes(sizes) => sizes.to_vec(),
        Named(prefixes) => {
            let named = declared.iter().filter(|(name, _)| prefixes.iter().any(|prefix| name.starts_with(prefix)));
            let numbers: Vec<f64> = named.map(|&(_, number)| number).collect();
            assert!(numbers.len() > 1, "no constants are called {prefixes:?}");
            numbers
        }
    }
}

/// The constants of an epilogue; one without a value by name is a flag that is set.
fn epilogue(named: &[(&'static str, &str)], declared: &[(String, f64)]) -> Vec<(&'static str, f64)> {
    let number = |name: &str| declared.iter().find(|(other, _)| other == name).map_or(1.0, |&(_, number)| number);
    named.iter().map(|&(constant, value)| (constant, number(value))).collect()
}

/// Returns every choice of one value for each constant.
fn choices(constants: Constants, declared: &[(String, f64)]) -> Vec<Vec<(&'static str, f64)>> {
    constants.iter().fold(vec![Vec::new()], |chosen, &(name, values)| {
        let values = numbers(values, declared);
        let with = |constants: &Vec<_>| {
            values.iter().map(|&value| [constants.as_slice(), &[(name, value)]].concat()).collect()
        };
        chosen.iter().flat_map(|constants| -> Vec<Vec<_>> { with(constants) }).collect()
    })
}

fn validate(module: &Module, text: &str) -> Result<ModuleInfo, String> {
    // Core WebGPU can unpack 16-bit floats; wgpu enables the feature automatically.
    let capabilities = Capabilities::IMMEDIATES | Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::default() | capabilities);
    validator.validate(module).map_err(|e| e.emit_to_string(text))
}

/// Returns the SPIR-V of a module, which is also translated to MSL and HLSL.
fn translate(module: &Module, text: &str) -> Result<Vec<u32>, String> {
    let info = validate(module, text)?;
    let msl_options = msl::Options { lang_version: (2, 3), ..msl::Options::default() };
    msl::write_string(module, &info, &msl_options, &msl::PipelineOptions::default())
        .map_err(|e| format!("MSL: {e}"))?;
    let mut hlsl_text = String::new();
    let immediates_target = Some(hlsl::BindTarget { register: 6, ..hlsl::BindTarget::default() });
    let hlsl_options = hlsl::Options { immediates_target, ..hlsl::Options::default() };
    hlsl::Writer::new(&mut hlsl_text, &hlsl_options, &hlsl::PipelineOptions::default())
        .write(module, &info, None)
        .map_err(|e| format!("HLSL: {e}"))?;
    let options = spv::Options { lang_version: (1, 3), ..spv::Options::default() };
    spv::write_vec(module, &info, &options, None).map_err(|e| format!("SPIR-V: {e}"))
}

/// Returns the SPIR-V of a whole shader, which browsers get, with the default of each constant.
fn translate_text(text: &str) -> Result<Vec<u32>, String> {
    let module = naga::front::wgsl::parse_str(text).map_err(|e| e.emit_to_string(text))?;
    let info = validate(&module, text)?;
    let (module, _) = process_overrides(&module, &info, None, &PipelineConstants::default())
        .map_err(|e| format!("constants: {e}"))?;
    translate(&module, text)
}

/// Writes SPIR-V to a file and runs `spirv-val` on it.
fn spirv_val(words: &[u32], file: &Path) -> Result<(), String> {
    fs::write(file, bytemuck::cast_slice::<u32, u8>(words)).map_err(|e| e.to_string())?;
    let output = Command::new("spirv-val")
        .args(["--target-env", "vulkan1.1"])
        .arg(file)
        .output()
        .map_err(|e| format!("spirv-val does not run ({e}); `apt-get install spirv-tools` installs it"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Returns whether a kernel can choose these constants together: only LSTMs round hidden values, and no lane owns slices of
/// a GRU whose candidate waits for its other gates.
fn is_chosen(name: &str, constants: &[(&str, f64)], declared: &[(String, f64)]) -> bool {
    let value = |name: &str| constants.iter().find(|(other, _)| *other == name).map(|&(_, value)| value);
    let is_set = |name: &str| value(name) == Some(1.0);
    let is_cell =
        |cells: &[&str]| declared.iter().any(|(c, n)| cells.contains(&c.as_str()) && value("CELL") == Some(*n));
    let rounds = is_set("ROUNDED") && !is_cell(&["CELL_LSTM", "CELL_LSTM_COUPLED"]);
    let owns = is_set("OWNED") && is_cell(&["CELL_GRU"]);
    name != "recurrent" || !rounds && !owns
}

/// A block in uniform memory.
const UNIFORM: ParamBinding = ParamBinding::Uniform(ParamBinding::UNIFORM_WORDS[0]);

/// A kernel's shader in one of its forms.
type Form = (Shader, Constants, TexelFormat, (ParamBinding, DispatchBinding));

/// Covers every kernel in every format. The parameter block and the dispatch parameters are declared and read
/// separately, so each variant of either suffices once.
fn forms() -> impl Iterator<Item = Form> + Send {
    let formats = [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float, TexelFormat::Rgba32Uint];
    let places = [(UNIFORM, DispatchBinding::Immediates), (ParamBinding::Storage, DispatchBinding::Uniform)];
    let of = move |shader: Shader, constants: Constants| {
        formats.into_iter().flat_map(move |format| places.map(|places| (shader, constants, format, places)))
    };
    CONSTANTS
        .iter()
        .flat_map(move |&(name, constants)| kernels(name).into_iter().flat_map(move |shader| of(shader, constants)))
}

/// Number of pipelines of a form, and the failing ones. A pipeline is checked as every device but a browser gets it:
/// specialised for its constants, many of which then have the same module.
fn pipelines((shader, constants, format, (table, own)): Form, folder: &Path) -> (usize, Vec<String>) {
    let text = source(shader, format, table, own);
    let name = format!("{} of {:?}", shader.name(), shader.weights());
    let file = folder.join(format!("{name}_{format:?}_{table:?}.spv"));
    let failure = |all: &dyn Debug, failure: String| format!("{name} {format:?} {table:?} {own:?} {all:?}: {failure}");
    if let Err(error) = translate_text(&text).and_then(|words| spirv_val(&words, &file)) {
        return (1, vec![failure(&"as browsers get it", error)]);
    }
    let declared = declared(&text);
    let mut modules = HashSet::new();
    let mut failures = Vec::new();
    let mut seen = 0;
    for own in choices(constants, &declared).into_iter().filter(|own| is_chosen(shader.name(), own, &declared)) {
        for named in EPILOGUES {
            let all = [own.clone(), epilogue(named, &declared)].concat();
            seen += 1;
            let module = specialised(&text, &all).map_err(|e| e.emit_to_string(&text));
            let result = module.and_then(|module| translate(&module, &text)).and_then(|words| {
                if modules.contains(&words) {
                    return Ok(());
                }
                spirv_val(&words, &file)?;
                modules.insert(words);
                Ok(())
            });
            failures.extend(result.err().map(|error| failure(&all, error)));
        }
    }
    (seen, failures)
}

/// Guards the translation of every pipeline to SPIR-V, MSL and HLSL, with all constants.
#[test]
fn every_pipeline_is_portable() {
    let folder = tempfile::tempdir().unwrap();
    let forms = Mutex::new(forms());
    let next = || forms.lock().unwrap().next();
    let work = || iter::from_fn(next).map(|form| pipelines(form, folder.path())).collect::<Vec<_>>();
    // Uses every core, because it is the last test of this binary and runs alone.
    let done: Vec<(usize, Vec<String>)> = thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        started.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let seen: usize = done.iter().map(|(seen, _)| seen).sum();
    let failures: Vec<&str> = done.iter().flat_map(|(_, failures)| failures).map(String::as_str).collect();
    println!("{seen} pipelines");
    assert!(
        failures.is_empty(),
        "{} of {seen} failed:\n{}",
        failures.len(),
        failures[..failures.len().min(8)].join("\n")
    );
}

/// An entry point that calls all general functions for the caller's shaders, because SPIR-V needs a complete shader.
const CALLS: &str = "
@group(0) @binding(0) var<storage, read_write> found: vec4<f32>;

@compute @workgroup_size(1)
fn call(@builtin(global_invocation_id) invocation: vec3<u32>) {
    let extents = vec4<u32>(invocation, 5u) + 1u;
    let lanes = vec4<u32>(texpool_element(extents, 256u, 7u), 0u);
    found = texpool_padded(extents, vec4<f32>(lanes), 1u);
}
";

/// Returns the shaders in a folder.
fn wgsl_files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "wgsl"))
}

/// Shaders for callers are equally portable. The test covers every file: the general functions, and the examples of
/// the documentation combined with generated layout functions, whose axes may have another order.
#[test]
fn every_shader_for_callers_is_portable() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("caller.spv");
    let callers = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/texture");
    let mut seen = Vec::new();
    for path in wgsl_files(&callers) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).unwrap();
        let prefix = name.split_once('_').map(|(_, prefix)| prefix);
        for number in 0..20 {
            let layout = TextureLayout::new(&Input::random(number).tensor, TexelFormat::Rgba32Float, 8192);
            let whole = match prefix {
                Some(prefix) => layout.wgsl(prefix) + &text,
                None => format!("{text}{CALLS}"),
            };
            let result = translate_text(&whole).and_then(|words| spirv_val(&words, &file));
            result.unwrap_or_else(|error| panic!("{name}: {error}\n{whole}"));
        }
        seen.push(name);
    }
    seen.sort();
    assert_eq!(seen, ["layout", "read_scores", "write_image"]);
    assert!(fs::read_to_string(callers.join("layout.wgsl")).unwrap() == texpool::texture::WGSL);
}

/// Guards the list above: a new kernel, or a new `override`, must be added to it.
#[test]
fn every_family_and_every_constant_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let mut kernels: Vec<String> =
        wgsl_files(&folder).map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    kernels.sort();
    assert_eq!(kernels, CONSTANTS.iter().map(|kernel| kernel.0).collect::<Vec<_>>());
    let shaders = shaders();
    let mut names: Vec<&str> = shaders.iter().map(Shader::name).collect();
    names.dedup();
    assert_eq!(kernels, names);
    let packed: Vec<&str> = shaders.iter().filter(|one| one.weights().is_words()).map(Shader::name).collect();
    let twice = ["conv", "conv_thin", "dense", "depthwise", "gather", "pointwise", "separable", "transpose_conv"]
        .map(|name| [name; 2]);
    assert_eq!(packed, twice.as_flattened());
    for (shader, name, constants) in CONSTANTS
        .iter()
        .flat_map(|&(name, constants)| self::kernels(name).into_iter().map(move |shader| (shader, name, constants)))
    {
        let text = source(shader, TexelFormat::Rgba32Float, UNIFORM, DispatchBinding::Immediates);
        let module = naga::front::wgsl::parse_str(&text).unwrap();
        let mut names: Vec<&str> = module.overrides.iter().filter_map(|(_, o)| o.name.as_deref()).collect();
        names.retain(|name| !SHARED.contains(name));
        names.sort_unstable();
        let mut listed: Vec<&str> = constants.iter().map(|constant| constant.0).collect();
        listed.sort_unstable();
        assert_eq!(names, listed, "{name}");
    }
}

/// The names in a line of WGSL.
fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// An unhandled function, kind or mode must not be computed as another one. Each constant of a family with cases is
/// read somewhere, and the default of a `switch` gives NaN.
#[test]
fn a_selector_without_a_case_gives_nan() {
    let mut defaults = 0;
    for &(name, constants) in CONSTANTS {
        let text = source(kernels(name)[0], TexelFormat::Rgba32Float, UNIFORM, DispatchBinding::Immediates);
        let declared = declared(&text);
        // Declarations name every constant, so they are left out.
        let code = text.lines().map(|line| line.split("//").next().unwrap().trim());
        let code: Vec<&str> = code.filter(|line| !line.starts_with("const ")).collect();
        let read: Vec<&str> = code.iter().flat_map(|line| names(line)).collect();
        let cases: Vec<&str> =
            code.iter().filter(|line| line.starts_with("case ")).flat_map(|line| names(line)).collect();
        let prefixes = constants.iter().flat_map(|&(_, values)| match values {
            Named(prefixes) => prefixes,
            Flag | Sizes(_) => &[],
        });
        for prefix in prefixes.filter(|prefix| cases.iter().any(|case| case.starts_with(**prefix))) {
            let family = || declared.iter().filter(|(constant, _)| constant.starts_with(prefix));
            for (constant, value) in family() {
                let is_read = family().any(|(other, same)| same == value && read.contains(&other.as_str()));
                assert!(is_read, "{name}: nothing reads {constant}");
            }
        }
        let mut seen: Vec<&str> = Vec::new();
        for line in code {
            if line.starts_with("switch ") {
                seen.clear();
            }
            let Some((label, body)) = line.split_once(':') else { continue };
            if label == "default" {
                defaults += 1;
                assert!(body.contains("nan()") || body.contains("activate("), "{name}: {line}");
            } else if let Some(label) = label.strip_prefix("case ") {
                seen.extend(label.split(", "));
                // If the result is not a float, the last case is the default, and every value has a case.
                if seen.last() == Some(&"default") {
                    defaults += 1;
                    let prefix = seen[0].split_inclusive('_').next().unwrap();
                    let family = declared.iter().map(|one| one.0.as_str()).filter(|one| one.starts_with(prefix));
                    let missing: Vec<&str> = family.filter(|one| !seen.contains(one)).collect();
                    assert!(missing.is_empty(), "{name}: no case for {missing:?}");
                }
            }
        }
    }
    // `activate` is part of every shader.
    assert!(defaults > CONSTANTS.len(), "{defaults}");
}

/// Params are read by position, so both sides must have the same field order.
#[test]
fn structs_of_params_have_the_fields_that_are_written() {
    for shader in shaders() {
        let text = source(shader, TexelFormat::Rgba32Float, UNIFORM, DispatchBinding::Immediates);
        let module = naga::front::wgsl::parse_str(&text).unwrap();
        let structs = shader.structs();
        for &(name, ref fields) in &structs {
            let inner = module.types.iter().find(|(_, t)| t.name.as_deref() == Some(name)).map(|(_, t)| &t.inner);
            let Some(naga::TypeInner::Struct { members, .. }) = inner else {
                panic!("{}: no struct {name}", shader.name())
            };
            let names: Vec<&str> = members.iter().filter_map(|member| member.name.as_deref()).collect();
            assert_eq!(&names, fields, "{}: {name}", shader.name());
        }
        let own = module.types.iter().any(|(_, t)| t.name.as_deref() == Some("Params"));
        assert_eq!(own, structs.iter().any(|&(name, _)| name == "Params"), "{}", shader.name());
    }
}

/// Guards the bind group layouts, whose bindings differ only in their counts: core WebGPU allows four storage
/// textures per stage, and has no immediates.
#[test]
fn only_four_storage_textures_the_tables_and_the_counts_are_bound() {
    let expected: [(DispatchBinding, &[u32]); 2] =
        [(DispatchBinding::Immediates, &[0, 1, 2, 3, 4, 6]), (DispatchBinding::Uniform, &[0, 1, 2, 3, 4, 5, 6])];
    for (own, expected) in expected {
        for &(name, _) in CONSTANTS {
            for shader in kernels(name) {
                let text = source(shader, TexelFormat::Rgba32Float, UNIFORM, own);
                let module = naga::front::wgsl::parse_str(&text).unwrap();
                let variables = module.global_variables.iter().filter_map(|(_, variable)| variable.binding);
                let mut bound: Vec<u32> = variables.map(|binding| binding.binding).collect();
                bound.sort_unstable();
                assert_eq!(bound, expected, "{name} {:?} {own:?}", shader.weights());
                let immediates = naga::valid::ImmediateSlots::size_for_module(&module);
                assert_eq!(immediates, if own == DispatchBinding::Immediates { DispatchBinding::BYTES } else { 0 });
            }
        }
    }
}

/// Dispatch parameters are small in both forms; in a uniform buffer they take one aligned offset.
#[test]
fn a_dispatch_carries_at_most_256_bytes() {
    let aligned_to = wgpu::Limits::default().min_uniform_buffer_offset_alignment;
    assert!(DispatchBinding::BYTES.next_multiple_of(aligned_to) <= 256);
    const { assert!(DispatchBinding::BYTES <= 32) };
}
