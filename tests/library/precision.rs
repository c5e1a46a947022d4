//! Cases that 16-bit floats cannot represent and that are refused.

#![cfg(test)]

use texpool_compile::{CompileError, CompileOptions, compile};
use texpool_ops::graph::{Act, Gather, Graph, GraphBuilder, Op, Reduce, ReduceKind, TopK};
use texpool_plan::{SearchControl, TexelFormat};

/// Returns a graph that looks up three computed indices in a table with this number of rows.
fn lookup(places: usize) -> Graph {
    let mut b = GraphBuilder::new("lookup");
    let table = b.input("table", &[1, places, 1, 4]).unwrap();
    let words = b.input("words", &[1, 1, 1, 3]).unwrap();
    let y = b.node_to("y", Op::Gather(Gather { axis: 1 }), &[table, words], &[1, 3, 1, 4], Act::None).unwrap();
    b.finish(&[y]).unwrap()
}

/// Index of the largest channel, or of the three largest.
fn greatest(channels: usize, three: bool) -> Graph {
    let mut b = GraphBuilder::new("greatest");
    let x = b.input("x", &[1, 1, 1, channels]).unwrap();
    let op = match three {
        true => Op::TopK(TopK { k: 3, largest: true, indices: true }),
        false => Op::Reduce(Reduce { kind: ReduceKind::ArgMax { last: false }, axes: [false, false, false, true] }),
    };
    let y = b.node_to("places", op, &[x], &[1, 1, 1, if three { 3 } else { 1 }], Act::None).unwrap();
    b.finish(&[y]).unwrap()
}

/// A rounded index is as wrong in an output as in a lookup.
#[test]
fn places_that_floats_cannot_count_are_refused() {
    let refused = |channels, three, format| match compile(
        &greatest(channels, three),
        &CompileOptions { format, ..CompileOptions::default() },
        &SearchControl::new(),
    ) {
        Err(error @ (CompileError::Indices { .. } | CompileError::ManyIndices { .. })) => Some(error.to_string()),
        _ => None,
    };
    for (three, op) in [(false, "ARG_MAX"), (true, "TOPK_V2")] {
        for (format, most, hint) in [
            (TexelFormat::Rgba16Float, 2049, "32-bit floats"),
            (TexelFormat::Rgba32Float, (1 << 24) + 1, "split the axis"),
        ] {
            assert_eq!(refused(most, three, format), None, "{op} of {most}");
            let text = refused(most + 1, three, format).unwrap();
            for word in [op, "`places`", &(most + 1).to_string(), hint] {
                assert!(text.contains(word), "`{word}` is missing: {text}");
            }
        }
    }
}

/// Indices beyond 2048 would name other elements in 16-bit textures.
#[test]
fn indices_that_16_bits_cannot_count_are_refused() {
    let options = |format| CompileOptions { format, ..CompileOptions::default() };
    for places in [2049, 2050] {
        assert!(compile(&lookup(places), &options(TexelFormat::Rgba32Float), &SearchControl::new()).is_ok());
        let halves = compile(&lookup(places), &options(TexelFormat::Rgba16Float), &SearchControl::new());
        if places == 2049 {
            assert!(halves.is_ok(), "2048 is a 16-bit float");
            continue;
        }
        let why = halves.unwrap_err();
        assert!(matches!(why, CompileError::Indices { places: 2050, .. }), "{why}");
        let text = why.to_string();
        assert!(text.contains("`words`") && text.contains("32-bit floats"), "{text}");
    }
}
