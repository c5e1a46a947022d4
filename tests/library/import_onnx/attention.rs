//! Attention in one operator, and rotary embeddings, against sums written out.

use texpool_ops::{graph::Graph, ops::reference};

use super::support::{
    import,
    onnx::{Attr, INT64, Model, bytes, number},
};

const INT32: i64 = 6;
const BOOL: i64 = 9;

/// Values without a pattern, from -1 to 1.
fn values(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i + seed) * (i + 3 * seed) * 37 % 101) as f32 / 50.0 - 1.0).collect()
}

/// Returns a model of the set that has attention and rotary embeddings.
fn newest() -> Model {
    let mut m = Model::new();
    m.opset = 23;
    m
}

/// Extents of queries and keys: batches, heads, heads of keys, places, keys and the size of a head.
#[derive(Clone, Copy)]
struct Extents {
    batch: usize,
    heads: usize,
    groups: usize,
    places: usize,
    keys: usize,
    size: usize,
}

impl Extents {
    /// Returns the attention of operands `[batch, heads, places, size]`. A batch, head, place and key have a bias.
    fn attended(self, [q, k, v]: [&[f32]; 3], scale: f64, bias: impl Fn([usize; 4]) -> f64) -> Vec<f64> {
        let Self { batch, heads, groups, places, keys, size } = self;
        let mut result = Vec::new();
        for b in 0..batch {
            for h in 0..heads {
                let shared = (b * groups + h * groups / heads) * keys;
                for place in 0..places {
                    let query = &q[((b * heads + h) * places + place) * size..][..size];
                    let row = |of: &[f32], key: usize| of[(shared + key) * size..][..size].to_vec();
                    let score = |key: usize| {
                        let products = query.iter().zip(row(k, key)).map(|(&a, b)| f64::from(a) * f64::from(b));
                        products.sum::<f64>() * scale + bias([b, h, place, key])
                    };
                    let weights: Vec<f64> = (0..keys).map(|key| score(key).exp()).collect();
                    let sum: f64 = weights.iter().sum();
                    let at =
                        |i: usize| (0..keys).map(|key| weights[key] * f64::from(row(v, key)[i])).sum::<f64>() / sum;
                    result.extend((0..size).map(at));
                }
            }
        }
        result
    }
}

/// Exchanges the second and third axes of `[batch, a, b, size]`.
fn turned<T: Copy>(values: &[T], [batch, a, b, size]: [usize; 4]) -> Vec<T> {
    let mut result = Vec::with_capacity(values.len());
    for n in 0..batch {
        for j in 0..b {
            for i in 0..a {
                result.extend_from_slice(&values[((n * a + i) * b + j) * size..][..size]);
            }
        }
    }
    result
}

fn assert_near(result: &[f32], expected: &[f64], case: &str) {
    assert_eq!(result.len(), expected.len(), "{case}");
    for (i, (&result, &expected)) in result.iter().zip(expected).enumerate() {
        assert!((f64::from(result) - expected).abs() < 1e-5, "{case} {i}: {result}, not {expected}");
    }
}

fn outputs(graph: &Graph, inputs: &[&[f32]]) -> Vec<Vec<f32>> {
    reference::outputs(graph, &inputs.iter().map(|values| values.to_vec()).collect::<Vec<_>>()).unwrap()
}

fn integers(m: &mut Model, name: &str, dims: &[i64], values: &[i32]) {
    m.tensor(name, INT32, dims, &bytes(9, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>()));
}

fn named(names: &[&str], m: &mut Model, dims: &[usize]) {
    let dims: Vec<i64> = dims.iter().map(|&extent| extent as i64).collect();
    names.iter().for_each(|name| m.input(name, &dims));
}

