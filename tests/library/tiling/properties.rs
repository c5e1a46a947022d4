//! Random small graphs in random cascades. Each stripe is computed only from the rows that it declares, and every plan
//! passes the checker.

use super::noise;
use proptest::{prelude::*, strategy::Strategy};
use texpool_compile::schedule::{
    Access, Schedule, StepKind, Storage, StorageKind, schedule,
    tiling::{Cascade, RowDependencies, tiled},
};
use texpool_model::rewrite::{Rules, rewrite};
use texpool_ops::{
    graph::{
        Act, Binary, Conv2d, CoordMode, Graph, GraphBuilder, IdVec, NodeSet, Op, Pad, PadMode, Padding, Pool2d,
        PoolKind, Reduce, ReduceKind, ResizeMode, TensorId, TransposeConv, Unary,
    },
    ops::reference,
};
use texpool_plan::{
    Plan, RowProblem, RowStep, RowTable, SearchBudget, SearchControl, TensorRows, TexelFormat, TextureLimits,
    check_rows, live_row_peak, place_rows, realize_rows,
};

/// A random layer: its kind, and a number that selects its form or its operands.
pub(crate) type Layer = (u8, u8);

fn pointwise() -> Conv2d {
    Conv2d { stride: [1; 2], dilation: [1; 2], padding: Padding::default(), groups: 1 }
}

