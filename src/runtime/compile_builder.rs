//! How a model is to be compiled, said piece by piece.

#[cfg(not(target_arch = "wasm32"))]
use std::path::PathBuf;
use std::{fmt, ops::ControlFlow, time::Duration};

#[cfg(not(target_arch = "wasm32"))]
use super::cached_plan::CachedPlan;
use super::{CompiledModel, Context, Error, Model, NamedOptions};
use crate::{
    compile::{self, CompileError, CompileOptions, DeviceProfile, Phases, WeightFormat, WeightStorage},
    graph::Graph,
    plan::{Planner, Progress, ProgressFn, SearchBudget, SearchControl, TexelFormat},
    rewrite::Rules,
};

/// How a model is to be compiled; what is not said is the default: one band of rows an operator, the smallest pool for
/// that, 32-bit texels.
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
    /// How a model is to be compiled for this device: a builder.
    pub fn compile(&self, model: &Model) -> CompileBuilder<'static> {
        CompileBuilder::new(self, model)
    }
}

impl CompileBuilder<'static> {
    fn new(context: &Context, model: &Model) -> Self {
        let limits = context.gpu().texture_limits();
        Self {
            context: context.clone(),
            model: model.clone(),
            options: CompileOptions { limits, ..CompileOptions::default() },
            deadline: None,
            progress: None,
            #[cfg(not(target_arch = "wasm32"))]
            plans: None,
        }
    }
}

impl<'a> CompileBuilder<'a> {
    /// The fastest plan that is found whose pool takes no more than so many bytes: operators run band by band of rows
    /// where they must.
    pub fn memory_budget(mut self, bytes: u64) -> Self {
        self.options.phases = Phases::Budget(bytes);
        self
    }

    /// The fastest plan that is found with which a session takes no more than so many bytes of the device in all: pool,
    /// weights, inputs and outputs, tables, buffers for transfers ([`Memory::planned`](crate::Memory::planned)). Weights,
    /// inputs and outputs go through the pool where they must: such a session takes inputs and answers outputs by value,
    /// and is run by [`run`](crate::Session::run) alone. From 4 MiB on the blocks that the allocator of a device of texpool's
    /// own takes from the driver ([`MemoryPeak::reserved`](crate::MemoryPeak::reserved)) are within it, too, where such a plan
    /// is found and that device has memory of one kind.
    pub fn device_budget(mut self, bytes: u64) -> Self {
        self.options.phases = Phases::DeviceBudget(bytes);
        self
    }

    /// Uploads weights into the pool in every run, in tiles of at most so many bytes where an operator runs over all its
    /// rows at once, instead of keeping them on the device. The host keeps them packed, in memory or in a
    /// [folder](Context::with_weights_folder).
    pub fn stream_weights(mut self, tile_bytes: u64) -> Self {
        self.options.weights = WeightStorage::Streamed { resident_below: 0, tile_bytes };
        self
    }

    /// Uploads inputs into the pool, row by row as they are needed, instead of holding them whole in textures.
    pub fn stream_inputs(mut self) -> Self {
        self.options.stream_io.inputs = true;
        self
    }

    /// Downloads outputs out of the pool, row by row as they are done, instead of holding them whole in textures. An output
    /// that is another tensor in another shape keeps its texture.
    pub fn stream_outputs(mut self) -> Self {
        self.options.stream_io.outputs = true;
        self
    }

    /// The fewest bytes of the device's memory that are found, however many dispatches that takes. They are the pool and
    /// what lies beside it; without [streaming](Self::stream_weights) nearly only the pool can fall.
    pub fn smallest(mut self) -> Self {
        self.options.phases = Phases::Min;
        self
    }

    /// The plan beyond which a percent less of the device's bytes costs more than a percent of time.
    pub fn balanced(mut self) -> Self {
        self.options.phases = Phases::Auto;
        self
    }

    /// What the pool's texels are: 32-bit floats, or 16-bit ones that take half the bytes.
    pub fn texels(mut self, format: TexelFormat) -> Self {
        self.options.format = format;
        self
    }

    /// How the weights of convolutions and fully connected layers are stored on the device: as the file has them, which
    /// keeps every bit of the answers, or in 16 or 8 bits. [`WeightFormat`] says what that does to which operators.
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

    /// Which rewriting rules are on.
    pub fn rules(mut self, rules: Rules) -> Self {
        self.options.rules = rules;
        self
    }

    /// Which strategy plans: the best of all, or the one named.
    pub fn planner(mut self, planner: Planner) -> Self {
        self.options.planner = planner;
        self
    }

    /// How far to search for a better plan.
    pub fn effort(mut self, budget: SearchBudget) -> Self {
        self.options.budget = budget;
        self
    }

