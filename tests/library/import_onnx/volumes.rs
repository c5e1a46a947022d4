//! Convolutions and pools of three spatial axes, against plain loops.

use texpool_model::import::{ExtentBound, ImportOptions};
use texpool_ops::ops::reference;

use super::support::{
    import, import_with,
    onnx::{Attr, Dim, Model},
};

/// Windows along depth, height and width.
#[derive(Clone, Copy, Debug)]
struct Windows {
    extent: [usize; 3],
    stride: [usize; 3],
    dilation: [usize; 3],
    front: [usize; 3],
    back: [usize; 3],
}

const ONES: [usize; 3] = [1; 3];

const fn windows(extent: [usize; 3], stride: [usize; 3], around: usize) -> Windows {
    Windows { extent, stride, dilation: ONES, front: [around; 3], back: [around; 3] }
}

/// Strides, dilations and borders that differ along the axes.
const UNEVEN: Windows =
    Windows { extent: [3, 2, 3], stride: [2, 1, 2], dilation: [2, 3, 1], front: [1, 0, 2], back: [3, 2, 0] };

/// Items, channels, and the extents of an input.
const INPUTS: [[usize; 5]; 4] = [[1, 4, 6, 5, 7], [2, 4, 5, 6, 4], [1, 4, 3, 4, 5], [3, 4, 4, 4, 4]];

const WINDOWS: [Windows; 7] = [
    windows([3, 3, 3], ONES, 1),
    windows([3, 3, 3], [2, 2, 2], 1),
    windows([2, 2, 2], [2, 2, 2], 0),
    windows([1, 3, 3], [2, 1, 1], 0),
    windows([3, 1, 1], ONES, 0),
    windows(ONES, [1, 2, 3], 0),
    UNEVEN,
];

/// Indices of a box, the last one fastest.
fn indices<const N: usize>(extents: [usize; N]) -> impl Iterator<Item = [usize; N]> {
    (0..extents.iter().product()).map(move |mut flat: usize| {
        let mut index = [0; N];
        for axis in (0..N).rev() {
            index[axis] = flat % extents[axis];
            flat /= extents[axis];
        }
        index
    })
}

fn at<const N: usize>(extents: [usize; N], index: [usize; N]) -> usize {
    extents.iter().zip(index).fold(0, |flat, (&extent, index)| flat * extent + index)
}

fn numbers(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 37 + seed * 11) % 41) as f32 / 16.0 - 1.25).collect()
}

impl Windows {
    fn reach(&self, axis: usize) -> usize {
        (self.extent[axis] - 1) * self.dilation[axis] + 1
    }

    /// Extents of the result of windows on a volume; with `ceil`, the last window may hang over the border.
    fn results(&self, volume: [usize; 3], ceil: bool) -> Option<[usize; 3]> {
        let mut results = [0; 3];
        for axis in 0..3 {
            let room = (volume[axis] + self.front[axis] + self.back[axis]).checked_sub(self.reach(axis))?;
            let steps = if ceil { room.div_ceil(self.stride[axis]) } else { room / self.stride[axis] };
            let is_behind = ceil && steps * self.stride[axis] >= volume[axis] + self.front[axis];
            results[axis] = steps + 1 - usize::from(is_behind);
        }
        Some(results)
    }

    /// Place that a tap of a window reads, counted from the border in front.
    fn place(&self, window: [usize; 3], tap: [usize; 3]) -> [usize; 3] {
        std::array::from_fn(|axis| window[axis] * self.stride[axis] + tap[axis] * self.dilation[axis])
    }

    /// Place in a volume. `None` if it is in the border.
    fn inside(&self, volume: [usize; 3], place: [usize; 3]) -> Option<[usize; 3]> {
        let mut inside = [0; 3];
        for axis in 0..3 {
            inside[axis] = place[axis].checked_sub(self.front[axis]).filter(|&i| i < volume[axis])?;
        }
        Some(inside)
    }