pub(crate) fn network(layers: &[Layer], two_outputs: bool) -> Graph {
    let mut b = GraphBuilder::new("random");
    let mut tensors: Vec<(TensorId, [usize; 4])> = vec![(b.input("x", &[1, 12, 5, 4]).unwrap(), [1, 12, 5, 4])];
    for &(kind, form) in layers {
        let &(x, dims) = tensors.last().unwrap();
        let [_, h, w, c] = dims;
        let (stride, dilation) = ([1, 2, 1][form as usize % 3], [1, 1, 2][form as usize % 3]);
        let padding = Padding { top: dilation, bottom: dilation, left: 1, right: 1 };
        let conv = Conv2d { stride: [stride, 1], dilation: [dilation, 1], padding, groups: 1 };
        let same = tensors.iter().rev().skip(1).filter(|(_, other)| *other == dims).nth(form as usize % 2).map(|m| m.0);
        let after = (h - 1) / stride + 1;
        let next = match kind {
            0 => {
                let weights = b.constant("w", &[4, 3, 3, c], &noise(9, 36 * c)).unwrap();
                (b.conv2d("conv", conv, x, weights, None, Act::None).unwrap(), [1, after, w, 4])
            }
            1 => {
                let weights = b.constant("w", &[1, 3, 3, c], &noise(8, 9 * c)).unwrap();
                (b.depthwise("dw", conv, x, weights, None, Act::None).unwrap(), [1, after, w, c])
            }
            2 => {
                let pool = Pool2d::plain(PoolKind::Max, [2, 1], [2, 1], Padding::default());
                if h < 2 {
                    continue;
                }
                (b.pool("pool", pool, x).unwrap(), [1, h / 2, w, c])
            }
            3 => match same {
                Some(other) => (b.binary("add", Binary::Add, x, other, Act::None).unwrap(), dims),
                None => continue,
            },
            4 => match same {
                Some(other) => (b.concat("concat", 3, &[x, other]).unwrap(), [1, h, w, 2 * c]),
                None => continue,
            },
            // Branches that meet again: where their parts lie side by side or below each other, in place.
            8 | 9 if h <= 12 && c <= 8 => {
                let weights = b.constant("w", &[4, 1, 1, c], &noise(6, 4 * c)).unwrap();
                let near = b.conv2d("near", pointwise(), x, weights, None, Act::None).unwrap();
                let plain = Conv2d { stride: [1; 2], ..conv };
                let weights = b.constant("w", &[4, 3, 3, c], &noise(7, 36 * c)).unwrap();
                let far = b.conv2d("far", plain, x, weights, None, Act::None).unwrap();
                let parts = if form % 2 == 0 { [near, far] } else { [far, near] };
                let axis = match form % 5 {
                    4 => 1,
                    3 if w <= 8 => 2,
                    _ => 3,
                };
                let both = b.concat("both", axis, &parts).unwrap();
                if axis == 1 {
                    (both, [1, 2 * h, w, 4])
                } else if axis == 2 {
                    (both, [1, h, 2 * w, 4])
                } else if form % 3 == 2 {
                    let third = b.unary("third", Unary::Abs, x).unwrap();
                    (b.concat("all", 3, &[both, third]).unwrap(), [1, h, w, 8 + c])
                } else {
                    (both, [1, h, w, 8])
                }
            }
            10 if h < 12 => {
                let weights = b.constant("w", &[4, 3, 1, c], &noise(3, 12 * c)).unwrap();
                let conv = TransposeConv::plain([2, 1], Padding { top: 1, ..Padding::default() });
                let op = Op::TransposeConv(conv);
                (b.node_to("up", op, &[x, weights], &[1, 2 * h, w, 4], Act::None).unwrap(), [1, 2 * h, w, 4])
            }
            11 => {
                let axes = [false, form % 2 == 0, true, false];
                let op = Op::Reduce(Reduce { kind: ReduceKind::Mean, axes });
                (b.node("mean", op, &[x], Act::None).unwrap(), [1, if axes[1] { 1 } else { h }, 1, c])
            }
            5 if h < 12 => {
                let (mode, coords) = (ResizeMode::Linear, CoordMode::HalfPixel);
                (b.resize("resize", mode, coords, x, [2 * h, w]).unwrap(), [1, 2 * h, w, c])
            }
            // Concatenation along height, width, channels or several axes; those after a convolution can be in place.
            6 => {
                let [above, beside, more] = [form % 3, form / 3 % 4, form / 12 % 3].map(usize::from);
                let (left, right, more) = (beside % 2, beside / 2, if c <= 8 { 4 * more } else { 0 });
                let op = Op::Pad(Pad {
                    before: [0, above as isize, left as isize, 0],
                    after: [0, 0, right as isize, more as isize],
                    mode: PadMode::Constant(0.5),
                });
                (b.node("pad", op, &[x], Act::None).unwrap(), [1, h + above, w + left + right, c + more])
            }
            _ => {
                let weights = b.constant("w", &[4, 1, 1, c], &noise(5, 4 * c)).unwrap();
                (b.conv2d("pw", pointwise(), x, weights, None, Act::None).unwrap(), [1, h, w, 4])
            }
        };
        tensors.push(next);
    }
    let weights =
        b.constant("w", &[2, 1, 1, tensors.last().unwrap().1[3]], &noise(4, 64)[..2 * tensors.last().unwrap().1[3]]);
    let out = b.conv2d("out", pointwise(), tensors.last().unwrap().0, weights.unwrap(), None, Act::None).unwrap();
    let mut outputs = vec![out];
    if two_outputs && tensors.len() > 2 {
        outputs.push(b.unary("side", Unary::Abs, tensors[tensors.len() / 2].0).unwrap());
    }
    b.finish(&outputs).unwrap()
}

/// Cuts the operators at the marks; each cascade in as many stripes as its mark says, every other one in even stripes.
fn cascades(operators: usize, marks: &[(bool, u32)]) -> Vec<Cascade> {
    let mut cascades: Vec<Cascade> = Vec::new();
    for operator in 0..operators {
        let (cut, stripes) = marks[operator % marks.len()];
        match cascades.last_mut() {
            Some(cascade) if !cut => cascade.operators.end = operator + 1,
            _ => {
                let even = cascades.len() % 2 == 1;
                cascades.push(Cascade { even, ..Cascade::new(operator..operator + 1, stripes) });
            }
        }
    }
    cascades
}

struct Case {
    graph: Graph,
    schedule: Schedule,
    tensors: Vec<TensorRows>,
    whole: Vec<bool>,
    steps: Vec<RowStep>,
}

