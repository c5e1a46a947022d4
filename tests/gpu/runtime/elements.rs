//! Inputs and outputs of every element type, in every memory order.

use std::fmt::Debug;

use texpool::{Context, Element, ElementType, Model, Quantization, Session, Tensor, TensorView, half::f16};
use texpool_ops::graph::{Act, Binary, Graph, GraphBuilder};
use texpool_plan::TexelFormat;

use super::{context, values};
use crate::support::models::model;

#[path = "../../support/tflite.rs"]
#[expect(dead_code, reason = "one file is written here, of which other tests write many")]
mod tflite;

/// Extents with a partial last slice.
const DIMS: [usize; 4] = [1, 2, 3, 5];
const LEN: usize = 30;

/// Applies a binary operator to an input and a constant of the same type.
fn network(element_type: ElementType, quantization: Option<Quantization>, binary: Binary, constant: f32) -> Graph {
    let mut b = GraphBuilder::new("net");
    let x = b.input_of("x", &DIMS, element_type).unwrap();
    let constant = b.constant("constant", &[1], &[constant]).unwrap();
    let y = b.binary("y", binary, x, constant, Act::None).unwrap();
    let mut graph = b.finish(&[y]).unwrap();
    for tensor in [x, y] {
        graph.tensors[tensor].element_type = element_type;
        graph.tensors[tensor].quantization = quantization;
    }
    graph
}

/// Runs a model on one input and returns the output.
fn run(context: &Context, graph: &Graph, texels: TexelFormat, input: TensorView<'_>) -> Tensor {
    let model = Model::from_graph(graph.clone()).unwrap();
    let mut session = context.compile(&model).texels(texels).build().unwrap().session().unwrap();
    session.run([("x", input)]).unwrap().take("y").unwrap()
}

/// Asserts that adding one to `values` gives `more`, in texels of both formats, and that 32-bit floats are accepted
/// as well.
fn one_more<T: Element + Debug + PartialEq>(context: &Context, values: [T; 3], more: [T; 3], floats: [f32; 3]) {
    let graph = network(T::TYPE, None, Binary::Add, 1.0);
    let repeat = |three: [T; 3]| -> Vec<T> { three.iter().copied().cycle().take(LEN).collect() };
    let floats: Vec<f32> = floats.iter().copied().cycle().take(LEN).collect();
    let (values, more) = (repeat(values), repeat(more));
    for input in [TensorView::from(&values), TensorView::from(&floats), TensorView::new(&values, &DIMS).unwrap()] {
        let output = run(context, &graph, TexelFormat::Rgba32Float, input);
        assert_eq!((output.element_type(), output.dims()), (T::TYPE, &DIMS[..]));
        assert_eq!(output.as_slice::<T>().unwrap(), more);
    }
}

#[test]
fn elements_of_every_type_go_in_and_come_out() {
    let context = context();
    // Exact up to the integers that 32-bit floats hold without gaps, and saturated at the end of the type.
    one_more(&context, [0u8, 7, 255], [1, 8, 255], [0.0, 7.0, 255.0]);
    one_more(&context, [-128i8, -1, 127], [-127, 0, 127], [-128.0, -1.0, 127.0]);
    one_more(&context, [0u16, 65534, 65535], [1, 65535, 65535], [0.0, 65534.0, 65535.0]);
    one_more(&context, [-32768i16, -1, 32767], [-32767, 0, 32767], [-32768.0, -1.0, 32767.0]);
    one_more(
        &context,
        [-16_777_216i32, -1, 16_777_215],
        [-16_777_215, 0, 16_777_216],
        [-16_777_216.0, -1.0, 16_777_215.0],
    );
    one_more(&context, [0u32, 5, 16_777_215], [1, 6, 16_777_216], [0.0, 5.0, 16_777_215.0]);
    one_more(
        &context,
        [-16_777_216i64, -1, 16_777_215],
        [-16_777_215, 0, 16_777_216],
        [-16_777_216.0, -1.0, 16_777_215.0],
    );
    one_more(&context, [0u64, 5, 16_777_215], [1, 6, 16_777_216], [0.0, 5.0, 16_777_215.0]);
    one_more(&context, [-1.5f32, 0.25, 3.0], [-0.5, 1.25, 4.0], [-1.5, 0.25, 3.0]);
    let halves = [-1.5, 0.25, 3.0].map(f16::from_f32);
    one_more(&context, halves, [-0.5, 1.25, 4.0].map(f16::from_f32), [-1.5, 0.25, 3.0]);
    // Adding one to a truth value gives true.
    one_more(&context, [false, true, false], [true; 3], [0.0, 1.0, 0.0]);
}

