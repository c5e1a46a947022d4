//! Packed weights are stored in files across runs, so their layout is part of a file format.

use std::fmt::Debug;

use texpool_compile::{CompileOptions, WeightFormat, compile};
use texpool_model::rewrite::Rules;
use texpool_ops::{
    graph::{
        Act, Binary, Constant, Conv2d, ElementType, Graph, GraphBuilder, Padding, QuantParams, Reals, TransposeConv,
    },
    kernels::WeightPacking,
    ops::{self, WeightWords},
};
use texpool_plan::SearchControl;

const CONV: Conv2d =
    Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding { top: 1, bottom: 1, left: 1, right: 1 }, groups: 1 };
const POINTWISE: Conv2d = Conv2d { padding: Padding { top: 0, bottom: 0, left: 0, right: 0 }, ..CONV };

/// Every operator with its own packing of weights, with odd numbers of channels.
fn network() -> Graph {
    let mut b = GraphBuilder::new("packed");
    let values = |len: usize| -> Vec<f32> { (0..len).map(|i| (i % 251) as f32 / 8.0 - 11.0).collect() };
    let x = b.input("x", &[1, 5, 7, 3]).unwrap();
    let constant =
        |b: &mut GraphBuilder, dims: &[usize]| b.constant("c", dims, &values(dims.iter().product())).unwrap();
    let (w, bias, alphas) = (constant(&mut b, &[9, 3, 3, 3]), constant(&mut b, &[9]), constant(&mut b, &[9]));
    let y = b.conv2d("window", CONV, x, w, Some(bias), Act::Prelu(alphas)).unwrap();
    let w = constant(&mut b, &[6, 1, 1, 9]);
    let y = b.conv2d("pointwise", POINTWISE, y, w, None, Act::None).unwrap();
    let w = constant(&mut b, &[6, 3, 3, 2]);
    let y = b.conv2d("grouped", Conv2d { groups: 3, ..CONV }, y, w, None, Act::None).unwrap();
    let w = constant(&mut b, &[1, 3, 3, 6]);
    let y = b.depthwise("depthwise", CONV, y, w, None, Act::None).unwrap();
    let w = constant(&mut b, &[5, 3, 3, 6]);
    let transposed = TransposeConv { stride: [2, 2], dilation: [1, 1], padding: CONV.padding, groups: 1 };
    let y = b.transpose_conv("transposed", transposed, [y, w], None, [9, 13]).unwrap();
    let add = constant(&mut b, &[1, 9, 13, 5]);
    let y = b.binary("sum", Binary::Add, y, add, Act::None).unwrap();
    let w = constant(&mut b, &[7, 9 * 13 * 5]);
    let dense = b.fully_connected("dense", y, w, None, Act::None).unwrap();
    b.finish(&[dense]).unwrap()
}

