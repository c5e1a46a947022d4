//! Operators beyond those of the first networks: their results, by the CPU references.

use texpool_ops::ops::reference;

use super::{
    import,
    one::{BOOL, K, N, Operand, S, T, X, near, one, results},
};
use crate::support::tflite::{F32, Field, I8, I32, Model, Table, U8, flags, numbers};

const SIX: &[f32] = &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0];

/// Gathers along each axis, and by several indices at once.
#[test]
fn lookups() {
    let table = K(&[3, 2], SIX);
    let ids = T(I32, &[1, 2], &[2.0, 0.0]);
    near(&one(36, &[table, ids], numbers(23, &[0, 0]), &[1, 2, 2]), &[4.0, 5.0, 0.0, 1.0]);
    let columns = one(36, &[X(&[2, 3], SIX), N(&[2, -1, 0])], numbers(23, &[1, 0]), &[2, 3]);
    near(&columns, &[2.0, 2.0, 0.0, 5.0, 5.0, 3.0]);
    near(&one(7, &[T(I32, &[3], &[1.0, 1.0, 2.0]), K(&[3, 2], SIX)], None, &[3, 2]), &[2.0, 3.0, 2.0, 3.0, 4.0, 5.0]);
    let batched = results(36, &[X(&[2, 3], SIX), N(&[2, 1])], numbers(23, &[1, 1]), &[(F32, &[2])]);
    assert!(batched.unwrap_err().contains("from batch to batch"));
    assert!(results(36, &[X(&[2, 3], SIX), N(&[2])], numbers(23, &[4]), &[(F32, &[2])]).is_err());
}

/// Packs, unpacks, splits and slices.
#[test]
fn parts_and_stacks() {
    let [a, b] = [&[0.0, 1.0][..], &[2.0, 3.0]];
    let pack = |axis| {
        let options = Table(vec![(4, Field::I32(2)), (6, Field::I32(axis))]);
        one(83, &[X(&[2], a), X(&[2], b)], Some((59, options)), &[2, 2])
    };
    near(&pack(0), &[0.0, 1.0, 2.0, 3.0]);
    near(&pack(-1), &[0.0, 2.0, 1.0, 3.0]);
    let three: [(i8, &[i32]); 3] = [(F32, &[2]); 3];
    let unpacked = results(88, &[X(&[2, 3], SIX)], numbers(64, &[3, 1]), &three).unwrap();
    assert_eq!(unpacked, [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]);
    assert!(results(88, &[X(&[2, 3], SIX)], numbers(64, &[3, 0]), &three).is_err());
    let three: [(i8, &[i32]); 3] = [(F32, &[2, 1]); 3];
    let split = results(49, &[S(1), X(&[2, 3], SIX)], numbers(35, &[3]), &three).unwrap();
    assert_eq!(split, [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]);
    let parts: [(i8, &[i32]); 2] = [(F32, &[2, 1]), (F32, &[2, 2])];
    let split = results(102, &[X(&[2, 3], SIX), N(&[1, -1]), S(-1)], numbers(79, &[2]), &parts).unwrap();
    assert_eq!(split, [vec![0.0, 3.0], vec![1.0, 2.0, 4.0, 5.0]]);
    assert!(results(102, &[X(&[2, 3], SIX), N(&[2, 2]), S(1)], numbers(79, &[2]), &parts).is_err());
    // More parts than the importer accepts in lists with one number per axis.
    let many: Vec<f32> = (0..40).map(|i| i as f32).collect();
    let parts: [(i8, &[i32]); 20] = [(F32, &[1, 2]); 20];
    let split = results(102, &[X(&[1, 40], &many), N(&[2; 20]), S(1)], numbers(79, &[20]), &parts).unwrap();
    assert_eq!(split.concat(), many);
    assert!(results(102, &[X(&[1, 40], &many), N(&[2; 20]), S(1)], numbers(79, &[20]), &parts[..2]).is_err());
    near(&one(65, &[X(&[2, 3], SIX), N(&[1, 1]), N(&[1, -1])], None, &[1, 2]), &[4.0, 5.0]);
    for (begin, size) in [([0, 3], [1, 1]), ([0, 1], [1, 3]), ([-1, 0], [1, 1]), ([0, 0], [1, 0])] {
        assert!(results(65, &[X(&[2, 3], SIX), N(&begin), N(&size)], None, &[(F32, &[1, 1])]).is_err());
    }
}

