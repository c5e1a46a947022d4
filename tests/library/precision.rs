//! What 16-bit floats are refused for.

#![cfg(test)]

use texpool::{
    graph::{Act, Graph, GraphBuilder, Op},
    plan::{SearchControl, TexelFormat},
    prepare::{PrepareError, PrepareOptions, prepare},
};

/// Looks three computed indices up among so many rows.
fn lookup(places: usize) -> Graph {
    let mut b = GraphBuilder::new("lookup");
    let table = b.input("table", &[1, places, 1, 4]).unwrap();
    let words = b.input("words", &[1, 1, 1, 3]).unwrap();
    let y = b.node_to("y", Op::Gather { axis: 1 }, &[table, words], &[1, 3, 1, 4], Act::None).unwrap();
    b.finish(&[y]).unwrap()
}

#[test]
fn indices_that_16_bits_cannot_count_are_refused() {
    let options = |format| PrepareOptions { format, ..PrepareOptions::default() };
    for places in [2049, 2050] {
        assert!(prepare(&lookup(places), &options(TexelFormat::Rgba32Float), &SearchControl::new()).is_ok());
        let halves = prepare(&lookup(places), &options(TexelFormat::Rgba16Float), &SearchControl::new());
        if places == 2049 {
            assert!(halves.is_ok(), "2048 is a 16-bit float");
            continue;
        }
        let why = halves.unwrap_err();
        assert!(matches!(why, PrepareError::Indices { places: 2050, .. }), "{why}");
        let text = why.to_string();
        assert!(text.contains("`words`") && text.contains("--precision f32"), "{text}");
    }
}
