//! Builder for the compilation of a model.

#[cfg(not(target_arch = "wasm32"))]
use std::path::PathBuf;
use std::{fmt, ops::ControlFlow, time::Duration};

use super::{CompiledModel, Context, Error, Model, NamedOptions};
#[cfg(not(target_arch = "wasm32"))]
#[cfg(not(target_arch = "wasm32"))]
use texpool_cache::{CachedPlan, PLANS};
use texpool_compile::{
    self, BlockChoice, CompileError, CompileOptions, DeviceProfile, Objective, OperatorOrder, Stripes, Tiling,
    WeightFormat, WeightStorage,
};
use texpool_model::rewrite::Rules;
use texpool_ops::graph::{DeviceClass, Graph};
use texpool_plan::{Planner, Progress, ProgressFn, SearchBudget, SearchControl, TexelFormat};

/// Options for compiling a model. The defaults are whole tensors, the smallest pool for them, and 32-bit texels.
///
/// ```no_run
/// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
/// use std::time::Duration;
///
/// let compiled = context.compile(&model).smallest().deadline(Duration::from_secs(5)).build()?;
/// println!("{} bytes", compiled.pool_bytes());
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is compiled before `build`"]
pub struct CompileBuilder<'a> {
    context: Context,
    model: Model,
    options: CompileOptions,
    deadline: Option<Duration>,
    progress: Option<Box<ProgressFn<'a>>>,
    #[cfg(not(target_arch = "wasm32"))]
    plans: Option<PathBuf>,
}

impl Context {
    /// Returns a builder for compiling a model for this device.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// let compiled = context.compile(&model).build()?;
    /// println!("a pool of {} bytes", compiled.pool_bytes());
    /// # Ok(())
    /// # }
    /// ```
    pub fn compile(&self, model: &Model) -> CompileBuilder<'static> {
        CompileBuilder::new(self, model)
    }
}

impl CompileBuilder<'static> {
    fn new(context: &Context, model: &Model) -> Self {
        Self {
            context: context.clone(),
            model: model.clone(),
            options: context.gpu().options(CompileOptions::default()),
            deadline: None,
            progress: None,
            #[cfg(not(target_arch = "wasm32"))]
            plans: None,
        }
    }
}

impl<'a> CompileBuilder<'a> {
    /// Chooses the fastest plan found whose pool takes at most `bytes`. Operators run in stripes of rows if
    /// necessary.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// let compiled = context.compile(&model).memory_budget(2 << 20).build()?;
    /// assert!(compiled.pool_bytes() <= 2 << 20);
    /// # Ok(())
    /// # }
    /// ```
    pub fn memory_budget(mut self, bytes: u64) -> Self {
        self.options.objective = Objective::Pool(bytes);
        self
    }

    /// Chooses the fastest plan found with which a session takes at most `bytes` of the device in total: pool,
    /// weights, inputs and outputs, tables, and transfer buffers ([`Memory::planned`](crate::Memory::planned)).
    /// Weights, inputs and outputs go through the pool if necessary; such a session exchanges inputs and outputs by
    /// value, and only [`run`](crate::Session::run) can run it. From 4 MiB on, the blocks that the allocator takes
    /// from the driver ([`MemoryPeak::reserved`](crate::MemoryPeak::reserved)) also stay within the budget, if such a
    /// plan exists, texpool opened the device, and the device has one kind of memory.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// let compiled = context.compile(&model).device_budget(4 << 20).build()?;
    /// assert!(compiled.session()?.memory().planned.sum() <= 4 << 20);
    /// # Ok(())
    /// # }
    /// ```
    pub fn device_budget(mut self, bytes: u64) -> Self {
        self.options.objective = Objective::Device(bytes);
        self
    }

