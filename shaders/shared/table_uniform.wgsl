// The step's parameters and row tables, in uniform memory: cheapest, holds 16384 words.
@group(0) @binding(0) var<uniform> table: array<vec4<u32>, 4096>;
