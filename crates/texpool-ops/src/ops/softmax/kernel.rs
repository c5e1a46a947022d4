//! Kernel of softmax over channels, and of its logarithm.

use std::ops::Range;

use super::Softmax;
use crate::{
    graph::{DeviceClass, Graph, Node, Shape},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Operand, SectionRole, Shader, StepContext, WeightSection,
        common,
        grid::LANES,
        loops::{loops, taken_a_round},
        pack,
        params::ConstantTensor,
        shader::helpers::SOFTMAX,
        wgsl::{shader_params, shared_constants},
    },
    ops::{
        operator::{self, ConstantOperands, Kernels, Operator, Properties, category},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Softmax {
    const SHADERS: &'static [Shader] = &[NARROW, WIDE];
}

impl Operator for Softmax {
    category!(undivided_weights);

    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        operator::plain(ConstantOperands::AfterFirst)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.same()
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Softmax, 1, 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        let addends = ADDENDS.into_iter().zip([1, 2]);
        addends.filter_map(|(role, index)| pack::whole_operand_as(role, graph, node, index)).collect()
    }

    /// Computes one pixel per invocation, or one pixel per workgroup if there are many channels and few pixels.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let input = common::placed(step, 0)?;
        let epilogue = EpilogueParams::new(step);
        let form = Form::of(step.graph.blocks.class(), input.shape);
        let parts = if form == Form::Narrow { 1 } else { LANES as usize };
        let (shader, lanes) = if form == Form::Wide { (WIDE, LANES) } else { (NARROW, 1) };
        let items = step.rows.len() as u32 * input.shape.w as u32 * lanes;
        let addends = Addends::of(step)?;
        let params = KernelParams::new(step, &epilogue, items).input(input);
        let params = if let Some(second) = addends.placed { params.second(second) } else { params };
        let params = params.params(&Params { beta: self.beta, ..addends.params });
        let slices = input.shape.slices();
        let followed = slices.div_ceil(lanes as usize);
        let taken = taken_a_round(followed);
        let [first, second] = addends.kinds.map(f64::from);
        let mut constants = vec![("LOG", common::flag(self.log)), ("TAKEN", taken as f64)];
        constants.extend([("FIRST_ADDEND", first), ("SECOND_ADDEND", second)]);
        let mut extents = vec![("s", followed.div_ceil(taken)), ("slice", slices.div_ceil(parts * taken))];
        if form == Form::Wide {
            extents.push(("i", LANES as usize));
        } else {
            constants.push(("PARTS", parts as f64));
            extents.push(("part", parts));
        }
        let dispatch = common::dispatch(step, shader, &epilogue, params, items, constants, &extents).reading(input);
        let dispatch = if let Some(second) = addends.placed { dispatch.reading_second(second) } else { dispatch };
        let has_constant = addends.kinds.contains(&ADDEND_CONSTANT);
        Ok(vec![if has_constant { dispatch.reading_weights(step) } else { dispatch }])
    }
}

pub(crate) const NARROW: Shader = Shader::new("softmax", texpool_shaders::SOFTMAX)
    .chosen_if("an invocation per pixel fills the device: few channels, or many pixels for each slice")
    .constants(&[ADDEND_KINDS])
    .params::<Params>()
    .helpers(&[SOFTMAX])
    .loops(loops![s, part[slice], s]);
pub(crate) const WIDE: Shader = Shader::new("softmax_wide", texpool_shaders::SOFTMAX_WIDE)
    .chosen_if("a workgroup per pixel fills the device: many channels, and few pixels for each slice")
    .constants(&[ADDEND_KINDS])
    .params::<Params>()
    .helpers(&[SOFTMAX])
    .loops(loops![s, i, slice, i, s]);

shader_params! {
    struct Params {
        beta: f32,
        /// First weight texels of the constants that are added.
        starts: [u32; 2],
        first: ConstantTensor,
        second: ConstantTensor,
    }
}