fn case(layers: &[Layer], two_outputs: bool, marks: &[(bool, u32)]) -> Case {
    let graph = network(layers, two_outputs);
    // Marks say which concatenations are written in place, too.
    let in_place = rewrite(&graph, &Rules::only(&["in-place"]).unwrap()).in_place;
    let in_place: NodeSet = in_place.iter().filter(|id| marks[id.index() % marks.len()].1 != 3).collect();
    let plain = schedule(&graph, &in_place).unwrap();
    let model = RowDependencies::new(&graph, &plain);
    let schedule = tiled(&plain, &model, &cascades(plain.steps.len(), marks));
    let (tensors, whole, steps) = (schedule.tensors(), schedule.whole(&graph), schedule.row_steps());
    Case { graph, schedule, tensors, whole, steps }
}

/// Values of each storage. Only computed rows have values; all others are NaN.
struct Memory(Vec<Vec<f32>>);

impl Memory {
    fn new(case: &Case, input: &[f32]) -> Self {
        let empty = |storage: &Storage| vec![f32::NAN; case.graph.shape(storage.tensor().unwrap()).len()];
        let mut memory = Self(case.schedule.storages.iter().map(empty).collect());
        memory.store(case, case.graph.inputs[0], input, 0..12, &Self::everything(case));
        memory
    }

    /// Returns the storage of a tensor, the storage's row that corresponds to row `row`, and for each element of that
    /// row its index in the storage and its texel within the row.
    fn cells(case: &Case, tensor: TensorId, row: u32) -> (usize, u32, Vec<(usize, u32)>) {
        let storage = case.schedule.storage_of[tensor].unwrap();
        let (shape, outer) =
            (case.graph.shape(tensor), case.graph.shape(case.schedule.storages[storage].tensor().unwrap()));
        let (first, texel) =
            case.schedule.subtensors[tensor].map_or((0, 0), |inside| (inside.row, inside.texel as usize));
        let cell = |element: usize| {
            let (x, c) = (texel % outer.w + element / shape.c, texel / outer.w * 4 + element % shape.c);
            let place = ((first + row) as usize * outer.w + x) * outer.c + c;
            (place, (c / 4 * outer.w + x) as u32)
        };
        (storage, first + row, (0..shape.w * shape.c).map(cell).collect())
    }

    /// Returns the tensor as seen by a step that reads only `touched`.
    fn load(&self, case: &Case, tensor: TensorId, touched: &[Access]) -> Vec<f32> {
        let mut values = Vec::with_capacity(case.graph.shape(tensor).len());
        for row in 0..case.graph.shape(tensor).rows() as u32 {
            let (storage, at, cells) = Self::cells(case, tensor, row);
            for (place, texel) in cells {
                let seen = |touch: &Access| {
                    touch.storage == storage && touch.rows.contains(&at) && touch.texels.contains(&texel)
                };
                values.push(if touched.iter().any(seen) { self.0[storage][place] } else { f32::NAN });
            }
        }
        values
    }

    /// Writes the part of some rows that `touched` covers.
    fn store(&mut self, case: &Case, tensor: TensorId, values: &[f32], rows: std::ops::Range<u32>, touched: &[Access]) {
        let shape = case.graph.shape(tensor);
        for row in rows {
            let (storage, at, cells) = Self::cells(case, tensor, row);
            for ((place, texel), value) in cells.into_iter().zip(&values[row as usize * shape.w * shape.c..]) {
                if touched.iter().any(|touch| touch.rows.contains(&at) && touch.texels.contains(&texel)) {
                    self.0[storage][place] = *value;
                }
            }
        }
    }

    /// Returns accesses to all of every storage.
    fn everything(case: &Case) -> Vec<Access> {
        let storages = case.schedule.storages.iter().enumerate();
        storages.map(|(storage, shape)| Access { storage, rows: 0..shape.rows, texels: 0..shape.row_texels }).collect()
    }
}

const LIMITS: TextureLimits = TextureLimits { max_extent: 2048 };

