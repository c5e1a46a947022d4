//! Seeds for the `.tflite` importer: lines as `lines` reads them. An operator is its name and its code; `options` names
//! the tag of its options, whose fields follow by type and slot (`i6=2` is a 32-bit 2 in slot 6).

use std::collections::BTreeMap;

use super::{boxes, landmarks, variables};
use crate::support::{
    inputs,
    lines::{self, Operand, list, nodes},
    tflite::{F16, F32, Field, I8, I32, I64, Model, Table, U8, conv, file, flags},
};

const BOOL: i8 = 6;
const COMPLEX: i8 = 8;

/// Names of the files, and their lines.
#[rustfmt::skip]
const LINES: [(&str, &str); 49] = [
    ("conv", "CONV_2D/3 x:1,7,7,2 w=4,3,3,2 b=4 -> y:1,4,4,4 options=1 b4=0 i6=2 i8=2 b10=1 i12=1 i14=1"),
    ("conv_dilated", "CONV_2D/3 x:1,7,7,4 w=4,3,3,2 b=4 -> y:1,3,3,4 options=1 b4=1 i6=1 i8=1 b10=3 i12=2 i14=2"),
    ("depthwise", "DEPTHWISE_CONV_2D/4 x:1,5,5,2 w=1,3,3,4 b=4 -> y:1,5,5,4 options=2 b4=0 i6=1 i8=1 i10=2 b12=1 i14=1 i16=1"),
    ("transpose_conv", "TRANSPOSE_CONV/67 s!1,6,6,3 w=3,3,3,2 x:1,3,3,2 b=3 -> y:1,6,6,3 options=49 b4=0 i6=2 i8=2 b10=1"),
    ("conv_volume", "CONV_3D/132 x:1,5,4,3,2 w=3,2,1,2,4 b=4 -> y:1,3,4,3,4 options=106 b4=0 i6=2 i8=1 i10=1 b12=1 i14=1 i16=1 i18=1"),
    ("conv_transpose_volume", "CONV_3D_TRANSPOSE/141 s!1,4,2,3,3 w=2,1,1,3,2 x:1,2,2,3,2 b=3 -> y:1,4,2,3,3 options=106 b4=1 i6=2 i8=1 i10=1 b12=0"),
    ("fully_connected", "FULLY_CONNECTED/9 x:2,3,4 w=5,4 b=5 -> y:6,5 options=8 b4=1 b6=0 b8=0"),
    ("pools", "MAX_POOL_2D/17 x:1,6,6,3 -> p:1,3,3,3 options=5 b4=1 i6=2 i8=2 i10=2 i12=2;AVERAGE_POOL_2D/1 p -> y:1,3,3,3 options=5 b4=0 i6=1 i8=1 i10=2 i12=3 b14=1"),
    ("add_mul", "ADD/0 x:1,2,2,3 a*1,2,0.5 -> s:1,2,2,3 options=11 b4=1;MUL/18 s x -> y:1,2,2,3 options=21 b4=0"),
    ("sub_div", "SUB/41 x:2,3 a=2,1 -> s:2,3 options=28 b4=2;DIV/42 s x -> y:2,3 options=29 b4=0"),
    ("binary", "MAXIMUM/55 x:2,3 z:3 -> a:2,3;MINIMUM/57 a x -> b:2,3;POW/78 b z -> c:2,3;SQUARED_DIFFERENCE/99 c x -> d:2,3;FLOOR_DIV/90 d z -> e:2,3;FLOOR_MOD/95 e z -> y:2,3"),
    ("compare", "LESS/58 x:2,3 z:3 -> a:2,3~bool;GREATER_EQUAL/62 x z -> b:2,3~bool;LOGICAL_AND/86 a b -> c:2,3~bool;LOGICAL_NOT/87 c -> d:2,3~bool;SELECT_V2/123 d x z -> y:2,3"),
    ("select", "SELECT/64 c:2~bool x:2,3 z:2,3 -> y:2,3"),
    ("unary", "ABS/101 x:2,3 -> a:2,3;SQRT/75 a -> b:2,3;LOGISTIC/14 b -> c:2,3;HARD_SWISH/117 c -> d:2,3;ELU/111 d -> e:2,3;RELU6/21 e -> f:2,3;TANH/28 f -> y:2,3"),
    ("unary_more", "EXP/47 x:5 -> a:5;LOG/73 a -> b:5;SIN/66 b -> c:5;FLOOR/8 c -> d:5;NEG/59 d -> e:5;SIGN/158 e -> f:5;RSQRT/76 f -> g:5;SQUARE/92 g -> h:5;ROUND/116 h -> y:5"),
    ("leaky_gelu", "LEAKY_RELU/98 x:2,3 -> a:2,3 options=75 f4=0.25;GELU/150 a -> y:2,3 options=116 b4=1"),
    ("prelu", "PRELU/54 x:1,2,2,3 a=1,1,3 -> y:1,2,2,3"),
    ("softmax", "SOFTMAX/25 x:2,5 -> s:2,5 options=9 f4=1.0;LOG_SOFTMAX/50 s -> y:2,5"),
    ("reshape", "RESHAPE/22 x:2,3,4 s!4,-1 -> y:4,6 options=17 l4=4,6"),
    ("squeeze", "SQUEEZE/43 x:1,3,1,4 -> a:3,4 options=30 l4=0,2;EXPAND_DIMS/70 a k!!1 -> y:3,1,4"),
    ("transpose", "TRANSPOSE/39 x:2,3,4 p!2,0,1 -> y:4,2,3"),
    ("concat", "CONCATENATION/2 x:1,2,2,3 z:1,2,2,5 x -> y:1,2,2,11 options=10 i4=-1 b6=1"),
    ("pack", "PACK/83 x:2,3 z:2,3 -> a:2,2,3 options=59 i4=2 i6=1;UNPACK/88 a -> y:2,3 y1:2,3 options=64 i4=2 i6=1"),
    ("split", "SPLIT/49 k!!1 x:2,6 -> a:2,3 b:2,3 options=35 i4=2;SPLIT_V/102 a s!1,-1 l!!1 -> y:2,1 y1:2,2 options=79 i4=2"),
    ("slice", "SLICE/65 x:4,6 b!1,2 s!2,-1 -> a:2,4;STRIDED_SLICE/45 a c!0,3 d!2,0 e!1,-1 -> y:2,3 options=32 i4=0 i6=0 i8=0 i10=0 i12=0"),
    ("strided_masks", "STRIDED_SLICE/45 x:4,6,2 c!1,0,0 d!0,0,1 e!1,1,1 -> y:3,6 options=32 i4=2 i6=3 i8=0 i10=0 i12=4"),
    ("gather", "GATHER/36 x:4,3 i!2,0 -> a:2,3 options=23 i4=0 i6=0;EMBEDDING_LOOKUP/7 j:2~i32 t=5,3 -> b:2,3;ADD/0 a b -> y:2,3 options=11 b4=0"),
    ("tile", "TILE/69 x:1,2 r!2,3 -> a:2,6;BROADCAST_TO/130 a s!3,2,6 -> y:3,2,6"),
    ("pad_mirror", "MIRROR_PAD/100 x:3,4 p!1,1,0,2 -> a:5,6 options=77 b4=0;TRANSPOSE/39 a q!1,0 -> y:6,5"),
    ("space_batch", "SPACE_TO_BATCH_ND/38 x:1,4,4,2 b!2,2 p!0,0,0,0 -> a:4,2,2,2;CONV_2D/3 a w=2,1,1,2 c=2 -> d:4,2,2,2 options=1 b4=1 i6=1 i8=1;BATCH_TO_SPACE_ND/37 d b q!0,0,0,0 -> y:1,4,4,2"),
    ("blocks", "SPACE_TO_DEPTH/26 x:1,4,4,1 -> a:1,2,2,4 options=19 i4=2;DEPTH_TO_SPACE/5 a -> y:1,4,4,1 options=94 i4=2"),
    ("resize", "RESIZE_BILINEAR/23 x:1,3,3,2 s!6,5 -> a:1,6,5,2 options=15 b8=0 b10=1;RESIZE_NEAREST_NEIGHBOR/97 a t!3,3 -> y:1,3,3,2 options=74 b4=1"),
    ("mean", "MEAN/40 x:1,3,3,4 a!1,2 -> y:1,4 options=27 b4=0"),
    ("reduce", "SUM/74 x:2,3,4 a!-1 -> b:2,3,1 options=27 b4=1;REDUCE_MAX/82 b a -> c:2,3 options=27;REDUCE_PROD/81 c d!0 -> y:3 options=27"),
    ("arg_max", "ARG_MAX/56 x:2,5 k!!1 -> y:2~i32"),
    ("topk", "TOPK_V2/48 x:2,5 k!!3 -> y:2,3 y1:2,3~i32"),
    ("cumsum", "CUMSUM/128 x:2,5 k!!1 -> y:2,5 options=102 b4=1 b6=1"),
    ("batch_matmul", "BATCH_MATMUL/126 x:2,3,4 z:2,5,4 -> y:2,3,5 options=101 b4=0 b6=1"),
    ("l2_norm", "L2_NORMALIZATION/11 x:2,4 -> y:2,4 options=12 b4=0"),
    ("lrn", "LOCAL_RESPONSE_NORMALIZATION/13 x:1,2,2,5 -> y:1,2,2,5 options=13 i4=2 f6=1.0 f8=0.5 f10=0.75"),
    ("cast", "CAST/53 x:2,3~i32 -> a:2,3;CAST/53 a -> y:2,3~bool"),
    ("integers", "ADD/0 x:4~i32 n!1,2,3,4 -> a:4~i32 options=11 b4=0;DIV/42 a n -> y:4~i64 options=29"),
    ("five", "RELU/19 x:2,2,1,3,2 -> y:2,2,1,3,2"),
    ("reverse", "REVERSE_V2/105 x:2,3,4 a!0,-1 -> y:2,3,4"),
    ("frames", "RANGE/96 a!!0 b!!3 c!!1 -> r:3~i32;FILL/94 d!3 v!!2 -> f:3~i32;ADD/0 r f -> i:3~i32;GATHER/36 x:2,8 i -> y:2,3 options=23 i4=1"),
    ("spectrum", "RFFT2D/131 x:2,3,8 n!2,6 -> s:2,2,4~c64;RESHAPE/22 s e!4,4 -> t:4,4~c64;COMPLEX_ABS/135 t -> y:4,4;IMAG/133 t -> y1:4,4"),
    ("custom", "custom/Convolution2DTransposeBias x:1,4,5,2 w=3,4,4,2 b=3 -> y:1,10,9,3"),
    ("hostile_unknown", "LSTM/16 x:1,4 -> y:1,4"),
    ("hostile_cycle", "RELU/19 b:2 -> a:2;RELU/19 a -> b;RELU/19 b -> y:2"),
];