shared_constants! {
    /// Storage of an addend.
    ADDEND_KINDS:
    ADDEND_NONE = 0,
    /// In the second input.
    ADDEND_PLACED = 1,
    /// Among the weights.
    ADDEND_CONSTANT = 2,
}

/// Roles of constant addends.
const ADDENDS: [SectionRole; 2] = [SectionRole::Own, SectionRole::Third];

/// The addends of a step.
struct Addends<'a> {
    kinds: [u32; 2],
    placed: Option<&'a Operand>,
    params: Params,
}

impl<'a> Addends<'a> {
    fn of(step: &'a StepContext<'_>) -> Result<Self, KernelError> {
        let (mut kinds, mut placed) = ([ADDEND_NONE; 2], None);
        let (mut starts, mut tensors) = ([0; 2], [ConstantTensor(None); 2]);
        for (i, &tensor) in step.node.inputs.iter().skip(1).enumerate() {
            let shape = step.graph.shape(tensor);
            if step.graph.is_constant(tensor) {
                kinds[i] = ADDEND_CONSTANT;
                starts[i] = step.section(ADDENDS[i], 0);
                tensors[i] = ConstantTensor(Some(shape));
                continue;
            }
            if placed.replace(common::placed(step, i + 1)?).is_some() {
                return Err(step.unsupported("it adds two computed tensors, but can read one".into()));
            }
            common::no_added_tensor(step)?;
            kinds[i] = ADDEND_PLACED;
        }
        let [first, second] = tensors;
        Ok(Self { kinds, placed, params: Params { beta: 1.0, starts, first, second } })
    }
}

/// Order in which the powers of a pixel are added up, and number of invocations that do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// In one sum, by one invocation.
    Narrow,
    /// In as many parts as a workgroup has lanes, by one invocation. The bits are those of [`Self::Wide`].
    Parts,
    /// In as many parts, by a workgroup.
    Wide,
}

impl Form {
    /// Chooses by the whole tensor, not by a stripe of it, so that every plan adds up in the same order. The class of device
    /// decides only between forms with the same bits.
    fn of(class: DeviceClass, shape: Shape) -> Self {
        if shape.slices() < WIDE_SLICES || shape.pixels() >= MANY_PIXELS * shape.slices() {
            return Self::Narrow;
        }
        let fills = shape.pixels() >= SOFTWARE_PIXELS && taken_a_round(shape.slices()) == 1;
        if class == DeviceClass::Software && fills { Self::Parts } else { Self::Wide }
    }
}

/// Minimum number of slices for which a pixel gets a workgroup, if there are few pixels; below this, most lanes would
/// be idle.
const WIDE_SLICES: usize = LANES as usize / 2;
/// Minimum number of pixels per slice at which one invocation per pixel is enough to fill a device. Attention has
/// many rows, such as MiniLM's 1536 pixels of 32 slices (48 per slice). Classifiers have few: one pixel of 251 slices.
/// The value lies between the two; nothing in between was measured on a GPU.
const MANY_PIXELS: usize = 8;
/// Number of pixels from which software devices take an invocation per pixel: those of a vector of llvmpipe.
const SOFTWARE_PIXELS: usize = 8;

#[cfg(test)]
mod tests {
    use super::Form;
    use crate::graph::{DeviceClass, Shape};

    #[test]
    fn software_devices_take_an_invocation_for_each_of_many_pixels() {
        let form = |class, [h, w, c]: [usize; 3]| Form::of(class, Shape::new(1, h, w, c));
        for (extents, software, gpu) in [
            ([12, 197, 197], Form::Narrow, Form::Narrow),
            ([1, 577, 577], Form::Parts, Form::Wide),
            ([1, 1, 1000], Form::Wide, Form::Wide),
            ([1, 1000, 20_000], Form::Wide, Form::Wide),
        ] {
            assert_eq!(form(DeviceClass::Software, extents), software, "{extents:?}");
            assert_eq!(form(DeviceClass::Nvidia, extents), gpu, "{extents:?}");
        }
    }
}
