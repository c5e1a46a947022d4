//! A shader: the WGSL source of a kernel, and the declarations that the Rust side adds.

use super::{
    Loop, WeightPacking, block, functions, grid, loops, params,
    wgsl::{self, ConstantTable, Field, ShaderParams},
};

/// Functions in `shaders/shared/` that several kernels call.
pub(crate) mod helpers {
    pub(crate) const BLOCK: &str = texpool_shaders::shared::BLOCK;
    pub(crate) const ONE_TEXEL: &str = texpool_shaders::shared::ONE_TEXEL;
    pub(crate) const REDUCTION: &str = texpool_shaders::shared::REDUCTION;
    pub(crate) const REGION: &str = texpool_shaders::shared::REGION;
    pub(crate) const SEGMENTS: &str = texpool_shaders::shared::SEGMENTS;
    pub(crate) const SOFTMAX: &str = texpool_shaders::shared::SOFTMAX;
    pub(crate) const TOP_K: &str = texpool_shaders::shared::TOP_K;
    pub(crate) const TWO_OPERANDS: &str = texpool_shaders::shared::TWO_OPERANDS;
    pub(crate) const VALUE_RANGE: &str = texpool_shaders::shared::VALUE_RANGE;
    pub(crate) const WEIGHTS: &str = texpool_shaders::shared::WEIGHTS;
    pub(crate) const WINOGRAD: &str = texpool_shaders::shared::WINOGRAD;
}

/// Constants that are declared in every shader.
const SHARED_CONSTANTS: [ConstantTable; 7] = [
    grid::GRID,
    params::POSITIONS,
    params::TEXTURES,
    params::COUNTS,
    functions::ACTIVATIONS,
    functions::REQUANTIZE,
    block::LIMITS,
];

/// A kernel in `shaders/`. All of them are listed in `ops::shaders`, because only kernels can create one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shader {
    name: &'static str,
    constants: &'static [ConstantTable],
    params: &'static [Field],
    helpers: &'static [&'static str],
    kernel: &'static str,
    weights: WeightPacking,
    /// True if the shader can read weights in any packing.
    any_packing: bool,
    /// True if the shader counts something in every texel format.
    counting: bool,
    loops: &'static [Loop],
    chosen_if: Option<&'static str>,
}

impl Shader {
    pub(crate) const fn new(name: &'static str, kernel: &'static str) -> Self {
        Self {
            name,
            constants: &[],
            params: &[],
            helpers: &[],
            kernel,
            weights: WeightPacking::Texels,
            any_packing: false,
            counting: false,
            loops: &[],
            chosen_if: None,
        }
    }

    /// Adds constants that the shader shares with Rust.
    pub(crate) const fn constants(mut self, constants: &'static [ConstantTable]) -> Self {
        self.constants = constants;
        self
    }

    /// Adds the function `params()`, which reads the output of [`KernelParams::params`](super::KernelParams::params).
    pub(crate) const fn params<P: ShaderParams>(mut self) -> Self {
        self.params = P::FIELDS;
        self
    }