    fn attributes(&self) -> Vec<(&'static str, Attr)> {
        let list = |numbers: &[usize]| Attr::Ints(numbers.iter().map(|&n| n as i64).collect());
        let pads = [self.front, self.back].concat();
        vec![("strides", list(&self.stride)), ("dilations", list(&self.dilation)), ("pads", list(&pads))]
    }
}

/// Extents of a result, and its values.
type Volume = ([usize; 5], Vec<f32>);

fn convolved(
    (x, values): (&[usize; 5], &[f32]),
    (w, weights): ([usize; 5], &[f32]),
    bias: &[f32],
    windows: &Windows,
    groups: usize,
) -> Option<Volume> {
    let [items, _, depth, height, width] = *x;
    let volume = [depth, height, width];
    let [d, h, w_out] = windows.results(volume, false)?;
    let dims = [items, w[0], d, h, w_out];
    let of_group = w[0] / groups;
    let sum = |[n, o, z, y, p]: [usize; 5]| {
        let taps = indices([w[1], w[2], w[3], w[4]]).map(|[i, a, b, c]| {
            let place = windows.inside(volume, windows.place([z, y, p], [a, b, c]));
            let channel = o / of_group * w[1] + i;
            place.map_or(0.0, |[z, y, p]| values[at(*x, [n, channel, z, y, p])] * weights[at(w, [o, i, a, b, c])])
        });
        bias[o] + taps.sum::<f32>()
    };
    Some((dims, indices(dims).map(sum).collect()))
}

fn transposed(
    (x, values): (&[usize; 5], &[f32]),
    (w, weights): ([usize; 5], &[f32]),
    bias: &[f32],
    windows: &Windows,
    (groups, more): (usize, [usize; 3]),
) -> Option<Volume> {
    let [items, channels, depth, height, width] = *x;
    let mut extents = [0; 3];
    for axis in 0..3 {
        let full = ([depth, height, width][axis] - 1) * windows.stride[axis] + windows.reach(axis) + more[axis];
        extents[axis] = full.checked_sub(windows.front[axis] + windows.back[axis]).filter(|&extent| extent > 0)?;
    }
    let [d, h, w_out] = extents;
    let dims = [items, w[1] * groups, d, h, w_out];
    let mut result: Vec<f32> = indices(dims).map(|[_, o, ..]| bias[o]).collect();
    for [n, i, z, y, p] in indices(*x) {
        for [o, a, b, c] in indices([w[1], w[2], w[3], w[4]]) {
            let group = i / (channels / groups);
            if let Some([d, h, q]) = windows.inside(extents, windows.place([z, y, p], [a, b, c])) {
                let to = at(dims, [n, group * w[1] + o, d, h, q]);
                result[to] += values[at(*x, [n, i, z, y, p])] * weights[at(w, [i, o, a, b, c])];
            }
        }
    }
    Some((dims, result))
}

fn pooled(x: &[usize; 5], values: &[f32], windows: &Windows, op: &str, [ceil, counted]: [bool; 2]) -> Option<Volume> {
    let [items, channels, depth, height, width] = *x;
    let volume = [depth, height, width];
    let [d, h, w] = windows.results(volume, ceil)?;
    let dims = [items, channels, d, h, w];
    let one = |[n, c, z, y, p]: [usize; 5]| {
        let places: Vec<[usize; 3]> = indices(windows.extent).map(|tap| windows.place([z, y, p], tap)).collect();
        let inside = places.iter().filter_map(|&place| windows.inside(volume, place));
        let read: Vec<f32> = inside.map(|[z, y, p]| values[at(*x, [n, c, z, y, p])]).collect();
        let is_stated = |place: &&[usize; 3]| {
            (0..3).all(|axis| place[axis] < volume[axis] + windows.front[axis] + windows.back[axis])
        };
        let count = if counted { places.iter().filter(is_stated).count() } else { read.len() };
        match op {
            "MaxPool" => read.iter().copied().fold(f32::NEG_INFINITY, f32::max),
            "AveragePool" => read.iter().sum::<f32>() / count as f32,
            _ => read.iter().map(|value| value.abs().powi(3)).sum::<f32>().cbrt(),
        }
    };
    Some((dims, indices(dims).map(one).collect()))
}