/// FNV-1a of 64 bits.
fn hash(texels: &[[u32; 4]]) -> u64 {
    let bytes = texels.iter().flatten().flat_map(|word| word.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Guards files of packed weights from other builds of the same version. A change to a kernel's packing must raise
/// `ops::PACKING` together with these numbers.
#[test]
fn weights_are_packed_as_files_have_them() {
    let graph = network();
    let packed = graph.nodes.iter().map(|node| {
        let texels: Vec<[u32; 4]> = ops::weights(&graph, node).flatten().map(|texel| texel.map(f32::to_bits)).collect();
        assert_eq!(texels.len() as u64, ops::weight_texels(&graph, node), "{}", node.op.name());
        (node.op.name(), hash(&texels))
    });
    let expected = [
        ("CONV_2D", 17168057739888963610),
        ("CONV_2D", 17123884002016765674),
        ("CONV_2D", 1213010174367868326),
        ("DEPTHWISE_CONV_2D", 14543067605547851262),
        ("TRANSPOSE_CONV", 1819457053728705379),
        ("ADD", 2358940467149746922),
        ("FULLY_CONNECTED", 8916448485906558434),
    ];
    assert_eq!((ops::PACKING, packed.collect::<Vec<_>>()), (1, expected.to_vec()));
}

/// Guards the packing of words in the same way.
#[test]
fn words_are_packed_as_files_have_them() {
    let mut hashes = Vec::new();
    for (weights, packing) in [(WeightFormat::F16, WeightPacking::Halves), (WeightFormat::Int8, WeightPacking::Bytes)] {
        let options = CompileOptions { rules: Rules::none(), weight_format: weights, ..CompileOptions::default() };
        let compiled = compile(&network(), &options, &SearchControl::new()).unwrap();
        let graph = compiled.graph();
        let packings = graph.nodes.iter().map(|_| packing).collect();
        let words = WeightWords::new(graph, &packings);
        for (id, node) in graph.nodes.iter_enumerated() {
            let texels: Vec<[u32; 4]> = words.pieces(id, |value| value).flatten().collect();
            if !texels.is_empty() {
                assert_eq!(texels.len() as u64, ops::packed_weight_texels(graph, node, packing), "{}", node.op.name());
                hashes.push((node.op.name(), hash(&texels)));
            }
        }
    }
    let expected = [
        ("CONV_2D", 2029879330112740350),
        ("CONV_2D", 6452247647886441366),
        ("CONV_2D", 15613358816497169874),
        ("DEPTHWISE_CONV_2D", 16627927443033059782),
        ("TRANSPOSE_CONV", 77416188227865198),
        ("FULLY_CONNECTED", 13404980476967427010),
        ("CONV_2D", 11435721749994654443),
        ("CONV_2D", 5366990273555478430),
        ("CONV_2D", 6237140517478956345),
        ("DEPTHWISE_CONV_2D", 16660823204833037040),
        ("TRANSPOSE_CONV", 12240675451873420012),
        ("FULLY_CONNECTED", 12872590363105375038),
    ];
    assert_eq!((ops::PACKING, hashes), (1, expected.to_vec()));
}

/// Guards host memory: at most one output slice of a large layer is packed at a time.
#[test]
fn a_dense_layer_is_packed_slice_by_slice() {
    let graph = network();
    let [inputs, outputs] = [9 * 13 * 5, 7_usize];
    let dense = graph.nodes.iter().last().unwrap();
    let pieces: Vec<usize> = ops::weights(&graph, dense).map(|piece| piece.len()).collect();
    let slices = outputs.div_ceil(4);
    assert_eq!(pieces, [vec![inputs.next_multiple_of(4); slices], vec![slices]].concat());
}

/// Guards reading elements one by one: the values are equal to those of a bulk read.
#[test]
fn elements_are_the_same_one_by_one() {
    fn check(constant: &Constant, what: impl Debug) {
        let reals: Reals<'_> = constant.reals();
        let each: Vec<u32> = (0..constant.len()).map(|i| reals.get(i).to_bits()).collect();
        let all: Vec<u32> = constant.to_f32().iter().map(|value| value.to_bits()).collect();
        assert_eq!(each, all, "{what:?}");
        assert!(
            !all.is_empty() && reals.get(constant.len()).to_bits() == 0 || constant.repeats().is_some(),
            "{what:?}"
        );
    }
    let stored: Vec<u8> = (0..96_u32).map(|i| (i * 37 % 256) as u8).collect();
    use ElementType::*;
    for dtype in [F32, F16, I8, U8, I16, U16, I32, U32, I64, U64, Bool] {
        let mut constant = Constant::new(dtype, stored.clone().into());
        check(&constant, dtype);
        if !matches!(dtype, F32 | F16) {
            constant.scale = QuantParams::along(vec![0.5, 0.25, 3.0], vec![1, -2, 0], &[2, 3, 2], 1);
            assert!(constant.scale.is_some());
            check(&constant, (dtype, "scaled"));
        }
        assert_eq!(constant.to_i64().is_none(), matches!(dtype, F32 | F16));
    }
    // Bytes of a file that are not aligned.
    let shifted = texpool_ops::graph::Bytes::new(std::sync::Arc::new(stored), 1..93).unwrap();
    check(&Constant::new(F32, shifted), "shifted");
    check(&Constant::repeated(1.5, 12).unwrap(), "repeated");
}
