//! Operators that keep a state from run to run: TensorScatter, LinearAttention and CausalConvWithState; and running
//! products, determinants and bits, against loops over all elements.

use super::support::{
    import,
    onnx::{Attr, INT64, Model, bytes, number, typed},
};
use texpool_ops::ops::reference;

fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i * 37 % 101) as f32 / 50.0 - 1.0).collect()
}

fn outputs(m: &Model, inputs: &[Vec<f32>]) -> Vec<Vec<f32>> {
    reference::outputs(&import(m.bytes()).unwrap(), inputs).unwrap()
}

fn refusal(m: &Model) -> String {
    import(m.bytes()).unwrap_err().to_string()
}

/// A cache of two items with two heads of five places, to which `count` places are written.
fn cache(count: i64, mode: &'static str, starts: Option<[i64; 2]>) -> Model {
    let mut m = Model::new();
    m.input("cache", &[2, 2, 5, 3]);
    m.input("update", &[2, 2, count, 3]);
    match starts {
        Some(starts) => m.ints("starts", &starts),
        None => m.raw_input("starts", INT64, &[number(1, 2)]),
    }
    m.node("TensorScatter", &["cache", "update", "starts"], &["y"], &[("mode", Attr::Text(mode))]);
    m.output("y");
    m
}

#[test]
fn new_places_are_written_to_a_cache() {
    for (count, mode, starts) in
        [(1, "linear", [4, 0]), (2, "linear", [0, 3]), (3, "circular", [4, 1]), (5, "circular", [7, 0])]
    {
        let (before, update) = (values(60), values(12 * count).iter().map(|v| v + 9.0).collect::<Vec<f32>>());
        let mut expected = before.clone();
        for (i, &value) in update.iter().enumerate() {
            let (element, place, head) = (i % 3, i / 3 % count, i / 3 / count);
            let place = (starts[head / 2] as usize + place) % 5;
            expected[(head * 5 + place) * 3 + element] = value;
        }
        let given = starts.map(|start| start as f32).to_vec();
        let at_run_time = outputs(&cache(count as i64, mode, None), &[before.clone(), update.clone(), given]);
        assert_eq!(at_run_time, [expected.clone()], "{mode} {starts:?}");
        assert_eq!(outputs(&cache(count as i64, mode, Some(starts)), &[before, update]), [expected]);
    }
    let refused = refusal(&cache(6, "linear", None));
    assert!(refused.contains("it writes [2, 2, 6, 3] to a cache of [2, 2, 5, 3] along axis 2"), "{refused}");
}

/// One decoding step after another gives what all places at once give.
#[test]
fn linear_attention_goes_on_from_its_state() {
    let node = |places: i64, has_state: bool| {
        let mut m = Model::new();
        for (name, width) in [("q", 8), ("k", 4), ("v", 6), ("decay", 4), ("beta", 2)] {
            m.input(name, &[2, places, width]);
        }
        if has_state {
            m.input("state", &[2, 2, 2, 3]);
        }
        let state = if has_state { "state" } else { "" };
        let attributes = [("q_num_heads", Attr::Int(4)), ("kv_num_heads", Attr::Int(2))];
        m.node("LinearAttention", &["q", "k", "v", state, "decay", "beta"], &["y", "now"], &attributes);
        ["y", "now"].iter().for_each(|name| m.output(name));
        m
    };
    let all: Vec<Vec<f32>> = [8, 4, 6, 4, 2].iter().map(|width| values(2 * 3 * width)).collect();
    let whole = outputs(&node(3, false), &all);
    let at = |place: usize| {
        let row = |list: &Vec<f32>| {
            let width = list.len() / 6;
            [0, 1].iter().flat_map(|item| list[(item * 3 + place) * width..][..width].to_vec()).collect::<Vec<f32>>()
        };
        all.iter().map(row).collect::<Vec<_>>()
    };
    let mut state = None;
    let mut read = Vec::new();
    for place in 0..3 {
        let inputs = at(place).into_iter().chain(state.clone()).collect::<Vec<_>>();
        let step = outputs(&node(1, state.is_some()), &inputs);
        read.push(step[0].clone());
        state = Some(step[1].clone());
    }
    assert_eq!(state.unwrap(), whole[1]);
    for item in 0..2 {
        for (place, read) in read.iter().enumerate() {
            assert_eq!(read[item * 12..][..12], whole[0][(item * 3 + place) * 12..][..12]);
        }
    }
}