    /// Uploads weights into the pool in every run instead of keeping them on the device. An operator that runs over
    /// all its rows at once receives them in tiles of at most `tile_bytes`. The host keeps them packed, in memory or
    /// in a [folder](Context::with_weights_folder).
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// let context = context.with_weights_folder("cache/weights");
    /// let compiled = context.compile(&model).stream_weights(1 << 20).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream_weights(mut self, tile_bytes: u64) -> Self {
        self.options.weights = WeightStorage::Streamed { resident_below: 0, tile_bytes };
        self
    }

    /// Uploads inputs into the pool, row by row as they are needed, instead of holding them whole in textures.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model, picture: &[f32]) -> Result<(), texpool::Error> {
    /// let compiled = context.compile(&model).memory_budget(1 << 20).stream_inputs().build()?;
    /// // A streamed input takes values; no texture can be bound to it.
    /// let outputs = compiled.session()?.run([("image", texpool::TensorView::from(picture))])?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream_inputs(mut self) -> Self {
        self.options.stream_io.inputs = true;
        self
    }

    /// Downloads outputs from the pool row by row as they are computed, instead of holding them whole in textures. An
    /// output that is a reshaped view of another tensor keeps its texture.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// // Neither picture lies on the device as a whole.
    /// let compiled = context.compile(&model).smallest().stream_inputs().stream_outputs().build()?;
    /// println!("{} bytes of the device", compiled.device_bytes());
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream_outputs(mut self) -> Self {
        self.options.stream_io.outputs = true;
        self
    }

    /// Chooses the plan with the least device memory found, regardless of the number of dispatches. The memory is the
    /// pool and everything beside it; without [streaming](Self::stream_weights), nearly only the pool can shrink.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// let fastest = context.compile(&model).build()?;
    /// // Weights go through the pool, too, so that they are not the largest part.
    /// let smallest = context.compile(&model).stream_weights(64 << 10).smallest().build()?;
    /// println!("{} bytes, {} at the least", fastest.device_bytes(), smallest.device_bytes());
    /// # Ok(())
    /// # }
    /// ```
    pub fn smallest(mut self) -> Self {
        self.options.objective = Objective::Smallest;
        self
    }

    /// Chooses the plan at which saving another percent of device memory starts to cost more than a percent of time.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// // The balance depends on the times of this device.
    /// let profile = context.calibrate(texpool::TexelFormat::Rgba32Float)?;
    /// let compiled = context.compile(&model).balanced().device_profile(profile).build()?;
    /// println!("{} bytes, {:?}", compiled.device_bytes(), compiled.predicted_time());
    /// # Ok(())
    /// # }
    /// ```
    pub fn balanced(mut self) -> Self {
        self.options.objective = Objective::Balanced;
        self
    }

    /// Keeps every tensor whole: no operator runs in stripes of rows, even if that would save memory.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// // Each operator computes its whole result at once; only places in the pool are searched for.
    /// let compiled = context.compile(&model).smallest().whole_tensors().build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn whole_tensors(mut self) -> Self {
        self.options.tiling = Tiling::Whole;
        self
    }

    /// Also divides the first layers into patches, each of which computes some columns of a tensor, if that makes the
    /// [smallest](Self::smallest) plan smaller or meets a limit that no other plan meets. The results have the same bits.
    /// Columns at the borders of patches are computed twice, and the search takes several times as long.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// let compiled = context.compile(&model).smallest().column_patches().build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn column_patches(mut self) -> Self {
        self.options.tiling = Tiling::Patches;
        self
    }

    /// Runs operators in these numbers of stripes of rows instead of searching for some: all of them, or those that compute
    /// some tensors. The results have the same bits. Building fails if the model has no operator of a name, or if one has
    /// fewer rows than stripes.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), Box<dyn std::error::Error>> {
    /// let compiled = context.compile(&model).stripes("conv1=8,conv2=4".parse()?).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn stripes(mut self, stripes: Stripes) -> Self {
        self.options.stripes = stripes;
        self
    }

    /// Selects the order of the operators: the file's, or the one with the smallest pool of whole tensors that is
    /// found. The results have the same bits.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// let compiled = context.compile(&model).order(texpool::OperatorOrder::Memory).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn order(mut self, order: OperatorOrder) -> Self {
        self.options.order = order;
        self
    }

    /// Selects the blocks of a class of devices: the pixels and channels that an invocation computes. By default they
    /// are those of the device's class. The results have the same bits.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// // A device of a vendor that texpool does not know, but like one that it knows.
    /// let compiled = context.compile(&model).blocks(texpool::DeviceClass::Mali).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn blocks(mut self, class: DeviceClass) -> Self {
        self.options.blocks = BlockChoice::of(class);
        self
    }

    /// Sets the texels of the pool: 32-bit floats, or 16-bit floats at half the size.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// let halves = context.compile(&model).texels(texpool::TexelFormat::Rgba16Float).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn texels(mut self, format: TexelFormat) -> Self {
        self.options.format = format;
        self
    }

    /// Sets the format of the weights of convolutions and fully connected layers on the device: the file's format,
    /// which keeps every bit of the results, or 16 or 8 bits. [`WeightFormat`] lists the effect on each operator.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// let compiled = context.compile(&model).weight_format(texpool::WeightFormat::File).build()?;
    /// let session = compiled.session()?;
    /// println!("{} bytes of weights", session.memory().planned.weights);
    /// # Ok(())
    /// # }
    /// ```
    pub fn weight_format(mut self, format: WeightFormat) -> Self {
        self.options.weight_format = format;
        self
    }

    /// Selects the rewrite rules.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// use texpool::rewrite::Rules;
    ///
    /// // Only rules that keep every bit of the results.
    /// let compiled = context.compile(&model).rules(Rules::exact()).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn rules(mut self, rules: Rules) -> Self {
        self.options.rules = rules;
        self
    }

    /// Selects the planning strategy: the best of all, or a single one.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// use texpool::plan::{Planner, Strategy};
    ///
    /// // One greedy strategy, which takes less than a millisecond.
    /// let quick = context.compile(&model).planner(Planner::Strategy(Strategy::GreedyBySize)).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn planner(mut self, planner: Planner) -> Self {
        self.options.planner = planner;
        self
    }

    /// Limits the effort of the search for a better plan.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// use texpool::plan::SearchBudget;
    ///
    /// // The best of the greedy strategies, on every machine the same.
    /// let compiled = context.compile(&model).effort(SearchBudget::PORTFOLIO).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn effort(mut self, budget: SearchBudget) -> Self {
        self.options.budget = budget;
        self
    }

    /// Sets the costs of dispatches and arithmetic on the device, which decide between plans that fit.
    /// [`Context::calibrate`] measures them. By default they are those of a software device.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// use texpool::DeviceProfile;
    ///
    /// // Dispatches cost much on this device, so fewer and larger stripes are faster.
    /// let profile = DeviceProfile { dispatch_us: 100.0, ..DeviceProfile::default() };
    /// let compiled = context.compile(&model).memory_budget(2 << 20).device_profile(profile).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn device_profile(mut self, profile: DeviceProfile) -> Self {
        self.options.device_profile = profile;
        self
    }

    /// Applies options given by name. They replace all earlier settings of the plan, except the device profile.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), Box<dyn std::error::Error>> {
    /// use texpool::NamedOptions;
    ///
    /// let options = NamedOptions::parse([("budget", "2MiB"), ("deadline", "5")])?;
    /// let compiled = context.compile(&model).named_options(&options).build()?;
    /// assert!(compiled.session()?.memory().planned.sum() <= 2 << 20);
    /// # Ok(())
    /// # }
    /// ```
    pub fn named_options(mut self, named: &NamedOptions) -> Self {
        let CompileOptions { limits, device_profile, .. } = self.options;
        let named_blocks = named.compile().blocks.on(self.context.gpu().blocks());
        self.options = CompileOptions { limits, device_profile, blocks: named_blocks, ..named.compile().clone() };
        self.deadline = named.deadline();
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(folder) = named.made_cache_dir() {
            self.plans = Some(folder.join(PLANS));
        }
        self
    }

    /// Stores the plan in this folder and loads it the next time instead of searching. This applies to plans with row
    /// tiling and to plans with streamed weights, because their search takes long. The file is named after the model
    /// and the options. A stored plan is checked like a new plan, and replaced if it is invalid or from another
    /// version. If a [deadline](Self::deadline) cuts the search short, the best plan found is stored. The next start
    /// uses it immediately if it is within the budget and the new deadline allows no longer search; otherwise the
    /// search continues from it. If no plan was found within the budget, the next start is refused immediately unless
    /// its deadline allows a longer search. A search within a device budget starts from any stored plan of the model
    /// that keeps within it. If the folder cannot be written, the next start searches again.
    ///
    /// ```no_run
    /// # fn example(model: texpool::Model, cache: std::path::PathBuf) -> Result<(), texpool::Error> {
    /// let context = texpool::Context::open(&Default::default())?;
    /// // The first start searches for seconds, all others for none.
    /// let compiled = context.compile(&model).smallest().plan_folder(cache.join("plans")).build()?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(not(target_arch = "wasm32"))]
    pub fn plan_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.plans = Some(folder.into());
        self
    }

    /// Limits the time of the search, which then returns the best plan found. Without a deadline, the same model gets
    /// the same plan on every machine whose device is of the same class.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// use std::time::Duration;
    ///
    /// let compiled = context.compile(&model).smallest().deadline(Duration::from_secs(2)).build()?;
    /// if let Some(reason) = compiled.stopped() {
    ///     println!("the search ended early: {reason}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn deadline(mut self, within: Duration) -> Self {
        self.deadline = Some(within);
        self
    }

    /// Calls `callback` with the progress every few milliseconds. Returning [`ControlFlow::Break`] ends the search with
    /// the best plan found.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// use std::ops::ControlFlow;
    ///
    /// let compiled = context.compile(&model).smallest().progress(|_| ControlFlow::Continue(())).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn progress<'b>(self, callback: impl FnMut(Progress) -> ControlFlow<()> + Send + 'b) -> CompileBuilder<'b> {
        CompileBuilder {
            context: self.context,
            model: self.model,
            options: self.options,
            deadline: self.deadline,
            progress: Some(Box::new(callback)),
            #[cfg(not(target_arch = "wasm32"))]
            plans: self.plans,
        }
    }

    /// Rewrites, schedules and plans the model, and checks the plan. May take seconds: see
    /// [`deadline`](Self::deadline).
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// use texpool::{CompileError, Error};
    ///
    /// let compiled = match context.compile(&model).memory_budget(100_000).build() {
    ///     // Too little for any plan that was found, so as much as that takes.
    ///     Err(Error::Compile(CompileError::Budget { least, .. })) => {
    ///         context.compile(&model).memory_budget(least).build()?
    ///     }
    ///     compiled => compiled?,
    /// };
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Compile`] if no plan fits the budget or the device.
    pub fn build(mut self) -> Result<CompiledModel, Error> {
        self.context.gpu().check_process()?;
        let compiled = self.kept_or_found()?;
        Ok(CompiledModel::new(&self.context, &self.model, compiled))
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn kept_or_found(&mut self) -> Result<texpool_compile::CompiledModel, CompileError> {
        let (model, options, deadline) = (self.model.clone(), self.options.clone(), self.deadline);
        let cached = self.plans.as_deref().and_then(|folder| CachedPlan::new(folder, model.graph(), &options));
        let Some(cached) = cached else { return self.search(texpool_compile::compile) };
        let outcome = cached.get_or_search(model.graph(), &options, deadline, |start| {
            self.search(|graph, options, control| texpool_compile::compile_from(graph, options, start, control))
        });
        Ok(outcome?.0)
    }

    #[cfg(target_arch = "wasm32")]
    fn kept_or_found(&mut self) -> Result<texpool_compile::CompiledModel, CompileError> {
        self.search(texpool_compile::compile)
    }

    /// Runs `search` with the builder's deadline and progress callback.
    fn search<T>(&mut self, search: impl FnOnce(&Graph, &CompileOptions, &SearchControl<'_>) -> T) -> T {
        let mut control = SearchControl::new();
        if let Some(within) = self.deadline {
            control = control.timeout(within);
        }
        if let Some(callback) = &mut self.progress {
            control = control.progress(&mut **callback);
        }
        search(self.model.graph(), &self.options, &control)
    }

    /// Returns the Pareto front of plans in device memory and time, fastest first.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// for plan in context.compile(&model).pareto_front()? {
    ///     println!("{} bytes, {:?}", plan.device_bytes(), plan.predicted_time());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn pareto_front(mut self) -> Result<Vec<CompiledModel>, Error> {
        let front = self.search(texpool_compile::pareto_front)?;
        let points = front.points().iter().enumerate();
        let points = points.filter_map(|(index, point)| Some((front.compiled(index)?, Some(point.predicted_us))));
        let compiled_model = |(compiled, us)| CompiledModel::with_prediction(&self.context, &self.model, compiled, us);
        Ok(points.map(compiled_model).collect())
    }
}

impl CompileBuilder<'static> {
    /// Like [`build`](Self::build), without blocking: the search runs in a separate thread, which ends early if the
    /// future is dropped.
    ///
    /// Browsers cannot start this thread, so the call blocks there. Compile elsewhere and [load](Context::load) the
    /// plan, or call this in a worker.
    ///
    /// ```no_run
    /// # async fn example(context: texpool::Context, model: texpool::Model) -> Result<(), texpool::Error> {
    /// let compiled = context.compile(&model).smallest().build_async().await?;
    /// let session = compiled.session_async().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`build`](Self::build).
    #[cfg(not(target_arch = "wasm32"))]
    pub async fn build_async(mut self) -> Result<CompiledModel, Error> {
        use std::sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        };

        /// Ends the search when the future is dropped.
        struct Cancel(Arc<AtomicBool>);
        impl Drop for Cancel {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }

        let cancel = Cancel(Arc::default());
        let cancelled = Arc::clone(&cancel.0);
        let mut callback = self.progress.take();
        let builder = self.progress(move |progress| {
            if cancelled.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            callback.as_mut().map_or(ControlFlow::Continue(()), |callback| callback(progress))
        });
        let (tell, answer) = oneshot::channel();
        let search = move || drop(tell.send(builder.build()));
        std::thread::Builder::new()
            .name("texpool compile".into())
            .spawn(search)
            .map_err(|source| Error::NoThread { reason: source.to_string() })?;
        match answer.await {
            Ok(result) => result,
            Err(_) => Err(Error::NoThread { reason: "it ended without an answer".into() }),
        }
    }

    /// Like [`build`](Self::build). The search blocks, because browsers have no thread for it. Compile elsewhere and
    /// [load](Context::load) the plan, or call this in a worker.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    #[cfg(target_arch = "wasm32")]
    pub async fn build_async(self) -> Result<CompiledModel, Error> {
        self.build()
    }
}

impl fmt::Debug for CompileBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompileBuilder")
            .field("model", &self.model.name())
            .field("options", &self.options)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
