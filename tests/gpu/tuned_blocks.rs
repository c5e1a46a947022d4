//! The blocks that are fastest on a device: measured on request, stored completely, and ignored if the file is damaged.

use std::{fs, ops::ControlFlow, path::Path};

use texpool_cli::setup::{self, SetupError};
use texpool_gpu::{Gpu, GpuError, TuneLayer};
use texpool_ops::graph::{Act, BlockSize, Blocks, Conv2d, Graph, GraphBuilder, LayerKind, Padding};
use texpool_plan::TexelFormat;

use crate::support::open;

const FORMAT: TexelFormat = TexelFormat::Rgba32Float;

/// Two equal layers of three pixels.
fn narrow_rows() -> Graph {
    let mut b = GraphBuilder::new("rows");
    let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding::default(), groups: 1 };
    let mut x = b.input("x", &[1, 1, 3, 256]).unwrap();
    let weights = b.constant("w", &[256, 1, 1, 256], &[0.5; 256 * 256]).unwrap();
    for _ in 0..2 {
        x = b.conv2d("y", conv, x, weights, None, Act::None).unwrap();
    }
    b.finish(&[x]).unwrap()
}

fn kept(gpu: &Gpu, folder: &Path) -> Blocks {
    setup::device_blocks(gpu, FORMAT, folder)
}

/// Which block is fastest depends on the load of the machine, so the test asserts nothing about it.
#[test]
fn measured_blocks_are_kept() {
    let (gpu, graph) = (open(), narrow_rows());
    let folder = tempfile::tempdir().unwrap();
    let layers = TuneLayer::of_graphs([&graph]);
    assert_eq!(layers.len(), 1, "equal layers are measured once");

    let mut parts = 0;
    let mut count = |_, _| {
        parts += 1;
        ControlFlow::Continue(())
    };
    let (blocks, kinds) = setup::tuned_blocks(&gpu, FORMAT, folder.path(), &layers, &mut count).unwrap();
    assert!(parts > 10, "it is told how far it is");
    let [kind] = &kinds[..] else { panic!("{kinds:?}") };
    assert_eq!((kind.kind, kind.layers), (LayerKind::PointwiseSmall, 1));
    assert_eq!(kind.class_blocks, [BlockSize::new(4, 2).unwrap()]);
    assert!(0.0 < kind.fastest_us && 0.0 < kind.class_us, "{kind:?}");
    assert_eq!(blocks.tuned(LayerKind::PointwiseSmall), kind.chosen());
    assert_eq!(blocks.class(), gpu.blocks().class());
    assert_eq!(kept(&gpu, folder.path()), blocks, "what is kept is not what was measured");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn damaged_blocks_and_those_of_other_devices_are_not_used() {
    let (gpu, folder) = (open(), tempfile::tempdir().unwrap());
    let mut blocks = gpu.blocks();
    assert_eq!(kept(&gpu, folder.path()), blocks, "nothing is stored");
    blocks.tune(LayerKind::PointwiseSmall, BlockSize::new(4, 1));
    setup::keep_device_blocks(&gpu, FORMAT, folder.path(), blocks);
    assert_eq!(kept(&gpu, folder.path()), blocks);
    assert_ne!(blocks, gpu.blocks());
    // They are for one format.
    assert_eq!(setup::device_blocks(&gpu, TexelFormat::Rgba16Float, folder.path()), gpu.blocks());

    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let text = fs::read_to_string(file).unwrap();
    let [now, other] = [text.clone(), text.replace("software", "nvidia")];
    assert_ne!(now, other, "{text}");
    for damaged in ["", &text[..text.len() / 2], &text.replace("texpool", "other"), &other] {
        fs::write(file, damaged).unwrap();
        assert_eq!(kept(&gpu, folder.path()), gpu.blocks(), "{damaged:?} was used");
    }
    setup::keep_device_blocks(&gpu, FORMAT, folder.path(), blocks);
    assert_eq!(kept(&gpu, folder.path()), blocks, "a damaged file is not replaced");
}

/// A cancelled measurement stores nothing.
#[test]
fn a_measurement_of_blocks_that_is_broken_off_keeps_nothing() {
    let (gpu, folder) = (open(), tempfile::tempdir().unwrap());
    let layers = TuneLayer::of_graphs([&narrow_rows()]);
    let mut left = 5;
    let mut stop = |_, _| {
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let outcome = setup::tuned_blocks(&gpu, FORMAT, folder.path(), &layers, &mut stop);
    let cancelled = SetupError::Gpu(GpuError::Cancelled { doing: "measuring blocks" }).to_string();
    assert_eq!(outcome.map_err(|error| error.to_string()).unwrap_err(), cancelled);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
