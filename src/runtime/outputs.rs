//! Results by name and by index.

use std::ops::Index;

use super::{CompiledModel, Error, TensorKey};
use texpool_gpu::TensorRole;
use texpool_model::tensor::{
    Tensor,
    convert::{TensorSpec, read_reals},
};

/// Results of a run in the model's order, or read results in the requested order. Outputs in textures of the caller
/// are not included. An output with [bounded axes](crate::TensorInfo::bounded_axes) has the extents that the run found.
///
/// ```no_run
/// # fn example(session: &mut texpool::Session, pixels: &[f32]) -> Result<(), Box<dyn std::error::Error>> {
/// let outputs = session.run([("image", texpool::TensorView::from(pixels))])?;
/// let scores = outputs["scores"].as_slice::<f32>()?;
/// let boxes = outputs.get("boxes").map(|boxes| boxes.dims()); // `None` if the model has no such output
/// println!("{} scores and {boxes:?}, of {} results", scores.len(), outputs.len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outputs {
    /// Index among the model's outputs, name, values.
    values: Vec<(usize, String, Tensor)>,
}

impl Outputs {
    pub(super) fn new(values: Vec<(usize, String, Tensor)>) -> Self {
        Self { values }
    }

    /// Returns one output, by name or by its index among the model's outputs. If several outputs have the name, returns
    /// the first.
    pub fn get<'k>(&self, key: impl Into<TensorKey<'k>>) -> Option<&Tensor> {
        let key = key.into();
        self.values.iter().find(|(index, name, _)| is(key, *index, name)).map(|(.., tensor)| tensor)
    }

    /// Removes one output from the results and returns it.
    ///
    /// ```no_run
    /// # fn example(mut outputs: texpool::Outputs) {
    /// if let Some(scores) = outputs.take("scores") {
    ///     println!("{:?}", scores.dims());
    /// }
    /// # }
    /// ```
    pub fn take<'k>(&mut self, key: impl Into<TensorKey<'k>>) -> Option<Tensor> {
        let key = key.into();
        let at = self.values.iter().position(|(index, name, _)| is(key, *index, name))?;
        Some(self.values.remove(at).2)
    }

    /// Iterates over names and values.
    ///
    /// ```no_run
    /// # fn example(outputs: texpool::Outputs) {
    /// for (name, tensor) in outputs.iter() {
    ///     println!("{name}: {:?}", tensor.dims());
    /// }
    /// # }
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Tensor)> {
        self.values.iter().map(|(_, name, tensor)| (name.as_str(), tensor))
    }

    /// Returns the number of results.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns true if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

fn is(key: TensorKey<'_>, index: usize, name: &str) -> bool {
    match key {
        TensorKey::Name(key) => key == name,
        TensorKey::Index(key) => key == index,
    }
}

impl IntoIterator for Outputs {
    type Item = (String, Tensor);
    type IntoIter =
        std::iter::Map<std::vec::IntoIter<(usize, String, Tensor)>, fn((usize, String, Tensor)) -> Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter().map(|(_, name, tensor)| (name, tensor))
    }
}

impl<'k, K: Into<TensorKey<'k>>> Index<K> for Outputs {
    type Output = Tensor;

    /// Returns one output, like [`get`](Self::get).
    ///
    /// # Panics
    /// Panics if no output has that name or index, like a map.
    #[expect(clippy::panic, reason = "the field's habit for results; `get` does not")]
    fn index(&self, key: K) -> &Tensor {
        let key = key.into();
        match self.get(key) {
            Some(tensor) => tensor,
            None => panic!("there is no output {key}"),
        }
    }
}

/// Converts results to the types of the model, and cuts those whose extents are among the results. `values` are by index
/// among the graph's outputs.
pub(super) fn outputs_of(compiled: &CompiledModel, values: Vec<(usize, Vec<f32>)>) -> Result<Outputs, Error> {
    let (infos, graph) = (compiled.outputs(), compiled.model().graph());
    let count = |output: usize| values.iter().find(|(other, _)| *other == output)?.1.first().copied();
    graph.check_limits(count)?;
    let counts: Vec<(usize, f32)> =
        graph.bounded.iter().filter_map(|bounded| Some((bounded.count, count(bounded.count)?))).collect();
    let found = |count: usize| counts.iter().find(|(other, _)| *other == count).map(|&(_, found)| found);
    let mut results = Vec::with_capacity(values.len());
    for (output, mut values) in values {
        let Some(info) = infos.get(output) else { continue };
        let dims = graph.cut_output(output, &mut values, found);
        let failed = |source| Error::Tensor { role: TensorRole::Output, name: info.name.clone(), source };
        let tensor = read_reals(values, TensorSpec { dims: &dims, ..info.spec() }).map_err(failed)?;
        results.push((output, info.name.clone(), tensor));
    }
    Ok(Outputs::new(results))
}
