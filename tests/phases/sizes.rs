//! How small the pools of published networks become.

use crate::networks;
use std::time::Instant;
use texpool::{
    graph::Graph,
    prepare::{Phases, PrepareOptions, prepare},
    rewrite::Rules,
};

const MIB: f64 = 1024.0 * 1024.0;

#[test]
fn pools() {
    let nets: [(Graph, f64); 5] = [
        (networks::mobilenet_v1(), 0.561),
        (networks::mobilenet_v2(), 0.497),
        (networks::squeezenet(), 0.270),
        (networks::resnet18(), 0.547),
        (networks::vgg19(), 1.668),
    ];
    for (graph, most) in nets {
        let options = PrepareOptions { rules: Rules::none(), phases: Phases::Min, ..PrepareOptions::default() };
        let begun = Instant::now();
        let prepared = prepare(&graph, &options).unwrap();
        let phased = prepared.phased.unwrap();
        println!(
            "{}: {:.3} MiB live {:.3}, prototype {most}, {} steps, {:?} {:?} {:?}",
            graph.name,
            prepared.plan.bytes() as f64 / MIB,
            phased.live_bytes as f64 / MIB,
            phased.dispatches,
            begun.elapsed(),
            prepared.plan.textures.iter().map(|t| t.texels()).collect::<Vec<_>>(),
            phased.segments.iter().map(|s| (s.operators.clone(), s.phases)).collect::<Vec<_>>(),
        );
    }
}

#[test]
fn fronts() {
    for graph in [networks::mobilenet_v1(), networks::resnet18()] {
        let options = PrepareOptions { rules: Rules::none(), ..PrepareOptions::default() };
        for p in texpool::prepare::frontier(&graph, &options).unwrap() {
            println!(
                "{}: {:.3} live {:.3} {} {:?} {:?}",
                graph.name,
                p.bytes as f64 / MIB,
                p.live_bytes as f64 / MIB,
                p.dispatches,
                p.plan.textures.iter().map(|t| t.texels()).collect::<Vec<_>>(),
                p.segments.iter().map(|s| (s.operators.clone(), s.phases)).collect::<Vec<_>>(),
            );
        }
    }
}
