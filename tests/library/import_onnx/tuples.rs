//! GatherND and ScatterND, whose indices are tuples, and random numbers.

use texpool_model::import::{ImportError, ImportOptions, OutlineSource, Verdict};
use texpool_ops::{graph::Graph, ops::reference};

use super::support::{
    import,
    onnx::{Attr, INT64, Model, bytes, number},
};

fn outputs(graph: &Graph, inputs: &[&[f32]]) -> Vec<f32> {
    reference::outputs(graph, &inputs.iter().map(|values| values.to_vec()).collect::<Vec<_>>()).unwrap().remove(0)
}

/// The operands of a node, each with its extents, and whether its values are known on import.
struct Case<'c> {
    op: &'c str,
    attributes: Vec<(&'static str, Attr)>,
    data: (&'c [i64], &'c [f32]),
    indices: (&'c [i64], &'c [i64]),
    updates: Option<(&'c [i64], &'c [f32])>,
}

impl Case<'_> {
    /// Returns the result. `given` says which operands are inputs of a run.
    fn result(&self, given: [bool; 3]) -> Result<Vec<f32>, ImportError> {
        let mut m = Model::new();
        let mut inputs: Vec<Vec<f32>> = Vec::new();
        let mut operands = vec!["data", "indices"];
        operands.extend(self.updates.map(|_| "updates"));
        for (&name, given) in operands.iter().zip(given) {
            let (dims, values) = match (name, self.updates) {
                ("indices", _) => {
                    let (dims, values) = self.indices;
                    let raw: Vec<u8> = values.iter().flat_map(|index| index.to_le_bytes()).collect();
                    match given {
                        true => m.raw_input(name, INT64, &dims.iter().map(|&n| number(1, n)).collect::<Vec<_>>()),
                        false => m.tensor(name, INT64, dims, &bytes(9, &raw)),
                    }
                    if given {
                        inputs.push(values.iter().map(|&index| index as f32).collect());
                    }
                    continue;
                }
                ("updates", Some(updates)) => updates,
                _ => self.data,
            };
            match given {
                true => m.input(name, dims),
                false => m.floats(name, dims, values),
            }
            if given {
                inputs.push(values.to_vec());
            }
        }
        m.node(self.op, &operands, &["y"], &self.attributes);
        m.output("y");
        let graph = import(m.bytes())?;
        Ok(outputs(&graph, &inputs.iter().map(Vec::as_slice).collect::<Vec<_>>()))
    }

    /// Fails unless every set of known operands has the same result.
    fn is(&self, expected: &[f32]) {
        for given in 0..if self.updates.is_some() { 8 } else { 4 } {
            let given = [1, 2, 4].map(|bit| given & bit != 0);
            assert_eq!(self.result(given).unwrap(), expected, "{} {:?} {given:?}", self.op, self.attributes);
        }
    }
}

/// Counts from 1.
fn counted<const N: usize>() -> [f32; N] {
    std::array::from_fn(|i| (i + 1) as f32)
}

#[test]
fn rows_are_looked_up_by_tuples() {
    let data = counted::<12>();
    let case = |dims, indices, batch| Case {
        op: "GatherND",
        attributes: vec![("batch_dims", Attr::Int(batch))],
        data: (dims, &data),
        indices,
        updates: None,
    };
    case(&[3, 4], (&[3, 1], &[2, 0, -1]), 0).is(&[9.0, 10.0, 11.0, 12.0, 1.0, 2.0, 3.0, 4.0, 9.0, 10.0, 11.0, 12.0]);
    case(&[3, 4], (&[2, 2], &[0, 1, -1, -4]), 0).is(&[2.0, 9.0]);
    case(&[2, 3, 2], (&[2, 1, 2], &[1, 0, 0, -1]), 0).is(&[7.0, 8.0, 5.0, 6.0]);
    // A tuple for each batch.
    case(&[2, 3, 2], (&[2, 1], &[1, -1]), 1).is(&[3.0, 4.0, 11.0, 12.0]);
    case(&[2, 3, 2], (&[2, 2, 2], &[0, 1, 2, 0, 1, 1, -3, -2]), 1).is(&[2.0, 5.0, 10.0, 7.0]);
}

/// An index outside its axis is an error on import. In a run it is as one outside the rows, which Gather answers with the
/// last one and counts; it writes nothing.
#[test]
fn tuples_outside_the_axes_are_outside_the_rows() {
    let data = counted::<6>();
    for (indices, outside) in [([0, 3], true), ([-3, 0], true), ([1, 2], false)] {
        let case = Case {
            op: "GatherND",
            attributes: Vec::new(),
            data: (&[2, 3], &data),
            indices: (&[1, 2], &indices),
            updates: None,
        };
        let known = case.result([true, false, false]);
        let computed = case.result([true, true, false]).unwrap();
        assert_eq!((known.is_err(), computed), (outside, vec![6.0]), "{indices:?}");
        let updates = [50.0];
        let case = Case { op: "ScatterND", updates: Some((&[1], &updates)), ..case };
        assert_eq!(case.result([true, false, true]).is_err(), outside);
        let computed = case.result([true, true, true]).unwrap();
        assert_eq!(computed == data, outside, "{indices:?} {computed:?}");
    }
}