/// The files.
fn all() -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = LINES.iter().map(|&(name, line)| (name.to_owned(), model(line))).collect();
    let others = [("quantised", quantised()), ("half", half()), ("sparse", sparse()), ("recurrent", recurrent())];
    files.extend(others.map(|(n, f)| (n.to_owned(), f)));
    files.push(("variables".to_owned(), variables::running_sum()));
    let by_class = boxes::options(&[("use_regular_nms", 1.0)]);
    for (name, options) in [("detector", boxes::options(&[])), ("detector_by_class", by_class)] {
        files.push((name.to_owned(), boxes::detector(&options, [&[1, 3, 4], &[1, 3], &[1, 3], &[1]])));
    }
    let matrix = landmarks::with_rows([1.5, -1.5, 0.5], [2.0, 1.125, -3.5]);
    let (image, picture) = ([1, 2, 3, 5], landmarks::extents(4.0, 3.0));
    files.extend([
        ("region".to_owned(), landmarks::file(landmarks::MATRIX, &[1, 4, 3], None, &[1, 4, 4], landmarks::region(&[]))),
        ("picture".to_owned(), landmarks::file(landmarks::PICTURE, &image, Some(&matrix), &[1, 4, 3, 5], picture)),
        (
            "landmarks".to_owned(),
            landmarks::file(landmarks::LANDMARKS, &[1, 2, 3], Some(&matrix), &[1, 2, 3], Vec::new()),
        ),
    ]);
    let empty = |slot| file(&Table(vec![(4, Field::I32(3)), (slot, Field::Tables(vec![Table::default()]))]));
    files.extend([6, 8, 12].map(|slot| (format!("hostile_empty_{slot}"), empty(slot))));
    let mut huge = Model::new();
    let dims = [i32::MAX, i32::MAX];
    let (x, y) = (huge.floats("x", &dims), huge.floats("y", &dims));
    huge.op(19, &[x], y, None);
    files.push(("hostile_huge".to_owned(), huge.bytes(&[x], &[y])));
    files
}

