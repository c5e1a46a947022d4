//! Runs that take input values and return output values, either blocking or asynchronous.

use super::{Session, extents::Extent};
use crate::runtime::{Error, Outputs, TensorInfo, TensorKey, outputs::outputs_of};
#[cfg(not(target_arch = "wasm32"))]
use texpool_gpu::now;
use texpool_gpu::{Few, TensorRole, Wait};
use texpool_model::tensor::{
    ConvertError, TensorView, TensorViewMut,
    convert::{TensorSpec, borrow_reals, check_room, read_reals_into},
};

/// An input with given values.
struct GivenInput<'t> {
    input: usize,
    /// Its floats in the caller's memory; `None` if they were converted.
    floats: Option<&'t [f32]>,
    /// Its extents, if it has bounded axes.
    dims: Option<Vec<usize>>,
}

/// The inputs of a run.
struct GivenInputs<'t> {
    values: Few<GivenInput<'t>>,
    extents: Few<Extent>,
}

impl Session {
    /// Runs the model on values, waits, and returns every output that is neither bound to a texture nor
    /// [carried](Self::carry).
    ///
    /// Inputs are identified by name or index. An input with [bounded axes](crate::TensorInfo::bounded_axes) may have any
    /// extents up to the bounds, without another plan. Values of an input with several such axes need extents
    /// ([`TensorView::new`]). An omitted input keeps its previous values: those that were
    /// written, or the contents of its texture. If all inputs already have values, [`submit`](Self::submit) and
    /// [`read`](Self::read) also work. Elements are of the model's type or 32-bit floats.
    ///
    /// If another thread presents frames meanwhile, use [`run_async`](Self::run_async): wgpu holds a lock during a
    /// blocking wait.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session, pixels: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
    /// use texpool::TensorView;
    ///
    /// let outputs = session.run([("image", TensorView::new(pixels, &[1, 224, 224, 3])?)])?;
    /// let scores = outputs["scores"].as_slice::<f32>()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], [`Error::InputTwice`], [`Error::MissingInputs`], [`Error::Bound`], [`Error::Tensor`]
    /// for values that do not fit, [`Error::Extent`] for extents beyond a bound or that differ; [`Error::Gpu`] for a
    /// timeout, a lost device, or an operation that the device refuses.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run<'t, K: Into<TensorKey<'t>>>(
        &mut self,
        inputs: impl IntoIterator<Item = (K, TensorView<'t>)>,
    ) -> Result<Outputs, Error> {
        now(self.run_with(Wait::Block, inputs))
    }

    /// Like [`run`](Self::run), without blocking. Dropping the future abandons the run; the next call waits for the
    /// rest of it.
    ///
    /// ```no_run
    /// # async fn example(session: &mut texpool::Session, pixels: &[f32]) -> Result<(), Box<dyn std::error::Error>> {
    /// let outputs = session.run_async([("image", texpool::TensorView::from(pixels))]).await?;
    /// let scores = outputs["scores"].as_slice::<f32>()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_async<'t, K: Into<TensorKey<'t>>>(
        &mut self,
        inputs: impl IntoIterator<Item = (K, TensorView<'t>)>,
    ) -> Result<Outputs, Error> {
        self.run_with(Wait::Task, inputs).await
    }

