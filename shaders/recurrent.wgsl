// A recurrent cell, one batch and direction a workgroup. Its memory holds the hidden values, the cell of an LSTM, and
// the gates of a step. In each step the lanes first compute the gates' sums, then the new state. If the gates do not fit,
// the memory holds the hidden values alone, and a lane computes whole slices.

struct Params {
    alphas: vec3<f32>,    // first parameters of the functions: gates, candidate, cell
    clip: f32,            // limit on the magnitude of arguments of gates and candidate
    cell_clip: f32,       // limit on the magnitude of an LSTM's cell
    betas: vec3<u32>,     // second parameters, as `activate` wants them
    inner: vec3<f32>,     // factors of arguments
    scale: vec3<f32>,     // factors of results
    offset: vec3<f32>,    // terms of results
    reverse: vec2<u32>,   // whether steps of a direction go from the last to the first
}

// A kind of `crates/texpool-ops/src/ops/recurrent/kernel.rs`.
override CELL: u32 = CELL_LSTM;
// These are no parameters, because all lanes must provably reach the same barriers.
override STEPS: u32 = 1u;
// Slices of the hidden values, and rounds of a sum, each of which takes four of them.
override HIDDEN_SLICES: u32 = 1u;
override ROUNDS: u32 = 1u;
override GATE_FUNCTION: u32 = ACT_LOGISTIC;
override CANDIDATE_FUNCTION: u32 = ACT_TANH;
override CELL_FUNCTION: u32 = ACT_TANH;
override CLIPPED: bool = false;
override CELL_CLIPPED: bool = false;
// True if the recurrent weights of an LSTM multiply rounded hidden values.
override ROUNDED: bool = false;
// True if a lane computes all gates of its slices, and keeps their cells and new hidden values. No sum may wait for gates.
override OWNED: bool = false;
// Parts of the second tensor: the state before the first step, and the numbers of steps.
override INITIAL: bool = false;
override LENGTHS: bool = false;
// Parts of the result: hidden values of all steps, and the final states.
override SEQUENCE: bool = true;
override FINALS: bool = false;

// Pixels of the weights in front of the recurrent ones: biases, and peepholes or recurrent biases.
const EXTRA: u32 = 1u;
const FIRST_TERM: u32 = 2u;

// Slices of a lane.
const OWNED_SLICES: u32 = RECURRENT_TEXELS / LANES;

var<workgroup> memory: array<vec4<f32>, RECURRENT_TEXELS>;

fn is_lstm() -> bool { return CELL == CELL_LSTM || CELL == CELL_LSTM_COUPLED; }
fn gate_count() -> u32 { return select(select(3u, 1u, CELL == CELL_PLAIN), 4u, is_lstm()); }
// Texels of a part of the memory: hidden values, the cell, and each gate.
fn part() -> u32 { return ROUNDS * 4u; }
fn gates_start() -> u32 { return part() * select(1u, 2u, is_lstm()); }
fn gate_at(gate: u32, s: u32) -> u32 { return gates_start() + gate * part() + s; }

// Position of a direction's weights in their texture.
struct Weights {
    first: u32,
    pixels: u32,
    shift: u32,
}

// Texel of pixel `pixel` of a slice of the gates.
fn weight_of(w: Weights, slice: u32, pixel: u32) -> vec4<f32> {
    return weight_values(w.first + slice * w.pixels + pixel, w.shift);
}

fn four(w: Weights, texel: u32, h: vec4<f32>) -> vec4<f32> {
    let a = weight_values(texel, w.shift) * h.x + weight_values(texel + 1u, w.shift) * h.y;
    return a + weight_values(texel + 2u, w.shift) * h.z + weight_values(texel + 3u, w.shift) * h.w;
}

// `before` and the product of four texels of the memory with the weights from `texel` on.
fn plus_round(w: Weights, texel: u32, s: u32, before: vec4<f32>) -> vec4<f32> {
    var sum = before + four(w, texel, memory[s]);
    sum += four(w, texel + 4u, memory[s + 1u]);
    sum += four(w, texel + 8u, memory[s + 2u]);
    return sum + four(w, texel + 12u, memory[s + 3u]);
}