/// Heads of keys serve three heads of queries each, earlier keys precede the new ones, and a mask of truth values ends
/// before the last key.
#[test]
fn heads_share_keys_behind_earlier_ones() {
    let of = Extents { batch: 2, heads: 6, groups: 2, places: 3, keys: 5, size: 4 };
    let seen = |place: usize, key: usize| (place + key) % 3 != 1 && key < 4 || key == 0;
    let mask: Vec<u8> = (0..3).flat_map(|place| (0..4).map(move |key| u8::from(seen(place, key)))).collect();
    for is_flat in [false, true] {
        for is_causal in [false, true] {
            let mut m = newest();
            let (new, past) = ([2, 2, 3, 4], [2, 2, 2, 4]);
            match is_flat {
                true => {
                    named(&["q"], &mut m, &[2, 3, 24]);
                    named(&["k", "v"], &mut m, &[2, 3, 8]);
                }
                false => {
                    named(&["q"], &mut m, &[2, 6, 3, 4]);
                    named(&["k", "v"], &mut m, &new);
                }
            }
            named(&["past_k", "past_v"], &mut m, &past);
            m.tensor("mask", BOOL, &[3, 4], &bytes(9, &mask));
            let mut attributes = vec![("is_causal", Attr::Int(is_causal.into())), ("scale", Attr::Float(0.75))];
            if is_flat {
                attributes.extend([("q_num_heads", Attr::Int(6)), ("kv_num_heads", Attr::Int(2))]);
            }
            m.node("Attention", &["q", "k", "v", "mask", "past_k", "past_v"], &["y", "keys", "values"], &attributes);
            ["y", "keys", "values"].iter().for_each(|name| m.output(name));
            let [q, k, v] = [values(144, 1), values(48, 2), values(48, 5)];
            let [past_k, past_v] = [values(32, 7), values(32, 11)];
            let present = |past: &[f32], new: &[f32]| -> Vec<f32> {
                past.chunks(8).zip(new.chunks(12)).flat_map(|(past, new)| [past, new].concat()).collect()
            };
            let all = [present(&past_k, &k), present(&past_v, &v)];
            let bias = |[_, _, place, key]: [usize; 4]| match seen(place, key) && (!is_causal || key <= place + 2) {
                true => 0.0,
                false => f64::NEG_INFINITY,
            };
            let mut expected = of.attended([&q, &all[0], &all[1]], 0.75, bias);
            let flat = |values: &[f32], heads| turned(values, [2, heads, 3, 4]);
            let given = match is_flat {
                true => {
                    expected = turned(&expected, [2, 6, 3, 4]);
                    [flat(&q, 6), flat(&k, 2), flat(&v, 2)]
                }
                false => [q, k, v],
            };
            let [q, k, v] = &given;
            let results = outputs(&import(m.bytes()).unwrap(), &[q, k, v, &past_k, &past_v]);
            assert_near(&results[0], &expected, &format!("flat {is_flat}, causal {is_causal}"));
            assert_eq!(results[1..], all);
        }
    }
}

/// Returns what is asked for of the scores, for each of the four numbers.
#[test]
fn scores_are_results_in_four_stages() {
    let (q, k) = (values(8, 1), values(8, 4));
    let raw =
        |place: usize, key: usize| (0..4).map(|i| f64::from(q[place * 4 + i] * k[key * 4 + i])).sum::<f64>() * 0.5;
    let capped = |place, key| (raw(place, key) / 2.0).tanh() * 2.0;
    let biased = |place, key| capped(place, key) + if key > place { -3.0 } else { 0.0 };
    let weight = |place, key| biased(place, key).exp() / (0..2).map(|key| biased(place, key).exp()).sum::<f64>();
    let stages: [&dyn Fn(usize, usize) -> f64; 4] = [&raw, &capped, &biased, &weight];
    for (mode, stage) in stages.iter().enumerate() {
        let mut m = newest();
        named(&["q", "k"], &mut m, &[1, 1, 2, 4]);
        m.floats("mask", &[2, 2], &[0.0, -3.0, 0.0, 0.0]);
        let attributes = [("softcap", Attr::Float(2.0)), ("qk_matmul_output_mode", Attr::Int(mode as i64))];
        m.node("Attention", &["q", "k", "k", "mask"], &["y", "", "", "scores"], &attributes);
        m.output("scores");
        let expected: Vec<f64> = (0..4).map(|i| stage(i / 2, i % 2)).collect();
        assert_near(&outputs(&import(m.bytes()).unwrap(), &[&q, &k])[0], &expected, &format!("mode {mode}"));
    }
}

/// Extents of a mask, its numbers, and whether each batch sees a key.
type Form<'f> = (&'f [i64], Vec<i32>, [[i32; 4]; 2]);

