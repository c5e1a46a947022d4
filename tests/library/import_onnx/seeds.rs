//! Seeds for the `.onnx` importer: the operator set, then lines in the syntax of `lines`.

use super::support::{
    inputs,
    lines::{self, Operand, list, nodes},
    onnx::{Attr, Dim, Model, attribute, bytes, number},
};

/// Names of the files, and their lines.
#[rustfmt::skip]
const LINES: [(&str, i64, &str); 63] = [
    ("conv", 18, "Conv x:1,3,8,8 w=4,3,3,3 b=4 -> c pads=[1,1,1,1] strides=[2,2];Relu c -> y"),
    ("conv_groups", 11, "Conv x:1,4,6,5 w=4,2,3,1 -> y group=2 dilations=[2,1] auto_pad=SAME_UPPER"),
    ("conv_line", 18, "Conv x:2,2,9 w=4,1,3 -> y group=2 auto_pad=VALID"),
    ("conv_transpose", 18, "ConvTranspose x:1,2,3,3 w=2,3,3,3 b=3 -> y strides=[2,2] output_padding=[1,1] pads=[1,0,1,0]"),
    ("conv_transpose_shape", 11, "ConvTranspose x:1,2,4 w=2,1,3 -> y strides=[3] output_shape=[11]"),
    ("conv_volume", 18, "Conv x:2,2,5,4,3 w=4,2,3,3,1 b=4 -> c pads=[1,1,0,1,0,1] strides=[2,1,1] dilations=[1,2,1];Conv c v=4,2,2,1,2 -> y group=2 auto_pad=SAME_UPPER"),
    ("conv_transpose_volume", 18, "ConvTranspose x:1,2,3,2,3 w=2,3,3,2,2 b=3 -> y strides=[2,2,1] output_padding=[1,0,0] pads=[1,0,1,0,0,0]"),
    ("pools_volume", 18, "MaxPool x:1,2,6,5,5 -> p kernel_shape=[2,2,2] strides=[2,2,1] ceil_mode=1;AveragePool p -> q kernel_shape=[3,1,2] strides=[2,1,1] pads=[1,0,0,1,0,1];GlobalLpPool q -> y p=1"),
    ("pools", 18, "MaxPool x:1,2,7,7 -> p kernel_shape=[3,3] strides=[2,2] ceil_mode=1;AveragePool p -> y kernel_shape=[2,2] pads=[1,0,0,1] count_include_pad=1"),
    ("pools_more", 18, "LpPool x:1,2,7,7 -> a kernel_shape=[2,3] p=1;MaxPool a -> y kernel_shape=[2,2] dilations=[2,2]"),
    ("global_pools", 18, "GlobalAveragePool x:1,3,4,4 -> y0;GlobalMaxPool x -> y1;GlobalLpPool x -> y2 p=2"),
    ("gemm", 18, "Gemm x:2,3 w=4,3 b=4 -> y transB=1 alpha=0.5 beta=2.0"),
    ("gemm_computed", 18, "Gemm a:3,2 b:3,4 c:4 -> y transA=1"),
    ("matmul", 18, "MatMul x:2,3,4 w=4,5 -> m;Add m v=5 -> y"),
    ("matmul_batched", 18, "MatMul a:2,1,3,4 b:3,4,2 -> y"),
    ("matmul_vectors", 18, "MatMul a:4 b:2,4,3 -> y0;MatMul a a -> y1"),
    ("einsum", 18, "Einsum a:2,3,4 b:2,4,5 -> y equation=bij,bjk->bik"),
    ("batch_norm", 15, "Conv x:1,2,4,4 w=3,2,1,1 -> c;BatchNormalization c s=3 b=3 m=3 v=3 -> y epsilon=0.001"),
    ("norms", 21, "InstanceNormalization x:1,4,3,3 s=4 b=4 -> i;GroupNormalization i s b -> y num_groups=2"),
    ("layer_norm", 18, "LayerNormalization x:2,3,4 s=4 b=4 -> l axis=-1;MeanVarianceNormalization l -> y axes=[0,2]"),
    ("lrn", 18, "LRN x:1,5,2,2 -> a size=3;LpNormalization a -> y axis=1 p=1"),
    ("softmax", 11, "Softmax x:2,3,4 -> s axis=1;LogSoftmax s -> y axis=0"),
    ("softmax_13", 13, "Softmax x:2,3,4 -> s axis=1;Hardmax s -> y axis=-2"),
    ("reduce", 18, "ReduceMean x:2,3,4 a!1,-1 -> m keepdims=0;ReduceSum x b!0 -> y0 keepdims=1;ReduceMax m -> y"),
    ("reduce_logs", 11, "ReduceLogSumExp x:2,3,4 -> a axes=[1];ReduceL2 a -> y0 axes=[0,2];ReduceLogSum x -> y1"),
    ("arg", 18, "ArgMax x:2,3,4 -> y0 axis=1 select_last_index=1;ArgMin x -> y1 keepdims=0"),
    ("topk", 18, "TopK x:2,5 k!3 -> y0 y1 axis=-1 largest=0"),
    ("shape_arithmetic", 18, "Shape x:2,3,4 -> s;Gather s i!0 -> n;Concat n r!-1 -> d axis=0;Cast d -> e to=7;Reshape x e -> y"),
    ("shape_range", 15, "Shape x:2,3 -> s start=1;Range a!!0 b!!6 c!!2 -> r;Mul r s -> m;Size x -> z;Sub m z -> d;ConstantOfShape s -> o;Add o x -> p;Cast d -> f to=1;Add p f -> y"),
    ("elementwise", 18, "Add x:2,3 y0:3 -> a;Sub a k=2,1 -> b;Mul b x -> c;Div c x -> d;Pow d e=1 -> y"),
    ("compare", 18, "Less x:2,3 z:1,3 -> l;Greater x z -> g;And l g -> n;Not n -> o;Or o l -> r;Xor r l -> t;Where t x z -> y"),
    ("integers", 18, "Mod a:4~i64 b!3 -> m;Div m c!2 -> d;Max d m -> e;Min e b -> f;Cast f -> y to=1"),
    ("unary", 18, "Erf x:2,3 -> a;HardSigmoid a -> b alpha=0.3;Elu b -> c;LeakyRelu c -> d alpha=0.1;Softplus d -> e;Celu e -> f;Gelu f -> y0;Sigmoid e -> y"),
    ("unary_more", 22, "Abs x:3 -> a;Sqrt a -> b;Log b -> c;Exp c -> d;Floor d -> e;Sign e -> f;Selu f -> g;Swish g -> y0;ThresholdedRelu f -> h;Shrink h -> i;Mish i -> y"),
    ("gelu_pattern", 18, "Div x:2,4 r=1 -> d;Erf d -> e;Add e o=1 -> a;Mul x a -> m;Mul m h=1 -> y"),
    ("silu_pattern", 18, "Conv x:1,2,4,4 w=2,2,1,1 -> c;Sigmoid c -> s;Mul c s -> y"),
    ("clip", 18, "Clip x:2,3 a=0 b=0 -> c;PRelu c s=3 -> y"),
    ("clip_6", 7, "Clip x:2,3 -> c min=0.0 max=6.0;Dropout c -> y ratio=0.5"),
    ("concat_split", 18, "Split x:2,6 s!2,4 -> a b axis=1;Concat b a b -> y axis=1"),
    ("split_7", 7, "Split x:2,6 -> a b y axis=-1;Add a b -> y0"),
    ("slice", 18, "Slice x:4,6,5 a!-1,1 b!-9223372036854775808,5 c!0,1 d!-2,2 -> y"),
    ("slice_7", 7, "Slice x:4,6 -> y starts=[1] ends=[9] axes=[1]"),
    ("gather", 18, "Gather x:4,3 i!2,-1,0 -> a axis=0;Gather t=5,2 j:2,2~i64 -> y0;GatherElements x k:2,3~i64 -> y"),
    ("embedding", 18, "Gather t=6,4 x:1,5~i64 -> e;LayerNormalization e s=4 -> y"),
    ("moves", 18, "Transpose x:1,2,3,4 -> t perm=[0,2,3,1];Reshape t s!1,6,-1 -> r;Squeeze r a!0 -> q;Unsqueeze q b!1 -> u;Flatten u -> y axis=2"),
    ("tile_expand", 18, "Tile x:2,1,3 r!1,2,2 -> t;Expand t s!2,2,2,6 -> y"),
    ("pad", 18, "Pad x:1,2,3,4 p!0,0,1,1,0,0,1,0 v=0 -> a mode=constant;Pad a q!0,0,1,2,0,0,1,0 -> y mode=reflect"),
    ("pad_edge", 19, "Pad x:3,4 p!1,-1 _ a!1 -> b mode=edge;Pad b q!1,0,0,2 -> y mode=wrap"),
    ("resize_sizes", 19, "Resize x:1,2,3,4 _ _ s!1,2,6,6 -> y mode=linear coordinate_transformation_mode=align_corners"),
    ("resize_scales", 19, "Resize x:1,1,4,4 _ s*1,1,2,1.5 -> y mode=cubic cubic_coeff_a=-0.5 exclude_outside=1"),
    ("resize_10", 10, "Resize x:1,1,2,2 s*1,1,2,3 -> y mode=nearest"),
    ("upsample", 9, "Upsample x:1,1,2,2 s*1,1,2,2 -> y mode=nearest"),
    ("depth_space", 18, "DepthToSpace x:1,8,2,3 -> a blocksize=2 mode=CRD;SpaceToDepth a -> y blocksize=2"),
    ("cumsum", 18, "CumSum x:2,5 a!!1 -> y exclusive=1 reverse=1"),
    ("trilu", 18, "Trilu x:4,4 k!!1 -> t upper=0;Mul t x -> y"),
    ("onehot", 18, "OneHot x:3~i64 d!5 v=2 -> y axis=-1"),
    ("nonzero", 18, "NonZero c!1,0,2 -> n;Squeeze n a!0 -> q;Gather x:3,2 q -> y"),
    ("eye", 18, "EyeLike c=3,3 -> e k=1;MatMul x:2,3 e -> y"),
    ("cast_like", 19, "CastLike x:2,3 b!1 -> c;CastLike c x -> d;IsNaN d -> n;Cast n -> y to=1"),
    ("means", 18, "Mean x:2,3 b:3 c=1 -> m;Sum m x b -> s;Max s x -> y"),
    ("open", 18, "Shape x:n,3,h -> s;Reshape x s -> r;Relu r -> y"),
    ("attention", 18, "MatMul x:1,3,4 q=4,4 -> a;Reshape a s!1,3,2,2 -> b;Transpose b -> c perm=[0,2,1,3];Transpose b -> d perm=[0,2,3,1];MatMul c d -> e;Softmax e -> f axis=-1;MatMul f c -> g;Transpose g -> h perm=[0,2,1,3];Reshape h t!1,3,4 -> y"),
    ("residual", 18, "Conv x:1,4,5,5 w=4,4,3,3 -> a pads=[1,1,1,1];Add a x -> b;Relu b -> c;GlobalAveragePool c -> d;Flatten d -> e;Gemm e m=4,3 -> y"),
];