// The product of values of the memory from `start` on with the recurrent weights of a slice.
fn recurrent_sum(w: Weights, slice: u32, start: u32, before: vec4<f32>) -> vec4<f32> {
    var sum = before;
    var texel = w.first + slice * w.pixels + FIRST_TERM;
    var s = start;
    // Four rounds at once, named one by one, because drivers limit the passes of loops.
    for (var quad = 0u; quad < ROUNDS / 4u; quad++) {
        sum = plus_round(w, texel, s, sum);
        sum = plus_round(w, texel + 16u, s + 4u, sum);
        sum = plus_round(w, texel + 32u, s + 8u, sum);
        sum = plus_round(w, texel + 48u, s + 12u, sum);
        texel += 64u;
        s += 16u;
    }
    for (var term = 0u; term < ROUNDS % 4u; term++) {
        sum = plus_round(w, texel, s, sum);
        texel += 16u;
        s += 4u;
    }
    return sum;
}

// The product with the input, and the bias.
fn input_term(w: Weights, src: Tensor, row: u32, slice: u32, at_step: u32) -> vec4<f32> {
    return read_input(src, texel_of(src, row, slice, at_step)) + weight_of(w, slice, 0u);
}

// The part of a gate that does not depend on the hidden values.
fn gate_term(w: Weights, src: Tensor, row: u32, slice: u32, at_step: u32) -> vec4<f32> {
    if CELL == CELL_GRU_RESET_AFTER && slice >= 2u * HIDDEN_SLICES { return weight_of(w, slice, EXTRA); }
    return input_term(w, src, row, slice, at_step);
}

// The part of the candidate of a GRU that its reset gate does not multiply.
fn unreset(w: Weights, src: Tensor, row: u32, s: u32, at_step: u32) -> vec4<f32> {
    if CELL != CELL_GRU_RESET_AFTER { return vec4(0.0); }
    return input_term(w, src, row, 2u * HIDDEN_SLICES + s, at_step);
}

// Extremes, without NaN.
fn lower(least: vec4<f32>, h: vec4<f32>) -> vec4<f32> { return select(least, h, h < least); }
fn higher(greatest: vec4<f32>, h: vec4<f32>) -> vec4<f32> { return select(greatest, h, h > greatest); }

// The nearest of 256 equally spaced values from `least` to `greatest`, one of which is zero.
fn on_grid(h: vec4<f32>, least: f32, greatest: f32) -> vec4<f32> {
    let range = greatest - least;
    let scale = select(range / 255.0, 1.0, range == 0.0);
    let zero = round(clamp(-least / scale, 0.0, 255.0));
    return (bounded(round(h / scale) + zero, vec4(0.0), vec4(255.0)) - zero) * scale;
}

fn clipped(x: vec4<f32>) -> vec4<f32> {
    if CLIPPED {
        let clip = params().clip;
        return bounded(x, vec4(-clip), vec4(clip));
    }
    return x;
}

fn gate_function(x: vec4<f32>) -> vec4<f32> {
    let p = params();
    return activate(GATE_FUNCTION, clipped(x) * p.inner.x, 0u, p.alphas.x, p.betas.x) * p.scale.x + p.offset.x;
}

fn candidate_function(x: vec4<f32>) -> vec4<f32> {
    let p = params();
    return activate(CANDIDATE_FUNCTION, clipped(x) * p.inner.y, 0u, p.alphas.y, p.betas.y) * p.scale.y + p.offset.y;
}

fn cell_function(x: vec4<f32>) -> vec4<f32> {
    let p = params();
    return activate(CELL_FUNCTION, x * p.inner.z, 0u, p.alphas.z, p.betas.z) * p.scale.z + p.offset.z;
}

// The gates of a slice in the memory.
fn gates_of(s: u32) -> array<vec4<f32>, 4> {
    var gates = array<vec4<f32>, 4>();
    gates[0] = memory[gate_at(0u, s)];
    if gate_count() > 1u {
        gates[1] = memory[gate_at(1u, s)];
        gates[2] = memory[gate_at(2u, s)];
    }
    if gate_count() > 3u { gates[3] = memory[gate_at(3u, s)]; }
    return gates;
}

