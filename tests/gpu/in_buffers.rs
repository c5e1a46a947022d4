//! A plan run in storage buffers leaves the same bits in all memory as in textures.

use texpool::WeightFormat;
use texpool_compile::{CompileOptions, Objective, WeightStorage};
use texpool_gpu::{Executor, ExecutorOptions, Gpu};
use texpool_ops::graph::{Act, Binary, Graph, GraphBuilder, Unary};
use texpool_plan::TexelFormat;

use crate::support::{graphs::branches, models, open};

/// Checks that the memory is the same after runs of both, and not after a run of the textures alone on other values.
fn check(gpu: &Gpu, graph: &Graph, compile: CompileOptions, value: fn(usize) -> f32) {
    let options = ExecutorOptions { compile, ..ExecutorOptions::default() };
    let mut session = Executor::new(gpu, graph, &options).unwrap();
    let inputs = |value: &dyn Fn(usize) -> f32| -> Vec<Vec<f32>> {
        graph.inputs.iter().map(|&input| (0..graph.shape(input).len()).map(value).collect()).collect()
    };
    let run = |session: &mut Executor, value: &dyn Fn(usize) -> f32| {
        session.run(&inputs(value).iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
    };
    run(&mut session, &value);
    let buffers = session.in_buffers().unwrap();
    buffers.repeat(&session).unwrap();
    session.repeat().unwrap();
    let compared = buffers.compare(&session).unwrap();
    let CompileOptions { format, weight_format, objective, .. } = &options.compile;
    let case = format!("{}, {format:?}, {weight_format:?}, {objective:?}", graph.name);
    assert!(compared.texels > 0, "{case}");
    assert_eq!(compared.different, 0, "{case}");
    run(&mut session, &|i| value(i + 1) + 1.0);
    assert!(buffers.compare(&session).unwrap().different > 0, "{case}");
}

/// Weights in each format, on the device or uploaded in every run, and stripes.
#[test]
fn buffers_have_the_bits_of_textures() {
    let gpu = open();
    let blazeface = texpool_model::import::open(models::model("face_detection_short_range.tflite")).unwrap();
    let weights_of = |weight_format| CompileOptions { weight_format, ..CompileOptions::default() };
    let streamed = CompileOptions {
        objective: Objective::Smallest,
        weights: WeightStorage::Streamed { resident_below: 0, tile_bytes: 64 },
        ..CompileOptions::default()
    };
    for (graph, compile) in [
        (&branches(), CompileOptions::default()),
        (&branches(), streamed),
        (&blazeface, CompileOptions::default()),
        (&blazeface, weights_of(WeightFormat::File)),
        (&blazeface, weights_of(WeightFormat::Int8)),
    ] {
        check(&gpu, graph, compile, |i| (i as f32 * 0.618_034).fract() * 2.0 - 1.0);
    }
}

/// Drivers round stores of 16 bits in their own ways, so the values are whole numbers.
#[test]
fn buffers_have_the_bits_of_textures_of_16_and_8_bits() {
    let mut b = GraphBuilder::new("whole numbers");
    let x = b.input("x", &[1, 5, 7, 9]).unwrap();
    let kept = b.unary("kept", Unary::Relu, x).unwrap();
    let sum = b.binary("sum", Binary::Add, kept, x, Act::None).unwrap();
    let y = b.unary("y", Unary::Square, sum).unwrap();
    let graph = b.finish(&[y]).unwrap();
    for format in [TexelFormat::Rgba16Float, TexelFormat::Rgba8Uint] {
        let options = CompileOptions { format, ..CompileOptions::default() };
        check(&open(), &graph, options, |i| (i % 11) as f32 - 4.0);
    }
}
