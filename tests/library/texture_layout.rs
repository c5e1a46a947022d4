//! Positions of elements in textures. Compares a layout's functions with the positions of written values, and with an
//! independent implementation of the documented formulas.

#![cfg(test)]

use naga::valid::{Capabilities, ValidationFlags, Validator};
use texpool::TextureLayout;
use texpool_compile::{CompileOptions, compile};
use texpool_ops::graph::{GraphBuilder, Tensor};
use texpool_plan::{SearchControl, TexelFormat};

use crate::support::{
    models,
    texture_layouts::{Input, indices},
};

const FORMATS: [TexelFormat; 2] = [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float];

/// Column, row and lane of an element by the documentation's table.
fn documented(layout: &TextureLayout, place: usize) -> (u32, u32, u32) {
    let extents = layout.shape.map(|extent| extent as usize);
    let [_, h, w, c] = extents;
    let [b, y, x, channel] = indices(place, &extents)[..] else { unreachable!("four extents") };
    let (s, slices, r) = (channel / 4, c.div_ceil(4), b * h + y);
    let i = r * slices * w + s * w + x;
    let width = layout.width as usize;
    ((i % width) as u32, (i / width) as u32, (channel % 4) as u32)
}

/// The lanes of a texture's bytes, row by row.
fn lanes(format: TexelFormat, bytes: &[u8]) -> Vec<f32> {
    match format {
        TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => bytemuck::pod_collect_to_vec(bytes),
        TexelFormat::Rgba8Uint => bytes.iter().copied().map(f32::from).collect(),
        TexelFormat::Rgba16Float => {
            bytes.chunks_exact(2).map(|lane| half::f16::from_ne_bytes([lane[0], lane[1]]).to_f32()).collect()
        }
    }
}

fn valid(wgsl: &str) -> Result<(), String> {
    let module = naga::front::wgsl::parse_str(wgsl).map_err(|error| error.emit_to_string(wgsl))?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::default());
    validator.validate(&module).map(|_| ()).map_err(|error| error.emit_to_string(wgsl))
}

/// An input as a builder makes it.
fn tensor(dims: &[usize]) -> Tensor {
    let mut b = GraphBuilder::new("one input");
    let input = b.input("input", dims).unwrap();
    let mean = b.mean("mean", [true; 4], input).unwrap();
    b.finish(&[mean]).unwrap().tensors[input].clone()
}

/// Packs numbers, and checks each of them and that all other texels are zero.
fn every_element_is_found(tensor: &Tensor, format: TexelFormat, max_extent: u32, place: impl Fn(usize) -> usize) {
    let layout = TextureLayout::new(tensor, format, max_extent);
    let values: Vec<f32> = (0..tensor.shape.len()).map(|i| (i + 1) as f32).collect();
    let bytes = layout.pack(&values).unwrap();
    assert_eq!(bytes.len() as u64, layout.bytes());
    assert_eq!(layout.bytes(), u64::from(layout.width) * u64::from(layout.height) * u64::from(layout.texel_bytes()));
    let mut lanes = lanes(format, &bytes);
    for (element, value) in values.iter().enumerate() {
        let position = layout.position(&indices(element, &tensor.dims));
        assert_eq!(position, Some(documented(&layout, place(element))), "{tensor:?}: element {element}");
        let (column, row, lane) = position.unwrap();
        let at = ((row * layout.width + column) * 4 + lane) as usize;
        assert_eq!(std::mem::take(&mut lanes[at]), *value, "{tensor:?}: element {element}");
    }
    assert!(lanes.iter().all(|&lane| lane == 0.0), "{tensor:?}: something lies where no element is");
    assert_eq!(layout.unpack(&bytes), Some(values), "{tensor:?}");
}

#[test]
fn positions_are_where_values_are_packed() {
    let mut permuted = 0;
    for number in 0..200 {
        let input = Input::random(number);
        permuted += usize::from(!input.tensor.host_permutation.is_file_order());
        for format in FORMATS {
            every_element_is_found(&input.tensor, format, 8192, |element| input.place(element));
        }
        let wgsl = TextureLayout::new(&input.tensor, FORMATS[0], 8192).wgsl("image");
        valid(&wgsl).unwrap_or_else(|error| panic!("{input:?}: {error}"));
    }
    assert!((50..200).contains(&permuted), "{permuted} of 200 have their axes in another order");
}

/// A texture that would be too high is wider.
#[test]
fn a_tall_tensor_takes_a_wider_texture() {
    let tall = tensor(&[400, 401, 1]);
    let layout = TextureLayout::new(&tall, TexelFormat::Rgba32Float, 512);
    assert_eq!((layout.width, layout.height), (512, 314));
    every_element_is_found(&tall, TexelFormat::Rgba32Float, 512, |element| element);
    // If no width suffices, the height is too large, and creating such a texture fails.
    assert!(TextureLayout::new(&tall, TexelFormat::Rgba32Float, 256).height > 256);
}

