//! Convolutions whose weights or biases a run computes, against loops over all elements.

use super::support::{
    import,
    onnx::{Attr, Model},
};
use texpool_ops::ops::reference;

/// Numbers from -1 to 1 that repeat late.
fn values(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 + seed * 11) % 101) as f32 / 50.0 - 1.0).collect()
}

/// Extents and attributes of a convolution of an image of two items.
#[derive(Clone, Copy, Debug)]
struct Layer {
    channels: usize,
    outputs: usize,
    groups: usize,
    window: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
    /// Above, on the left, below, on the right.
    border: [usize; 4],
    has_bias: bool,
}

const BATCH: usize = 2;
const IMAGE: [usize; 2] = [6, 7];

impl Layer {
    fn extents(&self) -> [usize; 2] {
        [0, 1].map(|axis| {
            let reach = (self.window[axis] - 1) * self.dilation[axis] + 1;
            (IMAGE[axis] + self.border[axis] + self.border[axis + 2] - reach) / self.stride[axis] + 1
        })
    }

    fn expected(&self, x: &[f32], w: &[f32], bias: &[f32]) -> Vec<f32> {
        let ([rows, columns], [height, width]) = (self.extents(), IMAGE);
        let inputs = self.channels / self.groups;
        let mut expected = Vec::new();
        for n in 0..BATCH {
            for (o, &bias) in bias.iter().enumerate() {
                let first = o / (self.outputs / self.groups) * inputs;
                for place in 0..rows * columns {
                    let mut sum = if self.has_bias { bias } else { 0.0 };
                    for at in 0..inputs * self.window[0] * self.window[1] {
                        let (ky, kx) = (at / self.window[1] % self.window[0], at % self.window[1]);
                        let i = at / (self.window[0] * self.window[1]);
                        let y = place / columns * self.stride[0] + ky * self.dilation[0];
                        let column = place % columns * self.stride[1] + kx * self.dilation[1];
                        let pixel = (y.wrapping_sub(self.border[0]), column.wrapping_sub(self.border[1]));
                        if pixel.0 < height && pixel.1 < width {
                            let plane = (n * self.channels + first + i) * height * width;
                            let tap = (o * inputs + i) * self.window[0] * self.window[1] + ky * self.window[1] + kx;
                            sum += x[plane + pixel.0 * width + pixel.1] * w[tap];
                        }
                    }
                    expected.push(sum);
                }
            }
        }
        expected
    }

    /// Has the weights as an input, or as a constant if only the biases are computed.
    fn check(&self, weights_are_computed: bool) {
        let inputs = self.channels / self.groups;
        let x = values(BATCH * self.channels * IMAGE[0] * IMAGE[1], 1);
        let w = values(self.outputs * inputs * self.window[0] * self.window[1], 2);
        let bias = values(self.outputs, 3);
        let dims = |list: &[usize]| list.iter().map(|&extent| extent as i64).collect::<Vec<_>>();
        let mut m = Model::new();
        m.input("x", &dims(&[BATCH, self.channels, IMAGE[0], IMAGE[1]]));
        let of_weights = dims(&[self.outputs, inputs, self.window[0], self.window[1]]);
        let mut given = vec![x.clone()];
        if weights_are_computed {
            m.input("w", &of_weights);
            given.push(w.clone());
        } else {
            m.floats("w", &of_weights, &w);
        }
        if self.has_bias {
            m.input("bias", &dims(&[self.outputs]));
            given.push(bias.clone());
        }
        let operands = if self.has_bias { &["x", "w", "bias"][..] } else { &["x", "w"] };
        let attributes = [
            ("group", Attr::Int(self.groups as i64)),
            ("strides", Attr::Ints(dims(&self.stride))),
            ("dilations", Attr::Ints(dims(&self.dilation))),
            ("pads", Attr::Ints(dims(&self.border))),
        ];
        m.node("Conv", operands, &["y"], &attributes);
        m.output("y");
        let graph = import(m.bytes()).unwrap();
        let [rows, columns] = self.extents();
        assert_eq!(graph.tensors[graph.outputs[0]].dims, [BATCH, self.outputs, rows, columns]);
        let actual = reference::outputs(&graph, &given).unwrap().remove(0);
        let expected = self.expected(&x, &w, &bias);
        assert_eq!(actual.len(), expected.len());
        for (i, (a, b)) in actual.iter().zip(&expected).enumerate() {
            assert!((a - b).abs() < 1e-4, "{self:?}, {i}: {a}, not {b}");
        }
    }
}

const LAYER: Layer = Layer {
    channels: 4,
    outputs: 6,
    groups: 1,
    window: [3, 2],
    stride: [2, 1],
    dilation: [1, 2],
    border: [1, 0, 2, 3],
    has_bias: true,
};

#[test]
fn computed_weights_are_multiplied() {
    LAYER.check(true);
    Layer { groups: 2, has_bias: false, ..LAYER }.check(true);
    // A weight for each channel, and two.
    Layer { groups: 4, outputs: 4, ..LAYER }.check(true);
    Layer { groups: 4, outputs: 8, ..LAYER }.check(true);
    Layer { window: [1, 1], stride: [1, 1], dilation: [1, 1], border: [0; 4], ..LAYER }.check(true);
}

#[test]
fn computed_biases_are_added() {
    LAYER.check(false);
    Layer { groups: 4, outputs: 4, ..LAYER }.check(false);
}

#[test]
fn signals_have_computed_weights_too() {
    let mut m = Model::new();
    m.input("x", &[1, 2, 5]);
    m.input("w", &[3, 2, 3]);
    m.node("Conv", &["x", "w"], &["y"], &[]);
    m.output("y");
    let graph = import(m.bytes()).unwrap();
    assert_eq!(graph.tensors[graph.outputs[0]].dims, [1, 3, 3]);
    let (x, w) = (values(10, 1), values(18, 2));
    let actual = reference::outputs(&graph, &[x.clone(), w.clone()]).unwrap().remove(0);
    for (at, value) in actual.iter().enumerate() {
        let (o, place) = (at / 3, at % 3);
        let sum: f32 = (0..6).map(|i| x[i / 3 * 5 + place + i % 3] * w[o * 6 + i]).sum();
        assert!((value - sum).abs() < 1e-5, "{at}: {value}, not {sum}");
    }
}

#[test]
fn refused_computed_weights_are_named() {
    for (x, w, reason) in [
        (&[1, 1, 40, 40][..], &[1, 1, 33, 33][..], "computed at run time, in windows of 33 by 33"),
        (&[1, 1, 3, 3, 3], &[1, 1, 2, 2, 2], "operand 1 `w`, its weights, is computed at run time"),
        (&[1, 3, 4, 4], &[1, 2, 2, 2], "do not fit an input of 3 channels"),
    ] {
        let mut m = Model::new();
        m.input("x", x);
        m.input("w", w);
        m.node("Conv", &["x", "w"], &["y"], &[]);
        m.output("y");
        let error = import(m.bytes()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