    /// Adds functions that the shader shares with other kernels.
    pub(crate) const fn helpers(mut self, helpers: &'static [&'static str]) -> Self {
        self.helpers = helpers;
        self
    }

    /// Declares that the shader counts something in every texel format. With 16-bit texels, every kernel does.
    pub(crate) const fn counting(mut self) -> Self {
        self.counting = true;
        self
    }

    /// Returns whether the shader counts something in every texel format.
    pub const fn is_counting(&self) -> bool {
        self.counting
    }

    /// Declares the loops of the shader.
    pub(crate) const fn loops(mut self, loops: &'static [Loop]) -> Self {
        self.loops = loops;
        self
    }

    /// States the condition under which an operator with several shaders runs this one, for reports.
    pub(crate) const fn chosen_if(mut self, condition: &'static str) -> Self {
        self.chosen_if = Some(condition);
        self
    }

    /// Returns the condition under which an operator with several shaders runs this one. `None` for the only shader of its
    /// operators.
    pub const fn condition(&self) -> Option<&'static str> {
        self.chosen_if
    }

    /// Declares that the shader reads weights only through the functions of `weight_*.wgsl`, and so supports any
    /// packing.
    pub(crate) const fn any_packing(mut self) -> Self {
        self.any_packing = true;
        self
    }

    /// Returns one variant of the shader for each supported weight packing.
    pub(crate) fn packings(self) -> impl Iterator<Item = Self> {
        let known = if self.any_packing { &WeightPacking::ALL[..] } else { &[WeightPacking::Texels] };
        known.iter().map(move |&weights| self.reading(weights))
    }

    /// Returns the variant for this weight packing. A shader without [any packing](Self::any_packing) reads texels
    /// only.
    pub(crate) const fn reading(mut self, weights: WeightPacking) -> Self {
        self.weights = weights;
        self
    }

    /// Returns the packing of the weights that the shader reads.
    pub const fn weights(&self) -> WeightPacking {
        self.weights
    }

    /// Returns the loops that count towards the round limit, including those of shared functions that the shader
    /// calls.
    pub const fn stated_loops(&self) -> &'static [Loop] {
        self.loops
    }

    /// Returns the maximum number of loop rounds of an invocation. `extents` gives the number of indices of each
    /// loop.
    pub(crate) fn rounds(&self, extents: &[(&'static str, usize)]) -> u64 {
        loops::rounds(self.loops, extents)
    }

    /// Returns the shader's name, for messages and profiles.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the WGSL structs that are read from a step's parameters, each with its field names in order.
    pub fn structs(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        let structs = [
            ("DispatchParams", params::DispatchParams::FIELDS),
            ("StepParams", params::StepParams::FIELDS),
            ("Tensor", params::TensorParams::FIELDS),
            ("Params", self.params),
        ];
        let names = |fields: &[Field]| fields.iter().map(|field| field.name).collect();
        structs
            .into_iter()
            .filter(|(_, fields)| !fields.is_empty())
            .map(|(name, fields)| (name, names(fields)))
            .collect()
    }

    /// Returns the WGSL source, except for the parts that depend on where parameters are stored and on the texel
    /// format. It consists of declarations generated from Rust, `texel.wgsl`, the functions that read weights, the
    /// helpers, and the kernel.
    pub fn source(&self) -> String {
        let mut wgsl = String::new();
        SHARED_CONSTANTS
            .into_iter()
            .chain(self.constants.iter().copied())
            .for_each(|table| wgsl::declare(table, &mut wgsl));
        let [own, block] = [wgsl::OWN, wgsl::BLOCK];
        wgsl::load("dispatch_params()", "DispatchParams", [own, ""], params::DispatchParams::FIELDS, &mut wgsl);
        wgsl::load("step_params()", "StepParams", [block, ""], params::StepParams::FIELDS, &mut wgsl);
        wgsl::load("tensor(at: u32)", "Tensor", [block, "at + "], params::TensorParams::FIELDS, &mut wgsl);
        // WGSL has no empty structs, so a kernel without parameters has nothing to load.
        if !self.params.is_empty() {
            wgsl::load("params()", "Params", [block, "FAMILY_PARAMS + "], self.params, &mut wgsl);
        }
        let weights = match self.weights {
            WeightPacking::Texels => texpool_shaders::shared::WEIGHT_TEXELS,
            WeightPacking::Halves => texpool_shaders::shared::WEIGHT_HALVES,
            WeightPacking::Bytes => texpool_shaders::shared::WEIGHT_BYTES,
        };
        let shared = [texpool_shaders::shared::TEXEL, weights];
        wgsl.extend(shared.iter().chain(self.helpers).chain([&self.kernel]).copied());
        wgsl
    }
}
