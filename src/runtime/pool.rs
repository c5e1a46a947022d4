//! A pool shared by the sessions of several models, of which one runs at a time.

use std::sync::{Arc, atomic::AtomicU64};

use super::{CompiledModel, Context, Error, Session, pool_ticket::PoolTicket};
use texpool_gpu::{Memory, PoolTextures, Wait};

/// Textures shared by the sessions of several models, which take turns. Entering borrows the pool, so the Rust compiler
/// ensures that only one session is in it at a time.
///
/// ```no_run
/// # fn example(context: texpool::Context, face: texpool::CompiledModel, hand: texpool::CompiledModel,
/// # encoder: &mut texpool::wgpu::CommandEncoder) -> Result<(), texpool::Error> {
/// let mut pool = context.pool([&face, &hand])?;
/// let (mut faces, mut hands) = (face.session_in(&pool)?, hand.session_in(&pool)?);
/// pool.enter(&mut faces)?.encode(encoder)?;
/// pool.enter(&mut hands)?.encode(encoder)?;
/// # Ok(())
/// # }
/// ```
///
/// Two sessions cannot be in the pool at once; this does not compile:
///
/// ```compile_fail,E0499
/// # fn example(pool: &mut texpool::Pool, faces: &mut texpool::PooledSession, hands: &mut texpool::PooledSession,
/// # encoder: &mut texpool::wgpu::CommandEncoder) -> Result<(), texpool::Error> {
/// let first = pool.enter(faces)?;
/// let second = pool.enter(hands)?;
/// first.encode(encoder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Pool {
    context: Context,
    textures: Arc<PoolTextures>,
    /// Number of the session that entered last.
    entered: Arc<AtomicU64>,
}

/// A session of a pool, which it must [enter](Pool::enter) to run.
///
/// ```no_run
/// # use texpool::{CompiledModel, Error, Pool, TensorView};
/// # fn example(mut pool: Pool, hand: CompiledModel, pixels: &[f32]) -> Result<(), Error> {
/// let mut hands = hand.session_in(&pool)?;
/// let outputs = pool.enter(&mut hands)?.run([("image", TensorView::from(pixels))])?;
/// // `trim` releases all but the pool, which other models use.
/// println!("{}: {} bytes, shared or not", hands.compiled().model().name(), hands.memory().planned.sum());
/// hands.trim();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct PooledSession {
    session: Session,
}

impl Context {
    /// Creates a pool that is large enough for each of these models alone. Their sessions take turns in it.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, face: texpool::CompiledModel, hand: texpool::CompiledModel)
    /// # -> Result<(), texpool::Error> {
    /// let pool = context.pool([&face, &hand])?;
    /// println!("{} bytes for one of {} and one of {}", pool.bytes(), face.pool_bytes(), hand.pool_bytes());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::OtherContext`] for models that were compiled by another context, or for texels of different formats,
    /// and [`GpuError::OutOfMemory`](crate::GpuError::OutOfMemory).
    pub fn pool<'a>(&self, models: impl IntoIterator<Item = &'a CompiledModel>) -> Result<Pool, Error> {
        Pool::new(self, models)
    }
}

impl CompiledModel {
    /// Creates a session whose intermediates lie in a shared pool.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, face: texpool::CompiledModel) -> Result<(), texpool::Error> {
    /// let pool = context.pool([&face])?;
    /// // Two cameras with the same model, one after the other in the same memory.
    /// let (left, right) = (face.session_in(&pool)?, face.session_in(&pool)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::OtherContext`] for a pool of another context, [`Error::Gpu`] if it is too small, and as
    /// [`session`](Self::session).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn session_in(&self, pool: &Pool) -> Result<PooledSession, Error> {
        texpool_gpu::now(pool.session(self, Wait::Block))
    }

    /// Like [`session_in`](Self::session_in), without blocking.
    ///
    /// ```no_run
    /// # use texpool::{CompiledModel, Context, Error, TensorView};
    /// # async fn example(context: Context, face: CompiledModel, pixels: &[f32]) -> Result<(), Error> {
    /// let mut pool = context.pool([&face])?;
    /// let mut faces = face.session_in_async(&pool).await?;
    /// let outputs = pool.enter(&mut faces)?.run_async([("image", TensorView::from(pixels))]).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`session_in`](Self::session_in).
    pub async fn session_in_async(&self, pool: &Pool) -> Result<PooledSession, Error> {
        pool.session(self, Wait::Task).await
    }
}

