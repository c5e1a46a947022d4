//! Checks the loops of all shaders, read from their WGSL. A shader must declare each loop that takes rounds, with its
//! nesting, so that the rounds of every dispatch are counted (`crates/texpool-ops/src/kernels/loops.rs`). A loop that
//! is not counted fails here.

#![cfg(test)]

use naga::{Block, Expression, Function, Handle, LocalVariable, Module, Statement};
use texpool_gpu::{DispatchBinding, ParamBinding, source};
use texpool_ops::{
    kernels::{Loop, Shader},
    ops::shaders,
};
use texpool_plan::TexelFormat;

/// Pipeline constants that bound loops, with their maximum. They are block sizes (`kernels/block.rs`,
/// `ops/depthwise/kernel.rs`, where windows are at most as wide as the columns) and the taps of a resize.
const BOUNDED: [(&str, u32); 5] = [("PIXELS", 8), ("SLICES", 4), ("COLUMNS", 16), ("WINDOW_X", 16), ("TAPS", 4)];

/// Shaders in which a driver has to unroll loops inside others: `tests/gpu/loops.rs` runs each of them up to its limit.
const UNROLLED_INSIDE: [&str; 7] =
    ["conv", "conv_thin", "depthwise", "matmul", "pointwise", "separable", "transpose_conv"];

/// A loop in the WGSL, with the loops in the functions that it calls.
#[derive(Clone, Debug, PartialEq)]
struct WgslLoop {
    name: String,
    /// Upper bound of the loop variable, if it is a constant.
    bound: Option<u32>,
    inner: Vec<Self>,
}

impl WgslLoop {
    /// True if drivers unroll the loop, so that no shader states it.
    fn is_unrolled(&self) -> bool {
        self.bound.is_some_and(|bound| bound <= Loop::UNROLLED) && self.inner.iter().all(Self::is_unrolled)
    }

    /// Rounds of a loop whose bound is a constant, if it is not unrolled.
    fn rounds(&self) -> u64 {
        let inner: u64 = self.inner.iter().map(Self::rounds).sum();
        u64::from(self.bound.unwrap()) * (1 + inner) + self.count()
    }

    fn count(&self) -> u64 {
        self.inner.iter().fold(1, |sum, inner| sum + inner.count())
    }

    /// True if the loop takes rounds and contains a loop that does not.
    fn has_unrolled_inside(&self) -> bool {
        !self.is_unrolled() && self.inner.iter().any(|inner| inner.is_unrolled() || inner.has_unrolled_inside())
    }
}

/// Returns the loops of a block of statements, in order.
fn loops(module: &Module, function: &Function, block: &Block) -> Vec<WgslLoop> {
    let inside = |blocks: &[&Block]| blocks.iter().flat_map(|block| loops(module, function, block)).collect::<Vec<_>>();
    let of = |statement: &Statement| match statement {
        Statement::Loop { body, continuing, .. } => {
            let variable = stepped(function, continuing);
            let name = variable.and_then(|variable| function.local_variables[variable].name.clone());
            let bound = variable.and_then(|variable| bound(module, function, body, variable));
            let inner = inside(&[body, continuing]);
            vec![WgslLoop { name: name.unwrap_or_else(|| "a loop without a variable".to_owned()), bound, inner }]
        }
        Statement::Block(block) => inside(&[block]),
        Statement::If { accept, reject, .. } => inside(&[accept, reject]),
        Statement::Switch { cases, .. } => cases.iter().flat_map(|case| inside(&[&case.body])).collect(),
        Statement::Call { function, .. } => {
            let called = &module.functions[*function];
            loops(module, called, &called.body)
        }
        _ => Vec::new(),
    };
    block.iter().flat_map(of).collect()
}

/// Returns the variable that is changed after each round.
fn stepped(function: &Function, continuing: &Block) -> Option<Handle<LocalVariable>> {
    continuing.iter().find_map(|statement| match statement {
        &Statement::Store { pointer, .. } => match function.expressions[pointer] {
            Expression::LocalVariable(variable) => Some(variable),
            _ => None,
        },
        _ => None,
    })
}