/// The files.
fn all() -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> =
        LINES.iter().map(|&(name, opset, line)| (name.to_owned(), model(opset, line))).collect();
    files.push(("quantised".to_owned(), quantised()));
    files.push(("quantised_by_a_run".to_owned(), quantised_by_a_run()));
    files.push(("branches".to_owned(), branches()));
    files.push(("functions".to_owned(), functions()));
    files.extend(hostile());
    files.extend(hostile_functions());
    files
}

/// Conditions that are known, that are computed, and within one another, with constants of branches.
fn branches() -> Vec<u8> {
    let neg = |result: &str| {
        let mut b = Model::new();
        b.node("Neg", &["x"], &[result], &[]);
        b.output(result);
        b
    };
    let pair = |then, other| [("then_branch", Attr::Branch(then)), ("else_branch", Attr::Branch(other))];
    let mut m = Model::new();
    m.input("x", &[2]);
    m.floats("zero", &[], &[0.0]);
    m.node("ReduceMax", &["x"], &["greatest"], &[("keepdims", Attr::Int(0))]);
    m.node("Greater", &["greatest", "zero"], &["computed"], &[]);
    m.tensor("known", 9, &[1], &bytes(9, &[1]));
    let mut inner = Model::new();
    inner.floats("w", &[2], &[1.0, 2.0]);
    inner.node("Add", &["x", "w"], &["sum"], &[]);
    inner.node("If", &["known"], &["r"], &pair(neg("v"), neg("v")));
    ["sum", "r"].iter().for_each(|name| inner.output(name));
    let mut other = Model::new();
    other.floats("w", &[2], &[3.0, 4.0]);
    ["w", "x"].iter().for_each(|name| other.output(name));
    m.node("If", &["computed"], &["y0", "y1"], &pair(inner, other));
    m.node("If", &["known"], &["y2"], &pair(neg("v"), neg("w")));
    ["y0", "y1", "y2"].iter().for_each(|name| m.output(name));
    m.bytes()
}

