//! A saved plan, used instead of a search.

use super::{
    args::Search,
    error::CliError,
    setup_model::{self, PlanSource},
};
use crate::io::read_bytes;
use std::path::{Path, PathBuf};
use texpool_compile::{SavedPlanError, load};
use texpool_gpu::{Executor, ExecutorOptions, Gpu};
use texpool_ops::graph::Graph;

/// The plan that was made before, if one was.
#[derive(Debug, clap::Args)]
pub(super) struct SavedPlanArgs {
    /// Take the plan that `texpool compile` wrote to this file, and search for none.
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Plan",
        conflicts_with_all = [
            "strategy", "precision", "weights", "rules", "objective", "tiling", "stripes", "order", "budget", "stream",
            "weight_tile", "blocks", "deadline",
        ]
    )]
    plan: Option<PathBuf>,
}

impl SavedPlanArgs {
    /// Returns the file of the plan, if one is given.
    pub(super) fn path(&self) -> Option<&Path> {
        self.plan.as_deref()
    }

    /// Creates a session with the plan of the file, or with a plan from a search if no file is given.
    pub(super) fn session(
        &self,
        gpu: &Gpu,
        graph: &Graph,
        options: &ExecutorOptions,
        search: &Search,
    ) -> Result<(Executor, PlanSource), CliError> {
        let Some(path) = &self.plan else { return setup_model::session(gpu, graph, options, search) };
        let bytes = read_bytes(path)?;
        let loaded = tracing::debug_span!("plan").in_scope(|| load(graph, &bytes, gpu.texture_limits()));
        let compiled = loaded.map_err(|source| match source {
            SavedPlanError::NotAPlan => CliError::NotAPlan { path: path.clone() },
            source => CliError::SavedPlan { path: path.clone(), source: Box::new(source) },
        })?;
        let options = ExecutorOptions { weights: search.weights(&compiled), ..options.clone() };
        Ok((setup_model::loaded(gpu, compiled, &options)?, PlanSource::File))
    }
}