fn planned(case: &Case) -> (Plan, u64) {
    let problem = RowProblem { tensors: &case.tensors, whole: &case.whole, steps: &case.steps };
    let layout =
        place_rows(&problem, SearchBudget { moves: 500, packings: 10, ..SearchBudget::ROWS }, &SearchControl::new())
            .unwrap()
            .unwrap();
    assert!(layout.total() >= live_row_peak(&problem).unwrap().texels);
    assert_eq!(
        layout,
        place_rows(&problem, SearchBudget { moves: 500, packings: 10, ..SearchBudget::ROWS }, &SearchControl::new())
            .unwrap()
            .unwrap()
    );
    (realize_rows(&layout, &problem, TexelFormat::Rgba32Float, LIMITS).unwrap(), layout.total())
}

pub(crate) fn inputs() -> impl Strategy<Value = (Vec<Layer>, bool, Vec<(bool, u32)>)> {
    let stripes = prop::sample::select(vec![1, 2, 3, 5, u32::MAX]);
    let marks = prop::collection::vec((prop::bool::weighted(0.3), stripes), 1..8);
    (prop::collection::vec((0u8..12, any::<u8>()), 2..12), any::<bool>(), marks)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_stripe_follows_from_the_rows_it_reads((layers, two, marks) in inputs()) {
        let case = case(&layers, two, &marks);
        let input = noise(3, 240);
        let expected = reference::graph(&case.graph, std::slice::from_ref(&input)).unwrap();
        let mut memory = Memory::new(&case, &input);
        for step in &case.schedule.steps {
            let node = &case.graph.nodes[step.node];
            let mut seen: IdVec<_, Option<Vec<f32>>> = IdVec::from_elem(None, &case.graph.tensors);
            for &operand in node.inputs.iter().filter(|&&operand| !case.graph.is_constant(operand)) {
                seen[operand] = Some(memory.load(&case, operand, &step.reads));
            }
            let result = reference::node(&case.graph, node, &seen).unwrap();
            let shape = case.graph.shape(node.output);
            let cells = step.rows.start as usize * shape.w * shape.c..step.rows.end as usize * shape.w * shape.c;
            let expected_cells = &expected[node.output].as_ref().unwrap()[cells.clone()];
            for (actual, expected) in result[cells].iter().zip(expected_cells) {
                // A frame does not read the tensor inside it, whose elements are NaN here.
                let unread = step.kind == StepKind::PadBorder && actual.is_nan();
                prop_assert!(actual == expected || unread, "{} is not {}", actual, expected);
            }
            memory.store(&case, node.output, &result, step.rows.clone(), &step.writes);
        }
        for &output in &case.graph.outputs {
            let actual = memory.load(&case, output, &Memory::everything(&case));
            prop_assert_eq!(&actual, expected[output].as_ref().unwrap());
        }
    }

    #[test]
    fn plans_pass_the_checker_and_broken_ones_do_not((layers, two, marks) in inputs()) {
        let case = case(&layers, two, &marks);
        let (plan, _) = planned(&case);
        let check = |plan: &Plan| check_rows(&case.tensors, &case.whole, &case.steps, plan, LIMITS);
        prop_assert_eq!(check(&plan), Ok(()));
        for placement in &plan.placements {
            // A ring has no spare row.
            if let RowTable::Ring { base, rows, row_texels, ring } = placement.rows {
                let mut tight = plan.clone();
                tight.placements[placement.record].rows = RowTable::Ring { base, rows, row_texels, ring: ring - 1 };
                prop_assert!(check(&tight).is_err(), "a ring of {} rows is enough", ring - 1);
            }
        }
        if plan.textures.len() > 1 && case.steps.iter().any(|step| !step.reads.is_empty() && !step.writes.is_empty()) {
            let mut one = plan.clone();
            one.placements.iter_mut().for_each(|p| p.texture = 0);
            prop_assert!(check(&one).is_err());
        }
    }

    #[test]
    fn intermediates_keep_their_storages((layers, two, marks) in inputs()) {
        let case = case(&layers, two, &marks);
        let pool = case.schedule.storages.iter().filter(|s| matches!(s.kind, StorageKind::Intermediate(_))).count();
        prop_assert_eq!(pool, case.schedule.records.len());
        prop_assert_eq!(case.schedule.uses().len(), case.schedule.steps.len());
    }
}
