//! One pipeline through naga, with the options that wgpu's backends give it.

use std::collections::BTreeMap;

use naga::{
    Module, ResourceBinding, ShaderStage,
    back::{PipelineConstants, hlsl, msl, pipeline_constants::process_overrides, spv},
    proc::{BoundsCheckPolicies, BoundsCheckPolicy},
    valid::{Capabilities, ModuleInfo, ValidationFlags, Validator},
};
use texpool_gpu::{PipelineRecipe, specialised};

const ENTRY: &str = "main";

/// Versions of SPIR-V that wgpu chooses by the device's Vulkan version, each with `spirv-val`'s name for the
/// environment.
const SPIRV: [((u8, u8), &str); 3] = [((1, 0), "vulkan1.0"), ((1, 3), "vulkan1.1"), ((1, 6), "vulkan1.3")];

/// Oldest Metal version with compute on every device that wgpu opens, and the newest version that naga knows.
const MSL: [(u8, u8); 2] = [(2, 0), (4, 0)];

/// Shader models of wgpu's two HLSL compilers: FXC and DXC.
const HLSL: [hlsl::ShaderModel; 2] = [hlsl::ShaderModel::V5_1, hlsl::ShaderModel::V6_0];

/// Capabilities that wgpu allows on every Vulkan device, and no others.
const CAPABILITIES: [spv::Capability; 7] = [
    spv::Capability::Shader,
    spv::Capability::Matrix,
    spv::Capability::Sampled1D,
    spv::Capability::Image1D,
    spv::Capability::ImageQuery,
    spv::Capability::DerivativeControl,
    spv::Capability::StorageImageExtendedFormats,
];

/// Output for checks by other compilers.
#[derive(Default)]
pub(super) struct Translations {
    /// Modules, each with its environment.
    pub(super) spirv: Vec<(&'static str, Vec<u32>)>,
    /// Sources.
    pub(super) hlsl: Vec<String>,
}

/// Translates the pipeline to every language; returns all failures, if there are any.
pub(super) fn everywhere(recipe: &PipelineRecipe) -> Result<Translations, Vec<String>> {
    let mut translations = Translations::default();
    let mut failures = Vec::new();
    for checked in [false, true] {
        // Without bounds checks and specialised, as texpool runs them; with checks and whole, as a browser would.
        let module = if checked { whole(recipe) } else { as_run(recipe) };
        let (module, info) = module.map_err(|failure| vec![failure])?;
        for (version, environment) in SPIRV {
            match to_spirv(&module, &info, version, checked) {
                Ok(words) => translations.spirv.push((environment, words)),
                Err(e) => failures.push(format!("SPIR-V {version:?}, checks {checked}: {e}")),
            }
        }
        for version in MSL {
            if let Err(e) = to_msl(&module, &info, version, checked) {
                failures.push(format!("MSL {version:?}, checks {checked}: {e}"));
            }
        }
        for model in HLSL {
            match to_hlsl(&module, &info, model, checked) {
                Ok(text) if translations.hlsl.contains(&text) => {}
                Ok(text) => translations.hlsl.push(text),
                Err(e) => failures.push(format!("HLSL {model:?}, checks {checked}: {e}")),
            }
        }
    }
    if failures.is_empty() { Ok(translations) } else { Err(failures) }
}

/// Checks that a module is valid without any capability beyond core WebGPU's and immediates.
fn validate(module: &Module, source: &str) -> Result<ModuleInfo, String> {
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES);
    validator.validate(module).map_err(|e| e.emit_to_string(source))
}

/// The module that wgpu gets of the pipeline.
fn as_run(recipe: &PipelineRecipe) -> Result<(Module, ModuleInfo), String> {
    let source = recipe.source();
    let module = specialised(&source, &recipe.constants).map_err(|e| e.emit_to_string(&source))?;
    let info = validate(&module, &source)?;
    Ok((module, info))
}

/// The module of the whole text with its constants in place.
fn whole(recipe: &PipelineRecipe) -> Result<(Module, ModuleInfo), String> {
    let source = recipe.source();
    let module = naga::front::wgsl::parse_str(&source).map_err(|e| e.emit_to_string(&source))?;
    let info = validate(&module, &source)?;
    let mut constants = PipelineConstants::default();
    for &(name, value) in &recipe.constants {
        constants.insert(name.to_owned(), value);
    }
    let (module, _) = process_overrides(&module, &info, Some((ShaderStage::Compute, ENTRY)), &constants)
        .map_err(|e| format!("constants: {e}"))?;
    let module = module.into_owned();
    let info = validate(&module, &source)?;
    Ok((module, info))
}

