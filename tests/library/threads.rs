//! Types that may move to another thread or be shared between threads, checked by the compiler.

use texpool_compile::{CompileError, CompiledModel};
use texpool_gpu::{Executor, ExecutorOptions, Gpu, GpuError, GpuOptions, Memory, SharedPipelines, TextureSet};
use texpool_model::import::ImportError;
use texpool_ops::graph::Graph;
use texpool_plan::{Plan, PlanError};

const fn shared<T: Send + Sync>() {}

/// A session runs through `&mut self`, so it goes from thread to thread; one that others look at meanwhile is `Sync`.
#[test]
fn models_and_sessions_go_to_other_threads() {
    const {
        shared::<Graph>();
        shared::<CompiledModel>();
        shared::<Plan>();
        shared::<Gpu>();
        shared::<GpuOptions>();
        shared::<ExecutorOptions>();
        shared::<SharedPipelines>();
        shared::<TextureSet>();
        shared::<Executor>();
        shared::<Memory>();
        shared::<GpuError>();
        shared::<CompileError>();
        shared::<ImportError>();
        shared::<PlanError>();
    }
}