/// Functions that call one another, with attributes that are passed on, that have defaults, and that a branch reads.
fn functions() -> Vec<u8> {
    let mut m = Model::new();
    m.input("x", &[2]);
    m.node("own.Outer", &["x"], &["y"], &[("slope", Attr::Float(0.5))]);
    m.output("y");
    let mut leaky = Model::new();
    leaky.node("LeakyRelu", &["v"], &["r"], &[("alpha", Attr::Of("slope"))]);
    leaky.output("r");
    let mut other = Model::new();
    other.node("Neg", &["v"], &["r"], &[]);
    other.output("r");
    let branches = [("then_branch", Attr::Branch(leaky)), ("else_branch", Attr::Branch(other))];
    let mut inner = Model::new();
    inner.node("Constant", &[], &["none"], &[("value_float", Attr::Float(0.0))]);
    inner.node("ReduceMax", &["v"], &["most"], &[("keepdims", Attr::Int(0))]);
    inner.node("Greater", &["most", "none"], &["positive"], &[]);
    inner.node("If", &["positive"], &["r"], &branches);
    let inner =
        inner.function("own.Inner", &["v", "absent"], &["r", "most"], &attribute(11, "slope", &Attr::Float(2.0)));
    let mut outer = Model::new();
    outer.node("own.Inner", &["x"], &["v"], &[("slope", Attr::Of("slope"))]);
    outer.node("own.Inner", &["v"], &["r"], &[]);
    let outer = outer.function("own.Outer", &["x"], &["r"], &bytes(6, b"slope"));
    [m.bytes(), inner, outer].concat()
}

