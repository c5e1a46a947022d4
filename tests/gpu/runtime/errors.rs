//! Error messages, word by word.

use texpool::{CompiledModel, Context, Error, Model, Session, TensorView};
use texpool_ops::graph::{Act, Binary, Graph, GraphBuilder, ReduceKind};

use super::{context, encoder};
use crate::support::{callers_device, open};

/// Two inputs and two outputs, by these names.
fn network([image, scale]: [&str; 2], [scaled, sums]: [&str; 2]) -> Graph {
    let mut b = GraphBuilder::new("net");
    let (x, y) = (b.input(image, &[1, 6, 7, 9]).unwrap(), b.input(scale, &[1, 1, 1, 9]).unwrap());
    let product = b.binary(scaled, Binary::Mul, x, y, Act::None).unwrap();
    let sum = b.reduce(sums, ReduceKind::Sum, [false, true, false, false], product).unwrap();
    let mut graph = b.finish(&[product, sum]).unwrap();
    graph.tensors[product].name = scaled.into();
    graph.tensors[sum].name = sums.into();
    graph
}

fn compiled(context: &Context, graph: Graph) -> CompiledModel {
    context.compile(&Model::from_graph(graph).unwrap()).build().unwrap()
}

/// Asserts that calls fail with these texts.
fn check_messages(cases: impl IntoIterator<Item = (&'static str, Result<(), Error>, &'static str)>) {
    for (call, result, text) in cases {
        let error = result.expect_err(call);
        println!("{call}: {error}");
        assert_eq!(error.to_string(), text, "{call}");
    }
}

const IMAGE: [f32; 378] = [0.5; 378];
const SCALE: [f32; 9] = [0.25; 9];

#[test]
fn a_name_or_index_that_is_not_there_is_told_with_those_that_are() {
    let context = context();
    let model = compiled(&context, network(["image", "scale"], ["scaled", "sums"]));
    let mut session = model.session().unwrap();
    let texture =
        context.device().create_texture(&model.input_layout(0).unwrap().descriptor(wgpu::TextureUsages::empty()));
    let image = TensorView::from(&IMAGE);
    let inputs = "its inputs are `image`, `scale`";
    let outputs = "its outputs are `scaled`, `sums`";
    let twins = compiled(&context, network(["x", "x"], ["y", "y"]));
    let mut ambiguous = twins.session().unwrap();
    check_messages([
        (
            "run",
            session.run([("imge", image)]).map(drop),
            "the model has no input `imge`; its inputs are `image`, `scale`",
        ),
        ("run", session.run([(2, image)]).map(drop), "the model has no input 2; its inputs are `image`, `scale`"),
        ("write", session.write("scaled", image), "the model has no input `scaled`; its inputs are `image`, `scale`"),
        (
            "read",
            session.read(["image"]).map(drop),
            "the model has no output `image`; its outputs are `scaled`, `sums`",
        ),
        (
            "bind_output",
            session.bind_output(9, &texture),
            "the model has no output 9; its outputs are `scaled`, `sums`",
        ),
        (
            "run of an ambiguous name",
            ambiguous.run([("x", image)]).map(drop),
            "the model has 2 inputs called `x`; name one by its index: [0, 1]",
        ),
        (
            "read of an ambiguous name",
            ambiguous.read(["y"]).map(drop),
            "the model has 2 outputs called `y`; name one by its index: [0, 1]",
        ),
    ]);
    // Every call that takes a name gives the same message.
    let mut encoder = encoder(&context);
    for (role, result) in [
        (inputs, session.bind_input("", &texture)),
        (inputs, session.unbind_input("")),
        (inputs, session.input_texture("").map(drop)),
        (inputs, model.input_layout("").map(drop)),
        (inputs, model.model().input("").map(drop)),
        (outputs, session.bind_output("", &texture)),
        (outputs, session.unbind_output("")),
        (outputs, session.output_texture("").map(drop)),
        (outputs, session.encode_read(&mut encoder, [""]).map(drop)),
        (outputs, model.output_layout("").map(drop)),
        (outputs, model.model().output("").map(drop)),
    ] {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::NoSuchTensor { .. }), "{error:?}");
        assert!(error.to_string().ends_with(role), "{error}");
    }
    // Indices still distinguish them.
    let outputs = ambiguous.run([(0, image), (1, TensorView::from(&SCALE))]).unwrap();
    let right = session.run([("image", image), ("scale", TensorView::from(&SCALE))]).unwrap();
    assert_eq!((&outputs[0], &outputs[1]), (&right["scaled"], &right["sums"]));
}

#[test]
fn values_that_do_not_fit_are_told_by_the_inputs_name() {
    let context = context();
    let model = compiled(&context, network(["image", "scale"], ["scaled", "sums"]));
    let mut session = model.session().unwrap();
    let (image, scale) = (TensorView::from(&IMAGE), TensorView::from(&SCALE));
    let integers = [3i64; 9];
    let turned = TensorView::new(&IMAGE, &[6, 9, 7]).unwrap();
    check_messages([
        (
            "run without values",
            session.run::<&str>([]).map(drop),
            "`image`, `scale` have no values: pass them to `run`, write them, or bind a texture",
        ),
        (
            "run without a value",
            session.run([("image", image)]).map(drop),
            "`scale` has no values: pass them to `run`, write them, or bind a texture",
        ),
        (
            "run with a value twice",
            session.run([("scale", scale), ("image", image), ("scale", scale)]).map(drop),
            "input `scale` is given twice",
        ),
        (
            "run with another type",
            session.run([("image", image), ("scale", TensorView::from(&integers))]).map(drop),
            "input `scale`: expected elements of type f32, found i64",
        ),
        (
            "run with other extents",
            session.run([("scale", scale), ("image", turned)]).map(drop),
            "input `image`: expected [1, 6, 7, 9], found [6, 9, 7]",
        ),
        (
            "run with too few values",
            session.run([("image", scale), ("scale", scale)]).map(drop),
            "input `image`: expected [1, 6, 7, 9], which is 378 elements, found 9",
        ),
        (
            "write of too few values",
            session.write(0, scale),
            "input `image`: expected [1, 6, 7, 9], which is 378 elements, found 9",
        ),
    ]);
    let mut encoder = encoder(&context);
    for result in [session.encode(&mut encoder), session.submit().map(drop), session.profile().map(drop)] {
        let text = "`image`, `scale` have no values: pass them to `run`, write them, or bind a texture";
        check_messages([("a run without values", result, text)]);
    }
    session.run([("image", image), ("scale", scale)]).unwrap();
}

