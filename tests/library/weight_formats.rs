//! Weights rounded to fewer bits, as constants of the compiled graph.

use texpool::WeightFormat;
use texpool_compile::{CompileError, CompileOptions, CompiledModel, compile, load};
use texpool_ops::graph::{
    Act, Constant, Conv2d, ElementType, Graph, GraphBuilder, Op, Padding, TensorId, TransposeConv,
};
use texpool_plan::SearchControl;

use crate::support::models::model;

const WINDOW: Conv2d =
    Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding { top: 1, bottom: 1, left: 1, right: 1 }, groups: 1 };

/// Every operator whose weights are rounded, with values of very different magnitudes by channel.
fn network() -> Graph {
    let mut b = GraphBuilder::new("formats");
    let constant = |b: &mut GraphBuilder, dims: &[usize]| {
        let value = |i: usize| ((i as f32 * 0.618_034).fract() - 0.5) * 10.0f32.powi((i % 5) as i32 - 2);
        b.constant("c", dims, &(0..dims.iter().product()).map(value).collect::<Vec<f32>>()).unwrap()
    };
    let x = b.input("x", &[1, 5, 7, 3]).unwrap();
    let (w, bias) = (constant(&mut b, &[9, 3, 3, 3]), constant(&mut b, &[9]));
    let y = b.conv2d("window", WINDOW, x, w, Some(bias), Act::None).unwrap();
    let w = constant(&mut b, &[1, 3, 3, 9]);
    let y = b.depthwise("depthwise", WINDOW, y, w, None, Act::None).unwrap();
    let w = constant(&mut b, &[5, 3, 3, 9]);
    let transposed = TransposeConv { stride: [2, 2], dilation: [1, 1], padding: WINDOW.padding, groups: 1 };
    let y = b.transpose_conv("transposed", transposed, [y, w], None, [9, 13]).unwrap();
    let w = constant(&mut b, &[7, 9 * 13 * 5]);
    let y = b.fully_connected("dense", y, w, None, Act::None).unwrap();
    b.finish(&[y]).unwrap()
}

fn options(weight_format: WeightFormat) -> CompileOptions {
    CompileOptions { weight_format, ..CompileOptions::default() }
}

fn compiled(graph: &Graph, weight_format: WeightFormat) -> CompiledModel {
    compile(graph, &options(weight_format), &SearchControl::new()).unwrap()
}

/// The weights of each node, and the axis that is the channels of its result.
fn weights(graph: &Graph) -> Vec<(TensorId, usize)> {
    let axis = |op: &Op| match op {
        Op::DepthwiseConv2d(_) => 3,
        Op::FullyConnected => 2,
        _ => 0,
    };
    graph.nodes.iter().map(|node| (node.inputs[1], axis(&node.op))).collect()
}

fn constant(graph: &Graph, tensor: TensorId) -> &Constant {
    graph.tensors[tensor].constant.as_ref().unwrap()
}

#[test]
fn bytes_are_the_nearest_multiples_of_a_scale_for_each_channel() {
    let floats = compiled(&network(), WeightFormat::F32);
    let bytes = compiled(&network(), WeightFormat::Int8);
    let all = weights(floats.graph());
    assert_eq!(all.len(), 4);
    for (tensor, axis) in all {
        let dims = floats.graph().shape(tensor).dims();
        let behind: usize = dims[axis + 1..].iter().product();
        let values = constant(floats.graph(), tensor).to_f32();
        let quantized = constant(bytes.graph(), tensor);
        assert_eq!((quantized.dtype, quantized.len()), (ElementType::I8, values.len()));
        for channel in 0..dims[axis] {
            let of_channel: Vec<usize> = (0..values.len()).filter(|i| i / behind % dims[axis] == channel).collect();
            let greatest = of_channel.iter().fold(0.0f32, |most, &i| most.max(values[i].abs()));
            for &i in &of_channel {
                let dequantized = quantized.to_f32()[i];
                assert!(
                    (dequantized - values[i]).abs() <= greatest / 127.0 * 0.5001,
                    "{dequantized}, not {}",
                    values[i]
                );
            }
            let ends = of_channel.iter().map(|&i| quantized.to_i64().unwrap()[i].abs()).max();
            assert_eq!(ends, Some(127));
        }
        // Rounding rounded values changes nothing.
        let again = compiled(bytes.graph(), WeightFormat::Int8);
        assert_eq!(constant(again.graph(), tensor).to_f32(), quantized.to_f32());
    }
    assert!(bytes.resident_weight_bytes() * 3 < floats.resident_weight_bytes());
}