// The new cell of a slice of an LSTM.
fn new_cell(w: Weights, s: u32, gates: array<vec4<f32>, 4>, c: vec4<f32>) -> vec4<f32> {
    let add = gate_function(gates[0] + weight_of(w, s, EXTRA) * c);
    var keep = 1.0 - add;
    if CELL == CELL_LSTM { keep = gate_function(gates[2] + weight_of(w, 2u * HIDDEN_SLICES + s, EXTRA) * c); }
    let new_c = keep * c + add * candidate_function(gates[3]);
    if CELL_CLIPPED {
        let limit = params().cell_clip;
        return bounded(new_c, vec4(-limit), vec4(limit));
    }
    return new_c;
}

// The new hidden values of a slice: of its gates, the hidden values `h`, the cell and the result of `unreset`.
fn new_hidden(
    w: Weights,
    s: u32,
    gates: array<vec4<f32>, 4>,
    h: vec4<f32>,
    c: vec4<f32>,
    from_input: vec4<f32>,
) -> vec4<f32> {
    switch CELL {
        case CELL_PLAIN: { return candidate_function(gates[0]); }
        case CELL_GRU: {
            let update = gate_function(gates[0]);
            return (1.0 - update) * candidate_function(gates[2]) + update * h;
        }
        case CELL_GRU_RESET_AFTER: {
            let update = gate_function(gates[0]);
            let candidate = candidate_function(from_input + gate_function(gates[1]) * gates[2]);
            return (1.0 - update) * candidate + update * h;
        }
        case CELL_LSTM, CELL_LSTM_COUPLED: {
            let show = gate_function(gates[1] + weight_of(w, HIDDEN_SLICES + s, EXTRA) * c);
            return show * cell_function(c);
        }
        default: { return nan(); }
    }
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(global_invocation_id) global: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // Every lane reaches every barrier: a group beyond the last row repeats it and stores nothing.
    let id = begin(global);
    let dispatch = dispatch_params();
    let stores = id < dispatch.items;
    let src = input_tensor();
    let dst = output_tensor();
    let state = second_tensor();
    let row = dispatch.first_row + min(id, dispatch.items - 1u) / LANES;
    let direction = row % dst.h;
    let pixels = FIRST_TERM + ROUNDS * 16u;
    let first = dispatch.weight_base + direction * gate_count() * HIDDEN_SLICES * pixels;
    let w = Weights(first, pixels, dispatch.weight_shift);
    let reverse = params().reverse[direction] != 0u;
    var length = STEPS;
    if LENGTHS {
        let told = read_second(state, texel_of(state, row, 0u, state.w - 1u)).x;
        length = u32(clamp(told, 0.0, f32(STEPS)));
    }
    // Cells of this lane's slices, and their new hidden values until all lanes have read the old ones.
    var cells = array<vec4<f32>, OWNED_SLICES>();
    var next = array<vec4<f32>, OWNED_SLICES>();
    for (var own = lane; own < part(); own += LANES) {
        var h = vec4(0.0);
        var c = vec4(0.0);
        if INITIAL && own < HIDDEN_SLICES {
            h = read_second(state, texel_of(state, row, own, 0u));
            if is_lstm() { c = read_second(state, texel_of(state, row, own, 1u)); }
        }
        memory[own] = h;
        if OWNED {
            cells[own / LANES] = c;
        } else if is_lstm() {
            memory[part() + own] = c;
        }
        // Sums read the values that a GRU has reset up to the end of their part.
        if CELL == CELL_GRU { memory[gate_at(1u, own)] = vec4(0.0); }
    }
    workgroupBarrier();
    for (var step = 0u; step < STEPS; step++) {
        let lives = step < length;
        let at_step = select(step, length - 1u - step, reverse && lives);
        if ROUNDED {
            var least = vec4(0.0);
            var greatest = vec4(0.0);
            // Texels behind the hidden values are zero, as the extremes are at first.
            for (var value = 0u; value < part(); value += 4u) {
                least = lower(lower(least, memory[value]), memory[value + 1u]);
                least = lower(lower(least, memory[value + 2u]), memory[value + 3u]);
                greatest = higher(higher(greatest, memory[value]), memory[value + 1u]);
                greatest = higher(higher(greatest, memory[value + 2u]), memory[value + 3u]);
            }
            let lows = min(least.xy, least.zw);
            let highs = max(greatest.xy, greatest.zw);
            // Every lane has read all values before one of them changes.
            workgroupBarrier();
            for (var grid = lane; grid < HIDDEN_SLICES; grid += LANES) {
                // Steps beyond the last one of a sequence leave the state as it is.
                let on = on_grid(memory[grid], min(lows.x, lows.y), max(highs.x, highs.y));
                memory[grid] = select(memory[grid], on, lives);
            }
            workgroupBarrier();
        }
        if OWNED {
            for (var owned = lane; owned < HIDDEN_SLICES; owned += LANES) {
                var sums = array<vec4<f32>, 4>();
                for (var own_gate = 0u; own_gate < gate_count(); own_gate++) {
                    let slice = own_gate * HIDDEN_SLICES + owned;
                    sums[own_gate] = recurrent_sum(w, slice, 0u, gate_term(w, src, row, slice, at_step));
                }
                let slot = owned / LANES;
                let h = memory[owned];
                var c = cells[slot];
                if is_lstm() { c = new_cell(w, owned, sums, c); }
                let from_input = unreset(w, src, row, owned, at_step);
                let new_h = select(vec4(0.0), new_hidden(w, owned, sums, h, c, from_input), has_channels(dst, owned));
                if lives { cells[slot] = c; }
                next[slot] = select(h, new_h, lives);
                if SEQUENCE && stores { store_output(dst, row, at_step, owned, select(vec4(0.0), new_h, lives)); }
            }
            workgroupBarrier();
            for (var settled = lane; settled < HIDDEN_SLICES; settled += LANES) {
                memory[settled] = next[settled / LANES];
            }
            workgroupBarrier();
            continue;
        }
        let gates = select(gate_count(), 2u, CELL == CELL_GRU) * HIDDEN_SLICES;
        for (var gate = lane; gate < gates; gate += LANES) {
            let sum = recurrent_sum(w, gate, 0u, gate_term(w, src, row, gate, at_step));
            memory[gate_at(gate / HIDDEN_SLICES, gate % HIDDEN_SLICES)] = sum;
        }
        workgroupBarrier();
        if CELL == CELL_GRU {
            for (var reset = lane; reset < HIDDEN_SLICES; reset += LANES) {
                let kept = gate_function(memory[gate_at(1u, reset)]) * memory[reset];
                memory[gate_at(1u, reset)] = select(vec4(0.0), kept, has_channels(dst, reset));
            }
            workgroupBarrier();
            for (var candidate = lane; candidate < HIDDEN_SLICES; candidate += LANES) {
                let slice = 2u * HIDDEN_SLICES + candidate;
                let sum = recurrent_sum(w, slice, gate_at(1u, 0u), gate_term(w, src, row, slice, at_step));
                memory[gate_at(2u, candidate)] = sum;
            }
        }
        for (var own = lane; own < HIDDEN_SLICES; own += LANES) {
            var h = vec4(0.0);
            if lives {
                let sums = gates_of(own);
                var c = vec4(0.0);
                if is_lstm() {
                    c = new_cell(w, own, sums, memory[part() + own]);
                    memory[part() + own] = c;
                }
                let from_input = unreset(w, src, row, own, at_step);
                h = select(vec4(0.0), new_hidden(w, own, sums, memory[own], c, from_input), has_channels(dst, own));
                memory[own] = h;
            }
            if SEQUENCE && stores { store_output(dst, row, at_step, own, h); }
        }
        workgroupBarrier();
    }
    if FINALS && stores {
        let behind = select(0u, STEPS, SEQUENCE);
        for (var own = lane; own < HIDDEN_SLICES; own += LANES) {
            store_output(dst, row, behind, own, memory[own]);
            if is_lstm() {
                var c: vec4<f32>;
                if OWNED { c = cells[own / LANES]; } else { c = memory[part() + own]; }
                store_output(dst, row, behind + 1u, own, c);
            }
        }
    }
}
