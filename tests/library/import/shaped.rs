//! Ranges, fills and reversals, and arguments that are computed from extents.

use std::sync::Arc;

use texpool_model::import::{ImportOptions, from_bytes_with};
use texpool_ops::{
    graph::{Graph, Op},
    ops::reference,
};

use super::{
    import,
    one::{BOOL, K, N, S, T, X, near, results},
};
use crate::support::tflite::{F32, Field, I8, I32, I64, Model, Options, Table, flags, numbers};

const ADD: i32 = 0;
const CONCATENATION: i32 = 2;
const MUL: i32 = 18;
const RESHAPE: i32 = 22;
const GATHER: i32 = 36;
const SUB: i32 = 41;
const DIV: i32 = 42;
const STRIDED_SLICE: i32 = 45;
const CAST: i32 = 53;
const MINIMUM: i32 = 57;
const LESS: i32 = 58;
const SLICE: i32 = 65;
const TILE: i32 = 69;
const SHAPE: i32 = 77;
const REDUCE_PROD: i32 = 81;
const PACK: i32 = 83;
const FLOOR_DIV: i32 = 90;
const ZEROS_LIKE: i32 = 93;
const FILL: i32 = 94;
const RANGE: i32 = 96;
const SPLIT_V: i32 = 102;
const REVERSE_V2: i32 = 105;
const RANK: i32 = 110;
const IF: i32 = 118;
const BROADCAST_TO: i32 = 130;

fn counted(dims: &[i32]) -> Vec<f32> {
    (0..dims.iter().product::<i32>()).map(|i| i as f32).collect()
}

/// Each element goes to the other end of the listed axes.
#[test]
fn axes_are_reversed_at_every_rank() {
    let cases: [(&[i32], &[i32]); 8] = [
        (&[5], &[0]),
        (&[2, 3], &[-1]),
        (&[2, 3, 4], &[1]),
        (&[2, 3, 4], &[0, 2]),
        (&[2, 3, 2, 5], &[3, 0, 1, 2]),
        (&[1, 3, 1, 2], &[0, 2]),
        (&[2, 2, 3, 2, 2], &[2]),
        (&[2, 3, 4], &[]),
    ];
    for (dims, axes) in cases {
        let input = counted(dims);
        let answer = results(REVERSE_V2, &[X(dims, &input), N(axes)], None, &[(F32, dims)]).unwrap().remove(0);
        let reversed = |axis: usize| axes.iter().any(|&a| (a + dims.len() as i32) as usize % dims.len() == axis);
        let expected: Vec<f32> = (0..input.len())
            .map(|flat| {
                let (mut rest, mut from, mut step) = (flat, 0, 1);
                for (axis, &extent) in dims.iter().enumerate().rev() {
                    let (extent, index) = (extent as usize, rest % extent as usize);
                    from += step * if reversed(axis) { extent - 1 - index } else { index };
                    (rest, step) = (rest / extent, step * extent);
                }
                input[from]
            })
            .collect();
        assert_eq!(answer, expected, "{dims:?} {axes:?}");
    }
    let refused = |axes: &[i32], why: &str| {
        let error = results(REVERSE_V2, &[X(&[2, 3], &counted(&[2, 3])), N(axes)], None, &[(F32, &[2, 3])]);
        assert!(error.as_ref().is_err_and(|error| error.contains(why)), "{error:?}");
    };
    refused(&[2], "no axis 2 of 2");
    refused(&[1, -1], "name one twice");
    let axes = T(I32, &[1], &[0.0]);
    let error = results(REVERSE_V2, &[X(&[2], &[0.0, 1.0]), axes], None, &[(F32, &[2])]).unwrap_err();
    assert!(error.contains("its axes `x1` are computed at run time"), "{error}");
}