#[test]
fn truth_values_are_one_and_zero() {
    let graph = network(ElementType::Bool, None, Binary::Equal, 0.0);
    let values: Vec<bool> = (0..LEN).map(|i| i % 3 == 0).collect();
    let output = run(&context(), &graph, TexelFormat::Rgba32Float, TensorView::from(&values));
    assert!(output.as_slice::<bool>().unwrap().iter().zip(&values).all(|(actual, value)| *actual != *value));
}

/// A node whose integers would be too large for the texels is refused, whatever type the caller passes, and the
/// session still works.
#[test]
fn integers_beyond_what_is_computed_exactly_are_refused() {
    let mut graph = network(ElementType::I32, None, Binary::Mul, 1000.0);
    graph.nodes.iter_mut().for_each(|node| node.integers = Some(ElementType::I32));
    let context = context();
    let model = Model::from_graph(graph).unwrap();
    let mut session = context.compile(&model).build().unwrap().session().unwrap();
    let with = |value: i32| -> Vec<i32> { (0..LEN as i32).map(|i| if i == 7 { value } else { i }).collect() };
    let floats = |value: i32| -> Vec<f32> { with(value).iter().map(|&v| v as f32).collect() };
    let text = "input `x`: element 7 is 16778, but what the model computes of this input is exact only from -16777 to \
                16777: texels are floats, which do not hold every integer beyond that";
    let refused = |session: &mut Session, input: TensorView<'_>| session.run([("x", input)]).unwrap_err().to_string();
    assert_eq!(refused(&mut session, TensorView::from(&with(16_778))), text);
    assert_eq!(refused(&mut session, TensorView::from(&floats(16_778))), text);
    assert!(refused(&mut session, TensorView::from(&with(-16_778))).contains("element 7 is -16778"));
    for input in [TensorView::from(&with(16_777)), TensorView::from(&floats(16_777))] {
        let output = session.run([("x", input)]).unwrap().take("y").unwrap().into_vec::<i32>().unwrap();
        assert_eq!(output, with(16_777).iter().map(|v| v * 1000).collect::<Vec<_>>());
    }
}

/// Integers that are not exact in texels are refused and never rounded; 8-bit ones always fit.
#[test]
fn whole_numbers_that_texels_do_not_hold_are_refused() {
    let context = context();
    let refused = |graph: &Graph, texels: TexelFormat, input: TensorView<'_>| {
        let model = Model::from_graph(graph.clone()).unwrap();
        let mut session = context.compile(&model).texels(texels).build().unwrap().session().unwrap();
        session.run([("x", input)]).unwrap_err().to_string()
    };
    let with = |at: usize, value: i64| -> Vec<i64> { (0..LEN).map(|i| if i == at { value } else { 3 }).collect() };
    let graph = network(ElementType::I64, None, Binary::Add, 0.0);
    let text = "input `x`: element 17 is 16777217, but texels of 32-bit floats hold whole numbers without gaps only up to \
                16777216";
    assert_eq!(refused(&graph, TexelFormat::Rgba32Float, TensorView::from(&with(17, 16_777_217))), text);
    let text =
        "input `x`: element 4 is -2049, but texels of 16-bit floats hold whole numbers without gaps only up to 2048";
    assert_eq!(refused(&graph, TexelFormat::Rgba16Float, TensorView::from(&with(4, -2049))), text);
    let values = with(4, -2048);
    assert_eq!(
        run(&context, &graph, TexelFormat::Rgba16Float, TensorView::from(&values)).into_vec::<i64>().unwrap(),
        values
    );
    let bytes: Vec<u8> = (0..LEN).map(|i| (i * 9 % 256) as u8).collect();
    let graph = network(ElementType::U8, None, Binary::Mul, 1.0);
    let output = run(&context, &graph, TexelFormat::Rgba16Float, TensorView::from(&bytes));
    assert_eq!(output.into_vec::<u8>().unwrap(), bytes);
}