#[test]
fn linear_attention_has_a_limit_and_whole_groups() {
    let node = |places: i64, groups: i64| {
        let mut m = Model::new();
        ["q", "k", "v"].iter().for_each(|name| m.input(name, &[1, places, 4]));
        let attributes =
            [("q_num_heads", Attr::Int(4)), ("kv_num_heads", Attr::Int(groups)), ("update_rule", Attr::Text("linear"))];
        m.node("LinearAttention", &["q", "k", "v"], &["y"], &attributes);
        m.output("y");
        m
    };
    let refused = refusal(&node(2000, 4));
    assert!(refused.contains("2000 places, one after another: at most 1024 are supported"), "{refused}");
    let refused = refusal(&node(2, 3));
    assert!(refused.contains("4 heads of queries for 3 heads of keys"), "{refused}");
}

#[test]
fn causal_convolutions_refuse_a_state_of_another_window() {
    let mut m = Model::new();
    m.input("x", &[2, 3, 4]);
    m.floats("w", &[3, 1, 3], &values(9));
    m.input("state", &[2, 3, 3]);
    m.node("CausalConvWithState", &["x", "w", "", "state"], &["y"], &[]);
    m.output("y");
    let refused = refusal(&m);
    assert!(refused.contains("its past_state is [2, 3, 3], not [2, 3, 2]"), "{refused}");
}

#[test]
fn products_run_along_an_axis() {
    for (exclusive, reverse) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let mut m = Model::new();
        m.input("x", &[2, 5]);
        m.tensor("axis", INT64, &[], &bytes(9, &1i64.to_le_bytes()));
        let attributes = [("exclusive", Attr::Int(exclusive)), ("reverse", Attr::Int(reverse))];
        m.node("CumProd", &["x", "axis"], &["y"], &attributes);
        m.output("y");
        let x = [2.0, 3.0, 0.5, -1.0, 4.0, 1.0, 2.0, 2.0, 2.0, 5.0];
        let mut expected = vec![1.0; 10];
        for (i, value) in expected.iter_mut().enumerate() {
            for (other, factor) in x.iter().enumerate().filter(|(other, _)| other / 5 == i / 5) {
                let is_before = if reverse == 1 { other > i } else { other < i };
                if is_before || other == i && exclusive == 0 {
                    *value *= factor;
                }
            }
        }
        assert_eq!(outputs(&m, &[x.to_vec()]), [expected], "{exclusive} {reverse}");
    }
}

#[test]
fn determinants_are_of_small_matrices() {
    let det = |rows: i64| {
        let mut m = Model::new();
        m.input("x", &[2, rows, rows]);
        m.node("Det", &["x"], &["y"], &[]);
        m.output("y");
        m
    };
    let four = [2, 0, 1, 3, 1, 1, 0, 2, 0, 4, 1, 1, 3, 2, 2, 0].map(|n| n as f32);
    let three = [2.0, 1.0, 3.0, 0.0, 4.0, 1.0, 5.0, 2.0, 1.0];
    let twice = |one: &[f32], other: f32| [one.to_vec(), one.iter().map(|v| v * other).collect()].concat();
    assert_eq!(outputs(&det(4), &[twice(&four, -1.0)]), [[-30.0, -30.0]]);
    assert_eq!(outputs(&det(3), &[twice(&three, 2.0)]), [[-51.0, -408.0]]);
    let refused = refusal(&det(5));
    assert!(refused.contains("matrices of 5 rows: at most 4 are supported"), "{refused}");
}

/// Bits of small integers are those of other integers. Bits of floats are not at hand.
#[test]
fn bits_of_small_integers_are_read_as_others() {
    let cast = |from: i64, to: i64| {
        let mut m = Model::new();
        m.raw_input("x", from, &[number(1, 4)]);
        m.node("BitCast", &["x"], &["y"], &[("to", Attr::Int(to))]);
        m.outputs.push(typed("y", to, &[number(1, 4)]));
        m
    };
    let (u8, i8, u16, i16) = (2, 3, 4, 5);
    assert_eq!(outputs(&cast(u8, i8), &[vec![0.0, 127.0, 128.0, 255.0]]), [[0.0, 127.0, -128.0, -1.0]]);
    assert_eq!(outputs(&cast(i16, u16), &[vec![0.0, 5.0, -1.0, -32768.0]]), [[0.0, 5.0, 65535.0, 32768.0]]);
    let refused = refusal(&cast(1, 6));
    assert!(refused.contains("it reads the bits of"), "{refused}");
}
