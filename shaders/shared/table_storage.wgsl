// The step's parameters and row tables, in storage memory: for steps with more than 16384 words.
@group(0) @binding(0) var<storage, read> table: array<vec4<u32>>;