/// Functions that call themselves, and that call others too often or with too much.
fn hostile_functions() -> Vec<(String, Vec<u8>)> {
    let mut m = Model::new();
    m.input("x", &[2]);
    m.node("own.F0", &["x"], &["y"], &[]);
    m.output("y");
    let calling = |name: &str, called: &str| {
        let mut body = Model::new();
        body.node(called, &["x"], &["v"], &[]);
        body.node(called, &["v"], &["y"], &[]);
        body.function(name, &["x"], &["y"], &[])
    };
    let file = |functions: &[Vec<u8>]| [m.bytes(), functions.concat()].concat();
    let many: Vec<Vec<u8>> = (0..24).map(|i| calling(&format!("own.F{i}"), &format!("own.F{}", i + 1))).collect();
    let last = Model::new().function("own.F24", &["x"], &["x"], &[]);
    let extra = Model::new().function("own.F0", &[], &[], &[]);
    vec![
        ("hostile_function_itself".to_owned(), file(&[calling("own.F0", "own.F0")])),
        ("hostile_functions_multiply".to_owned(), file(&[many, vec![last]].concat())),
        ("hostile_function_operands".to_owned(), file(&[extra])),
        ("hostile_function_twice".to_owned(), file(&[calling("own.F0", "Neg"), calling("own.F0", "Neg")])),
    ]
}

/// 8-bit integers with scales.
fn quantised() -> Vec<u8> {
    let mut m = Model::new();
    m.input("x", &[2, 3]);
    m.floats("s", &[], &[0.5]);
    m.tensor("z", 2, &[], &bytes(9, &[3]));
    m.node("QuantizeLinear", &["x", "s", "z"], &["q"], &[]);
    m.node("DequantizeLinear", &["q", "s", "z"], &["d"], &[]);
    m.tensor("w", 3, &[3, 2], &bytes(9, &[1, 2, 3, 255, 254, 253]));
    m.floats("t", &[2], &[0.25, 0.5]);
    m.node("DequantizeLinear", &["w", "t"], &["e"], &[("axis", Attr::Int(1))]);
    m.node("MatMul", &["d", "e"], &["y"], &[]);
    m.output("y");
    m.bytes()
}

