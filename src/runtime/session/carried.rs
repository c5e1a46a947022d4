//! State between runs: outputs whose values become those of inputs at the next run.

use super::Session;
use crate::runtime::{CarryProblem, Error, TensorKey};
use texpool_gpu::TensorRole;

impl Session {
    /// Lets the values of an output become those of an input at the next run, without leaving the device. Use it for
    /// the state of a network that is called again and again: streaming audio, key words, a cache of attention. A session
    /// carries the [variables](crate::graph::Variable) of a model by itself.
    ///
    /// The input begins with the values that it has now, or with zeros if it has none. It need not be passed to
    /// [`run`](Self::run). Values that are passed, [written](Self::write) or [bound](Self::bind_input) all the same
    /// replace the carried ones in the next run. `run` does not return the output, which would cost a copy to the host;
    /// [`run_into`](Self::run_into) and [`read`](Self::read) do on request. An output may be carried to several inputs.
    ///
    /// Each run carries once, also each [encoded](Self::encode) one, in the order of execution;
    /// [`profile`](Self::profile) does not. After a failed run the state is either the old or the new one.
    /// [`trim`](Self::trim) does not release carried values; call [`reset`](Self::reset) before it if they are no
    /// longer needed. If the input or the output is streamed, the values pass through the host.
    ///
    /// Integers are not checked on their way: a counter in texels of 32 bits is exact up to 2^24.
    ///
    /// ```no_run
    /// # fn listen(session: &mut texpool::Session, frames: &[Vec<f32>]) -> Result<(), texpool::Error> {
    /// use texpool::TensorView;
    ///
    /// session.carry("state_out", "state_in")?;
    /// for frame in frames {
    ///     let outputs = session.run([("frame", TensorView::from(frame))])?;
    ///     println!("{:?}", outputs["speech"].as_slice::<f32>());
    /// }
    /// session.reset();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], [`Error::AmbiguousName`]; [`Error::Carry`] if the two differ in extents, element type
    /// or quantisation, or if the input already carries an output; [`Error::Gpu`] if a bound texture lacks the usage
    /// `COPY_SRC` (output) or `COPY_DST` (input), or is the texture of another input.
    pub fn carry<'o, 'i>(
        &mut self,
        output: impl Into<TensorKey<'o>>,
        input: impl Into<TensorKey<'i>>,
    ) -> Result<(), Error> {
        let from = self.compiled.model().index(TensorRole::Output, output.into())?;
        let to = self.compiled.model().index(TensorRole::Input, input.into())?;
        let earlier = self.executor.carried().find(|&(_, input)| input == to);
        let problem = match earlier {
            Some((output, _)) => Some(CarryProblem::Carried(self.name(TensorRole::Output, output))),
            None => CarryProblem::between(&self.outputs()[from], &self.inputs()[to]),
        };
        if let Some(problem) = problem {
            let (output, input) = (self.name(TensorRole::Output, from), self.name(TensorRole::Input, to));
            return Err(Error::Carry { output, input, problem });
        }
        self.dims[to] = None;
        Ok(self.executor.carry(from, to, None)?)
    }

    /// Lets the [carried](Self::carry) inputs begin with zeros at the next run, as for a new recording. Zero is the
    /// real number, so a quantised input holds its zero point. To begin with other values, [`write`](Self::write) them
    /// after this call, or pass them to the next run. [Variables](crate::graph::Variable) of the model begin with the
    /// values that its file gives them.
    ///
    /// These values are part of the next run, so runs that were encoded before this call are not affected.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session, warm: &[f32]) -> Result<(), texpool::Error> {
    /// session.carry("state_out", "state_in")?;
    /// session.reset(); // the next run begins with zeros
    /// session.write("state_in", texpool::TensorView::from(warm))?; // or with these values
    /// # Ok(())
    /// # }
    /// ```
    pub fn reset(&mut self) {
        self.executor.reset_carried();
    }
}
