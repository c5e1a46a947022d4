//! Tests of partitions on a device, without a runtime.

use std::sync::Arc;

use texpool::{Context, TensorView, TensorViewMut};

use super::Partition;
use crate::{
    api::types::ErrorCode,
    budget::share_budget,
    devices::Devices,
    failure::Failure,
    graph::{Extent, Graph, Node, Value},
    options::Options,
};

/// Returns a graph with one unary node, whose extents may be unknown.
fn graph(dims: [Extent; 2]) -> Graph<'static> {
    let value = |name: &str| Value {
        name: name.into(),
        kind: 1,
        dims: Some(dims.to_vec()),
        constant: None,
        overridable: false,
    };
    let node = Node { operator: "Neg".into(), inputs: vec![Some(0)], outputs: vec![Some(1)], ..Node::default() };
    Graph {
        name: "main".into(),
        opsets: vec![(String::new(), 17)],
        values: vec![value("x"), value("y")],
        nodes: vec![node],
        inputs: vec![0],
        outputs: vec![1],
    }
}

fn partition(context: &Context, dims: [Extent; 2], options: Options) -> Result<Arc<Partition>, Failure> {
    let ports = [vec!["x".to_owned()], vec!["y".to_owned()]];
    Partition::new(&graph(dims), ports, context.clone(), Arc::new(options), None).map(Arc::new)
}

fn run(partition: &Partition, values: &[f32]) -> Result<Vec<f32>, Failure> {
    let mut results = vec![0.0; values.len()];
    partition.with(&vec![vec![1, values.len()]], |session| {
        let room = TensorViewMut::dense(&mut results);
        Ok(session.run_into([(0, TensorView::dense(values))], [(0, room)])?)
    })?;
    Ok(results)
}

/// After a device is lost, every run of its sessions fails, and the next session gets a new device.
#[test]
fn a_lost_device_is_an_error_and_the_next_session_has_another() {
    let (devices, options) = (Devices::default(), Options::default());
    let context = devices.context(&options).unwrap();
    let lost = partition(&context, [1, 3].map(Extent::Known), Options::default()).unwrap();
    assert_eq!(run(&lost, &[1.0, 2.0, 3.0]).unwrap(), [-1.0, -2.0, -3.0]);
    context.device().destroy();
    for _ in 0..2 {
        let failure = run(&lost, &[1.0, 2.0, 3.0]).unwrap_err();
        assert_eq!(failure.code, ErrorCode::DeviceReset, "{}", failure.message);
        assert!(failure.message.contains("the device was lost"), "{}", failure.message);
    }
    let context = devices.context(&options).unwrap();
    let fresh = partition(&context, [1, 3].map(Extent::Known), options).unwrap();
    assert_eq!(run(&fresh, &[1.0, 2.0, 3.0]).unwrap(), [-1.0, -2.0, -3.0]);
}

#[test]
fn sessions_of_the_last_shapes_are_kept() {
    let context = Devices::default().context(&Options::default()).unwrap();
    let open = [Extent::Known(1), Extent::Named("length".into())];
    let several = partition(&context, open.clone(), Options::default()).unwrap();
    let lengths = |partition: &Partition| -> Vec<usize> {
        partition.sessions.lock().unwrap().iter().map(|(shapes, _)| shapes[0][1]).collect()
    };
    for length in [1, 2, 3, 4, 2, 5] {
        assert_eq!(run(&several, &vec![1.5; length]).unwrap(), vec![-1.5; length]);
    }
    assert_eq!(lengths(&several), [3, 4, 2, 5]);
    // With a budget, only one session is kept. It is compiled at once if its extents are given.
    let options = Options::parse([("budget", "1MiB"), ("dim", "length=6")]).unwrap();
    let one = partition(&context, open, options).unwrap();
    assert_eq!(lengths(&one), [6]);
    assert_eq!(run(&one, &[2.0; 7]).unwrap(), [-2.0; 7]);
    assert_eq!(lengths(&one), [7]);
}

/// A recurring shape uses the kept plan, even if a search would find another one.
#[test]
fn plans_of_past_shapes_are_kept() {
    let context = Devices::default().context(&Options::default()).unwrap();
    let open = [Extent::Known(1), Extent::Named("length".into())];
    let options = |plan: &[(&str, &str)]| Options::parse(plan.iter().copied()).unwrap();
    let partition_of = |plan| partition(&context, open.clone(), options(plan)).unwrap();
    let (usual, least) = (partition_of(&[("budget", "1MiB")]), partition_of(&[("objective", "smallest")]));
    for length in [64, 65] {
        run(&usual, &vec![0.5; length]).unwrap();
        run(&least, &vec![0.5; length]).unwrap();
    }
    let lengths = || -> Vec<usize> { usual.plans.lock().unwrap().iter().map(|(shapes, _)| shapes[0][1]).collect() };
    assert_eq!(lengths(), [64, 65]);
    // The kept plan is replaced by a different one, so that its use can be recognized.
    let other = least.plans.lock().unwrap()[0].1.clone();
    assert_ne!(usual.plans.lock().unwrap()[0].1, other);
    usual.plans.lock().unwrap()[0].1 = other.clone();
    assert_eq!(run(&usual, &vec![2.0; 64]).unwrap(), vec![-2.0; 64]);
    assert_eq!(lengths(), [65, 64]);
    assert_eq!(usual.sessions.lock().unwrap()[0].1.compiled().save(), other);
    // If a kept plan is invalid, a new one is searched for.
    usual.plans.lock().unwrap()[0].1 = vec![0; 8];
    assert_eq!(run(&usual, &vec![3.0; 65]).unwrap(), vec![-3.0; 65]);
    assert_eq!(usual.sessions.lock().unwrap()[0].1.compiled().save(), usual.plans.lock().unwrap()[1].1);
}

/// Each partition fits the budget alone; the sum must also fit.
#[test]
fn partitions_share_a_budget() {
    let context = Devices::default().context(&Options::default()).unwrap();
    let budget = 2 << 20;
    let partition_of_budget = || {
        let options = Options::parse([("budget", "2MiB")]).unwrap();
        partition(&context, [Extent::Known(1), Extent::Known(100_000)], options).unwrap()
    };
    let partitions = [partition_of_budget(), partition_of_budget()];
    share_budget(&partitions, budget).unwrap();
    let planned: u64 = partitions.iter().map(|partition| partition.planned().unwrap()).sum();
    assert!(planned <= budget, "{planned}");
    assert_eq!(run(&partitions[0], &vec![1.0; 100_000]).unwrap(), vec![-1.0; 100_000]);
    let failure = share_budget(&partitions, 1 << 10).unwrap_err();
    assert!(failure.message.starts_with("the node `y`, with `x` of [1, 100000]: no plan keeps"), "{}", failure.message);
}
