//! Every pipeline of every model in every format, and in 32 bits also of the network as its file has it, through naga
//! to SPIR-V, MSL and HLSL; the SPIR-V through `spirv-val`, the HLSL through glslang. Failures are collected and shown
//! together.

mod dialect;
mod tools;
mod translate;

use std::collections::BTreeMap;

use texpool_compile::CompileOptions;
use texpool_gpu::{Executor, ExecutorOptions, PipelineRecipe};
use texpool_model::rewrite::Rules;
use texpool_plan::TexelFormat;

use crate::support::{MODELS, models, open};

/// Failures shown; more would hide the first.
const SHOWN: usize = 10;

/// The pipelines of all models, each once, with the first model that needs it.
fn recipes() -> Vec<(PipelineRecipe, &'static str)> {
    let gpu = open();
    let mut all = BTreeMap::new();
    let models = MODELS.iter().map(|&file| (file, texpool_model::import::open(models::model(file)).unwrap()));
    // No model pads by mirrors or looks words up.
    for (file, graph) in models.chain([("the network of moves", crate::moves::network())]) {
        // The rules choose constants of pipelines, whatever the format.
        for (format, rules) in [
            (TexelFormat::Rgba32Float, Rules::none()),
            (TexelFormat::Rgba32Float, Rules::all()),
            (TexelFormat::Rgba16Float, Rules::all()),
            (TexelFormat::Rgba8Uint, Rules::all()),
        ] {
            let compile = CompileOptions { format, rules, ..CompileOptions::default() };
            // Poison is a pipeline too.
            let options = ExecutorOptions { compile, poison: true, ..ExecutorOptions::default() };
            let session = Executor::new(&gpu, &graph, &options).unwrap();
            for recipe in session.pipelines() {
                let name = format!("{} {:?}", recipe.shader.name(), (recipe.format, recipe.table, &recipe.constants));
                all.entry(name).or_insert((recipe.clone(), file));
            }
        }
    }
    all.into_values().collect()
}

/// The pipelines that models really make, in SPIR-V, MSL and HLSL.
#[test]
fn every_pipeline_of_every_model_is_portable() {
    let folder = tempfile::tempdir().unwrap();
    let mut failures = Vec::new();
    let (mut modules, mut sources) = (Vec::new(), Vec::new());
    let recipes = recipes();
    for (i, (recipe, model)) in recipes.iter().enumerate() {
        let who = format!(
            "{} {:?} {:?} {:?} of {model}",
            recipe.shader.name(),
            recipe.format,
            recipe.table,
            recipe.constants
        );
        match translate::everywhere(recipe) {
            Ok(translations) => {
                for (environment, words) in translations.spirv {
                    let file = folder.path().join(format!("{i}.{}.spv", modules.len()));
                    std::fs::write(&file, bytemuck::cast_slice::<u32, u8>(&words)).unwrap();
                    modules.push((file, environment, who.clone()));
                }
                for text in translations.hlsl {
                    let file = folder.path().join(format!("{i}.{}.hlsl", sources.len()));
                    std::fs::write(&file, dialect::for_glslang(&text)).unwrap();
                    sources.push((file, who.clone()));
                }
            }
            Err(all) => failures.extend(all.into_iter().map(|failure| format!("{who}: {failure}"))),
        }
    }
    failures.extend(tools::spirv_val(&modules));
    failures.extend(tools::glslang(&sources));
    println!("{} pipelines, {} SPIR-V modules, {} HLSL sources", recipes.len(), modules.len(), sources.len());
    assert!(recipes.len() > 50, "only {} pipelines were found", recipes.len());
    let shown = failures[..failures.len().min(SHOWN)].join("\n\n");
    assert!(failures.is_empty(), "{} failures, the first:\n{shown}", failures.len());
}
