//! Norms whose denominator the file expands to the extents of the dividend, as `torch.nn.functional.normalize` is
//! exported: the operators that read it broadcast anyway, so the expansion does not hide the norm.

use texpool_model::rewrite::{Rules, rewrite};
use texpool_ops::{graph::Graph, ops::reference};

use super::support::{
    import,
    onnx::{Attr, Model},
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Norm {
    L2,
    Rms,
}

const LEAST: f32 = 1e-12;

impl Norm {
    const fn fused(self) -> &'static str {
        match self {
            Self::L2 => "L2_NORMALIZATION",
            Self::Rms => "RMSNormalization",
        }
    }

    /// Returns the model `y = x / Expand(denominator, Shape(x))`.
    fn model(self, dims: &[usize], axis: i64) -> Model {
        let mut m = Model::new();
        m.input("x", &dims.iter().map(|&d| d as i64).collect::<Vec<_>>());
        m.ints("axes", &[axis]);
        m.floats("least", &[], &[LEAST]);
        let keep = ("keepdims", Attr::Int(1));
        match self {
            Self::L2 => {
                m.node("ReduceL2", &["x", "axes"], &["norm"], &[keep]);
                m.node("Clip", &["norm", "least"], &["root"], &[]);
            }
            Self::Rms => {
                m.node("Mul", &["x", "x"], &["square"], &[]);
                m.node("ReduceMean", &["square", "axes"], &["mean"], &[keep]);
                m.node("Add", &["mean", "least"], &["sum"], &[]);
                m.node("Sqrt", &["sum"], &["root"], &[]);
            }
        }
        m.node("Shape", &["x"], &["extents"], &[]);
        m.node("Expand", &["root", "extents"], &["expanded"], &[]);
        m.node("Div", &["x", "expanded"], &["y"], &[]);
        m.output("y");
        m
    }

    /// Computes it from the definition.
    fn expected(self, x: &[f32], dims: &[usize], axis: i64) -> Vec<f32> {
        let axis = axis.rem_euclid(dims.len() as i64) as usize;
        let (extent, inner) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
        let first = |i: usize| i / (extent * inner) * extent * inner + i % inner;
        let squares = |i: usize| (0..extent).map(|k| x[first(i) + k * inner].powi(2)).sum::<f32>();
        let root = |i: usize| match self {
            Self::L2 => squares(i).sqrt().max(LEAST),
            Self::Rms => (squares(i) / extent as f32 + LEAST).sqrt(),
        };
        x.iter().enumerate().map(|(i, x)| x / root(i)).collect()
    }
}

fn names(graph: &Graph) -> Vec<&'static str> {
    graph.nodes.iter().map(|node| node.op.name()).collect()
}

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * 0.618_034).fract() * 2.0 - 1.0).collect()
}

#[test]
fn a_norm_with_an_expanded_denominator_is_one_node() {
    let shapes: [&[usize]; 7] = [&[6, 8], &[1, 8], &[1, 6, 8], &[2, 6, 8], &[4, 6, 8], &[1, 8, 5, 7], &[2, 3, 6, 8]];
    for (dims, axis, norm) in shapes
        .iter()
        .flat_map(|dims| [1, -1].map(|axis| (dims, axis)))
        .flat_map(|(dims, axis)| [Norm::L2, Norm::Rms].map(|norm| (*dims, axis, norm)))
    {
        let graph = import(norm.model(dims, axis).bytes()).unwrap();
        let fused = rewrite(&graph, &Rules::all()).graph;
        assert_eq!(names(&fused), [norm.fused()], "{norm:?} of {dims:?} along {axis}");
        let x = numbers(dims.iter().product());
        let expected = norm.expected(&x, dims, axis);
        let result = reference::outputs(&fused, &[x]).unwrap().remove(0);
        for (actual, expected) in result.iter().zip(&expected) {
            assert!((actual - expected).abs() < 1e-5, "{norm:?} of {dims:?} along {axis}: {actual} for {expected}");
        }
    }
}

/// The result of Expand itself, an operand whose partner does not have the extents, and a dividend that is repeated
/// stay as the file says.
#[test]
fn an_expansion_that_gives_the_result_its_extents_stays() {
    let mut m = Model::new();
    m.input("x", &[1, 6, 1]);
    m.input("other", &[1, 1, 4]);
    m.ints("extents", &[2, 6, 4]);
    m.node("Expand", &["x", "extents"], &["expanded"], &[]);
    m.node("Mul", &["expanded", "other"], &["y"], &[]);
    m.node("Mul", &["expanded", "expanded"], &["twice"], &[]);
    m.output("expanded");
    m.output("y");
    m.output("twice");
    let graph = import(m.bytes()).unwrap();
    let inputs = [numbers(6), vec![1.0, 2.0, 3.0, 4.0]];
    let results = reference::outputs(&graph, &inputs).unwrap();
    for (i, ((expanded, y), twice)) in results[0].iter().zip(&results[1]).zip(&results[2]).enumerate() {
        let x = inputs[0][i / 4 % 6];
        assert_eq!((*expanded, *y, *twice), (x, x * inputs[1][i % 4], x * x));
    }
    assert_eq!(results.iter().map(Vec::len).collect::<Vec<_>>(), [48; 3]);
    assert!(names(&graph).contains(&"TILE"));
}

/// A value that was expanded and then rearranged is not the one before.
#[test]
fn an_expanded_value_that_was_transposed_is_read_as_it_is() {
    let mut m = Model::new();
    m.input("x", &[3, 1]);
    m.input("other", &[3, 3]);
    m.ints("extents", &[3, 3]);
    m.node("Expand", &["x", "extents"], &["expanded"], &[]);
    m.node("Transpose", &["expanded"], &["turned"], &[("perm", Attr::Ints(vec![1, 0]))]);
    m.node("Add", &["turned", "other"], &["y"], &[]);
    m.output("y");
    let graph = import(m.bytes()).unwrap();
    let results = reference::outputs(&graph, &[vec![1.0, 2.0, 3.0], vec![0.0; 9]]).unwrap();
    assert_eq!(results[0], [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
}
