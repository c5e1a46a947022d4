//! Runs of very many dispatches: timed one by one, however many there are.

use texpool_compile::CompileOptions;
use texpool_gpu::{Executor, ExecutorOptions, GpuOptions};
use texpool_model::rewrite::Rules;
use texpool_ops::graph::{Graph, GraphBuilder, Unary};
use texpool_plan::{Planner, Strategy};

/// Each a dispatch, in a chain.
fn chain(links: usize) -> Graph {
    let mut b = GraphBuilder::new("chain");
    let mut x = b.input("x", &[1, 1, 1, 4]).unwrap();
    for link in 0..links {
        x = b.unary("y", [Unary::Abs, Unary::Neg, Unary::Relu, Unary::Neg][link % 4], x).unwrap();
    }
    b.finish(&[x]).unwrap()
}

/// wgpu's query sets hold two timestamps of 2048 dispatches: more of them are timed piece by piece.
#[test]
fn more_dispatches_are_profiled_than_a_query_set_holds() {
    let gpu = crate::support::open_with(&GpuOptions { timestamps: true, ..GpuOptions::default() });
    let timestamps = gpu.device.features().contains(wgpu::Features::TIMESTAMP_QUERY);
    for links in [1, 2047, 2048, 2049, 4500] {
        let compile = CompileOptions {
            rules: Rules::none(),
            planner: Planner::Strategy(Strategy::Naive),
            ..CompileOptions::default()
        };
        let mut session =
            Executor::new(&gpu, &chain(links), &ExecutorOptions { compile, ..ExecutorOptions::default() }).unwrap();
        let input = [-1.0, 2.0, -3.0, 4.0];
        let before = session.run(&[&input]).unwrap();
        let times = session.profile().unwrap();
        assert_eq!(times.is_some(), timestamps, "{links} dispatches");
        for times in times.iter() {
            assert_eq!((times.len(), session.dispatches()), (links, links));
            // Each step once and in order, with a time that no other dispatch's timestamps are part of.
            assert!(times.iter().enumerate().all(|(i, time)| time.step == Some(i) && (0.0..1e3).contains(&time.ms)));
            assert!(times.iter().map(|time| time.ms).sum::<f64>() > 0.0);
        }
        assert_eq!(session.run(&[&input]).unwrap(), before, "another answer after a profile");
    }
}
