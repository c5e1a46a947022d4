//! Plan invariance over the whole catalogue: the same bits under the optimum, banks and the best plan with poison as under
//! the naïve plan without, in both formats, on the pictures that the networks are made for.

use texpool::{
    gpu::{Gpu, Session, SessionOptions},
    graph::Graph,
    plan::{Choice, Strategy, TexelFormat},
    prepare::PrepareOptions,
};

use crate::support::{IN_32_BITS_ALONE, hash::bits, open, zoo};

fn run(gpu: &Gpu, graph: &Graph, inputs: &[&[f32]], prepare: PrepareOptions, poison: bool) -> u64 {
    let options = SessionOptions { prepare, poison, ..SessionOptions::default() };
    bits(&Session::new(gpu, graph, &options).unwrap().run(inputs).unwrap())
}

/// Networks whose number, counted through the catalogue, is `part` of `of`: so the work is shared among threads.
fn agree(part: usize, of: usize) {
    let gpu = open();
    for name in zoo::names().into_iter().skip(part).step_by(of) {
        let case = zoo::case(&name);
        let graph = case.graph().unwrap();
        let inputs = case.inputs(&graph);
        let formats = match IN_32_BITS_ALONE.contains(&&*name) {
            true => &[TexelFormat::Rgba32Float][..],
            false => &[TexelFormat::Rgba32Float, TexelFormat::Rgba16Float],
        };
        for &format in formats {
            let options = |choice| PrepareOptions { format, choice, ..PrepareOptions::default() };
            let naive = run(&gpu, &graph, &inputs, options(Choice::Strategy(Strategy::Naive)), false);
            for choice in [Choice::Optimum, Choice::Banks, Choice::Best] {
                let found = run(&gpu, &graph, &inputs, options(choice), true);
                assert_eq!(naive, found, "{name}: {choice} with poison, {format:?}");
            }
        }
    }
}

#[test]
fn every_network_answers_alike_one() {
    agree(0, 2);
}

#[test]
fn every_network_answers_alike_two() {
    agree(1, 2);
}
