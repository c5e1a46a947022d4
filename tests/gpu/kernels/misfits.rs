//! Steps that are put together of parts that do not fit: shaders check nothing while they run, so these never reach one.

use texpool_gpu::{GpuError, Pipelines, Program, Role, TextureSet};
use texpool_ops::{
    graph::{Epilogue, Graph, Op, Shape, TexelStorage, Unary},
    kernels::{KernelError, Operand, StepContext, WeightPlace},
    ops,
};
use texpool_plan::{RowTable, TexelFormat, TextureSpec};

use super::{constant, placed};
use crate::support::{
    graphs::{n, one_node},
    open,
};

const DIMS: [usize; 4] = [1, 3, 5, 8];

fn graph() -> Graph {
    one_node(Op::Unary(Unary::Abs), &[placed(DIMS)], DIMS.into(), Epilogue::default())
}

/// A tensor from the first texel of texture `texture` on, which is 8 wide and 4 high.
fn operand(texture: usize) -> Operand {
    let rows = RowTable::Whole { base: 0, rows: 3, row_texels: 10 };
    Operand { shape: Shape::from(DIMS), texture, shift: 3, texels: 32, rows, pitch: 5, storage: TexelStorage::Values }
}

fn step<'a>(graph: &'a Graph, input: Operand, output: Operand) -> StepContext<'a> {
    let node = &graph.nodes[n(0)];
    StepContext {
        graph,
        node,
        inputs: vec![Some(input)],
        add: None,
        output,
        rows: 0..3,
        slices: 0..graph.shape(node.output).slices() as u32,
        weights: WeightPlace::default(),
    }
}

fn misfit(step: &StepContext<'_>, why: &str) {
    match ops::dispatches(step) {
        Err(KernelError::Misfit { why: message }) => assert!(message.contains(why), "{message}"),
        other => panic!("{why}: {other:?}"),
    }
}

/// Rows without a start, starts without room, and shapes that are not the graph's: each would be an address outside.
#[test]
fn operands_that_are_not_the_nodes_are_refused() {
    let graph = graph();
    assert_eq!(ops::dispatches(&step(&graph, operand(0), operand(1))).unwrap().len(), 1);
    let tables = [
        (RowTable::Whole { base: 0, rows: 2, row_texels: 10 }, "2 rows"),
        (RowTable::Scattered { row_starts: vec![0, 10], row_texels: 10 }, "2 rows"),
        (RowTable::Ring { base: 0, rows: 3, row_texels: 10, ring: 0 }, "no room"),
        (RowTable::Whole { base: u32::MAX - 5, rows: 3, row_texels: 10 }, "no room"),
        (RowTable::Whole { base: 0, rows: 3, row_texels: u32::MAX / 2 }, "no room"),
    ];
    for (rows, why) in tables {
        let wrong = Operand { rows, ..operand(0) };
        misfit(&step(&graph, wrong.clone(), operand(1)), why);
        misfit(&step(&graph, operand(0), Operand { texture: 1, ..wrong }), why);
    }
    for (wrong, why) in [
        (Operand { shape: Shape::new(1, 3, 5, 9), ..operand(0) }, "1x3x5x9"),
        (Operand { pitch: u32::MAX, ..operand(0) }, "no room"),
        (Operand { texels: 9, ..operand(0) }, "no room"),
    ] {
        misfit(&step(&graph, wrong, operand(1)), why);
    }
    misfit(&StepContext { rows: 0..4, ..step(&graph, operand(0), operand(1)) }, "rows 0..4");
    let beyond = 0..Shape::from(DIMS).slices() as u32 + 1;
    misfit(&StepContext { slices: beyond, ..step(&graph, operand(0), operand(1)) }, "slices 0..");
    misfit(&StepContext { slices: 1..1, ..step(&graph, operand(0), operand(1)) }, "slices 1..1");
    misfit(&StepContext { inputs: vec![], ..step(&graph, operand(0), operand(1)) }, "other operands");
    misfit(&StepContext { add: Some(operand(2)), ..step(&graph, operand(0), operand(1)) }, "other operands");
    let copy = graph.nodes[n(0)].clone();
    misfit(&StepContext { node: &copy, ..step(&graph, operand(0), operand(1)) }, "none of the graph's");
    let dense = one_node(Op::FullyConnected, &[placed(DIMS), constant([1, 1, 8, 8])], DIMS.into(), Epilogue::default());
    let inputs = vec![Some(operand(0)), None];
    misfit(&StepContext { inputs, ..step(&dense, operand(0), operand(1)) }, "weights (Own) take");
}

/// A graph whose shapes do not follow from each other has no dispatches.
#[test]
fn graphs_that_are_not_whole_are_refused() {
    let graph = one_node(Op::Unary(Unary::Abs), &[placed([1, 3, 5, 4])], DIMS.into(), Epilogue::default());
    let input = Operand { shape: Shape::new(1, 3, 5, 4), ..operand(0) };
    let error = ops::dispatches(&step(&graph, input, operand(1))).unwrap_err();
    assert!(matches!(error, KernelError::Graph(_)), "{error:?}");
}

/// Dispatches are bound to textures like those that they were made for, or not at all.
#[test]
fn dispatches_of_other_textures_are_refused() {
    let gpu = open();
    let (format, graph) = (TexelFormat::Rgba32Float, graph());
    let dispatches = ops::dispatches(&step(&graph, operand(0), operand(1))).unwrap();
    for (width, height, fits) in
        [(8, 4, true), (8, 5, true), (8, 3, false), (16, 4, false), (4, 8, false), (24, 4, false)]
    {
        let mut textures = TextureSet::new(&gpu);
        for spec in [TextureSpec { width: 8, height: 4, format }, TextureSpec { width, height, format }] {
            textures.create("t", spec, Role::Shared).unwrap();
        }
        let mut pipelines = Pipelines::new(&gpu, format).unwrap();
        match Program::new(&gpu, &mut textures, &mut pipelines, format, &dispatches) {
            Ok(program) => {
                assert!(fits, "{width}x{height}");
                program.run(&gpu, 0..program.len()).unwrap();
            }
            Err(GpuError::Texture { texture: 1, .. }) => assert!(!fits, "{width}x{height}"),
            Err(error) => panic!("{width}x{height}: {error:?}"),
        }
    }
}