fn bounds(checked: bool) -> BoundsCheckPolicies {
    let policy = if checked { BoundsCheckPolicy::Restrict } else { BoundsCheckPolicy::Unchecked };
    BoundsCheckPolicies { index: policy, buffer: policy, image_load: policy, binding_array: policy }
}

fn to_spirv(module: &Module, info: &ModuleInfo, version: (u8, u8), checked: bool) -> Result<Vec<u32>, String> {
    let options = spv::Options {
        lang_version: version,
        flags: spv::WriterFlags::LABEL_VARYINGS | spv::WriterFlags::FORCE_POINT_SIZE,
        capabilities: Some(CAPABILITIES.into_iter().collect()),
        bounds_check_policies: bounds(checked),
        force_loop_bounding: checked,
        emit_int_div_checks: checked,
        zero_initialize_workgroup_memory: match checked {
            true => spv::ZeroInitializeWorkgroupMemoryMode::Polyfill,
            false => spv::ZeroInitializeWorkgroupMemoryMode::None,
        },
        ..spv::Options::default()
    };
    let pipeline = spv::PipelineOptions { shader_stage: ShaderStage::Compute, entry_point: ENTRY.to_owned() };
    spv::write_vec(module, info, &options, Some(&pipeline)).map_err(|e| e.to_string())
}

/// Every binding of group 0: a uniform block at 0, the written texture at 1, read textures from 2 on, counts at 6.
/// Parameters of a single dispatch are immediates.
fn bindings<T>(target: impl Fn(u8) -> T) -> BTreeMap<ResourceBinding, T> {
    (0..5)
        .chain([6])
        .map(|binding| (ResourceBinding { group: 0, binding: u32::from(binding) }, target(binding)))
        .collect()
}

fn to_msl(module: &Module, info: &ModuleInfo, version: (u8, u8), checked: bool) -> Result<String, String> {
    let target = |binding| match binding {
        0 => msl::BindTarget { buffer: Some(0), ..msl::BindTarget::default() },
        6 => msl::BindTarget { buffer: Some(3), mutable: true, ..msl::BindTarget::default() },
        _ => msl::BindTarget { texture: Some(binding - 1), mutable: binding == 1, ..msl::BindTarget::default() },
    };
    let resources =
        msl::EntryPointResources { resources: bindings(target), immediates_buffer: Some(2), sizes_buffer: Some(1) };
    let options = msl::Options {
        lang_version: version,
        per_entry_point_map: BTreeMap::from([(ENTRY.to_owned(), resources)]),
        fake_missing_bindings: false,
        spirv_cross_compatibility: false,
        bounds_check_policies: bounds(checked),
        force_loop_bounding: checked,
        emit_int_div_checks: checked,
        zero_initialize_workgroup_memory: checked,
        ..msl::Options::default()
    };
    let pipeline =
        msl::PipelineOptions { entry_point: Some((ShaderStage::Compute, ENTRY.to_owned())), ..Default::default() };
    let (text, info_of_output) = msl::write_string(module, info, &options, &pipeline).map_err(|e| e.to_string())?;
    // Unresolved bindings are reported here.
    info_of_output.entry_point_names.into_iter().collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
    Ok(text)
}

fn to_hlsl(module: &Module, info: &ModuleInfo, model: hlsl::ShaderModel, checked: bool) -> Result<String, String> {
    let target = |binding| hlsl::BindTarget { register: u32::from(binding), ..hlsl::BindTarget::default() };
    let options = hlsl::Options {
        shader_model: model,
        binding_map: bindings(target),
        immediates_target: Some(target(5)),
        fake_missing_bindings: false,
        restrict_indexing: checked,
        force_loop_bounding: checked,
        zero_initialize_workgroup_memory: checked,
        ..hlsl::Options::default()
    };
    let pipeline = hlsl::PipelineOptions { entry_point: Some((ShaderStage::Compute, ENTRY.to_owned())) };
    let mut text = String::new();
    let reflection =
        hlsl::Writer::new(&mut text, &options, &pipeline).write(module, info, None).map_err(|e| e.to_string())?;
    let names = reflection.entry_point_names.into_iter().collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
    if names == [ENTRY] { Ok(text) } else { Err(format!("the entry point is called {names:?}")) }
}