/// Products of integers that a run quantises, and an LSTM of 8 bits.
fn quantised_by_a_run() -> Vec<u8> {
    let mut m = Model::new();
    m.input("x", &[2, 1, 3]);
    m.node("DynamicQuantizeLinear", &["x"], &["q", "s", "z"], &[]);
    m.tensor("w", 3, &[3, 2], &bytes(9, &[1, 2, 3, 255, 254, 253]));
    m.tensor("v", 3, &[2], &bytes(9, &[1, 255]));
    m.node("MatMulInteger", &["q", "w", "z", "v"], &["product"], &[]);
    m.node("Cast", &["product"], &["y0"], &[("to", Attr::Int(1))]);
    m.tensor("c", 2, &[2, 1, 2], &bytes(9, &[1, 2, 3, 4]));
    m.node("ConvInteger", &["q", "c", "z"], &["y1"], &[("pads", Attr::Ints(vec![1, 0]))]);
    m.tensor("l", 3, &[1, 3, 4], &bytes(9, &[7; 12]));
    m.tensor("r", 3, &[1, 1, 4], &bytes(9, &[9; 4]));
    m.floats("t", &[1], &[0.125]);
    m.tensor("n", 3, &[1], &bytes(9, &[1]));
    let operands = ["x", "l", "r", "", "", "", "", "", "t", "n", "t", "n"];
    m.node("com.microsoft.DynamicQuantizeLSTM", &operands, &["y2"], &[("hidden_size", Attr::Int(1))]);
    m.floats("g", &[1, 6, 3], &[0.5; 18]);
    m.floats("h", &[1, 6, 2], &[0.25; 12]);
    let functions: &[_] = &["HardSigmoid", "Tanh"];
    let attributes = [("activations", Attr::Texts(functions)), ("linear_before_reset", Attr::Int(1))];
    m.node("GRU", &["x", "g", "h"], &["y3"], &attributes);
    ["y0", "y1", "y2", "y3"].iter().for_each(|name| m.output(name));
    m.bytes()
}

/// The type of a name, by its number in the format.
fn kind(name: &str) -> i64 {
    match name {
        "f32" => 1,
        "i64" => 7,
        other => unreachable!("no type {other}"),
    }
}

fn model(opset: i64, line: &'static str) -> Vec<u8> {
    let mut m = Model::new();
    m.opset = opset;
    for node in nodes(line) {
        let operands: Vec<&str> = node.operands.iter().map(|operand| declared(&mut m, operand)).collect();
        let results: Vec<&str> = node.results.iter().map(|result| declared(&mut m, result)).collect();
        let attributes: Vec<(&str, Attr)> = node.attributes.iter().map(|&(name, text)| (name, value(text))).collect();
        m.node(node.operator, &operands, &results, &attributes);
        results.iter().filter(|name| name.starts_with('y')).for_each(|name| m.output(name));
    }
    m.bytes()
}