#[test]
fn positions_outside_and_wrong_lengths_are_refused() {
    let layout = TextureLayout::new(&tensor(&[2, 3, 5]), TexelFormat::Rgba32Float, 8192);
    assert_eq!((&layout.dims[..], layout.shape), (&[2, 3, 5][..], [1, 2, 3, 5]));
    assert_eq!(layout.position(&[1, 2, 4]), Some((11, 0, 0)));
    for outside in [&[2, 0, 0][..], &[0, 3, 0], &[0, 0, 5], &[0, 0], &[0, 0, 0, 0], &[]] {
        assert_eq!(layout.position(outside), None, "{outside:?}");
    }
    assert_eq!(layout.pack(&[0.0; 29]), None);
    assert_eq!(layout.pack(&[0.0; 31]), None);
    assert_eq!(layout.unpack(&[0; 256 * 16 - 1]), None);
    assert_eq!(layout.unpack(&[0; 256 * 16 + 1]), None);
    // Fields that were made to contradict each other are answered, and not with a panic.
    let mut changed = layout.clone();
    changed.width = 0;
    assert_eq!((changed.position(&[0, 0, 0]), changed.pack(&[0.0; 30]), changed.unpack(&[])), (None, None, None));
    let mut changed = layout;
    changed.shape[2] = 0;
    assert_eq!((changed.position(&[0, 0, 0]), changed.pack(&[0.0; 30])), (None, None));
}

/// A finite value stays finite in 16 bits, as it does on its way into a session.
#[test]
fn sixteen_bits_keep_what_is_finite() {
    let layout = TextureLayout::new(&tensor(&[4]), TexelFormat::Rgba16Float, 8192);
    let values = layout.unpack(&layout.pack(&[1e9, -1e9, f32::INFINITY, f32::NAN]).unwrap()).unwrap();
    assert_eq!(values[..3], [65504.0, -65504.0, f32::INFINITY]);
    assert!(values[3].is_nan());
}

#[test]
fn a_descriptor_adds_the_usage_that_is_needed() {
    let layout = TextureLayout::new(&tensor(&[1, 6, 7, 9]), TexelFormat::Rgba16Float, 8192);
    let descriptor = layout.descriptor(wgpu::TextureUsages::COPY_DST);
    assert_eq!(descriptor.usage, wgpu::TextureUsages::COPY_DST | wgpu::TextureUsages::STORAGE_BINDING);
    assert_eq!(descriptor.format, wgpu::TextureFormat::Rgba16Float);
    assert_eq!(descriptor.size, wgpu::Extent3d { width: 256, height: 1, depth_or_array_layers: 1 });
}

/// Texts go together into one shader, whatever the prefixes: what is declared for one is not a name of another.
#[test]
fn prefixes_do_not_meet() {
    let input = Input::random(3);
    let layout = TextureLayout::new(&input.tensor, TexelFormat::Rgba32Float, 8192);
    let prefixes =
        ["a", "a_element", "a_texel", "a_EXTENTS", "_b", "place", "pixel", "texel", "i", "f32", "größe", "fn"];
    let together: String = prefixes.iter().map(|prefix| layout.wgsl(prefix)).collect();
    valid(&together).unwrap();
}

/// A prefix that is not an identifier is inserted unchanged, and the shader compiler reports the error.
#[test]
fn a_prefix_that_is_no_identifier_fails_to_compile() {
    let layout = TextureLayout::new(&tensor(&[2, 3, 5]), TexelFormat::Rgba32Float, 8192);
    for prefix in ["1", "a b", "a-b", "__a", "a;", "\u{0}", "{"] {
        assert!(valid(&layout.wgsl(prefix)).is_err(), "{prefix:?}");
    }
}

/// The documented example: BlazeFace's output after its last reshape, which is not a step.
#[test]
fn the_documented_output_of_blazeface_lies_as_documented() {
    let file = models::model("face_detection_front_128x128_barracuda.onnx");
    let graph = texpool_model::import::open(file).unwrap();
    let compiled = compile(&graph, &CompileOptions::default(), &SearchControl::new()).unwrap();
    let graph = compiled.graph();
    let mut outputs = graph.outputs.iter().map(|&output| &graph.tensors[output]);
    let output = outputs.find(|output| output.name == "Identity:0").unwrap();
    let layout = TextureLayout::new(output, TexelFormat::Rgba32Float, 8192);
    assert_eq!((&layout.dims[..], layout.shape), (&[1, 512, 1][..], [1, 16, 16, 2]));
    assert_eq!((layout.width, layout.height), (256, 1));
    assert_eq!(layout.position(&[0, 301, 0]), Some((150, 0, 1)));
    // An image of three channels, the second example: pixels one after another.
    let image = TextureLayout::new(&graph.tensors[graph.inputs[0]], TexelFormat::Rgba32Float, 8192);
    assert_eq!(image.shape, [1, 128, 128, 3]);
}
