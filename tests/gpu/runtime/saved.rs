//! Saved plans: a loaded plan gives the same bits.

use std::{fs, ops::ControlFlow, path::Path};

use texpool::{CompiledModel, Context, Error, Model, NamedOptions};
use texpool_ops::graph::GraphBuilder;
use texpool_plan::TexelFormat;

use super::{answer, compiled, context, model};

#[test]
fn a_plan_that_was_saved_answers_the_same_bits() {
    let context = context();
    // Loading works on another device of the same kind, too.
    let other = super::context();
    let model = model();
    for builder in [context.compile(&model), context.compile(&model).smallest()] {
        let compiled = builder.build().unwrap();
        let right = answer(&compiled, 0);
        let saved = compiled.save();
        for context in [&context, &other] {
            let loaded = context.load(&model, &saved).unwrap();
            assert_eq!((loaded.pool_bytes(), loaded.plan()), (compiled.pool_bytes(), compiled.plan()));
            assert_eq!(loaded.input_layout("image").unwrap(), compiled.input_layout("image").unwrap());
            assert!(answer(&loaded, 0) == right);
            assert_eq!(loaded.save(), saved);
        }
    }
}

#[test]
fn a_plan_of_another_model_is_refused() {
    let context = context();
    let saved = compiled(&context)[0].save();
    let refused = |context: &Context, model: &Model, plan: &[u8]| {
        let error = context.load(model, plan).unwrap_err();
        assert!(matches!(error, Error::SavedPlan(_)), "{error:?}");
        error.to_string()
    };
    let text = refused(&context, &model(), b"not a plan");
    assert_eq!(text, "these bytes are no saved plan: load what `CompiledModel::save` gave");
    let text = refused(&context, &model(), &saved[..saved.len() - 1]);
    assert!(text.ends_with("copy it again, or compile the model again"), "{text}");
    let mut b = GraphBuilder::new("other");
    let x = b.input("x", &[1, 4, 4, 4]).unwrap();
    let y = b.unary("y", texpool_ops::graph::Unary::Sin, x).unwrap();
    let other = Model::from_graph(b.finish(&[y]).unwrap()).unwrap();
    refused(&context, &other, &saved);
}

/// Compiles with tiling and a plan folder; also returns whether a search was made.
fn compiled_with_folder(context: &Context, model: &Model, folder: &Path, texels: TexelFormat) -> (CompiledModel, bool) {
    let mut searched = false;
    let callback = |_| {
        searched = true;
        ControlFlow::Continue(())
    };
    let builder = context.compile(model).smallest().texels(texels).plan_folder(folder);
    let compiled = builder.progress(callback).build().unwrap();
    (compiled, searched)
}

#[test]
fn a_plan_that_is_kept_is_not_searched_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let (context, model) = (context(), model());
    let plans = folder.path().join("plans");
    let compile_again = |texels| compiled_with_folder(&context, &model, &plans, texels);
    let files = || fs::read_dir(&plans).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let (first, searched) = compile_again(TexelFormat::Rgba32Float);
    assert!(searched);
    let [file] = files().try_into().unwrap();
    let (second, searched) = compile_again(TexelFormat::Rgba32Float);
    assert!(!searched, "the plan was there");
    assert_eq!((second.save(), answer(&second, 0) == answer(&first, 0)), (first.save(), true));
    // Another texel format needs another plan.
    assert!(compile_again(TexelFormat::Rgba16Float).1);
    assert_eq!(files().len(), 2);
    // A damaged file is replaced.
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    assert!(compile_again(TexelFormat::Rgba32Float).1);
    // Equal except for the duration of the search, in bytes 8 to 16.
    let saved_plan = fs::read(&file).unwrap();
    assert_eq!((&saved_plan[..8], &saved_plan[16..]), (&whole[..8], &whole[16..]));
    // A plan of whole tensors takes no time to find and is not saved. If the folder cannot be written, each build
    // searches.
    context.compile(&model).plan_folder(&plans).build().unwrap();
    assert_eq!(files().len(), 2);
    let nowhere = context.compile(&model).smallest().plan_folder(file.join("below a file")).build().unwrap();
    assert_eq!(nowhere.save(), first.save());
}

/// Options set by name, as bindings to other languages do, give the same result.
#[test]
fn a_cache_folder_keeps_plans() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let options = NamedOptions::parse([("objective", "smallest"), ("cache_dir", path)]).unwrap();
    context().compile(&model()).named_options(&options).build().unwrap();
    assert_eq!(fs::read_dir(folder.path().join("plans")).unwrap().count(), 1);
    let tag = fs::read_to_string(folder.path().join("CACHEDIR.TAG")).unwrap();
    assert!(tag.starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"), "{tag}");
}