/// Checks a file of one node against the expected result.
fn agrees(m: &mut Model, values: &[f32], (dims, expected): &Volume, what: &str) {
    m.output("y");
    let graph = import(m.bytes()).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(graph.tensors[graph.outputs[0]].dims, dims, "{what}");
    let input = &graph.tensors[graph.inputs[0]];
    assert_eq!(input.shape.len(), values.len());
    let found = reference::outputs(&graph, &[values.to_vec()]).unwrap().remove(0);
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-4 * b.abs().max(1.0), "{what}, value {i}: {a} instead of {b}");
    }
}

fn extents(dims: &[usize]) -> Vec<i64> {
    dims.iter().map(|&extent| extent as i64).collect()
}

/// A model with an input of these extents, weights and biases.
fn layer(x: &[usize; 5], w: ([usize; 5], &[f32]), bias: &[f32]) -> Model {
    let mut m = Model::new();
    m.input("x", &extents(x));
    m.floats("w", &extents(&w.0), w.1);
    m.floats("b", &[bias.len() as i64], bias);
    m
}

#[test]
fn convolutions_of_volumes() {
    let mut compared = 0;
    for (x, windows) in INPUTS.iter().flat_map(|x| WINDOWS.iter().map(move |windows| (x, windows))) {
        let [d, h, w] = windows.extent;
        let values = numbers(x.iter().product(), 1);
        for (groups, outputs) in [(1, 3), (2, 6), (4, 8)] {
            let of_weights = [outputs, x[1] / groups, d, h, w];
            let (weights, bias) = (numbers(of_weights.iter().product(), 2), numbers(outputs, 3));
            let weighted = (of_weights, weights.as_slice());
            let Some(expected) = convolved((x, &values), weighted, &bias, windows, groups) else { continue };
            let mut m = layer(x, weighted, &bias);
            let attributes = [windows.attributes(), vec![("group", Attr::Int(groups as i64))]].concat();
            m.node("Conv", &["x", "w", "b"], &["y"], &attributes);
            agrees(&mut m, &values, &expected, &format!("Conv {x:?}, {windows:?}, {groups} groups"));
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn transposed_convolutions_of_volumes() {
    let mut compared = 0;
    for (x, windows) in INPUTS.iter().flat_map(|x| WINDOWS.iter().map(move |windows| (x, windows))) {
        let [d, h, w] = windows.extent;
        let values = numbers(x.iter().product(), 1);
        for (groups, each) in [(1, 3), (2, 2), (4, 1)] {
            let of_weights = [x[1], each, d, h, w];
            let (weights, bias) = (numbers(of_weights.iter().product(), 2), numbers(each * groups, 3));
            let weighted = (of_weights, weights.as_slice());
            let more = windows.stride.map(|stride| stride - 1);
            let Some(expected) = transposed((x, &values), weighted, &bias, windows, (groups, more)) else { continue };
            let mut m = layer(x, weighted, &bias);
            let output_padding = ("output_padding", Attr::Ints(extents(&more)));
            let group = ("group", Attr::Int(groups as i64));
            let attributes = [windows.attributes(), vec![group, output_padding]].concat();
            m.node("ConvTranspose", &["x", "w", "b"], &["y"], &attributes);
            agrees(&mut m, &values, &expected, &format!("ConvTranspose {x:?}, {windows:?}, {groups} groups"));
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn pools_of_volumes() {
    let mut compared = 0;
    for (x, windows) in INPUTS.iter().flat_map(|x| WINDOWS.iter().map(move |windows| (x, windows))) {
        let values = numbers(x.iter().product(), 1);
        for op in ["MaxPool", "AveragePool", "LpPool"] {
            for (ceil, counted) in [(false, false), (true, false), (false, true), (true, true)] {
                if counted && op != "AveragePool" {
                    continue;
                }
                let Some(expected) = pooled(x, &values, windows, op, [ceil, counted]) else { continue };
                let kernel = ("kernel_shape", Attr::Ints(extents(&windows.extent)));
                let flags = [("ceil_mode", Attr::Int(ceil.into())), ("count_include_pad", Attr::Int(counted.into()))];
                let mut attributes = [windows.attributes(), vec![kernel], flags.to_vec()].concat();
                if op == "LpPool" {
                    attributes.push(("p", Attr::Int(3)));
                }
                let mut m = Model::new();
                m.input("x", &extents(x));
                m.node(op, &["x"], &["y"], &attributes);
                let is_empty = expected.1.iter().any(|value| !value.is_finite());
                if is_empty {
                    continue; // A window of nothing but border has no value that is agreed upon.
                }
                agrees(&mut m, &values, &expected, &format!("{op} {x:?}, {windows:?}, {ceil}, {counted}"));
                compared += 1;
            }
        }
    }
    assert!(compared > 150, "{compared}");
}

#[test]
fn borders_that_keep_the_extents_of_volumes() {
    // A window of three, in steps of two over five planes, has a border of one on each side.
    let (x, of_weights) = ([1, 1, 5, 4, 6], [1, 1, 3, 2, 3]);
    let (values, weights) = (numbers(120, 1), numbers(18, 2));
    for (auto, front, back) in [("SAME_UPPER", [1, 0, 0], [1, 1, 1]), ("SAME_LOWER", [1, 1, 1], [1, 0, 0])] {
        let windows = Windows { extent: [3, 2, 3], stride: [2, 1, 2], dilation: ONES, front, back };
        let expected = convolved((&x, &values), (of_weights, &weights), &[0.5], &windows, 1).unwrap();
        assert_eq!(expected.0, [1, 1, 3, 4, 3]);
        let mut m = layer(&x, (of_weights, &weights), &[0.5]);
        let attributes = [("auto_pad", Attr::Text(auto)), ("strides", Attr::Ints(vec![2, 1, 2]))];
        m.node("Conv", &["x", "w", "b"], &["y"], &attributes);
        agrees(&mut m, &values, &expected, auto);
    }
}

#[test]
fn what_volumes_do_not_have_is_refused() {
    let refused = |m: &Model, options: &ImportOptions| import_with(m.bytes(), options).unwrap_err().to_string();
    let mut m = Model::new();
    m.input("x", &[1, 1, 2, 2, 2]);
    m.node("MaxPool", &["x"], &["y", "i"], &[("kernel_shape", Attr::Ints(vec![2; 3]))]);
    ["y", "i"].iter().for_each(|name| m.output(name));
    let error = refused(&m, &ImportOptions::default());
    assert!(error.contains("the indices of three dimensions"), "{error}");

    let mut m = Model::new();
    m.input("x", &[1, 1, 2, 2, 2, 2]);
    m.floats("w", &[1; 6], &[1.0]);
    m.node("Conv", &["x", "w"], &["y"], &[]);
    m.output("y");
    let error = refused(&m, &ImportOptions::default());
    assert!(error.contains("only one to three dimensions are supported"), "{error}");

    let mut m = Model::new();
    m.open_input("x", 1, &[Dim::Is(1), Dim::Is(1), Dim::Named("d"), Dim::Is(4), Dim::Is(4)]);
    m.floats("w", &[1, 1, 3, 3, 3], &[1.0; 27]);
    m.node("Conv", &["x", "w"], &["y"], &[]);
    m.output("y");
    let bounds = [("d".to_owned(), ExtentBound::from(8))].into();
    let error = refused(&m, &ImportOptions { bounds, ..ImportOptions::default() });
    assert!(error.contains("Conv"), "{error}");
}