/// The masks of keys that ONNX Runtime's optimiser writes for encoders, known and computed.
#[test]
fn masks_of_keys_have_many_forms() {
    let of = Extents { batch: 2, heads: 2, groups: 2, places: 4, keys: 4, size: 3 };
    let [q, k, v] = [values(48, 1), values(48, 2), values(48, 5)];
    // Of the first batch, keys 1 and 2, and of the other one all but the last.
    let seen = [[0, 1, 1, 0], [1, 1, 1, 0]];
    let raw: Vec<i32> = seen.concat();
    let forms: [Form<'_>; 4] = [
        (&[2], vec![2, 3], [[1, 1, 0, 0], [1, 1, 1, 0]]),
        (&[4], vec![3, 3, 1, 0], seen),
        (&[2, 4], raw.clone(), seen),
        (&[2, 4, 4], seen.iter().flat_map(|row| row.repeat(4)).collect(), seen),
    ];
    for (dims, mask, seen) in forms {
        for is_known in [true, false] {
            let mut m = Model::new();
            named(&["q", "k", "v"], &mut m, &[2, 4, 6]);
            match is_known {
                true => integers(&mut m, "mask", dims, &mask),
                false => m.raw_input("mask", INT32, &dims.iter().map(|&n| number(1, n)).collect::<Vec<_>>()),
            }
            let attributes = [("num_heads", Attr::Int(2))];
            m.node("com.microsoft.MultiHeadAttention", &["q", "k", "v", "", "mask"], &["y"], &attributes);
            m.output("y");
            let given = [&q, &k, &v].map(|values| turned(values, [2, 2, 4, 3]));
            let numbers: Vec<f32> = mask.iter().map(|&number| number as f32).collect();
            let mut inputs: Vec<&[f32]> = given.iter().map(Vec::as_slice).collect();
            if !is_known {
                inputs.push(&numbers);
            }
            let bias = |[b, _, _, key]: [usize; 4]| if seen[b][key] == 0 { -10_000.0 } else { 0.0 };
            let expected = turned(&of.attended([&q, &k, &v], 1.0 / 3f64.sqrt(), bias), [2, 2, 4, 3]);
            let results = outputs(&import(m.bytes()).unwrap(), &inputs);
            assert_near(&results[0], &expected, &format!("{dims:?}, known {is_known}"));
        }
    }
}

/// The product that makes queries, keys and values, with a bias and a state, as GPT-2 has it.
#[test]
fn one_matrix_makes_queries_keys_and_values() {
    let of = Extents { batch: 1, heads: 2, groups: 2, places: 2, keys: 5, size: 3 };
    let (x, weights, bias, past) = (values(8, 1), values(72, 3), values(18, 2), values(36, 9));
    for are_known in [true, false] {
        let mut m = Model::new();
        named(&["x"], &mut m, &[1, 2, 4]);
        named(&["past"], &mut m, &[2, 1, 2, 3, 3]);
        let mut inputs: Vec<&[f32]> = vec![&x, &past];
        if are_known {
            m.floats("w", &[4, 18], &weights);
            m.floats("b", &[18], &bias);
        } else {
            named(&["w"], &mut m, &[4, 18]);
            named(&["b"], &mut m, &[18]);
            inputs.extend([&weights[..], &bias[..]]);
        }
        let attributes = [("num_heads", Attr::Int(2)), ("unidirectional", Attr::Int(1))];
        m.node("com.microsoft.Attention", &["x", "w", "b", "", "past"], &["y", "present"], &attributes);
        ["y", "present"].iter().for_each(|name| m.output(name));
        // Part 0 are queries, 1 keys and 2 values: `[heads, places, size]` each.
        let part = |part: usize| -> Vec<f32> {
            let column = |place: usize, at: usize| {
                (0..4).map(|i| x[place * 4 + i] * weights[i * 18 + at]).sum::<f32>() + bias[at]
            };
            let all = (0..2).flat_map(|head| (0..2).flat_map(move |place| (0..3).map(move |i| (head, place, i))));
            all.map(|(head, place, i)| column(place, part * 6 + head * 3 + i)).collect()
        };
        let joined = |before: &[f32], new: &[f32]| -> Vec<f32> {
            before.chunks(9).zip(new.chunks(6)).flat_map(|(before, new)| [before, new].concat()).collect()
        };
        let (keys, all) = (joined(&past[..18], &part(1)), joined(&past[18..], &part(2)));
        let bias = |[_, _, place, key]: [usize; 4]| if key > place + 3 { f64::NEG_INFINITY } else { 0.0 };
        let expected = turned(&of.attended([&part(0), &keys, &all], 1.0 / 3f64.sqrt(), bias), [1, 2, 2, 3]);
        let results = outputs(&import(m.bytes()).unwrap(), &inputs);
        assert_near(&results[0], &expected, &format!("known {are_known}"));
        let present: Vec<f64> = [keys, all].concat().into_iter().map(f64::from).collect();
        assert_near(&results[1], &present, "present");
    }
}

