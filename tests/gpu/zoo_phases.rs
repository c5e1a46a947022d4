//! Phases over the whole catalogue: at the knee of each network's front and at a budget between it and no phases, with
//! poison, the same bits as without phases, on the pictures that the networks are made for. (`phases` goes to the ends of
//! the fronts of a few.)

use texpool::{
    gpu::{Gpu, Session, SessionOptions},
    graph::Graph,
    prepare::{Phases, PrepareOptions},
};

use crate::support::{hash::bits, open, zoo};

/// What is answered, and the bytes of the pool.
fn run(gpu: &Gpu, graph: &Graph, inputs: &[&[f32]], phases: Phases) -> (u64, u64) {
    let prepare = PrepareOptions { phases, ..PrepareOptions::default() };
    let options = SessionOptions { prepare, poison: phases != Phases::Off, ..SessionOptions::default() };
    let mut session = Session::new(gpu, graph, &options).unwrap();
    (bits(&session.run(inputs).unwrap()), session.memory().pool_planned)
}

/// Networks whose number, counted through the catalogue, is `part` of `of`: so the work is shared among threads.
fn agree(part: usize, of: usize) {
    let gpu = open();
    for name in zoo::names().into_iter().skip(part).step_by(of) {
        let case = zoo::case(&name);
        let graph = case.graph().unwrap();
        let inputs = case.inputs(&graph);
        let (whole, most) = run(&gpu, &graph, &inputs, Phases::Off);
        let (knee, least) = run(&gpu, &graph, &inputs, Phases::Auto);
        println!("{name}: {most} bytes without phases, {least} with");
        assert_eq!(whole, knee, "{name}: {least} bytes");
        assert!(least <= most, "{name}: {least} bytes with phases, {most} without");
        let budget = (most + least) / 2;
        let (between, bytes) = run(&gpu, &graph, &inputs, Phases::Budget(budget));
        assert!(whole == between && bytes <= budget.max(most), "{name}: {bytes} bytes");
    }
}

#[test]
fn every_network_answers_alike_in_phases_one() {
    agree(0, 2);
}

#[test]
fn every_network_answers_alike_in_phases_two() {
    agree(1, 2);
}