/// A plain cell in both directions, with its states.
fn recurrent() -> Vec<u8> {
    let mut m = Model::new();
    let x = m.floats("x", &[2, 3, 4]);
    let mut operands = vec![x];
    for name in ["forward", "backward"] {
        operands.extend([m.weights("w", &[2, 4]), m.weights("r", &[2, 2]), m.weights("b", &[2])]);
        let state = m.floats(name, &[3, 2]);
        m.tensors[state as usize].0.push((14, Field::Bool(true)));
        operands.push(state);
    }
    operands.extend([-1; 3]);
    let y = m.floats("y", &[2, 3, 4]);
    m.op(46, &operands, y, flags(70, &[1, 4, 1]));
    m.bytes(&[x], &[y])
}

/// The type of a name.
fn kind(name: &str) -> i8 {
    match name {
        "f32" => F32,
        "i32" => I32,
        "i64" => I64,
        "bool" => BOOL,
        "c64" => COMPLEX,
        other => unreachable!("no type {other}"),
    }
}

/// Tensors of a model by their names, and those that come in and go out.
#[derive(Default)]
struct Names<'a> {
    ids: BTreeMap<&'a str, i32>,
    inputs: Vec<i32>,
    outputs: Vec<i32>,
}

impl<'a> Names<'a> {
    /// An operand. It becomes an input if it declares itself and is not a constant.
    fn operand(&mut self, m: &mut Model, operand: &Operand<'a>) -> i32 {
        let id = self.result(m, operand);
        // A name that a later node computes can only occur in a cycle, and does not become an input.
        if let Operand::Input(..) = operand
            && !self.inputs.contains(&id)
        {
            self.inputs.push(id);
        }
        id
    }

