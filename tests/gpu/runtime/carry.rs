//! State that stays on the device between runs: the same bits as outputs that the caller passes back.

use std::sync::OnceLock;

use texpool::{
    CarryProblem, CompileBuilder, CompiledModel, Context, ElementType, Error, GpuError, Model, Quantization, Session,
    TensorView, TensorViewMut, TextureProblem,
};
use texpool_gpu::{Executor, ExecutorOptions, Wait, now};
use texpool_ops::graph::{
    Act, Binary, Constant, Graph, GraphBuilder, LayoutPermutation, Op, Transpose, Unary, Variable,
};
use texpool_plan::TexelFormat;

use super::{bits, both_plans, context, convolution, encoder, fill, filled, idle, submit, values};

/// Elements of the inputs: a frame, a state like an image, and a state whose output lies in another order.
const FRAME: usize = 6 * 5 * 3;
const IMAGE: usize = 6 * 5 * 4;
const TABLE: usize = 4 * 6;
/// Output and input of each state.
const STATES: [(&str, &str); 2] = [("image out", "image in"), ("table out", "table in")];

/// A network with two states, each of which changes with the frame and with the other.
fn network() -> Graph {
    let mut b = GraphBuilder::new("stateful");
    let frame = b.input("frame", &[1, 6, 5, 3]).unwrap();
    let image = b.input("image in", &[1, 6, 5, 4]).unwrap();
    let table = b.input("table in", &[1, 1, 4, 6]).unwrap();
    let seen = convolution(&mut b, frame, [3, 4]);
    let mixed = b.binary("mixed", Binary::Add, seen, image, Act::None).unwrap();
    let mixed = b.unary("bounded", Unary::Tanh, mixed).unwrap();
    let mean = b.mean("mean", [false, true, true, false], mixed).unwrap();
    let turned = b.node("turned", Op::Transpose(Transpose { perm: [0, 1, 3, 2] }), &[table], Act::None).unwrap();
    let table_out = b.binary("table out", Binary::Add, turned, mean, Act::None).unwrap();
    let table_out = b.unary("table out", Unary::Sin, table_out).unwrap();
    let means = b.mean("means", [false, true, true, false], table_out).unwrap();
    let image_out = b.binary("image out", Binary::Mul, mixed, means, Act::None).unwrap();
    let scores = convolution(&mut b, mixed, [4, 2]);
    let mut graph = b.finish(&[scores, image_out, table_out]).unwrap();
    for (tensor, name) in [(scores, "scores"), (image_out, "image out"), (table_out, "table out")] {
        graph.tensors[tensor].name = name.into();
    }
    for tensor in [table, table_out] {
        graph.tensors[tensor].dims = vec![4, 6];
    }
    graph.tensors[table_out].host_permutation = LayoutPermutation::new(&[4, 6], &[1, 0]).unwrap();
    graph
}

fn compiled(context: &Context) -> [CompiledModel; 2] {
    static SAVED: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    both_plans(context, &Model::from_graph(network()).unwrap(), &SAVED)
}

/// The plans of [`compiled`], one with 16-bit texels, and those that stream inputs, outputs, both, or weights.
fn all(context: &Context) -> Vec<CompiledModel> {
    let model = Model::from_graph(network()).unwrap();
    let build = |builder: CompileBuilder<'_>| builder.build().unwrap();
    let mut all = compiled(context).to_vec();
    all.push(build(context.compile(&model).texels(TexelFormat::Rgba16Float)));
    all.push(build(context.compile(&model).texels(TexelFormat::Rgba8Uint)));
    all.push(build(context.compile(&model).stream_inputs()));
    all.push(build(context.compile(&model).stream_outputs()));
    all.push(build(context.compile(&model).stream_inputs().stream_outputs()));
    all.push(build(context.compile(&model).stream_weights(4096)));
    all
}

fn frame(seed: usize) -> Vec<f32> {
    values(seed + 100, FRAME)
}

