//! Sums of quantised tensors in each arithmetic of a runtime: the integers equal the reference's.

use texpool::{Model, TensorView};
use texpool_ops::graph::{Act, GraphBuilder, Op, QuantizedAdd};
use texpool_plan::TexelFormat;

use super::{Source, case, epilogues, harness::Harness, placed};
use crate::support::open;

/// Integers of the result that keep every sum, so that none is hidden by a limit.
const ALL: [i16; 2] = [i16::MIN, i16::MAX];
/// Limits within which 16-bit floats hold every whole number.
const HALVES: [i16; 2] = [-2048, 2047];
/// Scales of the operands for a result of scale one: sums are halves or next to halves, either is larger, and
/// significands are full.
const SCALES: [[f32; 2]; 8] = [
    [0.1, 0.3],
    [1.0, 1.0],
    [0.5, 1.0],
    [1.5, 0.5],
    [0.25, 0.75],
    [0.034_123_4, 0.987_654_3],
    [7.123_456, 0.012_345_67],
    [0.007_812_5, 0.023_437_5],
];

/// The sums of each arithmetic for operands of these scales.
fn sums(scales: [f32; 2], limits: [i16; 2]) -> Vec<QuantizedAdd> {
    let zeros = [([0, 0], 0), ([127, 100], 33), ([-3, 128], -128)];
    let floats = zeros.map(|(zeros, zero)| QuantizedAdd::float(scales, 1.0, zeros, zero, limits));
    let others = [
        QuantizedAdd::fixed(scales, 1.0, limits),
        QuantizedAdd::shift(scales, 1.0, limits),
        QuantizedAdd::shift([scales[0], -scales[1]], 1.0, limits),
    ];
    others.into_iter().chain(floats).map(Option::unwrap).collect()
}

/// All integers of eight bits, counted from any zero point.
fn bytes() -> impl Iterator<Item = f32> + Clone {
    (-128_i16..128).map(f32::from)
}

/// Returns the sums of all pairs of bytes, in the order of `pairs`.
fn all_pairs(context: &texpool::Context, add: QuantizedAdd, texels: TexelFormat) -> Vec<f32> {
    let mut b = GraphBuilder::new("pairs");
    let [left, right] = ["a", "b"].map(|name| b.input(name, &[1, 256, 64, 4]).unwrap());
    let sum = b.node("y", Op::QuantizedAdd(add), &[left, right], Act::None).unwrap();
    let model = Model::from_graph(b.finish(&[sum]).unwrap()).unwrap();
    let mut session = context.compile(&model).texels(texels).build().unwrap().session().unwrap();
    let values = pairs();
    let [left, right] = [0, 1].map(|i| values.iter().map(|pair| pair[i]).collect::<Vec<f32>>());
    let inputs = [("a", TensorView::from(&left)), ("b", TensorView::from(&right))];
    session.run(inputs).unwrap().take("y").unwrap().as_slice::<f32>().unwrap().to_vec()
}

fn pairs() -> Vec<[f32; 2]> {
    bytes().flat_map(|a| bytes().map(move |b| [a, b])).collect()
}

/// Every pair of bytes, in every arithmetic and with ratios that give halves.
#[test]
fn all_pairs_of_bytes() {
    let gpu = open();
    let context = texpool::Context::from_wgpu(gpu.device.clone(), gpu.queue.clone()).unwrap();
    for scales in SCALES {
        for (limits, texels) in [(ALL, TexelFormat::Rgba32Float), (HALVES, TexelFormat::Rgba16Float)] {
            for add in sums(scales, limits) {
                let found = all_pairs(&context, add, texels);
                for (found, [a, b]) in found.into_iter().zip(pairs()) {
                    assert_eq!(found, add.of(a, b), "{a} and {b} in {texels:?}: {add:?}");
                }
            }
        }
    }
}

/// Operands that are constant or repeated, and epilogues.
#[test]
fn any_operands() {
    let mut harness = Harness::new();
    // The 4096 random values become all bytes.
    harness.inputs(|x| ((x.abs() - 0.25) / 1.75 * 4096.0).round() % 256.0 - 128.0);
    let out = [2, 3, 4, 6];
    let constant = |dims: [usize; 4]| {
        let values = bytes().cycle().step_by(37).take(dims.iter().product()).collect();
        Source::Constant(dims.into(), values)
    };
    for add in sums([0.034_123_4, 0.5], [-128, 127]) {
        let op = || Op::QuantizedAdd(add);
        case(&mut harness, op(), &[placed(out), placed(out)], out);
        case(&mut harness, op(), &[placed([1, 3, 1, 6]), placed([2, 1, 4, 1])], out);
        case(&mut harness, op(), &[placed(out), constant([1, 1, 4, 6])], out);
        case(&mut harness, op(), &[constant([1, 3, 1, 1]), placed(out)], out);
        epilogues(&mut harness, &op(), &[placed(out), placed([1, 1, 1, 6])], out, false);
    }
    let add = sums([0.25, 0.5], [-128, 127])[0];
    epilogues(&mut harness, &Op::QuantizedAdd(add), &[placed(out), constant(out)], out, true);
}
