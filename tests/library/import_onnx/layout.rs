//! With any layout that the importer chooses, the caller sees the extents and values of the file.

use proptest::prelude::*;

use super::support::{
    import,
    onnx::{Attr, Model},
    run,
};

/// An array of any rank, computed in the simplest way.
#[derive(Clone, Debug)]
struct Plain {
    dims: Vec<usize>,
    values: Vec<f32>,
}

impl Plain {
    /// Returns the array whose elements are the results of `source` for each index.
    fn of(dims: Vec<usize>, source: impl Fn(&[usize]) -> f32) -> Self {
        let total: usize = dims.iter().product();
        let index = |mut flat: usize| {
            let mut index = vec![0; dims.len()];
            for axis in (0..dims.len()).rev() {
                index[axis] = flat % dims[axis];
                flat /= dims[axis];
            }
            index
        };
        let values = (0..total).map(|flat| source(&index(flat))).collect();
        Self { dims, values }
    }

    fn at(&self, index: &[usize]) -> f32 {
        self.values[index.iter().zip(&self.dims).fold(0, |flat, (i, d)| flat * d + i)]
    }
}

/// A random operation on a tensor.
#[derive(Clone, Debug)]
enum Move {
    Transpose(Vec<usize>),
    Reshape(Vec<usize>),
    /// Adds a column of constants that repeats along other axes.
    AddAlong(usize),
    /// Adds an earlier value, broadcast to one more axis.
    Twice,
    Concat(usize),
    Slice(usize),
    /// Sums over an axis and keeps it.
    Sum(usize),
    Pad(usize),
    Pool,
}

/// Returns other extents for the same elements as `dims`.
fn reshapes(dims: &[usize], pick: usize) -> Vec<usize> {
    let total: usize = dims.iter().product();
    let mut all = vec![vec![total], vec![1, total], vec![total, 1, 1]];
    for first in 1..=total {
        if total.is_multiple_of(first) {
            all.push(vec![first, total / first]);
            let rest = total / first;
            for second in 2..=rest {
                if rest.is_multiple_of(second) {
                    all.push(vec![first, second, rest / second]);
                    all.push(vec![1, first, second, rest / second]);
                    for third in 2..=rest / second {
                        if (rest / second).is_multiple_of(third) {
                            all.push(vec![first, second, third, rest / second / third]);
                            all.push(vec![first, second, 1, third, rest / second / third]);
                        }
                    }
                }
            }
        }
    }
    all[pick % all.len()].clone()
}

fn chosen(x: &Plain, (kind, pick): (usize, usize)) -> Move {
    let axis = pick % x.dims.len().max(1);
    match kind % 9 {
        0 | 1 => {
            let mut perm: Vec<usize> = (0..x.dims.len()).collect();
            let mut pick = pick;
            for i in (1..perm.len()).rev() {
                perm.swap(i, pick % (i + 1));
                pick /= i + 1;
            }
            Move::Transpose(perm)
        }
        2 | 3 => Move::Reshape(reshapes(&x.dims, pick)),
        4 => Move::AddAlong(axis),
        5 if x.values.len() < 500 => Move::Concat(axis),
        6 if x.dims[axis] > 1 => Move::Slice(axis),
        7 => Move::Sum(axis),
        8 if x.dims.len() == 4 => Move::Pool,
        8 if x.values.len() < 500 => Move::Pad(axis),
        _ => Move::Twice,
    }
}