    async fn run_with<'t, K: Into<TensorKey<'t>>>(
        &mut self,
        wait: Wait,
        inputs: impl IntoIterator<Item = (K, TensorView<'t>)>,
    ) -> Result<Outputs, Error> {
        let provided = self.take_inputs(inputs)?;
        let stays = |output: usize| {
            let (executor, role) = (&self.executor, TensorRole::Output);
            executor.is_bound(role, output) || executor.is_carried(role, output)
        };
        let read = self.with_counts((0..self.outputs().len()).filter(|&output| !stays(output)).collect());
        let mut values = self.room(&read);
        let inputs = provided.floats(&self.reals);
        let mut outputs: Vec<_> = read.iter().zip(&mut values).map(|(&output, v)| (output, &mut v[..])).collect();
        self.executor.run_values(wait, &inputs, &mut outputs).await?;
        outputs_of(&self.compiled, read.into_iter().zip(values).collect())
    }

    /// Runs the model on values, waits, and writes outputs into the caller's memory. Only the listed outputs are read
    /// back; the others stay on the device and can be [read](Self::read) before the next run.
    ///
    /// An output view has elements of the model's type, or 32-bit floats, which receive the computed values without
    /// conversion. Dense 32-bit floats are copied only once: inputs from the caller's memory to the upload buffer,
    /// outputs from the readback buffer to the caller's memory.
    ///
    /// An output with [bounded axes](crate::TensorInfo::bounded_axes) is written with zeros behind the extents that the
    /// run found. [`run`](Self::run) and [`read`](Self::read) return it with those extents.
    ///
    /// After the first runs, a run allocates on the heap what wgpu does, and a channel for each tensor. It allocates
    /// more for values that are reordered, such as `[N, C, H, W]` of an ONNX model, for values that are streamed, and
    /// for more than eight inputs or outputs.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session, pixels: &[f32]) -> Result<(), texpool::Error> {
    /// use texpool::{TensorView, TensorViewMut};
    ///
    /// let mut scores = [0.0f32; 1001];
    /// session.run_into([("image", TensorView::from(pixels))], [("scores", TensorViewMut::from(&mut scores))])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run), also for output views with a wrong element type or length, and [`Error::OutputTwice`].
    /// After an error the contents of the output views are unspecified.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run_into<'t, 'r, I: Into<TensorKey<'t>>, O: Into<TensorKey<'t>>>(
        &mut self,
        inputs: impl IntoIterator<Item = (I, TensorView<'t>)>,
        outputs: impl IntoIterator<Item = (O, TensorViewMut<'r>)>,
    ) -> Result<(), Error> {
        now(self.run_into_with(Wait::Block, inputs, outputs))
    }

    /// Like [`run_into`](Self::run_into), without blocking. Dropping the future abandons the run; the next call waits
    /// for the rest of it.
    ///
    /// ```no_run
    /// # async fn example(session: &mut texpool::Session, pixels: &[f32]) -> Result<(), texpool::Error> {
    /// use texpool::{TensorView, TensorViewMut};
    ///
    /// // Only the class is read back, as a byte.
    /// let mut class = [0u8];
    /// let (image, room) = (TensorView::from(pixels), TensorViewMut::from(&mut class));
    /// session.run_into_async([("image", image)], [("class", room)]).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run_into`](Self::run_into).
    pub async fn run_into_async<'t, 'r, I: Into<TensorKey<'t>>, O: Into<TensorKey<'t>>>(
        &mut self,
        inputs: impl IntoIterator<Item = (I, TensorView<'t>)>,
        outputs: impl IntoIterator<Item = (O, TensorViewMut<'r>)>,
    ) -> Result<(), Error> {
        self.run_into_with(Wait::Task, inputs, outputs).await
    }

    async fn run_into_with<'t, 'r, I: Into<TensorKey<'t>>, O: Into<TensorKey<'t>>>(
        &mut self,
        wait: Wait,
        inputs: impl IntoIterator<Item = (I, TensorView<'t>)>,
        outputs: impl IntoIterator<Item = (O, TensorViewMut<'r>)>,
    ) -> Result<(), Error> {
        let provided = self.take_inputs(inputs)?;
        let mut counts: Few<(usize, [f32; 1])> = Few::new();
        // Float views receive the values directly; other views are converted from floats afterwards.
        let mut direct: Few<(usize, &mut [f32])> = Few::new();
        let mut converted: Few<(usize, TensorViewMut<'r>)> = Few::new();
        let mut seen: Few<usize> = Few::new();
        for (key, room) in outputs {
            let output = self.readable_output(key)?;
            if seen.contains(&output) {
                return Err(Error::OutputTwice { name: self.name(TensorRole::Output, output) });
            }
            seen.push(output);
            let checked = check_room(&room, self.outputs()[output].spec());
            checked.map_err(|source| self.unfit(TensorRole::Output, output, source))?;
            match room.into_f32() {
                Ok(floats) => direct.push((output, floats)),
                Err(room) => converted.push((output, room)),
            }
        }
        for (output, room) in &converted {
            self.computed[*output].resize(room.len(), 0.0);
        }
        let Self { compiled, executor, reals, computed, .. } = self;
        let graph = compiled.model().graph();
        let infos = compiled.outputs();
        for bounded in seen.iter().flat_map(|&output| graph.bounded_axes_of_output(output)) {
            if counts.iter().all(|&(count, _)| count != bounded.count) {
                counts.push((bounded.count, [0.0]));
            }
        }
        let of_others =
            computed.iter_mut().enumerate().filter(|(output, _)| converted.iter().any(|(o, _)| o == output));
        let mut places: Few<(usize, &mut [f32])> =
            of_others.map(|(output, values)| (output, &mut values[..])).collect();
        places.extend(direct);
        places.extend(counts.iter_mut().map(|(output, count)| (*output, &mut count[..])));
        executor.run_values(wait, &provided.floats(reals), &mut places).await?;
        let found: Few<(usize, f32)> =
            places.iter().map(|(output, values)| (*output, values.first().copied().unwrap_or_default())).collect();
        for (output, values) in &mut places {
            for bounded in graph.bounded_axes_of_output(*output) {
                if let Some(&(_, count)) = found.iter().find(|(other, _)| *other == bounded.count) {
                    bounded.clear(&infos[*output].dims, count, values);
                }
            }
        }
        drop(places);
        for (output, mut room) in converted {
            read_reals_into(&self.computed[output], self.outputs()[output].spec(), &mut room)
                .map_err(|source| self.unfit(TensorRole::Output, output, source))?;
        }
        Ok(())
    }

    /// Checks that every input has values, and that their extents agree. Floats of the caller are used in place; other
    /// values are converted into `reals`.
    fn take_inputs<'t, K: Into<TensorKey<'t>>>(
        &mut self,
        inputs: impl IntoIterator<Item = (K, TensorView<'t>)>,
    ) -> Result<GivenInputs<'t>, Error> {
        self.check_entered()?;
        let mut provided: Few<GivenInput<'t>> = Few::new();
        for (key, values) in inputs {
            let input = self.compiled.model().index(TensorRole::Input, key.into())?;
            if provided.iter().any(|other| other.input == input) {
                return Err(Error::InputTwice { name: self.name(TensorRole::Input, input) });
            }
            provided.push(self.convert(input, &values)?);
        }
        let indices: Few<usize> = provided.iter().map(|given| given.input).collect();
        self.check_complete(&indices)?;
        let given: Few<(usize, &[usize])> =
            provided.iter().filter_map(|given| Some((given.input, given.dims.as_deref()?))).collect();
        let extents = self.extents(&given)?;
        drop(given);
        provided.iter_mut().for_each(|given| self.dims[given.input] = given.dims.take());
        Ok(GivenInputs { values: provided, extents })
    }

    /// Writes an input with a separate submission. The values apply to all later runs until the next write. Does not
    /// wait, except in a browser for the result of the allocation.
    ///
    /// Two runs in one encoder with a `write` between them both see the last values, because the encoder is submitted
    /// after the write. Bind two textures for such a case.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session, pixels: &[f32]) -> Result<(), texpool::Error> {
    /// session.write("image", texpool::TensorView::from(pixels))?;
    /// session.submit()?.wait()?;
    /// let outputs = session.read(["scores"])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn write<'k>(&mut self, key: impl Into<TensorKey<'k>>, values: TensorView<'_>) -> Result<(), Error> {
        let input = self.compiled.model().index(TensorRole::Input, key.into())?;
        let GivenInput { floats, dims, .. } = self.convert(input, &values)?;
        self.executor.write(input, floats.unwrap_or(&self.reals[input]))?;
        self.dims[input] = dims;
        Ok(())
    }

    /// Returns an input's floats if they can be used in place; otherwise converts the values into `reals`. Those of an
    /// input with bounded axes may have fewer places, and get zeros behind them.
    fn convert<'t>(&mut self, input: usize, values: &TensorView<'t>) -> Result<GivenInput<'t>, Error> {
        if self.executor.is_bound(TensorRole::Input, input) {
            let reason = "write that texture, or unbind it first";
            return Err(Error::Bound { role: TensorRole::Input, name: self.name(TensorRole::Input, input), reason });
        }
        let (integer_range, texels) = (self.compiled.integer_range(input), self.compiled.texels());
        let bounded = self.bounded_dims(input, values)?;
        let info = &self.compiled.inputs()[input];
        let dims = bounded.as_ref().unwrap_or(&info.dims);
        let spec = TensorSpec { integer_range, dims, ..info.spec() };
        let reals = borrow_reals(values, spec, texels, &mut self.reals[input]);
        let mut floats = reals.map_err(|source| self.unfit(TensorRole::Input, input, source))?;
        if let Some(dims) = &bounded
            && *dims != self.inputs()[input].dims
        {
            let room = &mut self.reals[input];
            if let Some(given) = floats.take() {
                room.clear();
                room.extend_from_slice(given);
            }
            self.compiled.model().graph().pad_input(input, dims, room);
        }
        Ok(GivenInput { input, floats, dims: bounded })
    }

    /// Creates the error for values or memory that do not match an input or output.
    fn unfit(&self, role: TensorRole, index: usize, source: ConvertError) -> Error {
        Error::Tensor { role, name: self.name(role, index), source }
    }

    /// Reads the values that outputs have after all submitted work.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session, pixels: &[f32]) -> Result<(), texpool::Error> {
    /// use texpool::{TensorView, TensorViewMut};
    ///
    /// let mut scores = [0.0f32; 1001];
    /// session.run_into([("image", TensorView::from(pixels))], [("scores", TensorViewMut::from(&mut scores))])?;
    /// if scores.iter().any(|&score| score > 0.9) {
    ///     // They are large, and rarely needed.
    ///     let features = session.read(["features"])?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`encode_read`](Self::encode_read), and errors of the device.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn read<'k, K: Into<TensorKey<'k>>>(&mut self, outputs: impl IntoIterator<Item = K>) -> Result<Outputs, Error> {
        now(self.read_with(Wait::Block, outputs))
    }

    /// Like [`read`](Self::read), without blocking.
    ///
    /// ```no_run
    /// # async fn example(session: &mut texpool::Session) -> Result<(), texpool::Error> {
    /// session.submit()?.await?;
    /// let outputs = session.read_async(["scores", "boxes"]).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn read_async<'k, K: Into<TensorKey<'k>>>(
        &mut self,
        outputs: impl IntoIterator<Item = K>,
    ) -> Result<Outputs, Error> {
        self.read_with(Wait::Task, outputs).await
    }

    async fn read_with<'k, K: Into<TensorKey<'k>>>(
        &mut self,
        wait: Wait,
        outputs: impl IntoIterator<Item = K>,
    ) -> Result<Outputs, Error> {
        let read = self.with_counts(self.readable(outputs)?);
        let mut values = self.room(&read);
        let mut places: Vec<_> = read.iter().zip(&mut values).map(|(&output, v)| (output, &mut v[..])).collect();
        self.executor.read_values(wait, &mut places).await?;
        outputs_of(&self.compiled, read.into_iter().zip(values).collect())
    }

    fn room(&self, outputs: &[usize]) -> Vec<Vec<f32>> {
        // The extent of another output is a single number.
        let len = |&output: &usize| self.outputs().get(output).map_or(1, TensorInfo::len);
        outputs.iter().map(|output| vec![0.0; len(output)]).collect()
    }
}

impl GivenInputs<'_> {
    /// Returns the floats of each input, in the caller's memory or in `reals`, and those that hold extents.
    fn floats<'a>(&'a self, reals: &'a [Vec<f32>]) -> Few<(usize, &'a [f32])> {
        let values = self.values.iter().map(|given| (given.input, given.floats.unwrap_or(&reals[given.input])));
        values.chain(self.extents.iter().map(|(count, extent)| (*count, &extent[..]))).collect()
    }
}