/// NaN has no integer value, so reading it as one is an error that names the output.
#[test]
fn an_output_of_integers_that_is_no_number_is_an_error() {
    let context = context();
    let graph = network(ElementType::I32, None, Binary::Div, 0.0);
    let model = Model::from_graph(graph).unwrap();
    let mut session = context.compile(&model).build().unwrap().session().unwrap();
    let values: Vec<i32> = (0..LEN).map(|i| i32::from(i != 11)).collect();
    let error = session.run([("x", TensorView::from(&values))]).unwrap_err();
    assert_eq!(error.to_string(), "output `y`: element 11 is NaN, which i32 cannot say");
}

/// Quantised integers: 8 bits in and out, and their real values as floats.
#[test]
fn quantised_elements_stand_for_reals() {
    let context = context();
    // The zero point is 10: (q - 10) / 2. Twice that is 2 q - 10 in the same integers.
    let quantization = Some(Quantization { scale: 0.5, zero_point: 10 });
    let graph = network(ElementType::U8, quantization, Binary::Mul, 2.0);
    let values: Vec<u8> = (0..LEN).map(|i| (i * 9) as u8).collect();
    let twice: Vec<u8> = values.iter().map(|&q| (2 * i32::from(q) - 10).clamp(0, 255) as u8).collect();
    let reals: Vec<f32> = values.iter().map(|&q| (f32::from(q) - 10.0) * 0.5).collect();
    for texels in [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float] {
        for input in [TensorView::from(&values), TensorView::from(&reals)] {
            let output = run(&context, &graph, texels, input);
            assert_eq!(output.as_slice::<u8>().unwrap(), twice);
            assert_eq!(output.quantization(), quantization);
            let reals: Vec<f32> = twice.iter().map(|&q| (f32::from(q) - 10.0) * 0.5).collect();
            assert_eq!(*output.to_f32(), reals[..]);
        }
    }
    let quantization = Some(Quantization { scale: 0.25, zero_point: -3 });
    let graph = network(ElementType::I8, quantization, Binary::Add, 1.0);
    let values: Vec<i8> = (0..LEN).map(|i| (i as i8).wrapping_mul(17)).collect();
    let output = run(&context, &graph, TexelFormat::Rgba32Float, TensorView::from(&values));
    let more: Vec<i8> = values.iter().map(|&q| q.saturating_add(4)).collect();
    assert_eq!(output.into_vec::<i8>().unwrap(), more);
}

/// A TensorFlow Lite file of 8 bits takes its integers, or their real values.
#[test]
fn an_8_bit_file_takes_and_answers_its_integers() {
    let mut m = tflite::Model::new();
    let x = m.tensor("x", &[1, 1, 1, 2], tflite::U8);
    let x = m.scaled(x, &[0.5], &[10], 0);
    // Two outputs with different scales: rows (2, -4) * 0.25 and (6, 8) * 2, and 1 each.
    let weights = m.constant("weights", &[2, 1, 1, 2], tflite::I8, [2i8, -4, 6, 8].map(|v| v as u8).to_vec());
    let weights = m.scaled(weights, &[0.25, 2.0], &[0, 0], 0);
    let bias = m.ints("bias", &[8, 1]);
    let bias = m.scaled(bias, &[0.125, 1.0], &[0, 0], 0);
    let y = m.tensor("y", &[1, 1, 1, 2], tflite::U8);
    let y = m.scaled(y, &[0.5], &[3], 0);
    m.op(3, &[x, weights, bias], y, tflite::conv(1, 1, 1, 0));
    let model = Model::from_bytes(m.bytes(&[x], &[y])).unwrap();
    let quantization = |zero_point| Some(Quantization { scale: 0.5, zero_point });
    assert_eq!((model.inputs()[0].element_type, model.inputs()[0].quantization), (ElementType::U8, quantization(10)));
    assert_eq!((model.outputs()[0].element_type, model.outputs()[0].quantization), (ElementType::U8, quantization(3)));
    let context = context();
    let mut session = context.compile(&model).build().unwrap().session().unwrap();
    for (integers, reals, answer, answer_reals) in [
        ([14u8, 11], [2.0f32, 0.5], [6u8, 69], [1.5f32, 33.0]),
        ([12, 12], [1.0, 1.0], [4, 61], [0.5, 29.0]),
        // Values outside the 8-bit range are clamped.
        ([4, 90], [-3.0, 40.0], [0, 255], [-1.5, 126.0]),
    ] {
        for input in [TensorView::from(&integers), TensorView::from(&reals)] {
            let output = session.run([("x", input)]).unwrap().take("y").unwrap();
            assert_eq!((output.as_slice::<u8>().unwrap(), &*output.to_f32()), (&answer[..], &answer_reals[..]));
        }
    }
}

