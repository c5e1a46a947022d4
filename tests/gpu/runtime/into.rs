//! Outputs into memory of the caller's.

use texpool::{ConvertError, Error, Model, TensorView, TensorViewMut};
use texpool_ops::graph::GraphBuilder;

use super::{CHANNELS, bits, compiled, context, gain, image};

/// Elements of both outputs of the network.
const OUTPUTS: [usize; 2] = [14 * 11 * (CHANNELS + 1), CHANNELS + 1];

#[test]
fn floats_are_what_a_run_answers_bit_for_bit() {
    let (context, [mut features, mut scores]) = (context(), OUTPUTS.map(|len| vec![f32::NAN; len]));
    let (image, gain) = (image(3), gain());
    // Not dense: each pixel has room for a fourth channel.
    let wide: Vec<f32> = image.chunks(3).flat_map(|pixel| [pixel[0], pixel[1], pixel[2], 9.0]).collect();
    let strided = TensorView::strided(&wide, &[1, 14, 11, 3], &[616, 44, 4, 1]).unwrap();
    for compiled in compiled(&context) {
        let mut session = compiled.session().unwrap();
        let inputs = || [("image", TensorView::from(&image)), ("gain", TensorView::from(&gain))];
        let answer = session.run(inputs()).unwrap();
        let rooms = [(1, TensorViewMut::from(&mut scores)), (0, TensorViewMut::from(&mut features))];
        session.run_into(inputs(), rooms).unwrap();
        let result_bits: Vec<u32> = features.iter().chain(&scores).map(|v| v.to_bits()).collect();
        assert_eq!(result_bits, bits(&answer));
        // One of two, from values that lie otherwise.
        scores.fill(f32::NAN);
        session.run_into([("image", strided)], [("scores", TensorViewMut::from(&mut scores))]).unwrap();
        assert_eq!(scores, answer["scores"].as_slice::<f32>().unwrap());
    }
}

#[test]
fn other_elements_are_those_of_the_model_or_what_was_computed() {
    let mut b = GraphBuilder::new("same");
    let x = b.input_of("x", &[3], texpool::ElementType::I32).unwrap();
    let y = b.binary("y", texpool_ops::graph::Binary::Add, x, x, texpool_ops::graph::Act::None).unwrap();
    let mut graph = b.finish(&[y]).unwrap();
    graph.tensors[y].element_type = texpool::ElementType::I32;
    let context = context();
    let model = Model::from_graph(graph).unwrap();
    let mut session = context.compile(&model).build().unwrap().session().unwrap();
    let (mut integers, mut reals) = ([0i32; 3], [0.0f32; 3]);
    session.run_into([(0, TensorView::from(&[1i32, -2, 3]))], [(0, TensorViewMut::from(&mut integers))]).unwrap();
    assert_eq!(integers, [2, -4, 6]);
    session.run_into([(0, TensorView::from(&[0.5f32, 1.25, -3.0]))], [("y", TensorViewMut::from(&mut reals))]).unwrap();
    assert_eq!(reals, [1.0, 2.5, -6.0]);
    // A number that an integer cannot say.
    let nan = [(0, TensorView::from(&[f32::NAN; 3]))];
    let error = session.run_into(nan, [(0, TensorViewMut::from(&mut integers))]).unwrap_err();
    assert!(matches!(error, Error::Tensor { source: ConvertError::NotANumber { index: 0, .. }, .. }), "{error}");
}

#[test]
fn room_that_is_not_for_an_output_is_refused() {
    let context = context();
    let [compiled, _] = compiled(&context);
    let mut session = compiled.session().unwrap();
    let (image, gain) = (image(1), gain());
    let mut run = |rooms: Vec<(&str, TensorViewMut<'_>)>| {
        let inputs = [("image", TensorView::from(&image)), ("gain", TensorView::from(&gain))];
        session.run_into(inputs, rooms)
    };
    let (mut short, mut integers, mut scores, mut more) = ([0.0f32; 3], [0i32; 7], [0.0f32; 7], [0.0f32; 7]);
    let error = run(vec![("scores", TensorViewMut::from(&mut short))]).unwrap_err();
    assert!(matches!(error, Error::Tensor { source: ConvertError::Count { found: 3, .. }, .. }), "{error}");
    let error = run(vec![("scores", TensorViewMut::from(&mut integers))]).unwrap_err();
    assert!(matches!(error, Error::Tensor { source: ConvertError::ElementType { .. }, .. }), "{error}");
    let error = run(vec![("points", TensorViewMut::from(&mut scores))]).unwrap_err();
    assert!(matches!(error, Error::NoSuchTensor { .. }), "{error}");
    let both = vec![("scores", TensorViewMut::from(&mut scores)), ("scores", TensorViewMut::from(&mut more))];
    let error = run(both).unwrap_err();
    assert!(matches!(error, Error::OutputTwice { .. }), "{error}");
    run(vec![("scores", TensorViewMut::from(&mut scores))]).unwrap();
}