impl Pool {
    pub(super) fn new<'a>(
        context: &Context,
        models: impl IntoIterator<Item = &'a CompiledModel>,
    ) -> Result<Self, Error> {
        let models: Vec<&CompiledModel> = models.into_iter().collect();
        let alike = |pair: &[&CompiledModel]| pair[0].texels() == pair[1].texels();
        if !models.iter().all(|model| model.context().is(context)) || !models.windows(2).all(alike) {
            return Err(Error::OtherContext);
        }
        let textures = PoolTextures::new(context.gpu(), models.iter().map(|model| model.plan()))?;
        Ok(Self { context: context.clone(), textures, entered: Arc::default() })
    }

    pub(super) async fn session(&self, model: &CompiledModel, wait: Wait) -> Result<PooledSession, Error> {
        if !model.context().is(&self.context) {
            return Err(Error::OtherContext);
        }
        let pool = (Arc::clone(&self.textures), PoolTicket::new(&self.entered));
        Ok(PooledSession { session: Session::new(model, Some(pool), wait).await? })
    }

    /// Returns the session for use until another one enters the pool. If the pool was trimmed, its textures are created
    /// again.
    ///
    /// ```no_run
    /// # use texpool::{Error, Pool, PooledSession, TensorView};
    /// # fn example(pool: &mut Pool, detector: &mut PooledSession, pixels: &[f32]) -> Result<(), Error> {
    /// let outputs = pool.enter(detector)?.run([("image", TensorView::from(pixels))])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::OtherPool`] for a session of another pool, and [`Error::Gpu`] if memory runs out.
    pub fn enter<'a>(&'a mut self, session: &'a mut PooledSession) -> Result<&'a mut Session, Error> {
        let session = &mut session.session;
        if !session.ticket().is_some_and(|ticket| ticket.enter(&self.entered)) {
            return Err(Error::OtherPool);
        }
        session.refresh()?;
        Ok(session)
    }

    /// Releases the pool's memory until a session enters again. Submitted work completes first. Work that was encoded
    /// but not submitted can no longer be submitted.
    ///
    /// ```no_run
    /// # fn example(mut pool: texpool::Pool, detector: &mut texpool::PooledSession) -> Result<(), texpool::Error> {
    /// println!("{} bytes, {:?} by the driver's count", pool.bytes(), pool.driver_bytes());
    /// pool.trim(); // the program goes to the background
    /// assert_eq!(pool.bytes(), 0);
    /// pool.enter(detector)?; // and is back
    /// assert!(pool.bytes() > 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn trim(&mut self) {
        self.textures.trim();
    }

    /// Returns the size of the textures in bytes; 0 while the pool is trimmed.
    pub fn bytes(&self) -> u64 {
        self.textures.bytes()
    }

    /// Returns the size of the textures as the driver counts it; `None` if the driver does not report it.
    pub fn driver_bytes(&self) -> Option<u64> {
        self.textures.driver_bytes()
    }
}

impl PooledSession {
    /// Releases the session's memory outside the pool, as [`Session::trim`] does.
    pub fn trim(&mut self) {
        self.session.trim();
    }

    /// Returns the device memory of the session, including the pool.
    pub fn memory(&self) -> Memory {
        self.session.memory()
    }

    /// Returns the compiled model of the session.
    pub fn compiled(&self) -> &CompiledModel {
        self.session.compiled()
    }
}
