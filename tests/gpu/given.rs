//! Values and textures that the caller passes to a session, and the errors if they do not fit the model: each names
//! the input or output.

use texpool_compile::io_texture;
use texpool_gpu::{Executor, ExecutorOptions, Gpu, GpuError, TensorRole};
use texpool_ops::graph::{Act, Binary, Graph, GraphBuilder, ReduceKind};
use texpool_plan::TexelFormat;

use crate::support::open;

/// Two inputs, two outputs.
fn network() -> Graph {
    let mut b = GraphBuilder::new("net");
    let (x, y) = (b.input("image", &[1, 6, 7, 9]).unwrap(), b.input("scale", &[1, 1, 1, 9]).unwrap());
    let product = b.binary("scaled", Binary::Mul, x, y, Act::None).unwrap();
    let sum = b.reduce("sums", ReduceKind::Sum, [false, true, false, false], product).unwrap();
    b.finish(&[product, sum]).unwrap()
}

/// A texture that fits the first input, unless `change` alters it.
fn texture(gpu: &Gpu, change: impl FnOnce(&mut wgpu::TextureDescriptor<'_>)) -> wgpu::Texture {
    let graph = network();
    let spec = io_texture(&graph.tensors[graph.inputs[0]], TexelFormat::Rgba32Float, 8192);
    let mut descriptor = wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width: spec.width, height: spec.height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba32Float,
        usage: wgpu::TextureUsages::STORAGE_BINDING,
        view_formats: &[],
    };
    change(&mut descriptor);
    gpu.device.create_texture(&descriptor)
}

fn executor(gpu: &Gpu) -> Executor {
    Executor::new(gpu, &network(), &ExecutorOptions::default()).unwrap()
}

/// An index past the last input or output is refused.
#[test]
fn textures_past_the_last_are_refused() {
    let gpu = open();
    let (mut executor, texture) = (executor(&gpu), texture(&gpu, |_| {}));
    let error = executor.bind_texture(TensorRole::Input, 3, &texture).unwrap_err();
    assert!(matches!(error, GpuError::NoSuchTensor { role: TensorRole::Input, index: 3, count: 2 }), "{error:?}");
    assert_eq!(error.to_string(), "the model has no input 3; it has 2 inputs");
    let error = executor.bind_texture(TensorRole::Output, 2, &texture).unwrap_err();
    assert_eq!(error.to_string(), "the model has no output 2; it has 2 outputs");
}

#[test]
fn a_texture_that_does_not_fit_is_refused_by_the_name_of_its_tensor() {
    let gpu = open();
    let mut executor = executor(&gpu);
    type Change = fn(&mut wgpu::TextureDescriptor<'_>);
    let cases: [(Change, &str); 5] = [
        (|t| t.format = wgpu::TextureFormat::Rgba16Float, "its format is Rgba16Float"),
        (|t| t.size.height += 1, "it is 256x2"),
        (|t| t.size.depth_or_array_layers = 3, "it has 3 layers"),
        (|t| t.mip_level_count = 2, "it has 2 mip levels"),
        (|t| t.usage = wgpu::TextureUsages::COPY_DST, "it lacks the usage STORAGE_BINDING"),
    ];
    for (change, reason) in cases {
        let error = executor.bind_texture(TensorRole::Input, 0, &texture(&gpu, change)).unwrap_err();
        let text = "the texture for input 0 (`image`) must be 256x1 texels of Rgba32Float, but ";
        assert_eq!(error.to_string(), format!("{text}{reason}"));
    }
    let wrong = texture(&gpu, |t| t.format = wgpu::TextureFormat::Rgba8Unorm);
    let error = executor.bind_texture(TensorRole::Output, 1, &wrong).unwrap_err();
    assert!(error.to_string().starts_with("the texture for output 1 (`sums`)"), "{error}");
}

/// No dispatch may read and write one texture, nor may one output overwrite another.
#[test]
fn a_texture_in_which_another_tensor_lies_is_refused() {
    let gpu = open();
    let (mut executor, texture) = (executor(&gpu), texture(&gpu, |_| {}));
    executor.bind_texture(TensorRole::Input, 0, &texture).unwrap();
    // Binding it again, and to another input, is fine, since nothing writes it.
    executor.bind_texture(TensorRole::Input, 0, &texture).unwrap();
    executor.bind_texture(TensorRole::Input, 1, &texture).unwrap();
    let error = executor.bind_texture(TensorRole::Output, 0, &texture).unwrap_err();
    assert!(error.to_string().ends_with("but input 0 lies in it, too"), "{error}");
}

#[test]
fn wrong_numbers_of_values_are_refused_by_name() {
    let gpu = open();
    let mut session = executor(&gpu);
    let (image, scale) = (vec![0.5; 6 * 7 * 9], vec![0.5; 9]);
    let error = session.run(&[&image, &scale[..7]]).unwrap_err();
    assert!(matches!(error, GpuError::TensorLength { index: 1, expected: 9, found: 7, .. }), "{error:?}");
    assert_eq!(error.to_string(), "input 1 (`scale`) has 9 elements, but 7 were given");
    let error = session.run(&[&image]).unwrap_err();
    assert!(matches!(error, GpuError::TensorCount { role: TensorRole::Input, found: 1, .. }), "{error:?}");
    assert_eq!(error.to_string(), "2 inputs (`image`, `scale`) go by value, but 1 was given");
    let error = session.run_into(&[&image, &scale], &mut []).unwrap_err();
    assert_eq!(error.to_string(), "2 outputs (`scaled`, `sums`) go by value, but 0 were given");
}

/// Values for an input that is bound to a texture are refused, and the message mentions the texture.
#[test]
fn values_for_an_input_in_a_texture_are_refused_by_name() {
    let gpu = open();
    let mut session = executor(&gpu);
    session.bind_texture(TensorRole::Input, 0, &texture(&gpu, |_| {})).unwrap();
    let (image, scale) = (vec![0.5; 6 * 7 * 9], vec![0.5; 9]);
    let error = session.run(&[&image, &scale]).unwrap_err();
    let text = "one input (`scale`) goes by value, but 2 were given; `image` lies in a texture of the caller's";
    assert_eq!(error.to_string(), text);
    // The index counts the model's inputs, not the passed values.
    let error = session.run(&[&image]).unwrap_err();
    assert_eq!(error.to_string(), "input 1 (`scale`) has 9 elements, but 378 were given");
    session.run(&[&scale]).unwrap();
}
