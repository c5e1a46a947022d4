//! A model with its plan, for one device.

use std::{sync::Arc, time::Duration};

use super::{Context, Error, Model, Pool, PooledSession, Session, TensorInfo, TensorKey, TextureLayout};
use crate::{
    compile,
    gpu::{ExecutorOptions, SharedWeights, TensorRole, Wait},
    graph::TensorId,
    plan::{Plan, StopReason, TexelFormat},
};

/// A model with its plan, for the device of one context. Clones are the same; any number of sessions are made of it, which
/// share the weights.
#[derive(Clone, Debug)]
pub struct CompiledModel {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    context: Context,
    model: Model,
    compiled: Arc<compile::CompiledModel>,
    weights: SharedWeights,
    inputs: Vec<TextureLayout>,
    outputs: Vec<TextureLayout>,
}

impl CompiledModel {
    pub(super) fn new(context: &Context, model: &Model, compiled: compile::CompiledModel) -> Self {
        let (format, limits) = (compiled.format(), context.gpu().texture_limits());
        let layouts = |tensors: &[TensorId]| {
            let layout = |&id: &TensorId| TextureLayout::new(&compiled.graph.tensors[id], format, limits.max_extent);
            tensors.iter().map(layout).collect()
        };
        let (inputs, outputs) = (layouts(&compiled.graph.inputs), layouts(&compiled.graph.outputs));
        let (context, model, weights) = (context.clone(), model.clone(), SharedWeights::default());
        Self { inner: Arc::new(Inner { context, model, compiled: Arc::new(compiled), weights, inputs, outputs }) }
    }

    /// A session: the pool's textures, weights and pipelines on the device.
    ///
    /// # Errors
    /// [`Error::Gpu`]: the device is lost, has too little memory, or a limit that is too low.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn session(&self) -> Result<Session, Error> {
        crate::gpu::now(Session::new(self, None, Wait::Block))
    }

    /// The same where nobody may block.
    ///
    /// # Errors
    /// As [`session`](Self::session).
    pub async fn session_async(&self) -> Result<Session, Error> {
        Session::new(self, None, Wait::Task).await
    }

    /// A session whose intermediates lie in a pool that others use, too.
    ///
    /// # Errors
    /// [`Error::OtherContext`] for a pool of another context, [`Error::Gpu`] where it is too small, and as
    /// [`session`](Self::session).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn session_in(&self, pool: &Pool) -> Result<PooledSession, Error> {
        crate::gpu::now(pool.session(self, Wait::Block))
    }

    /// The same where nobody may block.
    ///
    /// # Errors
    /// As [`session_in`](Self::session_in).
    pub async fn session_in_async(&self, pool: &Pool) -> Result<PooledSession, Error> {
        pool.session(self, Wait::Task).await
    }

    /// The plan's decisions, for [`Context::load`]: neither weights nor steps, some kilobytes.
    pub fn save(&self) -> Vec<u8> {
        self.inner.compiled.save()
    }

    /// The model that it was made of.
    pub fn model(&self) -> &Model {
        &self.inner.model
    }

    /// The context that it was compiled by.
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// What the model takes.
    pub fn inputs(&self) -> &[TensorInfo] {
        self.inner.model.inputs()
    }

    /// What the model gives.
    pub fn outputs(&self) -> &[TensorInfo] {
        self.inner.model.outputs()
    }

    /// How the texture of an input must be made, and where its elements lie in it.
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], [`Error::AmbiguousName`].
    pub fn input_layout<'k>(&self, key: impl Into<TensorKey<'k>>) -> Result<&TextureLayout, Error> {
        Ok(&self.inner.inputs[self.inner.model.index(TensorRole::Input, key.into())?])
    }

    /// The same of an output.
    ///
    /// # Errors
    /// As [`input_layout`](Self::input_layout).
    pub fn output_layout<'k>(&self, key: impl Into<TensorKey<'k>>) -> Result<&TextureLayout, Error> {
        Ok(&self.inner.outputs[self.inner.model.index(TensorRole::Output, key.into())?])
    }

    /// What texels are in the pool, weights, inputs and outputs.
    pub fn texels(&self) -> TexelFormat {
        self.inner.compiled.format()
    }

    /// Bytes of the pool. A session tells [all that it takes](Session::memory).
    pub fn pool_bytes(&self) -> u64 {
        self.inner.compiled.plan.bytes()
    }

    /// The pool's textures, and where in them each intermediate lies at every step.
    pub fn plan(&self) -> &Plan {
        &self.inner.compiled.plan
    }

    /// Predicted time of a run by the device's profile, where operators run in bands.
    pub fn predicted_time(&self) -> Option<Duration> {
        let phased = self.inner.compiled.phased()?;
        Duration::try_from_secs_f64(phased.predicted_us / 1e6).ok()
    }

    /// Why the search for the plan ended before it was done: a smaller pool may exist. `None` where it was done.
    pub fn stopped(&self) -> Option<StopReason> {
        self.inner.compiled.stopped()
    }

    /// Steps and placements, for reports.
    #[doc(hidden)]
    pub fn compiled(&self) -> &Arc<compile::CompiledModel> {
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