/// Planes, padded rows and pictures are the same image.
#[test]
fn an_image_is_seen_however_it_lies() {
    let (height, width, channels) = (4, 6, 3);
    let mut b = GraphBuilder::new("net");
    let x = b.input_of("x", &[1, height, width, channels], ElementType::U8).unwrap();
    let one = b.constant("one", &[1], &[1.0]).unwrap();
    let y = b.binary("y", Binary::Mul, x, one, Act::None).unwrap();
    let mut graph = b.finish(&[y]).unwrap();
    graph.tensors[y].element_type = ElementType::U8;
    let context = context();
    let model = Model::from_graph(graph).unwrap();
    let mut session = context.compile(&model).build().unwrap().session().unwrap();
    let pixels: Vec<u8> = (0..height * width * channels).map(|i| (i * 37 % 251) as u8).collect();
    let at = |y: usize, x: usize, c: usize| pixels[(y * width + x) * channels + c];
    let planes: Vec<u8> =
        (0..channels * height * width).map(|i| at(i / width % height, i % width, i / (width * height))).collect();
    // Pixels of four bytes, of which the last is not part of the image, and rows of 29 bytes.
    let (mut rgba, mut rows) = (vec![9u8; height * width * 4], vec![9u8; height * 29]);
    for (i, &value) in pixels.iter().enumerate() {
        let (pixel, c) = (i / channels, i % channels);
        rgba[pixel * 4 + c] = value;
        rows[pixel / width * 29 + pixel % width * channels + c] = value;
    }
    let dims = [1, height, width, channels];
    let views = [
        ("dense", TensorView::from(&pixels)),
        ("without the first axis", TensorView::new(&pixels, &dims[1..]).unwrap()),
        ("planes", TensorView::new(&planes, &[1, channels, height, width]).unwrap().permuted(&[0, 2, 3, 1]).unwrap()),
        ("rgba", TensorView::strided(&rgba, &dims, &[0, width * 4, 4, 1]).unwrap()),
        ("rows", TensorView::picture(&rows, [height, width, channels], 29).unwrap()),
    ];
    for (name, view) in views {
        let outputs = session.run([("x", view)]).unwrap();
        assert_eq!(outputs["y"].as_slice::<u8>().unwrap(), pixels, "{name}");
    }
    // The answer is used as the next input.
    let answer = session.run([("x", TensorView::from(&pixels))]).unwrap();
    assert_eq!(session.run([("x", TensorView::from(&answer[0]))]).unwrap(), answer);
}

/// A published model, by name, on planar and on interleaved pixels.
#[test]
fn a_published_model_runs_on_planes_as_on_pixels() {
    let context = context();
    let model = Model::open(model("face_detection_front_2019.tflite")).unwrap();
    let [input] = model.inputs() else { panic!("{:?}", model.inputs()) };
    let &[_, height, width, channels] = &input.dims[..] else { panic!("{input:?}") };
    let pixels = values(3, input.len());
    let planes: Vec<f32> =
        (0..channels).flat_map(|c| pixels.iter().skip(c).step_by(channels).copied().collect::<Vec<f32>>()).collect();
    let planes = TensorView::new(&planes, &[1, channels, height, width]).unwrap().permuted(&[0, 2, 3, 1]).unwrap();
    let mut session = context.compile(&model).build().unwrap().session().unwrap();
    let by_name = session.run([(&input.name, TensorView::from(&pixels))]).unwrap();
    let by_index = session.run([(0, planes)]).unwrap();
    assert_eq!(by_name, by_index);
    assert_eq!(by_name.len(), model.outputs().len());
    for (output, (name, tensor)) in model.outputs().iter().zip(&by_name.iter().collect::<Vec<_>>()) {
        assert_eq!((&output.name[..], &output.dims[..], output.element_type), (*name, tensor.dims(), ElementType::F32));
        assert!(tensor.as_slice::<f32>().unwrap().iter().all(|v| v.is_finite()));
    }
}
