//! Plans that were saved: what is loaded answers the same bits.

use texpool::{Context, Error, Model, graph::GraphBuilder};

use super::{answer, compiled, context, model};

#[test]
fn a_plan_that_was_saved_answers_the_same_bits() {
    let context = context();
    // Also on another device of the kind.
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
    let y = b.unary("y", texpool::graph::Unary::Sin, x).unwrap();
    let other = Model::from_graph(b.finish(&[y]).unwrap()).unwrap();
    refused(&context, &other, &saved);
}
