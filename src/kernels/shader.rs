//! A shader: the WGSL of a kernel, and what its Rust side states for it.

use super::{
    Loop, WeightPacking, block, epilogue, grid, loops, params,
    wgsl::{self, ConstantTable, Field, ShaderParams},
};

/// Functions of `shaders/shared/` that several kernels call.
pub(crate) mod helpers {
    pub(crate) const BLOCK: &str = include_str!("../../shaders/shared/block.wgsl");
    pub(crate) const ONE_TEXEL: &str = include_str!("../../shaders/shared/one_texel.wgsl");
    pub(crate) const REDUCTION: &str = include_str!("../../shaders/shared/reduction.wgsl");
    pub(crate) const REGION: &str = include_str!("../../shaders/shared/region.wgsl");
    pub(crate) const SOFTMAX: &str = include_str!("../../shaders/shared/softmax.wgsl");
    pub(crate) const TOP_K: &str = include_str!("../../shaders/shared/top_k.wgsl");
    pub(crate) const WEIGHTS: &str = include_str!("../../shaders/shared/weights.wgsl");
}

/// Constants that every shader knows.
const SHARED_CONSTANTS: [ConstantTable; 5] =
    [grid::GRID, params::POSITIONS, params::COUNTS, epilogue::ACTIVATIONS, block::LIMITS];

/// A kernel of `shaders/`: one of `ops::shaders`, for only kernels make them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shader {
    name: &'static str,
    constants: &'static [ConstantTable],
    params: &'static [Field],
    helpers: &'static [&'static str],
    kernel: &'static str,
    weights: WeightPacking,
    /// Whether it reads weights however they are packed.
    any_packing: bool,
    /// Whether it counts something in every format.
    counting: bool,
    loops: &'static [Loop],
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
        }
    }

    /// Gives it constants that it shares with its Rust side.
    pub(crate) const fn constants(mut self, constants: &'static [ConstantTable]) -> Self {
        self.constants = constants;
        self
    }

    /// Gives it `params()`, which reads what [`KernelParams::params`](super::KernelParams::params) has written.
    pub(crate) const fn params<P: ShaderParams>(mut self) -> Self {
        self.params = P::FIELDS;
        self
    }

    /// Gives it functions that it shares with other kernels.
    pub(crate) const fn helpers(mut self, helpers: &'static [&'static str]) -> Self {
        self.helpers = helpers;
        self
    }

    /// States that it counts something whatever format values are stored in; in 16 bits every kernel does.
    pub(crate) const fn counting(mut self) -> Self {
        self.counting = true;
        self
    }

    /// Whether it counts something whatever format values are stored in.
    pub(crate) const fn is_counting(&self) -> bool {
        self.counting
    }

    /// States its loops.
    pub(crate) const fn loops(mut self, loops: &'static [Loop]) -> Self {
        self.loops = loops;
        self
    }

    /// States that it reads weights by functions of `weight_*.wgsl` alone, however they are packed.
    pub(crate) const fn any_packing(mut self) -> Self {
        self.any_packing = true;
        self
    }

    /// The same shader for each way in which its weights may be packed.
    pub(crate) fn packings(self) -> impl Iterator<Item = Self> {
        let known = if self.any_packing { &WeightPacking::ALL[..] } else { &[WeightPacking::Texels] };
        known.iter().map(move |&weights| self.reading(weights))
    }

    /// The same for weights that are packed so; one that is not for [any packing](Self::any_packing) reads texels.
    pub(crate) const fn reading(mut self, weights: WeightPacking) -> Self {
        self.weights = weights;
        self
    }

    /// How the weights are packed that it reads.
    pub const fn weights(&self) -> WeightPacking {
        self.weights
    }

    /// Its loops that take rounds, those of shared functions that it calls among them.
    pub const fn stated_loops(&self) -> &'static [Loop] {
        self.loops
    }

    /// Rounds that an invocation takes at most, where each loop has as many indices as `extents` say.
    pub(crate) fn rounds(&self, extents: &[(&'static str, usize)]) -> u64 {
        loops::rounds(self.loops, extents)
    }

    /// Its name, for messages and profiles.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Structs of its WGSL that are read from a step's params, each with the names of its fields as they are written.
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

    /// Its WGSL but for what depends on where params lie and how values are stored: declarations that are written from
    /// Rust, `texel.wgsl`, the functions that read weights, the shared ones that it asks for, and the kernel's own.
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
        // WGSL knows no empty struct, so a kernel without parameters has none to load.
        if !self.params.is_empty() {
            wgsl::load("params()", "Params", [block, "FAMILY_PARAMS + "], self.params, &mut wgsl);
        }
        let weights = match self.weights {
            WeightPacking::Texels => include_str!("../../shaders/shared/weight_texels.wgsl"),
            WeightPacking::Halves => include_str!("../../shaders/shared/weight_halves.wgsl"),
            WeightPacking::Bytes => include_str!("../../shaders/shared/weight_bytes.wgsl"),
        };
        let shared = [include_str!("../../shaders/shared/texel.wgsl"), weights];
        wgsl.extend(shared.iter().chain(self.helpers).chain([&self.kernel]).copied());
        wgsl
    }
}