/// A texture that fits the image, unless `change` alters it.
fn texture(model: &CompiledModel, change: impl FnOnce(&mut wgpu::TextureDescriptor<'_>)) -> wgpu::Texture {
    let mut descriptor = model.input_layout("image").unwrap().descriptor(wgpu::TextureUsages::COPY_DST);
    change(&mut descriptor);
    model.context().device().create_texture(&descriptor)
}

#[test]
fn a_texture_that_does_not_fit_is_told_by_what_differs() {
    let context = context();
    let model = compiled(&context, network(["image", "scale"], ["scaled", "sums"]));
    let mut session = model.session().unwrap();
    let good = texture(&model, |_| {});
    session.bind_input("image", &good).unwrap();
    let image = TensorView::from(&IMAGE);
    check_messages([
        (
            "another format",
            session.bind_input("image", &texture(&model, |t| t.format = wgpu::TextureFormat::Rgba8Unorm)),
            "the texture for input 0 (`image`) must be 256x1 texels of Rgba32Float, but its format is Rgba8Unorm",
        ),
        (
            "another size",
            session.bind_input("image", &texture(&model, |t| t.size.height = 7)),
            "the texture for input 0 (`image`) must be 256x1 texels of Rgba32Float, but it is 256x7",
        ),
        (
            "another usage",
            session.bind_output("sums", &texture(&model, |t| t.usage = wgpu::TextureUsages::COPY_DST)),
            "the texture for output 1 (`sums`) must be 256x1 texels of Rgba32Float, but it lacks the usage \
             STORAGE_BINDING",
        ),
        (
            "an input's",
            session.bind_output("scaled", &good),
            "the texture for output 0 (`scaled`) must be 256x1 texels of Rgba32Float, but input 0 lies in it, too",
        ),
        (
            "values beside a texture",
            session.run([("image", image)]).map(drop),
            "input `image` is bound to a texture: write that texture, or unbind it first",
        ),
        (
            "values beside a texture",
            session.write("image", image),
            "input `image` is bound to a texture: write that texture, or unbind it first",
        ),
    ]);
}

/// A texture of another device is refused when it is used, with wgpu's message; binding the right one repairs the
/// session.
#[test]
fn a_texture_of_another_device_is_refused_when_it_is_used() {
    // Without an adapter, this says what to install.
    drop(open());
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle().with_env());
    let [model, stranger] = [0, 1].map(|_| {
        let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default())).unwrap();
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default())).unwrap();
        let context = Context::from_wgpu(device, queue).unwrap();
        compiled(&context, network(["image", "scale"], ["scaled", "sums"]))
    });
    let mut session = model.session().unwrap();
    session.write("scale", TensorView::from(&SCALE)).unwrap();
    session.bind_input("image", &texture(&stranger, |_| {})).unwrap();
    for _ in 0..2 {
        let error = session.submit().unwrap_err().to_string();
        assert!(error.starts_with("the device refused binding "), "{error}");
    }
    session.bind_input("image", &texture(&model, |_| {})).unwrap();
    session.submit().unwrap().wait().unwrap();
}

/// A device with too low limits is refused when the context is made, naming the first of them.
#[test]
fn limits_that_are_too_low_are_told_by_name() {
    type Change = fn(&mut wgpu::Limits);
    let lower: [(Change, &str); 3] = [
        (
            |limits| limits.max_storage_textures_per_shader_stage = 3,
            "running models needs 4, but the device's limit maxStorageTexturesPerShaderStage is 3",
        ),
        (
            |limits| limits.max_compute_invocations_per_workgroup = 128,
            "running models needs 256, but the device's limit maxComputeInvocationsPerWorkgroup is 128",
        ),
        (
            |limits| limits.max_compute_workgroup_storage_size = 8192,
            "running models needs 16384 bytes, but the device's limit maxComputeWorkgroupStorageSize is 8192",
        ),
    ];
    for (change, text) in lower {
        let mut limits = wgpu::Limits::default();
        change(&mut limits);
        let (device, queue) = callers_device(limits);
        check_messages([("from_wgpu", Context::from_wgpu(device, queue).map(drop), text)]);
    }
}

/// An encoder that was dropped, and one that was finished and not submitted.
#[test]
fn reading_before_a_submission_is_an_error() {
    let context = context();
    let model = compiled(&context, network(["image", "scale"], ["scaled", "sums"]));
    let mut session: Session = model.session().unwrap();
    let readback = |session: &mut Session| {
        let mut encoder = encoder(&context);
        let readback = session.encode_read(&mut encoder, [0]).unwrap();
        (encoder, readback)
    };
    let (dropped, first) = readback(&mut session);
    drop(dropped);
    let (finished, second) = readback(&mut session);
    drop(finished.finish());
    let text = "the commands for reading outputs were never submitted";
    check_messages([("dropped", first.wait().map(drop), text), ("finished", second.wait().map(drop), text)]);
}