fn declared(m: &mut Model, operand: &Operand<'static>) -> &'static str {
    match operand {
        Operand::None => "",
        Operand::Known(name) => name,
        Operand::Input(name, dims, of) => {
            let dims: Vec<Dim> = dims.iter().map(|&d| d.parse().map_or(Dim::Named(d), Dim::Is)).collect();
            m.open_input(name, kind(of), &dims);
            name
        }
        // No extents mean a single number; one extent of zero is written explicitly.
        Operand::Floats(name, dims) => {
            let dims: Vec<i64> = dims.iter().copied().filter(|&d| d != 0).collect();
            // Hostile extents have fewer values than they declare.
            let count = dims.iter().fold(1, |n: i64, &d| n.saturating_mul(d)).min(4096);
            m.floats(name, &dims, &(0..count).map(|i| (i % 5) as f32 / 2.0 + 0.5).collect::<Vec<_>>());
            name
        }
        Operand::Values(name, values) => {
            m.floats(name, &[values.len() as i64], values);
            name
        }
        Operand::Ints(name, values) => {
            m.ints(name, values);
            name
        }
        Operand::Single(name, value) => {
            m.tensor(name, 7, &[], &bytes(9, &value.to_le_bytes()));
            name
        }
    }
}

fn value(text: &'static str) -> Attr {
    if let Some(inner) = text.strip_prefix('[') {
        return Attr::Ints(list(inner.trim_end_matches(']')));
    }
    match (text.parse(), text.parse()) {
        (Ok(int), _) => Attr::Int(int),
        (_, Ok(float)) => Attr::Float(float),
        _ => Attr::Text(text),
    }
}

/// Models that are refused, each for its own reason.
fn hostile() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut add = |name: &str, build: &dyn Fn(&mut Model)| {
        let mut m = Model::new();
        build(&mut m);
        m.output("y");
        all.push((format!("hostile_{name}"), m.bytes()));
    };
    add("cycle", &|m| {
        m.node("Relu", &["b"], &["a"], &[]);
        m.node("Relu", &["a"], &["b"], &[]);
        m.node("Relu", &["b"], &["y"], &[]);
    });
    add("itself", &|m| m.node("Relu", &["y"], &["y"], &[]));
    add("external", &|m| {
        let pair = |key: &str, value: &str| bytes(13, &[bytes(1, key.as_bytes()), bytes(2, value.as_bytes())].concat());
        let keys = [pair("location", "../../etc/passwd"), pair("offset", "0"), pair("length", "8")].concat();
        m.input("x", &[2]);
        m.tensor("c", 1, &[2], &[keys, number(14, 1)].concat());
        m.node("Add", &["x", "c"], &["y"], &[]);
    });
    add("raw_size", &|m| {
        m.input("x", &[2]);
        m.tensor("c", 1, &[3], &bytes(9, &[0; 8]));
        m.node("Add", &["x", "c"], &["y"], &[]);
    });
    add("huge", &|m| {
        m.input("x", &[1 << 40, 1 << 40]);
        m.node("Relu", &["x"], &["y"], &[]);
    });
    add("fill", &|m| {
        m.ints("s", &[1 << 14, 1 << 14]);
        m.node("ConstantOfShape", &["s"], &["f"], &[]);
        m.node("Neg", &["f"], &["y"], &[]);
    });
    add("tile", &|m| {
        m.floats("c", &[1, 1, 1], &[1.0]);
        m.ints("r", &[1 << 40; 3]);
        m.node("Tile", &["c", "r"], &["y"], &[]);
    });
    add("empty", &|m| {
        m.ints("e", &[]);
        m.ints("p", &[1, 0]);
        m.node("Pad", &["e", "p"], &["y"], &[("mode", Attr::Text("edge"))]);
    });
    add("empty_huge", &|m| {
        m.tensor("e", 1, &[0, 1 << 40, 1 << 40], &bytes(9, &[]));
        m.node("Transpose", &["e"], &["y"], &[]);
    });
    add("control_flow", &|m| {
        m.input("x", &[1]);
        m.node("If", &["x"], &["y"], &[("then_branch", Attr::Graph), ("else_branch", Attr::Graph)]);
    });
    all
}

#[test]
fn the_committed_seeds_are_what_the_writer_makes() {
    inputs::are_written("onnx", &all());
}

#[test]
fn seeds_are_imported_unless_they_are_hostile() {
    let open = |error: &String| error.contains("extents are open");
    let unlike = |(name, bytes): (String, Vec<u8>)| {
        let answer = inputs::answer(&bytes);
        let refused = answer.as_ref().is_err_and(|error| !open(error));
        (refused != name.starts_with("hostile")).then(|| format!("{name}: {answer:?}"))
    };
    let unlike: Vec<String> = all().into_iter().filter_map(unlike).collect();
    assert!(unlike.is_empty(), "{}", unlike.join("\n"));
}

#[test]
fn every_number_of_every_seed_taken_to_its_limits() {
    let changed = |(name, opset, line)| lines::changed(line).into_iter().map(move |line| (name, opset, line));
    let all = LINES.into_iter().flat_map(changed);
    inputs::answered(all.map(|(name, opset, line)| (format!("{name}: {line}"), model(opset, line.leak()))));
}

#[test]
fn every_input_kept_is_an_answer_or_an_error() {
    inputs::are_answered("onnx");
}
