//! `texpool plan --strategies`: plans of several strategies side by side, with the share of intermediate tensors.

use std::{path::Path, time::Duration};

use super::{args::PlanArgs, error::CliError, out, picture, setup_model};
use crate::{
    io::DistinctFiles,
    report::{IntermediateShares, pictures},
};
use texpool_compile::CompiledModel;
use texpool_ops::graph::Graph;
use texpool_plan::Planner;

/// The strategies, and where the answer goes.
pub(super) struct Comparison<'a> {
    pub(super) strategies: &'a [Planner],
    pub(super) plan: &'a PlanArgs,
    /// Time limit of each search.
    pub(super) time: Option<Duration>,
    /// File for a picture of all plans.
    pub(super) picture: Option<&'a Path>,
    /// All files of the call, including this one.
    pub(super) files: &'a DistinctFiles,
    pub(super) json: bool,
}

pub(super) fn run(graph: &Graph, comparison: &Comparison<'_>) -> Result<(), CliError> {
    let &Comparison { strategies, plan, time, picture, files, json } = comparison;
    let compiled = |&planner: &Planner| setup_model::compiled(graph, &plan.compile_options(planner), time);
    let models: Vec<CompiledModel> = strategies.iter().map(compiled).collect::<Result<_, _>>()?;
    let names = strategies.iter().map(ToString::to_string);
    let plans: Vec<(String, &CompiledModel)> = names.zip(&models).collect();
    let shares = IntermediateShares::new(&graph.name, &plans);
    picture::write(picture, files, || {
        let title = format!("{}: plans at the same scale", graph.name);
        let headings = shares.strategies.iter().map(|row| row.heading());
        Ok(pictures(&title, &headings.zip(&models).collect::<Vec<_>>())?)
    })?;
    if json { out::json(&shares) } else { out::text(&shares.to_string()) }?;
    setup_model::check_answered()
}