/// Tiles, broadcasts, expanded axes and pads.
#[test]
fn repeats_and_borders() {
    let [a, b] = [&[0.0, 1.0][..], &[7.0]];
    near(&one(69, &[X(&[1, 2], a), N(&[2, 2])], None, &[2, 4]), &[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    near(&one(130, &[X(&[2, 1], a), N(&[2, 2, 3])], None, &[2, 2, 3])[..6], &[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    assert!(results(130, &[X(&[2], a), N(&[3])], None, &[(F32, &[3])]).is_err());
    near(&one(70, &[X(&[2], a), S(-1)], None, &[2, 1]), a);
    let mirrored = |mode| one(100, &[X(&[3], &SIX[..3]), N(&[2, 1])], flags(77, &[mode]), &[6]);
    near(&mirrored(0), &[2.0, 1.0, 0.0, 1.0, 2.0, 1.0]);
    near(&mirrored(1), &[1.0, 0.0, 0.0, 1.0, 2.0, 2.0]);
    near(&one(60, &[X(&[1], b), N(&[1, 1]), K(&[1], &[9.0])], None, &[3]), &[9.0, 7.0, 9.0]);
}

/// Space to batch with padding, and back with crops.
#[test]
fn images_become_batches_and_come_back() {
    // TensorFlow's example: every second pixel of a 4 by 4 image.
    let image: Vec<f32> = (1..=16).map(|i| i as f32).collect();
    let batches = [1, 3, 9, 11, 2, 4, 10, 12, 5, 7, 13, 15, 6, 8, 14, 16].map(|i| i as f32);
    let none = N(&[0, 0, 0, 0]);
    let result = one(38, &[X(&[1, 4, 4, 1], &image), N(&[2, 2]), border([0; 4])], None, &[4, 2, 2, 1]);
    near(&result, &batches);
    near(&one(37, &[X(&[4, 2, 2, 1], &batches), N(&[2, 2]), none], None, &[1, 4, 4, 1]), &image);
    let padded = one(38, &[X(&[1, 2, 2, 1], &image[..4]), N(&[2, 1]), N(&[1, 1, 0, 1])], None, &[2, 2, 3, 1]);
    near(&padded, &[0.0, 0.0, 0.0, 3.0, 4.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0]);
    let cut = one(37, &[X(&[2, 2, 3, 1], &padded), N(&[2, 1]), N(&[1, 1, 0, 1])], None, &[1, 2, 2, 1]);
    near(&cut, &image[..4]);
    let line = one(38, &[X(&[2, 4, 1], &image[..8]), N(&[2]), N(&[0, 0])], None, &[4, 2, 1]);
    near(&line, &[1.0, 3.0, 5.0, 7.0, 2.0, 4.0, 6.0, 8.0]);
    for (block, around) in [(&[0, 2][..], [0; 4]), (&[3, 2], [0; 4]), (&[2, 2], [-1, 1, 0, 0]), (&[1 << 30, 4], [0; 4])]
    {
        let operands = [X(&[1, 4, 4, 1], &image), N(block), border(around)];
        assert!(results(38, &operands, None, &[(F32, &[4, 2, 2, 1])]).is_err(), "{block:?} {around:?}");
    }
}

/// Paddings of two directions.
fn border(around: [i32; 4]) -> Operand<'static> {
    N(around.to_vec().leak())
}

/// Reductions, indices, the greatest in order, and running sums.
#[test]
fn reductions_and_indices() {
    let x = || X(&[2, 3], &[3.0, 9.0, 9.0, -1.0, -5.0, 2.0]);
    let reduce = |code, keep| one(code, &[x(), N(&[1])], flags(27, &[keep]), if keep == 1 { &[2, 1] } else { &[2] });
    near(&reduce(74, 0), &[21.0, -4.0]);
    near(&reduce(82, 1), &[9.0, 2.0]);
    near(&reduce(89, 0), &[3.0, -5.0]);
    near(&reduce(81, 0), &[243.0, 10.0]);
    for (code, expected) in [(56, [1.0, 2.0]), (79, [0.0, 1.0])] {
        let result = results(code, &[x(), S(-1)], None, &[(I32, &[2])]).unwrap().remove(0);
        near(&result, &expected);
    }
    let one_channel = results(56, &[X(&[2, 1], &[5.0, 6.0]), S(1)], None, &[(I32, &[2])]).unwrap().remove(0);
    near(&one_channel, &[0.0, 0.0]);
    let truths = || T(BOOL, &[2, 2], &[1.0, 0.0, 1.0, 1.0]);
    let reduced = |code| results(code, &[truths(), N(&[1])], flags(27, &[0]), &[(BOOL, &[2])]).unwrap().remove(0);
    near(&reduced(91), &[1.0, 1.0]);
    near(&reduced(140), &[0.0, 1.0]);
    let two: [(i8, &[i32]); 2] = [(F32, &[2, 2]), (I32, &[2, 2])];
    let result = results(48, &[x(), S(2)], None, &two).unwrap();
    assert_eq!(result, [[9.0, 9.0, 2.0, -1.0], [1.0, 2.0, 2.0, 0.0]]);
    let sums = one(128, &[x(), S(1)], flags(102, &[1, 0]), &[2, 3]);
    near(&sums, &[0.0, 3.0, 12.0, 0.0, -1.0, -6.0]);
}

/// Batched products with either operand transposed, and L2 normalization.
#[test]
fn matrices_and_norms() {
    let (a, b) = (&SIX[..4], &[1.0, 2.0, 0.0, 1.0][..]);
    let matmul = |flags_of: [i8; 2]| one(126, &[X(&[2, 2], a), X(&[2, 2], b)], flags(101, &flags_of), &[2, 2]);
    near(&matmul([0, 0]), &[0.0, 1.0, 2.0, 7.0]);
    near(&matmul([0, 1]), &[2.0, 1.0, 8.0, 3.0]);
    near(&matmul([1, 0]), &[0.0, 2.0, 1.0, 5.0]);
    near(&one(11, &[X(&[2, 2], &[3.0, 4.0, 0.0, 0.0])], flags(12, &[0]), &[2, 2]), &[0.6, 0.8, 0.0, 0.0]);
    let options = Table(vec![(4, Field::I32(1)), (6, Field::F32(1.0)), (8, Field::F32(0.5)), (10, Field::F32(1.0))]);
    let normal = one(13, &[X(&[1, 1, 1, 3], &[1.0, 2.0, 3.0])], Some((13, options)), &[1, 1, 1, 3]);
    near(&normal, &[1.0 / 3.5, 2.0 / 8.0, 3.0 / 7.5]);
    let logarithms = one(50, &[X(&[1, 2], &[1.0, 1.0])], None, &[1, 2]);
    near(&logarithms, &[-std::f32::consts::LN_2; 2]);
}

/// Functions that only newer schemas have.
#[test]
fn functions_of_values() {
    let x = || X(&[4], &[-1.5, 0.5, 2.0, 2.5]);
    let unary = |code| one(code, &[x()], None, &[4]);
    near(&unary(8), &[-2.0, 0.0, 2.0, 2.0]);
    near(&unary(104), &[-1.0, 1.0, 2.0, 3.0]);
    near(&unary(116), &[-2.0, 0.0, 2.0, 2.0]);
    near(&unary(66), &[-1.5f32, 0.5, 2.0, 2.5].map(f32::sin));
    near(&unary(108), &[-1.5f32, 0.5, 2.0, 2.5].map(f32::cos));
    near(&one(73, &[X(&[1], &[2.0])], None, &[1]), &[std::f32::consts::LN_2]);
    near(&one(150, &[X(&[2], &[0.0, 1.0])], flags(116, &[0]), &[2]), &[0.0, 0.841_344_8]);
    near(&one(150, &[X(&[2], &[0.0, 1.0])], flags(116, &[1]), &[2]), &[0.0, 0.841_192]);
    let both = |code| one(code, &[X(&[2], &[-7.0, 7.0]), X(&[1], &[2.0])], None, &[2]);
    near(&both(78), &[49.0, 49.0]);
    near(&both(99), &[81.0, 25.0]);
    near(&both(90), &[-4.0, 3.0]);
    near(&both(95), &[1.0, 1.0]);
    let truth = |code| results(code, &[x(), X(&[1], &[2.0])], None, &[(BOOL, &[4])]).unwrap().remove(0);
    near(&truth(71), &[0.0, 0.0, 1.0, 0.0]);
    near(&truth(72), &[1.0, 1.0, 0.0, 1.0]);
    near(&truth(58), &[1.0, 1.0, 0.0, 0.0]);
    near(&truth(63), &[1.0, 1.0, 1.0, 0.0]);
    near(&truth(61), &[0.0, 0.0, 0.0, 1.0]);
    near(&truth(62), &[0.0, 0.0, 1.0, 1.0]);
    let (p, q) = (&[1.0, 1.0, 0.0][..], &[1.0, 0.0, 0.0][..]);
    let logic = |code| results(code, &[T(BOOL, &[3], p), T(BOOL, &[3], q)], None, &[(BOOL, &[3])]).unwrap().remove(0);
    near(&logic(86), q);
    near(&logic(84), p);
    near(&results(87, &[T(BOOL, &[3], q)], None, &[(BOOL, &[3])]).unwrap()[0], &[0.0, 1.0, 1.0]);
}

/// SELECT and its broadcast.
#[test]
fn choices() {
    let (yes, no) = (&[1.0, 2.0, 3.0, 4.0][..], &[-1.0, -2.0, -3.0, -4.0][..]);
    let rows = one(64, &[T(BOOL, &[2], &[0.0, 1.0]), X(&[2, 2], yes), X(&[2, 2], no)], None, &[2, 2]);
    near(&rows, &[-1.0, -2.0, 3.0, 4.0]);
    let columns = one(123, &[T(BOOL, &[2], &[0.0, 1.0]), X(&[2, 2], yes), X(&[2, 1], &no[..2])], None, &[2, 2]);
    near(&columns, &[-1.0, 2.0, -2.0, 4.0]);
    assert!(results(123, &[T(BOOL, &[3], q3()), X(&[2], yes), X(&[2], no)], None, &[(F32, &[2])]).is_err());
}

fn q3() -> &'static [f32] {
    &SIX[..3]
}

/// Integers and truth values in float textures.
#[test]
fn types_are_floats_that_hold_them() {
    let cast = |from, to, values: &[f32]| {
        let n = values.len() as i32;
        results(53, &[T(from, &[n], values)], None, &[(to, &[n])]).unwrap().remove(0)
    };
    near(&cast(F32, I32, &[-1.5, 2.75]), &[-1.0, 2.0]);
    near(&cast(F32, BOOL, &[-1.5, 0.0]), &[1.0, 0.0]);
    near(&cast(I32, F32, &[-7.0, 3.0]), &[-7.0, 3.0]);
    near(&cast(BOOL, F32, &[1.0, 0.0]), &[1.0, 0.0]);
    let divided = results(42, &[T(I32, &[2], &[7.0, -7.0]), N(&[2, 2])], flags(29, &[0]), &[(I32, &[2])]);
    near(&divided.unwrap()[0], &[3.0, -3.0]);
}

/// Scales and zero points, per tensor or per channel.
#[test]
fn quantised_tensors_are_real_values() {
    let mut m = Model::new();
    let x = m.tensor("x", &[1, 1, 1, 2], U8);
    m.scaled(x, &[0.5], &[10], 0);
    let w = m.constant("w", &[2, 1, 1, 2], I8, vec![2, 255, 4, 8]);
    m.scaled(w, &[0.5, 0.25], &[0, 0], 0);
    let bias = m.constant("b", &[2], I32, [8i32, -8].iter().flat_map(|v| v.to_le_bytes()).collect());
    m.scaled(bias, &[0.25, 0.125], &[0, 0], 0);
    let (q, y) = (m.tensor("q", &[1, 1, 1, 2], I8), m.floats("y", &[1, 1, 1, 2]));
    m.scaled(q, &[0.1], &[3], 0);
    m.op(3, &[x, w, bias], q, crate::support::tflite::conv(1, 1, 1, 0));
    m.op(6, &[q], y, None);
    let graph = import(m.bytes(&[x], &[y])).unwrap();
    let values = reference::graph(&graph, &[vec![3.0, -1.0]]).unwrap();
    // 3 * 1 - 1 * -0.5 + 2; 3 * 1 - 1 * 2 - 1.
    assert_eq!(values[graph.outputs[0]].as_deref(), Some(&[5.5, 0.0][..]));
}
