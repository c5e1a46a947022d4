// Elements looked up by index along one axis. One texel an invocation.
// Own words: 8  the axis, its extent, where constant indices begin (dense, four in each word);
//            9, 10  the operand as a tensor, where its texels are the first weights: rows, slices, pixels.
// Whether the operand lies among the weights.
override TABLE: bool = false;
// Where the indices are. 0: among the words; 1: in the first input; 2: in the second.
override INDICES: u32 = 0u;
// Whether every element has an index of its own; else the indices are the channels of one pixel.
override EACH: bool = false;
// The four lanes of a texel of the result are the four lanes of a texel of the operand.
override WHOLE: bool = false;

// The texel that holds element `B, H, W, C` of the operand.
fn operand_texel(t: Tensor, s: vec4<u32>) -> vec4<f32> {
    let row = s.x * t.h + s.y;
    let texel = (s.w >> 2u) * t.pitch + s.z;
    if TABLE { return read_weight(row * (t.slices * t.pitch) + texel); }
    return read_input(t, row_start(t, row) + texel);
}

// The index that is element `i` of the indices.
fn computed_index(i: vec4<u32>) -> f32 {
    if INDICES == 1u {
        let t = input_tensor();
        return read_input(t, row_start(t, i.x * t.h + i.y) + (i.w >> 2u) * t.pitch + i.z)[i.w & 3u];
    }
    let t = second_tensor();
    return read_second(t, row_start(t, i.x * t.h + i.y) + (i.w >> 2u) * t.pitch + i.z)[i.w & 3u];
}

// The operand's element that element `o` of the result is.
fn source_of(o: vec4<u32>, dst: Tensor) -> vec4<u32> {
    let own = param(8u);
    var s = o;
    if INDICES == 0u {
        let i = select(o[own.x], ((o.x * dst.h + o.y) * dst.w + o.z) * dst.c + o.w, EACH);
        s[own.x] = param(own.z + (i >> 2u))[i & 3u];
    } else {
        let extent = i32(own.y);
        let index = i32(computed_index(select(vec4(0u, 0u, 0u, o[own.x]), o, vec4(EACH))));
        s[own.x] = u32(clamp(select(index, index + extent, index < 0), 0, extent - 1));
    }
    return s;
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    var src = input_tensor();
    if TABLE { src = tensor(9u); }
    let row_texels = dst.slices * dst.w;
    let row = param(0u).y + id / row_texels;
    let slice = (id % row_texels) / dst.w;
    let x = (id % row_texels) % dst.w;
    let first = vec4(row / dst.h, row % dst.h, x, slice * 4u);
    var value: vec4<f32>;
    if WHOLE {
        value = operand_texel(src, source_of(first, dst));
    } else {
        for (var lane = 0u; lane < 4u; lane++) {
            // Lanes past the last channel repeat it, so that every source is one that there is; `store_output` clears them.
            let s = source_of(vec4(first.xyz, min(first.w + lane, dst.c - 1u)), dst);
            value[lane] = operand_texel(src, s)[s.w & 3u];
        }
    }
    store_output(dst, row, x, slice, value);
}