fn apply(m: &mut Model, x: Plain, from: &str, to: &str, next: Move) -> Plain {
    let constant = format!("{to}.c");
    match next {
        Move::Transpose(perm) => {
            m.node("Transpose", &[from], &[to], &[("perm", Attr::Ints(perm.iter().map(|&p| p as i64).collect()))]);
            let dims = perm.iter().map(|&p| x.dims[p]).collect();
            Plain::of(dims, |index| {
                let mut source = vec![0; index.len()];
                perm.iter().zip(index).for_each(|(&p, &i)| source[p] = i);
                x.at(&source)
            })
        }
        Move::Reshape(dims) => {
            m.ints(&constant, &dims.iter().map(|&d| d as i64).collect::<Vec<_>>());
            m.node("Reshape", &[from, &constant], &[to], &[]);
            Plain { dims, ..x }
        }
        Move::AddAlong(axis) => {
            let extent = x.dims[axis];
            let column: Vec<f32> = (0..extent).map(|i| 100.0 * i as f32).collect();
            let mut dims = vec![1; x.dims.len() - axis];
            dims[0] = extent as i64;
            m.floats(&constant, &dims, &column);
            m.node("Add", &[from, &constant], &[to], &[]);
            Plain::of(x.dims.clone(), |index| x.at(index) + column[index[axis]])
        }
        Move::Twice => {
            m.node("Add", &[from, from], &[to], &[]);
            Plain { values: x.values.iter().map(|v| v + v).collect(), ..x }
        }
        Move::Concat(axis) => {
            m.node("Concat", &[from, from], &[to], &[("axis", Attr::Int(axis as i64))]);
            let mut dims = x.dims.clone();
            dims[axis] *= 2;
            Plain::of(dims, |index| {
                let mut index = index.to_vec();
                index[axis] %= x.dims[axis];
                x.at(&index)
            })
        }
        Move::Slice(axis) => {
            for (part, value) in [("s", 1), ("e", i64::MAX), ("a", axis as i64)] {
                m.ints(&format!("{to}.{part}"), &[value]);
            }
            m.node("Slice", &[from, &format!("{to}.s"), &format!("{to}.e"), &format!("{to}.a")], &[to], &[]);
            let mut dims = x.dims.clone();
            dims[axis] -= 1;
            Plain::of(dims, |index| {
                let mut index = index.to_vec();
                index[axis] += 1;
                x.at(&index)
            })
        }
        Move::Sum(axis) => {
            m.ints(&constant, &[axis as i64]);
            m.node("ReduceSum", &[from, &constant], &[to], &[]);
            let mut dims = x.dims.clone();
            dims[axis] = 1;
            Plain::of(dims, |index| {
                let mut index = index.to_vec();
                (0..x.dims[axis])
                    .map(|i| {
                        index[axis] = i;
                        x.at(&index)
                    })
                    .sum()
            })
        }
        Move::Pad(axis) => {
            let mut pads = vec![0; 2 * x.dims.len()];
            pads[axis] = 1;
            m.ints(&constant, &pads);
            m.node("Pad", &[from, &constant], &[to], &[]);
            let mut dims = x.dims.clone();
            dims[axis] += 1;
            Plain::of(dims, |index| {
                let mut index = index.to_vec();
                match index[axis].checked_sub(1) {
                    Some(i) => {
                        index[axis] = i;
                        x.at(&index)
                    }
                    None => 0.0,
                }
            })
        }
        Move::Pool => {
            m.node("GlobalMaxPool", &[from], &[to], &[]);
            let (h, w) = (x.dims[2], x.dims[3]);
            Plain::of(vec![x.dims[0], x.dims[1], 1, 1], |index| {
                (0..h * w).map(|i| x.at(&[index[0], index[1], i / w, i % w])).fold(f32::MIN, f32::max)
            })
        }
    }
}

/// Extents whose products have few enough elements.
fn extents() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(prop_oneof![Just(1usize), Just(2), Just(3), Just(4), Just(6)], 1..6)
        .prop_filter("few elements", |dims| dims.iter().product::<usize>() <= 288)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chain_of_moves_gives_what_the_file_says(
        dims in extents(),
        moves in proptest::collection::vec((0usize..9, any::<usize>()), 1..10),
    ) {
        let mut m = Model::new();
        m.input("t0", &dims.iter().map(|&d| d as i64).collect::<Vec<_>>());
        let total: usize = dims.iter().product();
        let mut x = Plain { dims, values: (0..total).map(|i| (i + 1) as f32).collect() };
        for (i, &pick) in moves.iter().enumerate() {
            let next = chosen(&x, pick);
            x = apply(&mut m, x, &format!("t{i}"), &format!("t{}", i + 1), next);
        }
        m.output(&format!("t{}", moves.len()));
        let (dims, values) = run(&m).remove(0);
        prop_assert_eq!(dims, x.dims);
        prop_assert_eq!(values, x.values);
    }
}

#[test]
fn transposes_and_reshapes_alone_are_no_nodes() {
    let mut m = Model::new();
    m.input("x", &[1, 8, 4, 6]);
    m.ints("flat", &[1, 8, 24]);
    m.node("Relu", &["x"], &["a"], &[]);
    m.node("Reshape", &["a", "flat"], &["b"], &[]);
    m.node("Transpose", &["b"], &["c"], &[("perm", Attr::Ints(vec![0, 2, 1]))]);
    m.node("Relu", &["c"], &["y"], &[]);
    m.output("y");
    assert_eq!(import(m.bytes()).unwrap().nodes.len(), 2);
    let (dims, values) = run(&m).remove(0);
    assert_eq!(dims, [1, 24, 8]);
    assert_eq!(values[..3], [1.0, 25.0, 49.0]);
}