/// Adds the result of an operator on constants to an input of zeros.
fn of_constants(code: i32, operands: &[super::one::Operand<'_>], dtype: i8, dims: &[i32]) -> Result<Vec<f32>, String> {
    results(code, operands, None, &[(dtype, dims)]).map(|mut all| all.remove(0))
}

#[test]
fn ranges_count_from_a_start_to_a_limit() {
    let of_integers = |[start, limit, delta]: [i32; 3], count: i32| {
        of_constants(RANGE, &[S(start), S(limit), S(delta)], I32, &[count])
    };
    assert_eq!(of_integers([0, 4, 1], 4), Ok(vec![0.0, 1.0, 2.0, 3.0]));
    assert_eq!(of_integers([3, -4, -3], 3), Ok(vec![3.0, 0.0, -3.0]));
    assert_eq!(of_integers([-2, 6, 3], 3), Ok(vec![-2.0, 1.0, 4.0]));
    let of_floats = |[start, limit, delta]: [f32; 3], count: i32| {
        of_constants(RANGE, &[K(&[], &[start]), K(&[], &[limit]), K(&[], &[delta])], F32, &[count])
    };
    near(&of_floats([0.5, 2.0, 0.5], 3).unwrap(), &[0.5, 1.0, 1.5]);
    near(&of_floats([1.0, -0.25, -0.5], 3).unwrap(), &[1.0, 0.5, 0.0]);
    let refused = |outcome: Result<Vec<f32>, String>, why: &str| {
        assert!(outcome.as_ref().is_err_and(|error| error.contains(why)), "{outcome:?}");
    };
    refused(of_integers([0, 4, 0], 4), "it counts from 0 to 4 by 0, which leads nowhere");
    refused(of_integers([0, 4, -1], 4), "it counts from 0 to 4 by -1");
    refused(of_integers([2, 2, 1], 1), "its result has no elements");
    refused(of_integers([0, 4, 1], 5), "stated as [5], its operands give [4]");
    refused(of_integers([0, i32::MAX, 1], 4), "too large");
    refused(of_floats([0.0, 1.0, 0.0], 1), "leads nowhere");
    refused(of_floats([0.0, 1.0, -1.0], 1), "leads nowhere");
    refused(of_floats([0.0, f32::NAN, 1.0], 1), "leads nowhere");
    refused(of_floats([0.0, 1.0, f32::MIN_POSITIVE], 1), "too large");
    refused(of_constants(RANGE, &[S(0), N(&[1, 2]), S(1)], I32, &[4]), "its limit is no single number");
}

/// The refusal says which argument is computed, and which input decides it.
#[test]
fn a_range_of_a_computed_limit_is_refused_with_its_source() {
    let mut m = Model::new();
    let (count, start, delta) = (m.tensor("count", &[], I32), m.constant("start", &[], I32, vec![0; 4]), {
        m.constant("delta", &[], I32, 1i32.to_le_bytes().to_vec())
    });
    let (limit, y) = (m.tensor("limit", &[], I32), m.tensor("y", &[4], I32));
    m.op(ADD, &[count, delta], limit, flags(11, &[0]));
    m.op(RANGE, &[start, limit, delta], y, None);
    let text = import(m.bytes(&[count], &[y])).unwrap_err().to_string();
    assert!(text.contains("RANGE `y`: its limit `limit` is computed at run time from `count`"), "{text}");
}

/// The operand is computed, but its extents are not.
#[test]
fn ranks_and_zeros_follow_from_extents() {
    let rank = |dims: &[i32]| results(RANK, &[X(dims, &counted(dims))], None, &[(I32, &[])]).unwrap().remove(0);
    assert_eq!(rank(&[]), [0.0]);
    assert_eq!(rank(&[3]), [1.0]);
    assert_eq!(rank(&[1, 1, 2, 1, 3]), [5.0]);
    let wrong = results(RANK, &[X(&[2], &[0.0, 1.0])], None, &[(I32, &[1])]);
    assert!(wrong.as_ref().is_err_and(|error| error.contains("stated as [1], its operands give []")), "{wrong:?}");
    let zeros = |dtype: i8| results(ZEROS_LIKE, &[X(&[2, 3], &counted(&[2, 3]))], None, &[(dtype, &[2, 3])]);
    assert_eq!(zeros(F32), Ok(vec![vec![0.0; 6]]));
    assert_eq!(zeros(I32), Ok(vec![vec![0.0; 6]]));
    let scaled = zeros(I8);
    assert!(scaled.as_ref().is_err_and(|error| error.contains("ZEROS_LIKE")), "{scaled:?}");
    let truths = zeros(BOOL);
    assert!(truths.as_ref().is_err_and(|error| error.contains("its result holds truth values")), "{truths:?}");
}

/// A value of the file, in its type, and one that is computed.
#[test]
fn one_value_fills_a_tensor() {
    assert_eq!(of_constants(FILL, &[N(&[2, 3]), K(&[], &[0.5])], F32, &[2, 3]), Ok(vec![0.5; 6]));
    assert_eq!(of_constants(FILL, &[N(&[3]), S(7)], I32, &[3]), Ok(vec![7.0; 3]));
    assert_eq!(of_constants(FILL, &[N(&[2, 1, 2, 1, 3]), X(&[], &[4.0])], F32, &[2, 1, 2, 1, 3]), Ok(vec![4.0; 12]));
    let refused = |operands: &[super::one::Operand<'_>], dims: &[i32], why: &str| {
        let outcome = of_constants(FILL, operands, F32, dims);
        assert!(outcome.as_ref().is_err_and(|error| error.contains(why)), "{outcome:?}");
    };
    refused(&[N(&[2, -1]), K(&[], &[0.5])], &[2, 1], "its extents are [2, -1]");
    refused(&[N(&[2, 0]), K(&[], &[0.5])], &[2, 1], "no elements");
    refused(&[N(&[i32::MAX, i32::MAX]), K(&[], &[0.5])], &[2], "is too large");
    refused(&[N(&[2]), K(&[2], &[0.5, 1.0])], &[2], "no single value");
    refused(&[N(&[2]), K(&[], &[0.5])], &[3], "stated as [3], its operands give [2]");
    refused(&[T(I32, &[1], &[2.0]), K(&[], &[0.5])], &[2], "its extents `x0` are computed at run time");

    // Indices that exist once are checked like any others.
    let mut m = Model::new();
    let (x, y) = (m.floats("x", &[2]), m.floats("y", &[40]));
    let (dims, value, filled) = (m.ints("dims", &[40]), m.ints("value", &[9]), m.tensor("filled", &[40], I32));
    m.op(FILL, &[dims, value], filled, None);
    m.op(GATHER, &[x, filled], y, numbers(23, &[0]));
    let text = import(m.bytes(&[x], &[y])).unwrap_err().to_string();
    assert!(text.contains("the index 9 lies outside axis 0 of [2]"), "{text}");
}

/// A model that computes with extents, one operator after another.
struct Extents {
    m: Model,
    names: usize,
}

impl Extents {
    fn of(m: Model) -> Self {
        Self { m, names: 0 }
    }

    /// Begins with an input, and returns it and its extents.
    fn of_input(dims: &[i32]) -> (Self, i32, i32) {
        let mut m = Model::new();
        let x = m.floats("x", dims);
        let mut e = Self::of(m);
        let shape = e.op(SHAPE, &[x], &[dims.len() as i32], None);
        (e, x, shape)
    }

    fn op_to(&mut self, code: i32, inputs: &[i32], dims: &[i32], dtype: i8, options: Option<Options>) -> i32 {
        self.names += 1;
        let result = self.m.tensor(&format!("t{}", self.names), dims, dtype);
        self.m.op(code, inputs, result, options);
        result
    }

    fn op(&mut self, code: i32, inputs: &[i32], dims: &[i32], options: Option<Options>) -> i32 {
        self.op_to(code, inputs, dims, I32, options)
    }

    fn single(&mut self, value: i32) -> i32 {
        self.m.constant("n", &[], I32, value.to_le_bytes().to_vec())
    }

    /// Extent of an axis, as a single number.
    fn extent(&mut self, shape: i32, axis: i32) -> i32 {
        let (begin, end, step) =
            (self.m.ints("begin", &[axis]), self.m.ints("end", &[axis + 1]), self.m.ints("s", &[1]));
        self.op(STRIDED_SLICE, &[shape, begin, end, step], &[], numbers(32, &[0, 0, 0, 0, 1]))
    }
}

/// Every operator that takes numbers takes them from arithmetic of extents: sums, products, quotients, casts to floats
/// and back, parts, and joined lists.
#[test]
fn arguments_are_folded_from_extents() {
    let (mut e, x, shape) = Extents::of_input(&[2, 6]);
    let (rows, columns, two, one) = (e.extent(shape, 0), e.extent(shape, 1), e.single(2), e.single(1));
    // [2, 6] in floats: 6 / 2 = 3, and back in whole numbers.
    let (float, half) =
        (e.op_to(CAST, &[columns], &[], F32, None), e.m.constant("h", &[], F32, 2f32.to_le_bytes().to_vec()));
    let quotient = e.op_to(DIV, &[float, half], &[], F32, flags(29, &[0]));
    let three = e.op(CAST, &[quotient], &[], None);
    let axis = e.m.ints("axis", &[0]);
    let all = e.op(REDUCE_PROD, &[shape, axis], &[], flags(27, &[0]));
    let four = e.op(FLOOR_DIV, &[all, three], &[], None);
    let extents = e.op(PACK, &[four, three], &[2], numbers(59, &[2, 0]));
    let y = e.op_to(RESHAPE, &[x, extents], &[4, 3], F32, None);
    // The last two rows, from index 4 - 2, then their last column, by SLICE.
    let first = e.op(MUL, &[rows, one], &[], flags(21, &[0]));
    let zero = e.single(0);
    let begin = e.op(PACK, &[first, zero], &[2], numbers(59, &[2, 0]));
    let step = e.m.ints("steps", &[1, 1]);
    let below = e.op_to(STRIDED_SLICE, &[y, begin, extents, step], &[2, 3], F32, numbers(32, &[0; 5]));
    let last = e.op(PACK, &[zero, two], &[2], numbers(59, &[2, 0]));
    let size = e.op(PACK, &[two, one], &[2], numbers(59, &[2, 0]));
    let column = e.op_to(SLICE, &[below, last, size], &[2, 1], F32, None);
    // Repeated to [2, 3], then to [4, 3], and three of it.
    let wide = e.op(PACK, &[rows, three], &[2], numbers(59, &[2, 0]));
    let wide = e.op_to(BROADCAST_TO, &[column, wide], &[2, 3], F32, None);
    let times = e.op(PACK, &[two, one], &[2], numbers(59, &[2, 0]));
    let tall = e.op_to(TILE, &[wide, times], &[4, 3], F32, None);
    // Plus as many twos: the value is taken from the extents, by an index.
    let index = e.m.ints("index", &[0]);
    let value = e.op(GATHER, &[shape, index], &[1], numbers(23, &[0]));
    let value = e.op_to(CAST, &[value], &[1], F32, None);
    let filled = e.op_to(FILL, &[extents, value], &[4, 3], F32, None);
    let z = e.op_to(ADD, &[tall, filled], &[4, 3], F32, flags(11, &[0]));
    let graph = import(e.m.bytes(&[x], &[z])).unwrap();
    // 8 and 11 are the last column of the last two of four rows.
    let expected = [10.0, 10.0, 10.0, 13.0, 13.0, 13.0].repeat(2);
    assert_eq!(reference::outputs(&graph, &[counted(&[12])]).unwrap(), [expected]);
}

/// SPLIT_V of extents, whose last part has no elements, and lists joined again, as TensorFlow's frames are written.
#[test]
fn lists_are_split_into_parts_of_which_one_is_empty() {
    let (mut e, x, shape) = Extents::of_input(&[2, 6]);
    let (sizes, axis) = (e.m.ints("sizes", &[1, 1, 0]), e.single(0));
    let parts = [(&[1], "outer"), (&[1], "inner"), (&[0], "rest")].map(|(dims, name)| e.m.tensor(name, dims, I32));
    e.m.op_of_many(SPLIT_V, &[shape, sizes, axis], &parts, numbers(79, &[3]));
    let more = e.m.ints("more", &[3, 2]);
    let extents = e.op(CONCATENATION, &[parts[0], more], &[3], numbers(10, &[0]));
    let y = e.op_to(RESHAPE, &[x, extents], &[2, 3, 2], F32, None);
    let graph = import(e.m.bytes(&[x], &[y])).unwrap();
    assert_eq!((graph.nodes.len(), &*graph.tensors[graph.outputs[0]].dims), (1, &[2, 3, 2][..]));
}

/// Indices of frames, as TensorFlow's `signal.frame` makes them: a column of starts plus a row of offsets. They are more
/// than a list of axes could be, and are constants all the same.
#[test]
fn frames_are_taken_by_constant_indices() {
    let [count, length, step] = [20, 4, 2];
    let frames = (count - length) / step + 1;
    let (mut e, x, shape) = Extents::of_input(&[count]);
    let (values, zero, one) = (e.extent(shape, 0), e.single(0), e.single(1));
    let (less, by) = (e.single(length - step), e.single(step));
    let left = e.op(SUB, &[values, less], &[], flags(28, &[0]));
    let number = e.op(FLOOR_DIV, &[left, by], &[], None);
    let starts = e.op(RANGE, &[zero, number, one], &[frames], None);
    let starts = e.op(MUL, &[starts, by], &[frames], flags(21, &[0]));
    let column = e.op(PACK, &[number, one], &[2], numbers(59, &[2, 0]));
    let starts = e.op(RESHAPE, &[starts, column], &[frames, 1], None);
    let four = e.single(length);
    let offsets = e.op(RANGE, &[zero, four, one], &[length], None);
    let indices = e.op(ADD, &[starts, offsets], &[frames, length], flags(11, &[0]));
    let y = e.op_to(GATHER, &[x, indices], &[frames, length], F32, numbers(23, &[0]));
    let graph = import(e.m.bytes(&[x], &[y])).unwrap();
    assert!(graph.nodes.iter().all(|node| matches!(node.op, Op::Gather(_) | Op::Reshape)), "{:?}", graph.nodes);
    let input = counted(&[count]);
    let expected: Vec<f32> = input.windows(4).step_by(2).flatten().copied().collect();
    assert_eq!(reference::outputs(&graph, &[input]).unwrap(), [expected]);
}

/// Whole numbers that 32-bit floats round are not folded into a wrong one.
#[test]
fn whole_numbers_that_floats_round_are_not_folded() {
    let extent_of = |build: &dyn Fn(&mut Extents) -> i32| {
        let mut m = Model::new();
        let (x, y) = (m.floats("x", &[2]), m.floats("y", &[2, 1]));
        let mut e = Extents::of(m);
        let (extent, one) = (build(&mut e), e.single(1));
        let extents = e.op(PACK, &[extent, one], &[2], numbers(59, &[2, 0]));
        e.m.op(RESHAPE, &[x, extents], y, None);
        import(e.m.bytes(&[x], &[y])).map(|graph| graph.nodes.len()).map_err(|error| error.to_string())
    };
    // The sum 2^24 + 2, and the same number in the file, each less 2^24. Floats do not hold every whole number above that.
    let by_sum = |e: &mut Extents| {
        let (most, two) = (e.single(1 << 24), e.single(2));
        let sum = e.op(ADD, &[most, two], &[], flags(11, &[0]));
        e.op(SUB, &[sum, most], &[], flags(28, &[0]))
    };
    let by_operand = |e: &mut Extents| {
        let (more, most) = (e.single((1 << 24) + 2), e.single(1 << 24));
        e.op(SUB, &[more, most], &[], flags(28, &[0]))
    };
    for outcome in [extent_of(&by_sum), extent_of(&by_operand)] {
        assert!(outcome.as_ref().is_err_and(|error| error.contains("are computed at run time")), "{outcome:?}");
    }
    // The least of two numbers is exact if it is below.
    let least = |e: &mut Extents| {
        let (two, most) = (e.single(2), e.single(i32::MAX));
        e.op(MINIMUM, &[two, most], &[], None)
    };
    assert_eq!(extent_of(&least), Ok(1));
}

/// A comparison of extents decides a condition.
#[test]
fn a_condition_on_extents_takes_its_branch() {
    let mut m = Model::new();
    let (x, y) = (m.floats("x", &[2]), m.floats("y", &[2]));
    let mut e = Extents::of(m);
    let shape = e.op(SHAPE, &[x], &[1], None);
    let (extent, three) = (e.extent(shape, 0), e.single(3));
    let is_short = e.op_to(LESS, &[extent, three], &[], BOOL, None);
    e.m.op(IF, &[is_short, x], y, numbers(92, &[1, 2]));
    let mut root = e.m.root(&[x], &[y]);
    let Field::Tables(graphs) = &mut root.0[2].1 else { unreachable!("the graphs are the third field") };
    let tensors = ["in", "none"]
        .map(|name| Table(vec![(4, Field::Ints(vec![2])), (6, Field::I8(F32)), (10, Field::Text(name.to_owned()))]));
    // The first branch returns its operand, the second one what nothing computes.
    graphs.extend([0, 1].map(|output| {
        let tensors = (4, Field::Tables(tensors.to_vec()));
        Table(vec![tensors, (6, Field::Ints(vec![0])), (8, Field::Ints(vec![output]))])
    }));
    let graph = import(crate::support::tflite::file(&root)).unwrap();
    assert_eq!(reference::outputs(&graph, &[vec![3.0, 4.0]]).unwrap(), [[3.0, 4.0]]);
}

/// Halves of a signal whose length the file leaves open. All tensors behind it are stated with ones, as converters do.
fn halves() -> Vec<u8> {
    let mut m = Model::new();
    let x = m.floats("signal", &[1, 8]);
    let mut e = Extents::of(m);
    let shape = e.op(SHAPE, &[x], &[2], None);
    let (length, two) = (e.extent(shape, 1), e.single(2));
    let half = e.op(FLOOR_DIV, &[length, two], &[], None);
    let extents = e.op(PACK, &[two, half], &[2], numbers(59, &[2, 0]));
    let rows = e.op_to(RESHAPE, &[x, extents], &[1, 1], F32, None);
    let axis = e.m.ints("axis", &[1]);
    let reversed = e.op_to(REVERSE_V2, &[rows, axis], &[1, 1], F32, None);
    let y = e.op_to(ADD, &[reversed, rows], &[1, 1], F32, flags(11, &[0]));
    for tensor in [rows, reversed, y] {
        e.m.tensors[tensor as usize].0.push((18, Field::Ints(vec![-1, -1])));
    }
    e.m.tensors[x as usize].0.push((18, Field::Ints(vec![1, -1])));
    e.m.bytes(&[x], &[y])
}

fn opened(dims: &[(&str, usize)]) -> Result<Graph, String> {
    let dims = dims.iter().map(|(name, extent)| ((*name).to_owned(), *extent)).collect();
    from_bytes_with(Arc::new(halves()), &ImportOptions { dims, ..ImportOptions::default() }).map_err(|e| e.to_string())
}

/// A file states extents of its inputs that fit; those behind them follow from these where they are left open.
#[test]
fn stated_placeholders_of_open_extents_are_replaced() {
    for (dims, length) in [(&[][..], 8), (&[("signal:1", 6)], 6)] {
        let graph = opened(dims).unwrap();
        assert_eq!(graph.tensors[graph.outputs[0]].dims, [2, length / 2]);
        let input: Vec<f32> = (0..length).map(|i| (i * i) as f32).collect();
        let expected: Vec<f32> = input
            .chunks(length / 2)
            .flat_map(|row| row.iter().zip(row.iter().rev()).map(|(a, b)| a + b).collect::<Vec<_>>())
            .collect();
        assert_eq!(reference::outputs(&graph, &[input]).unwrap(), [expected]);
    }
    let text = opened(&[("signal:1", 7)]).unwrap_err();
    assert!(text.contains("are not the same elements"), "{text}");
}

/// SHAPE and arithmetic in 64 bits.
#[test]
fn extents_of_64_bits_are_folded() {
    let mut m = Model::new();
    let x = m.floats("x", &[2, 6]);
    let mut e = Extents::of(m);
    let shape = e.op_to(SHAPE, &[x], &[2], I64, Some((55, Table(vec![(4, Field::I8(I64))]))));
    let axis = e.m.ints("axis", &[0]);
    let count = e.op_to(REDUCE_PROD, &[shape, axis], &[1], I64, flags(27, &[1]));
    let y = e.op_to(RESHAPE, &[x, count], &[12], F32, None);
    let graph = import(e.m.bytes(&[x], &[y])).unwrap();
    assert_eq!(graph.nodes.len(), 1);
}