    fn result(&mut self, m: &mut Model, result: &Operand<'a>) -> i32 {
        let small = |dims: &[i64]| dims.iter().map(|&d| d as i32).collect::<Vec<_>>();
        let (name, id) = match result {
            Operand::None => return -1,
            // An unknown name becomes an index that no tensor has.
            Operand::Known(name) => return self.ids.get(name).copied().unwrap_or(99),
            Operand::Input(name, dims, of) => {
                let dims: Vec<i64> = dims.iter().filter_map(|d| d.parse().ok()).collect();
                (name, m.tensor(name, &small(&dims), kind(of)))
            }
            Operand::Floats(name, dims) => {
                // Hostile extents have fewer values than they declare.
                let count = dims.iter().fold(1, |n: i64, &d| n.saturating_mul(d)).min(4096);
                let bytes = (1..=count).flat_map(|i| (i as f32 / 2.0).to_le_bytes()).collect();
                (name, m.constant(name, &small(dims), F32, bytes))
            }
            Operand::Values(name, values) => {
                let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                (name, m.constant(name, &[values.len() as i32], F32, bytes))
            }
            Operand::Ints(name, values) => (name, m.ints(name, &small(values))),
            Operand::Single(name, value) => (name, m.constant(name, &[], I32, (*value as i32).to_le_bytes().to_vec())),
        };
        self.ids.insert(name, id);
        if name.starts_with('y') {
            self.outputs.push(id);
        }
        id
    }
}

fn model(line: &str) -> Vec<u8> {
    let mut m = Model::new();
    let mut names = Names::default();
    for node in nodes(line) {
        let operands: Vec<i32> = node.operands.iter().map(|operand| names.operand(&mut m, operand)).collect();
        let results: Vec<i32> = node.results.iter().map(|result| names.result(&mut m, result)).collect();
        let (kind, code) = node.operator.split_once('/').unwrap();
        if kind == "custom" {
            let options = [1i32, 2, 3].iter().flat_map(|v| v.to_le_bytes()).collect();
            m.custom(code, &operands, results.first().copied().unwrap_or(-1), options);
            continue;
        }
        let tag = node.attributes.first().map(|(_, tag)| tag.parse().unwrap_or(0));
        let fields = node.attributes.iter().skip(1).map(|&(slot, text)| field(slot, text)).collect();
        m.op_of_many(code.parse().unwrap(), &operands, &results, tag.map(|tag| (tag, Table(fields))));
    }
    m.bytes(&names.inputs, &names.outputs)
}

