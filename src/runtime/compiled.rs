//! A model with its plan, for one device.

use std::{sync::Arc, time::Duration};

use super::{Context, Error, Model, TensorInfo, TensorKey, TextureLayout};
use texpool_compile::WeightFormat;
use texpool_gpu::{ExecutorOptions, SharedWeights, TensorRole};
use texpool_ops::graph::TensorId;
use texpool_plan::{Plan, StopReason, TexelFormat};

/// A model with its plan, for the device of one context. Clones refer to the same object. Any number of sessions can be
/// created from it; they share the weights.
///
/// ```no_run
/// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
/// let compiled = context.compile(&model).smallest().build()?;
/// println!("{}: {} inputs, {} outputs", compiled.model().name(), compiled.inputs().len(), compiled.outputs().len());
/// println!("a pool of {} bytes in {:?}", compiled.pool_bytes(), compiled.texels());
/// println!("{} bytes in all, weights in {}", compiled.device_bytes(), compiled.weight_format().name());
/// println!("{:?} a run, search stopped by {:?}", compiled.predicted_time(), compiled.stopped());
/// // Two sessions, which share the weights.
/// let (left, right) = (compiled.session()?, compiled.session()?);
/// compiled.context().check()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct CompiledModel {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    context: Context,
    model: Model,
    compiled: Arc<texpool_compile::CompiledModel>,
    weights: SharedWeights,
    inputs: Vec<TextureLayout>,
    outputs: Vec<TextureLayout>,
    predicted_us: Option<f64>,
}

impl Context {
    /// Loads a [saved](CompiledModel::save) plan for the same model, and checks it like a new plan.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), Box<dyn std::error::Error>> {
    /// use std::fs;
    ///
    /// let saved = fs::read("face.plan").ok().and_then(|plan| context.load(&model, &plan).ok());
    /// let compiled = match saved {
    ///     Some(compiled) => compiled,
    ///     // The plan is missing, or belongs to an older model or a larger device.
    ///     None => {
    ///         let compiled = context.compile(&model).smallest().build()?;
    ///         fs::write("face.plan", compiled.save())?;
    ///         compiled
    ///     }
    /// };
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::SavedPlan`] if the bytes are not a plan, or belong to another model or a device with larger textures.
    pub fn load(&self, model: &Model, plan: &[u8]) -> Result<CompiledModel, Error> {
        let compiled = texpool_compile::load(model.graph(), plan, self.gpu().texture_limits())?;
        Ok(CompiledModel::new(self, model, compiled))
    }
}

impl CompiledModel {
    pub(super) fn new(context: &Context, model: &Model, compiled: texpool_compile::CompiledModel) -> Self {
        let predicted_us = compiled.tiled().map(|tiled| tiled.predicted_us);
        Self::with_prediction(context, model, compiled, predicted_us)
    }

    /// Creates a compiled model with a known predicted time.
    pub(super) fn with_prediction(
        context: &Context,
        model: &Model,
        compiled: texpool_compile::CompiledModel,
        predicted_us: Option<f64>,
    ) -> Self {
        let (format, limits) = (compiled.format(), context.gpu().texture_limits());
        let layouts = |tensors: &[TensorId]| {
            let layout = |&id: &TensorId| TextureLayout::new(&compiled.graph().tensors[id], format, limits.max_extent);
            tensors.iter().map(layout).collect()
        };
        let (inputs, outputs) = (layouts(&compiled.graph().inputs), layouts(&compiled.graph().outputs));
        let (context, model, weights) = (context.clone(), model.clone(), context.new_weights());
        let compiled = Arc::new(compiled);
        Self { inner: Arc::new(Inner { context, model, compiled, weights, inputs, outputs, predicted_us }) }
    }

    /// Serialises the plan's decisions for [`Context::load`]. Weights and steps are not included, so the result has
    /// only some kilobytes.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), Box<dyn std::error::Error>> {
    /// let compiled = context.compile(&model).smallest().build()?;
    /// std::fs::write("model.plan", compiled.save())?;
    /// let loaded = context.load(&model, &std::fs::read("model.plan")?)?;
    /// assert_eq!(loaded.pool_bytes(), compiled.pool_bytes());
    /// # Ok(())
    /// # }
    /// ```
    pub fn save(&self) -> Vec<u8> {
        self.inner.compiled.save()
    }

