//! Kernels of Winograd's transforms.

use std::ops::Range;

use super::{WinogradInput, WinogradOutput, WinogradTile};
use crate::{
    graph::{Graph, Node},
    kernels::{
        Constants, Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        shader::helpers::WINOGRAD, wgsl::shader_params,
    },
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, around, category, plain},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

pub(crate) const INPUT: Shader =
    Shader::new("winograd_input", texpool_shaders::WINOGRAD_INPUT).params::<InputParams>().helpers(&[WINOGRAD]);
pub(crate) const OUTPUT: Shader = Shader::new("winograd_output", texpool_shaders::WINOGRAD_OUTPUT).helpers(&[WINOGRAD]);

shader_params! {
    struct InputParams {
        padding: [usize; 2],
    }
}

fn constants(tile: WinogradTile) -> Constants {
    vec![("TILE", tile.pixels() as f64)]
}

impl Kernels for WinogradInput {
    const SHADERS: &'static [Shader] = &[INPUT];
}

impl Operator for WinogradInput {
    category!(one_operand_with_properties);

    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        Properties { attributes: around(self.padding).to_vec(), ..plain(ConstantOperands::AfterFirst) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.window(self.tile.edge(), [self.tile.pixels(), 1, self.padding.top])
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        // Each result is a sum along columns and one along rows, parts of which are shared.
        Work::new(graph, node, CostClass::Pool, self.tile.pixels(), self.tile.products())
    }

    /// Returns one dispatch over the step's rows of tiles.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let input = common::placed(step, 0)?;
        let epilogue = EpilogueParams::new(step);
        let items = (step.rows.len() * step.output.shape.w * input.shape.slices()) as u32;
        let params = InputParams { padding: [self.padding.top, self.padding.left] };
        let params = KernelParams::new(step, &epilogue, items).input(input).params(&params);
        Ok(vec![common::dispatch(step, INPUT, &epilogue, params, items, constants(self.tile), &[]).reading(input)])
    }
}

impl Kernels for WinogradOutput {
    const SHADERS: &'static [Shader] = &[OUTPUT];
}

impl Operator for WinogradOutput {
    category!(one_operand);

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.per_block(self.tile.pixels(), 1)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        // Counted for a tile of four: ten lines of about ten sums for sixteen pixels. A tile of two has as many a pixel.
        let pixels = self.tile.pixels();
        Work::new(graph, node, CostClass::Pool, 6, pixels * pixels)
    }

    /// Returns one dispatch over all tiles with pixels in the step's rows.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let input = common::placed(step, 0)?;
        let epilogue = EpilogueParams::new(step);
        let tile_row = |row: u32| {
            let [height, tiles, pixels] = [step.output.shape.h, input.shape.h, self.tile.pixels()].map(|n| n as u32);
            row / height * tiles + row % height / pixels
        };
        let first = tile_row(step.rows.start);
        let rows = tile_row(step.rows.end - 1) + 1 - first;
        let items = rows * (input.shape.w * step.output.shape.slices()) as u32;
        let params = KernelParams::new(step, &epilogue, items).input(input).first(first);
        Ok(vec![common::dispatch(step, OUTPUT, &epilogue, params, items, constants(self.tile), &[]).reading(input)])
    }
}
