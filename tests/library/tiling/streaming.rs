//! Weights that are uploaded in every run, and outputs that are downloaded: rows and weights that are live together,
//! and steps whose data is present when they read it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock},
};

use super::networks;
use texpool_compile::{
    CompileError, CompileOptions, CompiledModel, Objective, ParetoFront, StreamedIo, WeightFormat, WeightStorage,
    compile, load, pareto_front,
    schedule::{Contents, Step, StepKind},
};
use texpool_model::rewrite::Rules;
use texpool_ops::{graph::Graph, kernels::WeightPacking, ops};
use texpool_plan::{SearchControl, TexelFormat};

const TILE: u64 = 64 << 10;

fn options(objective: Objective) -> CompileOptions {
    let weights = WeightStorage::Streamed { resident_below: 0, tile_bytes: TILE };
    CompileOptions { rules: Rules::none(), objective, weights, ..CompileOptions::default() }
}

fn all() -> [Graph; 4] {
    [networks::mobilenet_v1(), networks::mobilenet_v2(), networks::squeezenet(), networks::resnet18()]
}

/// Returns the front of a network, which is searched for only once per process.
fn front(graph: &Graph) -> Arc<ParetoFront> {
    static FRONTS: Mutex<BTreeMap<String, Arc<OnceLock<Arc<ParetoFront>>>>> = Mutex::new(BTreeMap::new());
    let front = Arc::clone(FRONTS.lock().unwrap().entry(graph.name.clone()).or_default());
    let search = || Arc::new(pareto_front(graph, &options(Objective::Fastest), &SearchControl::new()).unwrap());
    Arc::clone(front.get_or_init(search))
}

/// Rows and weights alive at the peak, in MiB: no more than a dynamic programme over borders between cascades
/// finds that counts rows and weights as this does, but for the classifiers, which it leaves out. And the pool of the
/// plan that takes least of the device, tables and transfer buffers among it, which stays at what was reached.
#[test]
fn few_rows_and_weights_live_at_once() {
    let most = [(networks::mobilenet_v2(), 0.641, 0.726), (networks::squeezenet(), 1.177, 1.179)];
    for (graph, most, most_in_pool) in most {
        let front = front(&graph);
        let live = front.points().iter().map(|point| point.live_bytes).min().unwrap() as f64 / f64::from(1 << 20);
        let pool = front.points().last().unwrap().bytes as f64 / f64::from(1 << 20);
        println!("{}: {live:.3} MiB alive, {pool:.3} in the pool", graph.name);
        assert!(live < most + 0.0005, "{}: {live} MiB, not {most}", graph.name);
        assert!(pool < most_in_pool + 0.0005, "{}: a pool of {pool} MiB, not {most_in_pool}", graph.name);
    }
}

/// The smallest plan leaves no room unused: a sixty-fourth more bytes are half of the steps less.
#[test]
fn nearly_the_smallest_has_fewer_steps() {
    let graph = networks::squeezenet();
    let front = front(&graph);
    let last = front.points().last().unwrap();
    let (smallest, least) = (last.dispatches, last.device_bytes);
    let compiled = compile(&graph, &options(Objective::Smallest), &SearchControl::new()).unwrap();
    let dispatches = compiled.tiled().unwrap().dispatches;
    println!("{smallest} dispatches in {least} bytes, {dispatches} in {}", compiled.device_bytes());
    assert!(compiled.device_bytes() <= least + least / 64);
    assert!(2 * dispatches <= smallest);
}