/// A session that carries both states.
fn carrying(compiled: &CompiledModel) -> Session {
    let mut session = compiled.session().unwrap();
    for (output, input) in STATES {
        session.carry(output, input).unwrap();
    }
    session
}

/// Bits of the scores for a frame, with the states that the session carries.
fn step(session: &mut Session, seed: usize) -> Vec<u32> {
    let outputs = session.run([("frame", TensorView::from(&frame(seed)))]).unwrap();
    assert_eq!(outputs.len(), 1, "carried outputs are not read");
    bits(&outputs)
}

/// Bits of the scores for each frame, with states that the caller passes back, and the last states.
fn by_hand(compiled: &CompiledModel, first: [Vec<f32>; 2], frames: usize) -> (Vec<Vec<u32>>, [Vec<f32>; 2]) {
    let mut session = compiled.session().unwrap();
    let [mut image, mut table] = first;
    let scores = (0..frames).map(|seed| {
        let frame = frame(seed);
        let inputs = [("frame", &frame), ("image in", &image), ("table in", &table)];
        let table_view = TensorView::new(&table[..], &[4, 6]).unwrap();
        let inputs = inputs.map(|(name, values)| match name {
            "table in" => (name, table_view),
            _ => (name, TensorView::from(&values[..])),
        });
        let mut outputs = session.run(inputs).unwrap();
        let [new_image, new_table] =
            STATES.map(|(name, _)| outputs.take(name).unwrap().as_slice::<f32>().unwrap().to_vec());
        (image, table) = (new_image, new_table);
        bits(&outputs)
    });
    let scores = scores.collect();
    (scores, [image, table])
}

fn zeros() -> [Vec<f32>; 2] {
    [vec![0.0; IMAGE], vec![0.0; TABLE]]
}

#[test]
fn carried_states_are_those_that_a_caller_passes_back() {
    let context = context();
    for compiled in all(&context) {
        let (expected, _) = by_hand(&compiled, zeros(), 6);
        assert!((1..6).all(|i| expected[i] != expected[0]));
        let mut session = carrying(&compiled);
        for _ in 0..2 {
            let scores: Vec<_> = (0..6).map(|seed| step(&mut session, seed)).collect();
            assert!(scores == expected);
            session.reset();
        }
    }
}

