//! Winograd's transforms: both sizes of tiles, images that tiles do not fill, several batches, and every epilogue.

use texpool_ops::graph::{Conv2d, Op, Padding, WinogradInput, WinogradOutput, WinogradTile};

use super::{case, constant, epilogues, harness::Harness, placed};

const TILES: [WinogradTile; 2] = [WinogradTile::Two, WinogradTile::Four];

#[test]
fn inputs_of_any_size_and_padding() {
    let mut harness = Harness::new();
    for tile in TILES {
        for ([b, h, w, c], padding) in [
            ([1, 8, 8, 8], Padding { top: 1, bottom: 1, left: 1, right: 1 }),
            ([2, 5, 7, 4], Padding::default()),
            ([1, 3, 9, 12], Padding { top: 0, bottom: 3, left: 2, right: 0 }),
            ([3, 1, 1, 4], Padding { top: 2, bottom: 2, left: 1, right: 1 }),
        ] {
            let tiles = |extent: usize, border: usize| (extent + border - 2).div_ceil(tile.pixels());
            let [th, tw] = [tiles(h, padding.top + padding.bottom), tiles(w, padding.left + padding.right)];
            let op = Op::WinogradInput(WinogradInput { tile, padding });
            case(&mut harness, op, &[placed([b, h, w, c])], [b, th, tw, c * tile.products()]);
        }
    }
}

#[test]
fn outputs_of_any_size_with_every_epilogue() {
    let mut harness = Harness::new();
    for tile in TILES {
        let products = |[b, h, w, c]: [usize; 4]| {
            let [th, tw] = [h, w].map(|extent| extent.div_ceil(tile.pixels()));
            placed([b, th, tw, c * tile.products()])
        };
        let op = Op::WinogradOutput(WinogradOutput { tile });
        for out in [[1, 8, 8, 8], [2, 5, 7, 4], [3, 1, 2, 12]] {
            case(&mut harness, op.clone(), &[products(out)], out);
        }
        epilogues(&mut harness, &op, &[products([2, 5, 6, 8])], [2, 5, 6, 8], true);
    }
}

/// Products of tiles are a pointwise convolution with many groups, of which a block lies in one or in several.
#[test]
fn products_of_groups_in_blocks() {
    let mut harness = Harness::new();
    harness.every_packing();
    for (input, output, groups) in [(64, 256, 16), (36, 72, 9), (16, 64, 4), (8, 16, 4)] {
        let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding::default(), groups };
        let operands =
            [placed([2, 3, 5, input]), constant([output, 1, 1, input / groups]), constant([1, 1, 1, output])];
        case(&mut harness, conv.into(), &operands, [2, 3, 5, output]);
    }
}