/// The reported minimum budget suffices, and a smaller one does not.
#[test]
fn a_budget_of_the_device_that_nothing_fits_names_the_least() {
    let graph = networks::small();
    let options = |bytes| CompileOptions { objective: Objective::Device(bytes), ..CompileOptions::default() };
    let Err(CompileError::BelowFloor { floor, .. }) = compile(&graph, &options(100_000), &SearchControl::new()) else {
        panic!("100,000 bytes are not refused");
    };
    match compile(&graph, &options(floor), &SearchControl::new()) {
        Err(CompileError::DeviceBudget { bytes, least, .. }) => {
            assert!(bytes == floor && least > floor);
            assert!(compile(&graph, &options(least - 1), &SearchControl::new()).is_err());
            let compiled = compile(&graph, &options(least), &SearchControl::new()).unwrap();
            println!("{least} named, {} taken", compiled.device_bytes());
            assert!(compiled.device_bytes() <= least);
            assert!(compiled.schedule().steps.iter().any(|step| step.kind == StepKind::Upload));
        }
        other => panic!("{other:?}"),
    }
}

/// All weights are uploaded, packed so, each slice once, and in tiles where an operator runs over all its rows at once.
fn uploads_are_whole(compiled: &CompiledModel, packing: WeightPacking) {
    let (graph, schedule) = (compiled.graph(), compiled.schedule());
    for (id, node) in graph.nodes.iter_enumerated() {
        let steps = |kind: StepKind| schedule.steps.iter().filter(move |step| step.node == id && step.kind == kind);
        let uploads: Vec<_> = steps(StepKind::Upload).collect();
        let texels = |upload: &&Step| schedule.storages[upload.to].texels();
        let packed = ops::packed_weight_texels(graph, node, packing);
        assert_eq!(uploads.iter().map(texels).sum::<u64>(), packed, "{id}");
        let Some(sections) = ops::weight_sections(graph, node, packing) else { continue };
        let all = graph.shape(node.output).slices() as u32;
        assert_eq!(uploads.iter().map(|upload| upload.slices.len()).sum::<usize>(), all as usize);
        if uploads.len() > 1 {
            let compute: Vec<_> = steps(StepKind::Compute).map(|step| step.slices.clone()).collect();
            assert!(uploads.iter().map(|upload| &upload.slices).eq(&compute));
            // The minimum size of a tile may exceed this.
            let least = sections.tiles(0).map(|slices| slices.len() as u64 * sections.slice_texels()).max().unwrap();
            assert!(uploads.iter().map(texels).max().unwrap() <= least.max(TILE / 16));
        }
        for step in steps(StepKind::Compute) {
            let read = schedule.weights_of(step).map(|storage| schedule.storages[storage].contents);
            assert_eq!(read, Some(Contents::Weights(id)));
        }
    }
}

#[test]
fn every_weight_is_uploaded_once() {
    let formats = [(WeightFormat::F32, WeightPacking::Texels), (WeightFormat::Int8, WeightPacking::Bytes)];
    for (graph, (weight_format, packing)) in
        all().into_iter().flat_map(|graph| formats.map(|pair| (graph.clone(), pair)))
    {
        for objective in [Objective::Fastest, Objective::Balanced] {
            let options = CompileOptions { weight_format, ..options(objective) };
            let compiled = compile(&graph, &options, &SearchControl::new()).unwrap();
            uploads_are_whole(&compiled, packing);
            let loaded = load(&graph, &compiled.save(), compiled.limits()).unwrap();
            assert_eq!((loaded.plan(), loaded.schedule()), (compiled.plan(), compiled.schedule()), "{}", graph.name);
            assert_eq!((loaded.format(), loaded.device_bytes()), (compiled.format(), compiled.device_bytes()));
        }
    }
}

/// Uploaded weights take as many bytes as their stored form, which makes the smallest plan smaller.
#[test]
fn weights_of_fewer_bits_take_less_room_in_the_pool() {
    let graph = networks::squeezenet();
    let floats = front(&graph).points().last().unwrap().device_bytes;
    let options = CompileOptions { weight_format: WeightFormat::Int8, ..options(Objective::Smallest) };
    let compiled = compile(&graph, &options, &SearchControl::new()).unwrap();
    println!("{floats} bytes of the device, {} with weights in 8 bits", compiled.device_bytes());
    assert!(compiled.device_bytes() + (150 << 10) < floats);
}