    /// What the device takes for a dispatch and for arithmetic, which decides between plans that fit:
    /// [`Context::calibrate`] measures it. Without it the figures are those of a software device.
    pub fn device_profile(mut self, profile: DeviceProfile) -> Self {
        self.options.device_profile = profile;
        self
    }

    /// What options say that were given by name, in place of all that was said of the plan so far; the device's profile
    /// stays.
    pub fn named_options(mut self, named: &NamedOptions) -> Self {
        let CompileOptions { limits, device_profile, .. } = self.options;
        self.options = CompileOptions { limits, device_profile, ..named.compile().clone() };
        self.deadline = named.deadline();
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(folder) = named.made_cache_dir() {
            self.plans = Some(folder.join("plans"));
        }
        self
    }

    /// Keeps the plan in this folder, and the next time takes it from there instead of searching: plans with bands of rows,
    /// and those with streamed weights, which take long to find. A file is named after the model and all
    /// that was asked, is checked like a new plan when it is taken, and is replaced where it does not hold or another
    /// version searched for it. Where a [deadline](Self::deadline) cut the search short, the best so far is kept: the next
    /// start takes it at once where it keeps within the budget and that start has no more time to search, and else goes on
    /// from it. Where the folder cannot be written to, the next start searches again.
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

    /// Ends the search after so long, with the best plan so far. Without it the same model has the same plan on every
    /// machine.
    pub fn deadline(mut self, within: Duration) -> Self {
        self.deadline = Some(within);
        self
    }

    /// Calls `told` with the progress every few milliseconds; where it answers [`ControlFlow::Break`], the search ends
    /// with the best plan so far.
    pub fn progress<'b>(self, told: impl FnMut(Progress) -> ControlFlow<()> + Send + 'b) -> CompileBuilder<'b> {
        CompileBuilder {
            context: self.context,
            model: self.model,
            options: self.options,
            deadline: self.deadline,
            progress: Some(Box::new(told)),
            #[cfg(not(target_arch = "wasm32"))]
            plans: self.plans,
        }
    }

    /// Rewrites, schedules and plans the model, and checks the plan. May take seconds: see
    /// [`deadline`](Self::deadline).
    ///
    /// # Errors
    /// [`Error::Compile`] where no plan fits the budget or the device.
    pub fn build(mut self) -> Result<CompiledModel, Error> {
        self.context.gpu().check_process()?;
        let compiled = self.kept_or_found()?;
        Ok(CompiledModel::new(&self.context, &self.model, compiled))
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn kept_or_found(&mut self) -> Result<compile::CompiledModel, CompileError> {
        let (model, options, deadline) = (self.model.clone(), self.options.clone(), self.deadline);
        let cached = self.plans.as_deref().and_then(|folder| CachedPlan::new(folder, model.graph(), &options));
        let Some(cached) = cached else { return self.search(compile::compile) };
        let found = cached.get_or_search(model.graph(), &options, deadline, |start| {
            self.search(|graph, options, control| compile::compile_from(graph, options, start, control))
        });
        Ok(found?.0)
    }

    #[cfg(target_arch = "wasm32")]
    fn kept_or_found(&mut self) -> Result<compile::CompiledModel, CompileError> {
        self.search(compile::compile)
    }

    /// Searches with the deadline and the callback that were given.
    fn search<T>(&mut self, search: impl FnOnce(&Graph, &CompileOptions, &SearchControl<'_>) -> T) -> T {
        let mut control = SearchControl::new();
        if let Some(within) = self.deadline {
            control = control.timeout(within);
        }
        if let Some(told) = &mut self.progress {
            control = control.progress(&mut **told);
        }
        search(self.model.graph(), &self.options, &control)
    }

    /// All plans of which none is beaten in both the device's bytes and time, the fastest first.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn frontier(mut self) -> Result<Vec<CompiledModel>, Error> {
        let found = self.search(compile::frontier)?;
        let points = found.points().iter().enumerate();
        let points = points.filter_map(|(index, point)| Some((found.compiled(index)?, Some(point.predicted_us))));
        let made = |(compiled, us)| CompiledModel::with_prediction(&self.context, &self.model, compiled, us);
        Ok(points.map(made).collect())
    }
}

impl CompileBuilder<'static> {
    /// The same where nobody may block: on a thread of its own, which ends early where the future is dropped.
    ///
    /// In a browser there is no such thread, and the search goes on in place: compile elsewhere and
    /// [load](Context::load) the plan, or call this in a worker.
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
        let mut told = self.progress.take();
        let builder = self.progress(move |progress| {
            if cancelled.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            told.as_mut().map_or(ControlFlow::Continue(()), |told| told(progress))
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

    /// The same in place: in a browser there is no thread to plan on. Compile elsewhere and [load](Context::load) the
    /// plan, or call this in a worker.
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
