//! The API for programs that embed texpool: contexts, models, compiled models, sessions and pools.

mod carry_problem;
mod compile_builder;
mod compiled;
mod context;
mod error;
mod info;
mod key;
mod lookup;
mod model;
mod named_options;
mod option_table;
mod outputs;
mod pool;
mod pool_ticket;
mod readback;
mod session;
mod texture_layout;
mod texture_wgsl;

pub use carry_problem::CarryProblem;
pub use compile_builder::CompileBuilder;
pub use compiled::CompiledModel;
pub use context::Context;
pub use error::{Error, Uncomputable};
pub use info::TensorInfo;
pub use key::{TensorKey, WantedTensor};
pub use model::Model;
pub use named_options::{NamedOptions, OptionError, OptionHelp};
pub use outputs::Outputs;
pub use pool::{Pool, PooledSession};
pub use readback::{Readback, Submission};
pub use session::Session;
pub use texture_layout::TextureLayout;

/// Compile-time checks of the types that may move to other threads or be shared between them. In a browser, wgpu's
/// handles stay with their thread.
#[cfg(not(target_arch = "wasm32"))]
const _: () = {
    const fn shared<T: Send + Sync>() {}
    const fn sent<T: Send>() {}
    shared::<Context>();
    shared::<Model>();
    shared::<CompiledModel>();
    shared::<Session>();
    shared::<PooledSession>();
    shared::<Pool>();
    shared::<Outputs>();
    shared::<Error>();
    sent::<CompileBuilder<'static>>();
    sent::<Readback>();
    sent::<Submission>();
};