#[test]
fn halves_are_the_nearest() {
    let floats = compiled(&network(), WeightFormat::F32);
    let halves = compiled(&network(), WeightFormat::F16);
    for (tensor, _) in weights(floats.graph()) {
        let constant_f16 = constant(halves.graph(), tensor);
        let expected =
            constant(floats.graph(), tensor).to_f32().iter().map(|&v| half::f16::from_f32(v).to_f32()).collect();
        assert_eq!((constant_f16.dtype, constant_f16.to_f32().into_owned()), (ElementType::F16, expected));
    }
    let (halves, floats) = (halves.resident_weight_bytes(), floats.resident_weight_bytes());
    assert!(halves * 100 > floats * 50 && halves * 100 < floats * 53, "{halves} of {floats}");
}

/// Weights that somebody reads otherwise as well are one value for all of them.
#[test]
fn weights_that_are_read_otherwise_too_stay() {
    let mut b = GraphBuilder::new("shared");
    let x = b.input("x", &[1, 1, 1, 4]).unwrap();
    let w = b.constant("w", &[4, 4], &(0..16).map(|i| i as f32 / 7.0).collect::<Vec<_>>()).unwrap();
    let dense = b.fully_connected("dense", x, w, None, Act::None).unwrap();
    let sum = b.binary("sum", texpool_ops::graph::Binary::Add, x, w, Act::None);
    let sum = sum.unwrap();
    let graph = b.finish(&[dense, sum]).unwrap();
    for format in [WeightFormat::F16, WeightFormat::Int8] {
        let compiled = compiled(&graph, format);
        let floats = compiled.graph().tensors.iter().filter_map(|tensor| tensor.constant.as_ref());
        assert!(floats.map(|constant| constant.dtype).eq([ElementType::F32]), "{format:?}");
    }
}

#[test]
fn weights_that_are_not_finite_are_named() {
    let mut graph = network();
    let tensor = graph.nodes.iter().next().unwrap().inputs[1];
    for wrong in [f32::NAN, f32::INFINITY] {
        let mut values = constant(&graph, tensor).to_f32().into_owned();
        values[7] = wrong;
        graph.tensors[tensor].constant = Some(Constant::from_f32(&values));
        graph.tensors[tensor].name = "odd".to_owned();
        match compile(&graph, &options(WeightFormat::Int8), &SearchControl::new()) {
            Err(CompileError::NotFinite { tensor }) => assert_eq!(tensor, "odd"),
            other => panic!("{other:?}"),
        }
        compiled(&graph, WeightFormat::F16);
    }
}

/// One value over and over takes no memory.
#[test]
fn repeated_weights_stay_repeated() {
    let mut graph = network();
    let tensor = graph.nodes.iter().last().unwrap().inputs[1];
    graph.tensors[tensor].constant = Constant::repeated(-0.3, graph.shape(tensor).len());
    for (format, expected) in [(WeightFormat::F16, half::f16::from_f32(-0.3).to_f32()), (WeightFormat::Int8, -0.3)] {
        let compiled = compiled(&graph, format);
        let weights = constant(compiled.graph(), tensor);
        assert!(weights.bytes.element().is_some() && weights.dtype != ElementType::F32, "{format:?}");
        assert!(
            weights.to_f32().iter().all(|&value| (value - expected).abs() < 1e-7),
            "{format:?}: {}",
            weights.to_f32()[0]
        );
    }
}

#[test]
fn a_saved_plan_knows_its_format() {
    let graph = network();
    for format in [WeightFormat::F32, WeightFormat::F16, WeightFormat::File, WeightFormat::Int8] {
        let compiled = compiled(&graph, format);
        let loaded = load(&graph, &compiled.save(), compiled.limits()).unwrap();
        assert_eq!((loaded.weight_format(), compiled.weight_format()), (format, format));
        assert_eq!(loaded.device_bytes(), compiled.device_bytes());
        for (tensor, _) in weights(compiled.graph()) {
            let [reloaded, expected] = [&loaded, &compiled].map(|model| constant(model.graph(), tensor));
            assert_eq!((reloaded.dtype, reloaded.to_f32()), (expected.dtype, expected.to_f32()));
        }
    }
}

/// A file of 16-bit weights: as they lie in it they take half the bytes of the device.
#[test]
fn weights_of_16_bit_files_take_half_the_bytes() {
    let graph = texpool_model::import::open(model("face_detection_short_range.tflite")).unwrap();
    let [floats, file] = [WeightFormat::F32, WeightFormat::File].map(|format| compiled(&graph, format));
    let saved = floats.device_bytes() - file.device_bytes();
    assert!(saved * 100 > floats.resident_weight_bytes() * 47, "{saved} of {}", floats.resident_weight_bytes());
}