/// Turned queries and keys behind earlier ones, as decoders with shared keys have them. A packed operand has all three.
#[test]
fn decoders_turn_queries_and_keys() {
    let of = Extents { batch: 1, heads: 4, groups: 2, places: 2, keys: 5, size: 4 };
    let [q, k, v] = [values(32, 1), values(16, 2), values(16, 5)];
    let [past_k, past_v] = [values(24, 7), values(24, 11)];
    let angles: Vec<f32> = (0..16).map(|i| (i / 2) as f32 * if i % 2 == 0 { 1.0 } else { 0.1 }).collect();
    let turn = |values: &[f32]| -> Vec<f32> {
        let pairs = |(row, x): (usize, &[f32])| {
            let wave = |i: usize| angles[(row % 2 + 3) * 2 + i].sin_cos();
            let real = (0..2).map(|i| x[i] * wave(i).1 - x[i + 2] * wave(i).0).collect::<Vec<_>>();
            let imaginary = (0..2).map(|i| x[i] * wave(i).0 + x[i + 2] * wave(i).1).collect::<Vec<_>>();
            [real, imaginary].concat()
        };
        values.chunks(4).enumerate().flat_map(pairs).collect()
    };
    let present = |past: &[f32], new: &[f32]| -> Vec<f32> {
        past.chunks(12).zip(new.chunks(8)).flat_map(|(past, new)| [past, new].concat()).collect()
    };
    let all = [present(&past_k, &turn(&k)), present(&past_v, &v)];
    let bias = |[_, _, place, key]: [usize; 4]| match key > place + 3 || key + 3 <= place + 3 {
        true => f64::NEG_INFINITY,
        false => 0.0,
    };
    let expected = turned(&of.attended([&turn(&q), &all[0], &all[1]], 0.5, bias), [1, 4, 2, 4]);
    let [q, k, v] = [(q, 4), (k, 2), (v, 2)].map(|(values, heads)| turned(&values, [1, heads, 2, 4]));
    let packed: Vec<f32> =
        (0..2).flat_map(|i| [&q[i * 16..][..16], &k[i * 8..][..8], &v[i * 8..][..8]].concat()).collect();
    for is_packed in [false, true] {
        let graph = |length: i32| {
            let mut m = Model::new();
            let names = if is_packed { vec!["q"] } else { vec!["q", "k", "v"] };
            for (&name, width) in names.iter().zip([if is_packed { 32 } else { 16 }, 8, 8]) {
                named(&[name], &mut m, &[1, 2, width]);
            }
            named(&["past_k", "past_v"], &mut m, &[1, 2, 3, 4]);
            integers(&mut m, "lengths", &[1], &[length]);
            integers(&mut m, "all", &[], &[5]);
            m.floats("cosines", &[8, 2], &angles.iter().map(|angle| angle.cos()).collect::<Vec<_>>());
            m.floats("sines", &[8, 2], &angles.iter().map(|angle| angle.sin()).collect::<Vec<_>>());
            let [keys, values] = if is_packed { [""; 2] } else { ["k", "v"] };
            let operands = ["q", keys, values, "past_k", "past_v", "lengths", "all", "cosines", "sines"];
            let attributes = [
                ("num_heads", Attr::Int(4)),
                ("kv_num_heads", Attr::Int(2)),
                ("do_rotary", Attr::Int(1)),
                ("local_window_size", Attr::Int(3)),
            ];
            m.node("com.microsoft.GroupQueryAttention", &operands, &["y", "keys", "values"], &attributes);
            ["y", "keys", "values"].iter().for_each(|name| m.output(name));
            import(m.bytes())
        };
        let inputs: Vec<&[f32]> = if is_packed { vec![&packed] } else { vec![&q, &k, &v] };
        let results = outputs(&graph(4).unwrap(), &[inputs, vec![&past_k, &past_v]].concat());
        assert_near(&results[0], &expected, &format!("packed {is_packed}"));
        let keys: Vec<f64> = all[0].iter().map(|&value| f64::from(value)).collect();
        assert_near(&results[1], &keys, "keys");
        assert_eq!(results[2], all[1]);
        let partly = graph(3).unwrap_err().to_string();
        assert!(partly.contains("its lengths are [3], its earlier keys and its own are 5"), "{partly}");
    }
}

