//! One pool for sessions of several models, of which one runs at a time.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::{CompiledModel, Context, Error, Memory, Session};
use crate::gpu::{PoolTextures, Wait};

/// Textures that sessions of several models take turns in. Entering borrows the pool, so that one session at a time is in
/// it, and the compiler sees to that.
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
/// Two at once are no program:
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
    /// The number of the session that entered last.
    entered: Arc<AtomicU64>,
}

/// A session of a pool, which it must [enter](Pool::enter) to run.
#[derive(Debug)]
pub struct PooledSession {
    session: Session,
}

/// What a session of a pool knows of that.
#[derive(Debug)]
pub(super) struct PoolTicket {
    number: u64,
    entered: Arc<AtomicU64>,
}

impl PoolTicket {
    fn new(entered: &Arc<AtomicU64>) -> Self {
        // 0 is nobody.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed), entered: Arc::clone(entered) }
    }

    /// Whether the session is the one that entered last. A caller may have swapped it for another one.
    pub(super) fn is_in(&self) -> bool {
        self.entered.load(Ordering::Relaxed) == self.number
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

    /// The session, for as long as no other one is in the pool. Makes the pool's textures again if it was trimmed.
    ///
    /// # Errors
    /// [`Error::OtherPool`] for a session of another pool, and [`Error::Gpu`] where memory runs out.
    pub fn enter<'a>(&'a mut self, session: &'a mut PooledSession) -> Result<&'a mut Session, Error> {
        let session = &mut session.session;
        let number = session.ticket().filter(|ticket| Arc::ptr_eq(&ticket.entered, &self.entered)).map(|t| t.number);
        self.entered.store(number.ok_or(Error::OtherPool)?, Ordering::Relaxed);
        session.refresh()?;
        Ok(session)
    }

    /// Gives the pool's memory back until a session enters again. Whatever was submitted runs to its end first; what was
    /// encoded and not yet submitted cannot be submitted any more.
    pub fn trim(&mut self) {
        self.textures.trim();
    }

    /// Bytes of the textures, while they are there.
    pub fn bytes(&self) -> u64 {
        self.textures.bytes()
    }

    /// The same by the driver's count; `None` where the driver does not say.
    pub fn driver_bytes(&self) -> Option<u64> {
        self.textures.driver_bytes()
    }
}

impl PooledSession {
    /// Gives back what the session has besides the pool, as [`Session::trim`] does.
    pub fn trim(&mut self) {
        self.session.trim();
    }

    /// What the session takes of the device's memory, the pool included.
    pub fn memory(&self) -> Memory {
        self.session.memory()
    }

    /// What it was made of.
    pub fn compiled(&self) -> &CompiledModel {
        self.session.compiled()
    }
}
