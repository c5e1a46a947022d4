// Fully connected layer over values in dense order, where they are not the channels of one pixel.
// An invocation computes one slice of one output pixel. Weights: for each output slice and each four inputs four
// texels, as in pointwise.wgsl; then the biases.
// Own words: 8  inputs of an output pixel, bias texel.
// Whether each four inputs in a row are one texel.
override ALIGNED: bool = true;

// Value `n` of the input in dense order.
fn dense(src: Tensor, n: u32) -> f32 {
    let pixel = n / src.c;
    let channel = n % src.c;
    let texel = row_start(src, pixel / src.w) + channel / 4u * src.pitch + pixel % src.w;
    return read_input(src, texel)[channel % 4u];
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let own = param(8u);
    let dst = output_tensor();
    let src = input_tensor();
    let pixel = param(0u).y * dst.w + id / dst.slices;
    let slice = id % dst.slices;
    let fours = (own.x + 3u) / 4u;
    var sum = read_weight(own.y + slice);
    for (var k = 0u; k < fours; k++) {
        let n = pixel * own.x + k * 4u;
        var x: vec4<f32>;
        if ALIGNED {
            let pixel_in = n / src.c;
            x = read_input(src, row_start(src, pixel_in / src.w) + n % src.c / 4u * src.pitch + pixel_in % src.w);
        } else {
            for (var j = 0u; j < 4u; j++) {
                if k * 4u + j < own.x { x[j] = dense(src, n + j); }
            }
        }
        let w = (slice * fours + k) * 4u;
        sum += x.x * read_weight(w) + x.y * read_weight(w + 1u) + x.z * read_weight(w + 2u) + x.w * read_weight(w + 3u);
    }
    store_output(dst, pixel / dst.w, pixel % dst.w, slice, sum);
}