/// Returns the upper bound of a loop's variable, if a constant states it in the first condition.
fn bound(module: &Module, function: &Function, body: &Block, variable: Handle<LocalVariable>) -> Option<u32> {
    let condition = body.iter().find_map(|statement| match statement {
        Statement::If { condition, accept, reject } if accept.is_empty() => {
            matches!(reject.last(), Some(Statement::Break)).then_some(*condition)
        }
        _ => None,
    })?;
    let Expression::Binary { op: naga::BinaryOperator::Less, left, right } = function.expressions[condition] else {
        return None;
    };
    let Expression::Load { pointer } = function.expressions[left] else { return None };
    if !matches!(function.expressions[pointer], Expression::LocalVariable(wgsl_loops) if wgsl_loops == variable) {
        return None;
    }
    let number = |expression: &Expression| match *expression {
        Expression::Literal(naga::Literal::U32(number)) => Some(number),
        _ => None,
    };
    match function.expressions[right] {
        Expression::Constant(constant) => number(&module.global_expressions[module.constants[constant].init]),
        Expression::Override(constant) => {
            let name = module.overrides[constant].name.as_deref()?;
            BOUNDED.iter().find(|(bounded, _)| *bounded == name).map(|&(_, most)| most)
        }
        ref expression => number(expression),
    }
}

/// Returns the loops of a shader's entry point.
fn wgsl_loops(text: &str) -> Vec<WgslLoop> {
    let module = naga::front::wgsl::parse_str(text).unwrap_or_else(|error| panic!("{}", error.emit_to_string(text)));
    let entry = &module.entry_points[0].function;
    loops(&module, entry, &entry.body)
}

fn text(shader: Shader) -> String {
    let block = ParamBinding::Uniform(ParamBinding::UNIFORM_WORDS[0]);
    source(shader, TexelFormat::Rgba16Float, block, DispatchBinding::Immediates)
}

/// Formats loops as a shader declares them.
fn written(loops: &[WgslLoop]) -> String {
    let one = |one: &WgslLoop| match written(&one.inner).as_str() {
        "" => one.name.clone(),
        inner => format!("{} [{inner}]", one.name),
    };
    loops.iter().filter(|one| !one.is_unrolled()).map(one).collect::<Vec<_>>().join(", ")
}

fn stated(loops: &[Loop]) -> String {
    let one = |one: &Loop| match stated(one.inner).as_str() {
        "" => one.name.to_owned(),
        inner => format!("{} [{inner}]", one.name),
    };
    loops.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[test]
fn every_loop_of_every_shader_is_stated() {
    for shader in shaders() {
        let loops = wgsl_loops(&text(shader));
        let (name, packing) = (shader.name(), shader.weights());
        assert_eq!(
            stated(shader.stated_loops()),
            written(&loops),
            "{name} of {packing:?}: its loops in Rust and in WGSL"
        );
        assert_eq!(
            loops.iter().any(WgslLoop::has_unrolled_inside),
            UNROLLED_INSIDE.contains(&name),
            "{name}: whether a driver must unroll loops inside others, which is to be measured"
        );
        let rounds: u64 = loops.iter().filter(|one| one.is_unrolled()).map(WgslLoop::rounds).sum();
        assert!(rounds <= Loop::UNROLLED_ROUNDS, "{name}: loops that are not stated take {rounds} rounds");
    }
}

/// Loops are detected in called functions, in branches and without a loop variable.
#[test]
fn a_loop_is_found_wherever_it_is() {
    let text = "
        override PIXELS: u32 = 8u;
        override LENGTH: u32 = 8u;
        fn called(n: u32) -> u32 {
            var sum = 0u;
            for (var k = 0u; k < n; k++) { sum += k; }
            return sum;
        }
        @compute @workgroup_size(1)
        fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            var sum = called(id.x);
            for (var p = 0u; p < PIXELS; p++) { sum += p; }
            for (var q = 0u; q < PIXELS; q++) { sum += called(q); }
            for (var l = 0u; l < LENGTH; l++) { sum += l; }
            for (var m = 0u; m < 17u; m++) { sum += m; }
            if id.y > sum {
                for (var y = 0u; y < id.y; y += 2u) {
                    switch y {
                        case 1u: { for (var x = 4u; x > 0u; x >>= 1u) { sum += called(x); } }
                        default: { for (var z = 0u; z < 4u; z++) { sum += z; } }
                    }
                }
            }
            while sum > 5u { sum -= 1u; }
            loop { if sum > 7u { break; } sum += 1u; }
        }
    ";
    let expected = "k, q [k], l, m, y [x [k]], a loop without a variable, a loop without a variable";
    assert_eq!(written(&wgsl_loops(text)), expected);
}