/// Variables of a model are carried without a call, and the caller sees neither their inputs nor their outputs.
#[test]
fn variables_begin_with_their_first_values_and_are_kept() {
    let context = context();
    let first = values(1, IMAGE);
    let mut graph = network();
    let variable = |name: &str, index, initial| Variable { name: name.into(), input: index, output: index, initial };
    graph.variables = vec![variable("image", 1, Some(Constant::from_f32(&first))), variable("table", 2, None)];
    let model = Model::from_graph(graph).unwrap();
    assert_eq!((model.inputs().len(), model.outputs().len()), (1, 1));
    let build = |change: fn(CompileBuilder<'_>) -> CompileBuilder<'_>| {
        let [stateful, plain] = [&model, &Model::from_graph(network()).unwrap()]
            .map(|model| change(context.compile(model)).build().unwrap());
        (stateful, plain)
    };
    let pairs = [
        build(|builder| builder),
        build(|builder| builder.texels(TexelFormat::Rgba16Float)),
        build(|builder| builder.texels(TexelFormat::Rgba8Uint)),
        build(|builder| builder.stream_inputs()),
        build(|builder| builder.stream_outputs()),
    ];
    for (stateful, plain) in pairs {
        let (expected, _) = by_hand(&plain, [first.clone(), vec![0.0; TABLE]], 5);
        let mut session = stateful.session().unwrap();
        for _ in 0..2 {
            let scores: Vec<_> = (0..5).map(|seed| step(&mut session, seed)).collect();
            assert!(scores == expected);
            session.reset();
        }
        // A trim keeps the values.
        assert!(step(&mut session, 0) == expected[0]);
        session.trim();
        assert!(step(&mut session, 1) == expected[1]);
        let error = session.run([("image in", TensorView::from(&first))]).unwrap_err();
        assert!(matches!(error, Error::NoSuchTensor { .. }), "{error}");
    }
    // Runs in one encoder, with a reset between them.
    let compiled = context.compile(&model).build().unwrap();
    let mut session = compiled.session().unwrap();
    session.write("frame", TensorView::from(&frame(0))).unwrap();
    let mut encoder = encoder(&context);
    session.encode(&mut encoder).unwrap();
    session.reset();
    session.encode(&mut encoder).unwrap();
    submit(&context, encoder);
    let again = bits(&session.read([0]).unwrap());
    session.reset();
    assert!(step(&mut session, 0) == again);
}

/// A graph whose variables do not fit its inputs and outputs is refused by their names.
#[test]
fn variables_that_do_not_fit_are_refused() {
    let fit = |name: &str, input, output, initial: Option<usize>| {
        let mut graph = network();
        let initial = initial.map(|elements| Constant::from_f32(&vec![0.0; elements]));
        graph.variables = vec![Variable { name: name.into(), input, output, initial }];
        Model::from_graph(graph).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(fit("table", 2, 2, Some(TABLE)), Ok(()));
    for (input, output, initial, expected) in [
        (1, 2, None, "variable `v` is not among the last inputs and outputs in order"),
        (2, 7, None, "variable `v` is not among the last inputs and outputs in order"),
        (2, 2, Some(TABLE + 1), "variable `v` is of another size than its first value"),
    ] {
        let error = fit("v", input, output, initial).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn nothing_else_in_a_poisoned_pool_changes_a_carried_state() {
    let context = context();
    for compiled in all(&context) {
        let (expected, _) = by_hand(&compiled, zeros(), 5);
        let options = ExecutorOptions { poison: true, ..ExecutorOptions::default() };
        let gpu = texpool_gpu::Gpu::open(&texpool_gpu::GpuOptions::default()).unwrap();
        let mut executor = Executor::from_compiled(&gpu, compiled.compiled().clone(), &options).unwrap();
        executor.carry(1, 1, None).unwrap();
        executor.carry(2, 2, None).unwrap();
        for (seed, expected) in expected.iter().enumerate() {
            let mut scores = vec![0.0; expected.len()];
            let frame = frame(seed);
            now(executor.run_values(Wait::Block, &[(0, &frame)], &mut [(0, &mut scores)])).unwrap();
            assert!(scores.iter().map(|v| v.to_bits()).eq(expected.iter().copied()), "frame {seed}");
        }
    }
}

#[test]
fn values_that_are_given_replace_a_carried_state_for_a_run() {
    let context = context();
    let first = [values(1, IMAGE), values(2, TABLE)];
    for compiled in all(&context) {
        let (expected, last) = by_hand(&compiled, first.clone(), 4);
        // Values that are written before or after the declaration, or before the next run, are the first state.
        for order in 0..3 {
            let mut session = compiled.session().unwrap();
            let write = |session: &mut Session| {
                session.write("image in", TensorView::from(&first[0])).unwrap();
                session.write("table in", TensorView::new(&first[1][..], &[4, 6]).unwrap()).unwrap();
            };
            if order == 0 {
                write(&mut session);
            }
            for (output, input) in STATES {
                session.carry(output, input).unwrap();
            }
            if order == 2 {
                step(&mut session, 7);
                session.reset();
            }
            if order > 0 {
                write(&mut session);
            }
            let scores: Vec<_> = (0..4).map(|seed| step(&mut session, seed)).collect();
            assert!(scores == expected);
            let states = session.read(STATES.map(|(output, _)| output));
            // A streamed output has its last values, too.
            let states = states.unwrap();
            assert!(STATES.iter().zip(&last).all(|((name, _), last)| states[*name].as_slice::<f32>().unwrap() == last));
        }
        // Values passed to a run.
        let mut session = carrying(&compiled);
        step(&mut session, 9);
        let (frame, table) = (frame(0), TensorView::new(&first[1][..], &[4, 6]).unwrap());
        let inputs =
            [("frame", TensorView::from(&frame)), ("image in", TensorView::from(&first[0])), ("table in", table)];
        assert!(bits(&session.run(inputs).unwrap()) == expected[0]);
        assert!(step(&mut session, 1) == expected[1]);
    }
}

/// An output can be read into the caller's memory although it is carried.
#[test]
fn a_carried_output_is_read_on_request() {
    for compiled in all(&context()) {
        let (_, last) = by_hand(&compiled, zeros(), 3);
        let mut session = carrying(&compiled);
        let mut table = [0.0; TABLE];
        for seed in 0..3 {
            let room = TensorViewMut::from(&mut table);
            session.run_into([("frame", TensorView::from(&frame(seed)))], [("table out", room)]).unwrap();
        }
        assert!(table[..] == last[1]);
    }
}

#[test]
fn encoded_runs_carry_one_after_the_other() {
    let context = context();
    for compiled in compiled(&context) {
        let (expected, _) = by_hand(&compiled, zeros(), 3);
        let mut session = carrying(&compiled);
        let textures: Vec<_> = (0..3).map(|seed| filled(&compiled, "frame", &frame(seed))).collect();
        step(&mut session, 5);
        for _ in 0..2 {
            // The reset is part of the first of the three runs, not of the one that is encoded before it.
            let mut encoder = encoder(&context);
            session.bind_input("frame", &textures[2]).unwrap();
            session.encode(&mut encoder).unwrap();
            session.reset();
            let mut readbacks = Vec::new();
            for texture in &textures {
                session.bind_input("frame", texture).unwrap();
                session.encode(&mut encoder).unwrap();
                readbacks.push(session.encode_read(&mut encoder, ["scores"]).unwrap());
            }
            submit(&context, encoder);
            let scores: Vec<_> = readbacks.into_iter().map(|readback| bits(&readback.wait().unwrap())).collect();
            assert!(scores == expected);
        }
        // Submitted runs, and times that do not advance the state.
        session.reset();
        for (seed, expected) in expected.iter().enumerate() {
            session.bind_input("frame", &textures[seed]).unwrap();
            session.profile().unwrap();
            session.submit().unwrap().wait().unwrap();
            assert!(&bits(&session.read(["scores"]).unwrap()) == expected);
        }
    }
}

#[test]
fn a_carried_state_outlives_a_trim() {
    let context = context();
    for compiled in all(&context) {
        let (expected, _) = by_hand(&compiled, zeros(), 4);
        let mut session = carrying(&compiled);
        let mut scores = Vec::new();
        for seed in 0..4 {
            scores.push(step(&mut session, seed));
            session.trim();
        }
        assert!(scores == expected);
        session.reset();
        session.trim();
        idle(&context);
        assert_eq!(session.memory().planned.sum(), 0, "a state that was reset needs no memory");
        assert!(step(&mut session, 0) == expected[0]);
    }
}

#[test]
fn sessions_of_a_pool_keep_their_states_apart() {
    let context = context();
    for compiled in compiled(&context) {
        let (expected, _) = by_hand(&compiled, zeros(), 4);
        let mut pool = context.pool([&compiled]).unwrap();
        let mut sessions = [0, 1].map(|_| compiled.session_in(&pool).unwrap());
        for session in &mut sessions {
            let session = pool.enter(session).unwrap();
            for (output, input) in STATES {
                session.carry(output, input).unwrap();
            }
        }
        for (seed, expected) in expected.iter().enumerate() {
            for session in &mut sessions {
                assert!(&step(pool.enter(session).unwrap(), seed) == expected);
            }
            pool.trim();
        }
    }
}

/// The session's own texture of a carried input holds the state; one that the caller binds receives it.
#[test]
fn textures_of_carried_inputs_hold_the_state() {
    let context = context();
    for compiled in compiled(&context) {
        let first = [values(1, IMAGE), vec![0.0; TABLE]];
        let (expected, _) = by_hand(&compiled, first.clone(), 3);
        let mut session = carrying(&compiled);
        step(&mut session, 4);
        session.reset();
        // The request for the texture does not lose the zeros.
        session.input_texture("table in").unwrap();
        let texture = session.input_texture("image in").unwrap();
        fill(&compiled, "image in", &texture, &first[0]);
        assert!(step(&mut session, 0) == expected[0]);
        assert!(step(&mut session, 1) == expected[1]);
        // A texture of the caller with the first state.
        let bound = filled(&compiled, "image in", &first[0]);
        session.reset();
        session.bind_input("image in", &bound).unwrap();
        let scores: Vec<_> = (0..3).map(|seed| step(&mut session, seed)).collect();
        assert!(scores == expected);
        // The session's own texture begins with zeros again.
        session.unbind_input("image in").unwrap();
        session.reset();
        assert!(step(&mut session, 0) == by_hand(&compiled, zeros(), 1).0[0]);
    }
}

#[test]
fn textures_that_cannot_be_copied_or_are_shared_are_refused() {
    let context = context();
    let compiled = &compiled(&context)[0];
    let plain = |name: &str| {
        let layout = compiled.input_layout(name).unwrap();
        context.device().create_texture(&layout.descriptor(wgpu::TextureUsages::empty()))
    };
    let lacks = |error: Error, usage| {
        let usage = TextureProblem::Usage(usage);
        assert!(
            matches!(&error, Error::Gpu(GpuError::ExternalTexture { problem, .. }) if *problem == usage),
            "{error}"
        );
    };
    let mut session = compiled.session().unwrap();
    session.bind_input("image in", &plain("image in")).unwrap();
    lacks(session.carry("image out", "image in").unwrap_err(), wgpu::TextureUsages::COPY_DST);
    session.unbind_input("image in").unwrap();
    session.bind_output("image out", &plain("image in")).unwrap();
    lacks(session.carry("image out", "image in").unwrap_err(), wgpu::TextureUsages::COPY_SRC);
    session.unbind_output("image out").unwrap();
    session.carry("image out", "image in").unwrap();
    lacks(session.bind_input("image in", &plain("image in")).unwrap_err(), wgpu::TextureUsages::COPY_DST);
    lacks(session.bind_output("image out", &plain("image in")).unwrap_err(), wgpu::TextureUsages::COPY_SRC);
}

#[test]
fn pairs_that_do_not_match_are_refused_by_name() {
    let mut graph = network();
    let [image, table] = [graph.outputs[1], graph.outputs[2]];
    let context = context();
    let mut session = compiled(&context)[0].session().unwrap();
    let refusal = |error: Error| match error {
        Error::Carry { problem, .. } => problem,
        other => panic!("{other}"),
    };
    assert!(matches!(session.carry("nothing", 0).unwrap_err(), Error::NoSuchTensor { .. }));
    assert!(matches!(session.carry(0, 7).unwrap_err(), Error::NoSuchTensor { .. }));
    let error = session.carry("image out", "frame").unwrap_err();
    assert_eq!(
        error.to_string(),
        "output `image out` cannot be carried to input `frame`: their extents are [1, 6, 5, 4] and [1, 6, 5, 3]"
    );
    session.carry("image out", "image in").unwrap();
    assert_eq!(refusal(session.carry(1, 1).unwrap_err()), CarryProblem::Carried("image out".into()));
    graph.tensors[image].element_type = ElementType::I32;
    let table_in = graph.inputs[2];
    graph.tensors[table_in].element_type = ElementType::I8;
    graph.tensors[table].element_type = ElementType::I8;
    graph.tensors[table].quantization = Some(Quantization { scale: 0.5, zero_point: 3 });
    let compiled = context.compile(&Model::from_graph(graph).unwrap()).build().unwrap();
    let mut session = compiled.session().unwrap();
    assert_eq!(
        refusal(session.carry("image out", "image in").unwrap_err()),
        CarryProblem::ElementType { output: ElementType::I32, input: ElementType::F32 }
    );
    let problem = refusal(session.carry("table out", "table in").unwrap_err());
    assert_eq!(problem.to_string(), "one is quantised with scale 0.5 and zero point 3, the other not quantised");
}