    /// Returns the model that was compiled.
    pub fn model(&self) -> &Model {
        &self.inner.model
    }

    /// Returns the context that compiled the model.
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// Returns the model's inputs.
    pub fn inputs(&self) -> &[TensorInfo] {
        self.inner.model.inputs()
    }

    /// Returns the model's outputs.
    pub fn outputs(&self) -> &[TensorInfo] {
        self.inner.model.outputs()
    }

    /// Returns the required format of an input's texture, and the position of its elements.
    ///
    /// ```no_run
    /// # fn example(compiled: texpool::CompiledModel) -> Result<(), texpool::Error> {
    /// let layout = compiled.input_layout("image")?;
    /// println!("{} by {} texels", layout.width, layout.height);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], [`Error::AmbiguousName`].
    pub fn input_layout<'k>(&self, key: impl Into<TensorKey<'k>>) -> Result<&TextureLayout, Error> {
        Ok(&self.inner.inputs[self.inner.model.index(TensorRole::Input, key.into())?])
    }

    /// Returns the same for an output.
    ///
    /// ```no_run
    /// # fn example(compiled: texpool::CompiledModel) -> Result<(), texpool::Error> {
    /// let layout = compiled.output_layout("scores")?;
    /// // Column, row and lane of the score of class 281.
    /// println!("{:?}", layout.position(&[0, 281]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`input_layout`](Self::input_layout).
    pub fn output_layout<'k>(&self, key: impl Into<TensorKey<'k>>) -> Result<&TextureLayout, Error> {
        Ok(&self.inner.outputs[self.inner.model.index(TensorRole::Output, key.into())?])
    }

    /// Returns the format of the texels of the pool, inputs and outputs.
    pub fn texels(&self) -> TexelFormat {
        self.inner.compiled.format()
    }

    /// Returns the range of integer input values for which all computations are exact. `None` if only the texel format
    /// limits them.
    pub(super) fn integer_range(&self, input: usize) -> Option<[i32; 2]> {
        let graph = &self.inner.compiled.graph();
        graph.inputs.get(input).and_then(|&id| graph.tensors[id].integer_range)
    }

    /// Returns the format of the weights that stay on the device.
    pub fn weight_format(&self) -> WeightFormat {
        self.inner.compiled.weight_format()
    }

    /// Returns the size of the pool in bytes. [`Session::memory`](crate::Session::memory) returns all memory of a
    /// session.
    pub fn pool_bytes(&self) -> u64 {
        self.inner.compiled.plan().bytes()
    }

    /// Returns an upper estimate of the bytes that a session takes of the device if it is alone there: pool, weights,
    /// inputs and outputs, tables, transfer buffers, and half a MiB for wgpu. It is too high by some tens of
    /// kilobytes. [`Session::memory`](crate::Session::memory) returns the actual bytes.
    pub fn device_bytes(&self) -> u64 {
        self.inner.compiled.device_bytes()
    }

    /// Returns the plan: the pool's textures, and the position of each intermediate at every step.
    ///
    /// ```no_run
    /// # fn example(compiled: texpool::CompiledModel) {
    /// for texture in &compiled.plan().textures {
    ///     println!("{} by {} texels", texture.width, texture.height);
    /// }
    /// # }
    /// ```
    pub fn plan(&self) -> &Plan {
        self.inner.compiled.plan()
    }

    /// Returns the time of a run as predicted from the device's profile. It is known for plans with stripes of rows,
    /// and for all plans of [`CompileBuilder::pareto_front`](crate::CompileBuilder::pareto_front).
    pub fn predicted_time(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.inner.predicted_us? / 1e6).ok()
    }

    /// Returns the reason for an early end of the search for the plan, in which case a smaller pool may exist. `None`
    /// if the search was completed.
    pub fn stopped(&self) -> Option<StopReason> {
        self.inner.compiled.stopped()
    }

    /// Returns the steps and placements, for reports.
    #[doc(hidden)]
    pub fn compiled(&self) -> &Arc<texpool_compile::CompiledModel> {
        &self.inner.compiled
    }

    pub(super) fn executor_options(&self) -> ExecutorOptions {
        ExecutorOptions {
            pipelines: self.inner.context.pipelines().clone(),
            weights: self.inner.weights.clone(),
            ..ExecutorOptions::default()
        }
    }
}