/// A network with an output as large as its input, and an output that other nodes read.
fn mask() -> Graph {
    let (mut net, x) = networks::Net::new("mask", 64);
    let first = net.conv(x, 8, 3, 1, None);
    let second = net.conv(first, 8, 3, 1, Some(first));
    let mask = net.conv(second, 4, 3, 1, None);
    net.finish(&[mask, first])
}

/// Each row of an output is downloaded once, after the last step that writes it, and the saved plan states this.
#[test]
fn every_row_of_an_output_is_downloaded_once() {
    for graph in all().into_iter().chain([mask()]) {
        for objective in [Objective::Fastest, Objective::Balanced] {
            let options = CompileOptions { stream_io: StreamedIo::BOTH, ..options(objective) };
            let compiled = compile(&graph, &options, &SearchControl::new()).unwrap();
            let schedule = compiled.schedule();
            for &output in &compiled.graph().outputs {
                let storage = schedule.storage_of[output].unwrap();
                assert!(schedule.is_pooled(output), "{}", graph.name);
                let mut downloaded = vec![0; schedule.storages[storage].rows as usize];
                for step in &schedule.steps {
                    if step.kind == StepKind::Download && step.to == storage {
                        step.rows.clone().for_each(|row| downloaded[row as usize] += 1);
                    }
                    for written in step.writes.iter().filter(|access| access.storage == storage) {
                        assert!(written.rows.clone().all(|row| downloaded[row as usize] == 0), "{}", graph.name);
                    }
                }
                assert!(downloaded.iter().all(|&times| times == 1), "{}: {downloaded:?}", graph.name);
            }
            let loaded = load(&graph, &compiled.save(), compiled.limits()).unwrap();
            assert_eq!((loaded.plan(), loaded.schedule()), (compiled.plan(), schedule), "{}", graph.name);
        }
    }
    // Large tensors are live for some rows only.
    let bytes = |stream_io: StreamedIo| {
        let options = CompileOptions { stream_io, ..options(Objective::Smallest) };
        compile(&mask(), &options, &SearchControl::new()).unwrap().device_bytes()
    };
    let (through, apart) = (bytes(StreamedIo::BOTH), bytes(StreamedIo { inputs: true, outputs: false }));
    assert!(through < apart, "{through} bytes, {apart} with textures for outputs");
}

/// Small tensors stay on the device on request.
#[test]
fn small_weights_stay_on_the_device() {
    let graph = networks::mobilenet_v2();
    let weights = WeightStorage::Streamed { resident_below: 100 << 10, tile_bytes: TILE };
    let compiled =
        compile(&graph, &CompileOptions { weights, ..options(Objective::Fastest) }, &SearchControl::new()).unwrap();
    for (id, node) in compiled.graph().nodes.iter_enumerated() {
        let bytes = ops::weight_texels(compiled.graph(), node) * 16;
        assert_eq!(compiled.schedule().streamed().contains(id), bytes >= 100 << 10, "{bytes}");
    }
}

/// In a pool of bytes, a row of floats has four planes, and a tile of the weights computes its slices in each of them.
#[test]
fn tiles_of_weights_write_floats_into_a_pool_of_bytes() {
    let (mut net, x) = networks::Net::new("floats in bytes", 16);
    let first = net.conv(x, 16, 3, 1, None);
    let wide = net.conv(first, 32, 1, 1, None);
    let narrow = net.conv(wide, 16, 1, 1, None);
    let out = net.conv(narrow, 8, 5, 2, None);
    let graph = net.finish(&[out]);
    let weights = WeightStorage::Streamed { resident_below: 0, tile_bytes: 1 << 10 };
    let format = TexelFormat::Rgba8Uint;
    let options = CompileOptions { format, objective: Objective::Smallest, weights, ..CompileOptions::default() };
    // Every division that the search examines is checked row by row, and some run whole layers in tiles of weights.
    assert!(compile(&graph, &options, &SearchControl::new()).unwrap().tiled().is_some());
}
