//! Products with weights of few bits.

use super::support::{
    import,
    onnx::{Attr, Model, bytes},
};
use texpool_ops::{graph::ElementType, ops::reference};

const COLUMNS: usize = 3;

/// Values without a pattern, from 0 to 255.
fn byte(i: usize) -> u8 {
    (i * i * 37 % 251) as u8
}

/// Returns the integer of some bits at a place of bytes, the lower ones first.
fn integer(row: &[u8], bits: usize, place: usize) -> f32 {
    let each = 8 / bits;
    f32::from(row[place / each] >> (place % each * bits) & (u8::MAX >> (8 - bits)))
}

/// Whole blocks keep their integers, whatever their zero points are. Others become floats.
#[test]
fn blocks_of_columns_have_scales_and_zero_points() {
    for (depth, block, bits) in [(32usize, 16usize, 4usize), (64, 16, 4), (48, 16, 2), (40, 16, 4), (32, 32, 8)] {
        for zero in ["none", "packed", "floats"] {
            let blocks = depth.div_ceil(block);
            let row = blocks * block * bits / 8;
            let weights: Vec<u8> = (0..COLUMNS * row).map(byte).collect();
            let scales: Vec<f32> = (0..COLUMNS * blocks).map(|i| (i + 1) as f32 / 8.0).collect();
            let row_of_zeros = (blocks * bits).div_ceil(8);
            let packed: Vec<u8> = (0..COLUMNS * row_of_zeros).map(|i| byte(i + 5)).collect();
            let floats: Vec<f32> = (0..COLUMNS * blocks).map(|i| i as f32 + 0.5).collect();
            let mut m = Model::new();
            m.input("x", &[1, depth as i64]);
            let dims = [COLUMNS, blocks, block * bits / 8].map(|extent| extent as i64);
            m.tensor("w", 2, &dims, &bytes(9, &weights));
            m.floats("s", &[(COLUMNS * blocks) as i64], &scales);
            m.floats("bias", &[COLUMNS as i64], &[1.0, 2.0, 3.0]);
            match zero {
                "packed" => m.tensor("z", 2, &[packed.len() as i64], &bytes(9, &packed)),
                _ => m.floats("z", &[floats.len() as i64], &floats),
            }
            let operands = ["x", "w", "s", if zero == "none" { "" } else { "z" }, "", "bias"];
            let attributes = [("K", depth), ("N", COLUMNS), ("bits", bits), ("block_size", block)];
            let attributes = attributes.map(|(name, number)| (name, Attr::Int(number as i64)));
            m.node("com.microsoft.MatMulNBits", &operands, &["y"], &attributes);
            m.output("y");
            let graph = import(m.bytes()).unwrap();
            let x: Vec<f32> = (0..depth).map(|i| (i % 7) as f32 - 3.0).collect();
            let values = reference::outputs(&graph, std::slice::from_ref(&x)).unwrap().remove(0);
            for column in 0..COLUMNS {
                let weight = |i: usize| {
                    let at = column * blocks + i / block;
                    let zero = match zero {
                        "none" => (1 << (bits - 1)) as f32,
                        "packed" => integer(&packed[column * row_of_zeros..], bits, i / block),
                        _ => floats[at],
                    };
                    (integer(&weights[column * row..], bits, i) - zero) * scales[at]
                };
                let expected = (0..depth).map(|i| x[i] * weight(i)).sum::<f32>() + (column + 1) as f32;
                let value = values[column];
                assert!((value - expected).abs() < 1e-3, "{depth} {block} {bits} {zero}: {value}, not {expected}");
            }
            let are_bytes = graph
                .tensors
                .iter()
                .any(|tensor| tensor.constant.as_ref().is_some_and(|constant| constant.dtype == ElementType::U8));
            assert_eq!(are_bytes, depth % block == 0 && zero != "floats", "{depth} {block} {bits} {zero}");
        }
    }
}
