//! A test case: a model, its input arrays, and its expected output arrays.

use std::sync::Arc;

use texpool_model::import::{Array, read_tensor};

use super::{
    package::Files,
    proto::{Facts, doubles, facts, narrowed},
};

/// Largest integer up to which floats are exact.
const EXACT: i64 = 1 << 24;

/// A model and its data.
pub(crate) struct Case {
    pub(crate) model: Arc<Vec<u8>>,
    pub(crate) facts: Facts,
    /// Arrays for the model's first inputs.
    pub(crate) inputs: Vec<Array>,
    pub(crate) outputs: Vec<Array>,
    pub(crate) rtol: f32,
    pub(crate) atol: f32,
}

impl Case {
    /// Reads a case, or returns the element type that is not supported. With `narrow`, 64-bit floats become 32-bit
    /// ones.
    pub(crate) fn read(files: &Files, narrow: bool) -> Result<Self, String> {
        let model = &files["model.onnx"];
        let model = Arc::new(if narrow { narrowed(model) } else { model.clone() });
        let stated = files.get("data.json").map(|json| serde_json::from_slice::<serde_json::Value>(json).unwrap());
        let tolerance = |name: &str, usual: f64| {
            let own = stated.as_ref().and_then(|json| json[name].as_f64());
            own.unwrap_or(usual) as f32
        };
        let facts = facts(&model);
        if let Some(what) = facts.others.first() {
            return Err(format!("it takes or gives {what}"));
        }
        Ok(Self {
            facts,
            model,
            inputs: arrays(files, "input", narrow)?,
            outputs: arrays(files, "output", narrow)?,
            rtol: tolerance("rtol", 1e-3),
            atol: tolerance("atol", 1e-7),
        })
    }

    /// Extent of an input's array along an axis.
    pub(crate) fn extent(&self, input: &str, axis: usize) -> usize {
        let at = self.facts.inputs.iter().position(|name| name == input).unwrap();
        self.inputs[at].dims()[axis]
    }
}

fn arrays(files: &Files, role: &str, narrow: bool) -> Result<Vec<Array>, String> {
    let named = (0..).map(|i| (i, files.get(&format!("test_data_set_0/{role}_{i}.pb"))));
    let present = named.map_while(|(i, bytes)| Some((i, bytes?)));
    present.map(|(i, bytes)| array(bytes, narrow).map_err(|reason| format!("{role} {i}: {reason}"))).collect()
}

fn array(bytes: &[u8], narrow: bool) -> Result<Array, String> {
    if let Some((dims, values)) = doubles(bytes).filter(|_| narrow) {
        let values: Vec<f32> = values.iter().map(|&v| v as f32).collect();
        return Array::floats(&dims, &values).ok_or_else(|| "not as many values as its extents say".to_owned());
    }
    let array = read_tensor(Arc::new(bytes.to_vec())).map_err(|error| error.to_string())?;
    match array.to_i64().is_some_and(|values| values.iter().any(|v| v.unsigned_abs() > EXACT as u64)) {
        true => Err("it holds integers beyond 2^24".to_owned()),
        false => Ok(array),
    }
}