#[test]
fn rows_are_written_to_tuples() {
    let data = counted::<12>();
    let (rows, updates) = ([2, 0, -1], counted::<12>().map(|value| value * 10.0));
    // Of 9 in the data, and 10 and 90 in the updates.
    for (reduction, of_twice) in [("add", 109.0), ("mul", 8100.0), ("max", 90.0), ("min", 9.0)] {
        let case = Case {
            op: "ScatterND",
            attributes: vec![("reduction", Attr::Text(reduction))],
            data: (&[3, 4], &data),
            indices: (&[3, 1], &rows),
            updates: Some((&[3, 4], &updates)),
        };
        let result = case.result([false; 3]).unwrap();
        assert_eq!((result[8], &result[4..8]), (of_twice, &data[4..8]), "{reduction}");
        case.is(&result);
    }
    let case = |dims, indices, updates| Case {
        op: "ScatterND",
        attributes: Vec::new(),
        data: (dims, &data),
        indices,
        updates: Some(updates),
    };
    let mut expected = data;
    (expected[1], expected[8]) = (50.0, 60.0);
    case(&[3, 4], (&[2, 2], &[0, 1, -1, -4]), (&[2], &[50.0, 60.0])).is(&expected);
    let mut expected = data;
    expected[6..8].copy_from_slice(&[7.5, 8.5]);
    case(&[2, 3, 2], (&[1, 1, 2], &[1, 0]), (&[1, 1, 2], &[7.5, 8.5])).is(&expected);
    // All rows, in another order.
    let expected: Vec<f32> = [20.0, 30.0, 10.0].iter().flat_map(|&value| [value; 4]).collect();
    let new: Vec<f32> = [10.0, 20.0, 30.0].iter().flat_map(|&value| [value; 4]).collect();
    case(&[3, 4], (&[3, 1], &[2, 0, 1]), (&[3, 4], &new)).is(&expected);
}

/// Of known indices that repeat without a reduction, the last one counts.
#[test]
fn the_last_of_several_known_rows_remains() {
    let data = counted::<4>();
    let case = Case {
        op: "ScatterND",
        attributes: Vec::new(),
        data: (&[2, 2], &data),
        indices: (&[2, 1], &[1, 1]),
        updates: Some((&[2, 2], &[5.0, 6.0, 7.0, 8.0])),
    };
    for given in [[false; 3], [true, false, true]] {
        assert_eq!(case.result(given).unwrap(), [1.0, 2.0, 7.0, 8.0]);
    }
}

#[test]
fn tuples_that_do_not_fit_are_refused() {
    let data = counted::<12>();
    for (dims, indices) in [(&[1, 3][..], &[0, 0, 0][..]), (&[], &[0])] {
        for (op, updates) in [("GatherND", None), ("ScatterND", Some((&[1][..], &[1.0][..])))] {
            let (data, indices) = ((&[3, 4][..], &data[..]), (dims, indices));
            let case = Case { op, attributes: Vec::new(), data, indices, updates };
            let reason = case.result([true, false, true]).unwrap_err().to_string();
            assert!(reason.contains("[3, 4]"), "{reason}");
        }
    }
}

fn drawn(op: &str, inputs: &[&str], result: &str, attributes: &[(&str, Attr)]) -> (Vec<usize>, Vec<f32>) {
    let mut m = Model::new();
    m.input("x", &[50, 40]);
    m.node(op, inputs, &[result], attributes);
    m.output(result);
    let graph = import(m.bytes()).unwrap();
    let values = outputs(&graph, &[&[0.0; 2000]]);
    (graph.tensors[graph.outputs[0]].dims.clone(), values)
}

#[test]
fn random_numbers_follow_their_distribution_and_repeat() {
    let bounds = [("low", Attr::Float(2.0)), ("high", Attr::Float(6.0)), ("shape", Attr::Ints(vec![2000]))];
    let moments = [("mean", Attr::Float(4.0)), ("scale", Attr::Float(0.5)), ("shape", Attr::Ints(vec![2000]))];
    for (op, attributes, deviation) in [("RandomUniform", bounds, 4.0 / 12f32.sqrt()), ("RandomNormal", moments, 0.5)] {
        let (dims, values) = drawn(op, &[], "y", &attributes);
        assert_eq!(dims, [2000]);
        let mean = values.iter().sum::<f32>() / 2000.0;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / 2000.0;
        // Four standard errors of the mean.
        assert!((mean - 4.0).abs() < 0.09 * deviation, "{op} {mean}");
        assert!((variance.sqrt() / deviation - 1.0).abs() < 0.07, "{op} {variance}");
        let is_uniform = op == "RandomUniform";
        assert!(!is_uniform || values.iter().all(|value| (2.0..6.0).contains(value)), "{op}");
        assert_eq!(drawn(op, &[], "y", &attributes).1, values, "the same file has the same numbers");
        assert_ne!(drawn(op, &[], "z", &attributes).1, values, "another node has others");
        let (dims, like) = drawn(&format!("{op}Like"), &["x"], "y", &attributes[..2]);
        assert_eq!((dims, like), (vec![50, 40], values));
        let seeded = |result, seed| {
            let attributes = [&attributes[..], &[("seed", Attr::Float(seed))]].concat();
            drawn(op, &[], result, &attributes).1
        };
        assert_eq!(seeded("y", 1.0), seeded("z", 1.0), "a seed decides alone");
        assert_ne!(seeded("y", 1.0), seeded("y", 2.0));
    }
}

#[test]
fn delegates_leave_random_numbers_to_the_runtime() {
    let mut m = Model::new();
    m.input("x", &[2]);
    m.node("RandomNormalLike", &["x"], &["noise"], &[]);
    m.node("Neg", &["noise"], &["y"], &[]);
    m.output("y");
    let source = OutlineSource::from_bytes(std::sync::Arc::new(m.bytes()), &ImportOptions::default());
    let outline = source.outline(224).unwrap();
    let Verdict::Refused(refusal) = &outline.graphs[0].nodes[0].verdict else { panic!("{outline:?}") };
    assert!(refusal.reason.contains("draws random numbers"), "{}", refusal.reason);
    assert_eq!(outline.graphs[0].nodes[1].verdict, Verdict::Computed, "it reads the runtime's numbers");
}