fn field(slot: &str, text: &str) -> (u16, Field) {
    let (kind, slot) = slot.split_at(1);
    let number = || text.parse().unwrap_or(0i64);
    let field = match kind {
        "b" => Field::I8(number() as i8),
        "i" => Field::I32(number() as i32),
        "f" => Field::F32(text.parse().unwrap_or(0.0)),
        _ => Field::Ints(list(text)),
    };
    (slot.parse().unwrap(), field)
}

/// 8-bit integers with scales.
fn quantised() -> Vec<u8> {
    let mut m = Model::new();
    let x = m.tensor("x", &[1, 2, 2, 2], U8);
    m.scaled(x, &[0.5], &[10], 0);
    let w = m.constant("w", &[2, 1, 1, 2], I8, vec![2, 255, 4, 8]);
    m.scaled(w, &[0.5, 0.25], &[0, 0], 0);
    let bias = m.constant("b", &[2], I32, [8i32, -8].iter().flat_map(|v| v.to_le_bytes()).collect());
    m.scaled(bias, &[0.25, 0.125], &[0, 0], 0);
    let (q, y) = (m.tensor("q", &[1, 2, 2, 2], I8), m.floats("y", &[1, 2, 2, 2]));
    m.scaled(q, &[0.1], &[3], 0);
    m.op(3, &[x, w, bias], q, conv(1, 1, 1, 0));
    m.op(6, &[q], y, None);
    m.bytes(&[x], &[y])
}

/// 16-bit weights, converted to 32 bits.
fn half() -> Vec<u8> {
    let mut m = Model::new();
    let (x, y) = (m.floats("x", &[2, 4]), m.floats("y", &[2, 3]));
    let (packed, w) = (m.constant("h", &[3, 4], F16, [0, 0x3c].repeat(12)), m.floats("w", &[3, 4]));
    m.op(6, &[packed], w, None);
    m.op(9, &[x, w, -1], y, flags(8, &[0, 0]));
    m.bytes(&[x], &[y])
}

/// Weights that are mostly omitted: rows dense, columns compressed.
fn sparse() -> Vec<u8> {
    let mut m = Model::new();
    let (x, y) = (m.floats("x", &[1, 4]), m.floats("y", &[1, 3]));
    let w = m.constant("s", &[3, 4], F32, [1.0f32, 2.0, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect());
    let shorts = |list: &[u16]| Field::Table(Table(vec![(4, Field::Shorts(list.to_vec()))]));
    let rows = Table(vec![(4, Field::I8(0)), (6, Field::I32(3))]);
    let columns = Table(vec![
        (4, Field::I8(1)),
        (8, Field::I8(2)),
        (10, shorts(&[0, 1, 1, 3])),
        (12, Field::I8(2)),
        (14, shorts(&[2, 0, 3])),
    ]);
    let sparsity = Table(vec![(4, Field::Ints(vec![0, 1])), (8, Field::Tables(vec![rows, columns]))]);
    m.tensors[w as usize].0.push((16, Field::Table(sparsity)));
    let dense = m.floats("d", &[3, 4]);
    m.op(124, &[w], dense, None);
    m.op(9, &[x, dense, -1], y, flags(8, &[0, 0]));
    m.bytes(&[x], &[y])
}

#[test]
fn the_committed_seeds_are_what_the_writer_makes() {
    inputs::are_written("tflite", &all());
}

#[test]
fn seeds_are_imported_unless_they_are_hostile() {
    let unlike = |(name, bytes): (String, Vec<u8>)| {
        let answer = inputs::answer(&bytes);
        let refused = answer.is_err();
        (refused != name.starts_with("hostile")).then(|| format!("{name}: {answer:?}"))
    };
    let unlike: Vec<String> = all().into_iter().filter_map(unlike).collect();
    assert!(unlike.is_empty(), "{}", unlike.join("\n"));
}

#[test]
fn every_number_of_every_seed_taken_to_its_limits() {
    let changed = |(name, line)| lines::changed(line).into_iter().map(move |line| (name, line));
    let all = LINES.into_iter().flat_map(changed);
    inputs::answered(all.map(|(name, line)| (format!("{name}: {line}"), model(&line))));
}

#[test]
fn every_input_kept_is_an_answer_or_an_error() {
    inputs::are_answered("tflite");
}