/// Pairs of neighbours, and of values that are half of the turned ones apart, with more values behind.
#[test]
fn first_values_turn_by_their_place() {
    let x = values(2 * 3 * 6, 1);
    for is_interleaved in [false, true] {
        for is_known in [true, false] {
            let mut m = newest();
            named(&["x"], &mut m, &[1, 2, 3, 6]);
            let tables = [values(8, 2), values(8, 5)];
            m.floats("cosines", &[4, 2], &tables[0]);
            m.floats("sines", &[4, 2], &tables[1]);
            let places = [3i64, 0, 2];
            match is_known {
                true => m.tensor("places", INT64, &[1, 3], &bytes(9, &places.map(i64::to_le_bytes).concat())),
                false => m.raw_input("places", INT64, &[number(1, 1), number(1, 3)]),
            }
            let attributes =
                [("interleaved", Attr::Int(is_interleaved.into())), ("rotary_embedding_dim", Attr::Int(4))];
            m.node("RotaryEmbedding", &["x", "cosines", "sines", "places"], &["y"], &attributes);
            m.output("y");
            let expected: Vec<f64> = (0..36)
                .map(|at| {
                    let (row, i) = (at / 6, at % 6);
                    let pair = if is_interleaved { i / 2 % 2 } else { i % 2 };
                    let is_first = if is_interleaved { i % 2 == 0 } else { i < 2 };
                    let other = if is_interleaved { i ^ 1 } else { (i + 2) % 4 };
                    let [cosine, sine] = [0, 1].map(|table| tables[table][places[row % 3] as usize * 2 + pair]);
                    f64::from(match i {
                        4.. => x[at],
                        _ if is_first => x[at] * cosine - x[row * 6 + other] * sine,
                        _ => x[at] * cosine + x[row * 6 + other] * sine,
                    })
                })
                .collect();
            let mut inputs: Vec<&[f32]> = vec![&x];
            let numbers = places.map(|place| place as f32);
            if !is_known {
                inputs.push(&numbers);
            }
            let results = outputs(&import(m.bytes()).unwrap(), &inputs);
            assert_near(&results[0], &expected, &format!("interleaved {is_interleaved}, known {is_known}"));
        }
    }
}

/// The number of words is an integer, and its mark must not hold for the embeddings, which are not.
#[test]
fn embeddings_count_their_words() {
    let mut m = Model::new();
    m.raw_input("words", INT32, &[number(1, 1), number(1, 3)]);
    m.raw_input("mask", INT32, &[number(1, 1), number(1, 3)]);
    let tables = [values(10, 3), values(6, 4)];
    m.floats("table", &[5, 2], &tables[0]);
    m.floats("places", &[3, 2], &tables[1]);
    m.floats("scale", &[2], &[2.0, 3.0]);
    m.floats("shift", &[2], &[0.5, 0.25]);
    let operands = ["words", "", "table", "places", "", "scale", "shift", "mask"];
    m.node("com.microsoft.EmbedLayerNormalization", &operands, &["y", "count", "sum"], &[]);
    ["y", "count", "sum"].iter().for_each(|name| m.output(name));
    let graph = import(m.bytes()).unwrap();
    let results = outputs(&graph, &[&[4.0, 1.0, 2.0], &[1.0, 1.0, 0.0]]);
    let sum: Vec<f32> = [4usize, 1, 2]
        .iter()
        .enumerate()
        .flat_map(|(i, &w)| [0, 1].map(|c| tables[0][w * 2 + c] + tables[1][i * 2 + c]))
        .collect();
    let expected: Vec<f64> = sum
        .chunks(2)
        .flat_map(|row| {
            let sign = f64::from((row[0] - row[1]).signum());
            [0.5 + 2.0 * sign, 0.25 - 3.0 * sign]
        })
        .collect();
    assert_near(&results[0], &expected, "embeddings");
    assert_eq!(results[1..], [vec![2.0], sum]);
    let marks = graph.nodes.iter().filter(|node| node.output == graph.outputs[0]).map(|node| node.integers);
    assert!(marks.eq([None]));
}
