// Finds the largest element of an output `scores`. Stands behind what `TextureLayout::wgsl("scores")` says.
@group(0) @binding(0) var scores: texture_2d<f32>;
@group(0) @binding(1) var<storage, read_write> best: u32;

@compute @workgroup_size(1)
fn find_best() {
    var most = score(0u);
    best = 0u;
    for (var i = 1u; i < scores_ELEMENTS; i++) {
        if score(i) > most {
            most = score(i);
            best = i;
        }
    }
}

fn score(i: u32) -> f32 {
    let at = scores_element(i);
    return textureLoad(scores, at.xy, 0)[at.z];
}
