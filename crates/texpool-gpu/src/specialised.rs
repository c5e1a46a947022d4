//! Specialises a shader for the `override` constants of a pipeline: their values are put in, and branches that they
//! never take are removed.
//!
//! Drivers put every function in the place of its calls before they look at constants. A kernel that stores sixteen texels
//! therefore came to them with sixteen copies of every activation function, and creating a pipeline took several times as
//! long. A browser gets the whole text and the constants, because it compiles WGSL only.

use super::unrolled::unrolled;
use naga::{
    Arena, Block, Expression, Handle, Literal, Module, Span, Statement, SwitchValue,
    compact::{KeepUnused, compact},
    front::wgsl,
};
use texpool_ops::kernels::Constants;

/// Returns the shader with these constants, and without what they make unreachable.
///
/// # Errors
/// If the text is no WGSL.
pub fn specialised(text: &str, constants: &Constants) -> Result<Module, wgsl::ParseError> {
    reduced(&with_values(text, constants))
}

/// Version of `specialised` with unrolled loops.
pub(super) fn specialised_unrolled(text: &str, constants: &Constants) -> Result<Module, wgsl::ParseError> {
    reduced(&unrolled(&with_values(text, constants)))
}

/// Parses a text, and leaves out what its constants make unreachable.
fn reduced(text: &str) -> Result<Module, wgsl::ParseError> {
    let mut module = wgsl::parse_str(text)?;
    let literals = Literals { constants: module.constants.clone(), values: module.global_expressions.clone() };
    let functions = module.functions.iter_mut().map(|(_, function)| function);
    for function in functions.chain(module.entry_points.iter_mut().map(|entry| &mut entry.function)) {
        let known = |expression| literals.of(&function.expressions, expression);
        function.body = reachable(std::mem::take(&mut function.body), &known);
        // They would keep the results of calls that are gone.
        function.named_expressions.clear();
    }
    compact(&mut module, KeepUnused::No);
    Ok(module)
}

/// Returns the text with each `override` replaced by a constant: of the given value, or of its default.
fn with_values(text: &str, constants: &Constants) -> String {
    let mut result = String::with_capacity(text.len());
    for line in text.lines() {
        result.push_str(&constant(line, constants).unwrap_or_else(|| line.to_owned()));
        result.push('\n');
    }
    result
}

/// Returns the declaration of a constant for that of an `override`; `None` for any other line.
fn constant(line: &str, constants: &Constants) -> Option<String> {
    let declaration = line.strip_prefix("override ")?;
    let (name, of_type) = declaration.split_once(": ")?;
    let Some(&(_, value)) = constants.iter().find(|(other, _)| *other == name) else {
        return Some(format!("const {declaration}"));
    };
    let (of_type, _) = of_type.split_once(" =")?;
    Some(match of_type {
        "bool" => format!("const {name}: bool = {};", value != 0.0),
        _ => format!("const {name}: {of_type} = {of_type}({value});"),
    })
}

/// The constants of a module, and their values.
struct Literals {
    constants: Arena<naga::Constant>,
    values: Arena<Expression>,
}

impl Literals {
    /// Returns the value of an expression of a function, if it is a constant.
    fn of(&self, function: &Arena<Expression>, expression: Handle<Expression>) -> Option<Literal> {
        match function[expression] {
            Expression::Literal(literal) => Some(literal),
            Expression::Constant(constant) => match self.values[self.constants[constant].init] {
                Expression::Literal(literal) => Some(literal),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Returns the statements of a block that can be reached; `known` returns the value of a constant expression.
fn reachable(block: Block, known: &impl Fn(Handle<Expression>) -> Option<Literal>) -> Block {
    let mut result = Block::with_capacity(block.len());
    for (statement, span) in block.span_into_iter() {
        push(&mut result, statement, span, known);
        // Statements after a branch that is always taken may be unreachable. naga refuses those.
        if matches!(result.last(), Some(Statement::Return { .. } | Statement::Break | Statement::Continue)) {
            break;
        }
    }
    result
}

/// Adds a statement, or the branch of it that is always taken.
fn push(result: &mut Block, statement: Statement, span: Span, known: &impl Fn(Handle<Expression>) -> Option<Literal>) {
    let statement = match statement {
        Statement::If { condition, accept, reject } => match known(condition) {
            Some(Literal::Bool(yes)) => {
                return result.extend_block(reachable(if yes { accept } else { reject }, known));
            }
            _ => Statement::If { condition, accept: reachable(accept, known), reject: reachable(reject, known) },
        },
        Statement::Switch { selector, mut cases } => {
            let taken = match known(selector) {
                Some(Literal::U32(value)) => Some(SwitchValue::U32(value)),
                Some(Literal::I32(value)) => Some(SwitchValue::I32(value)),
                _ => None,
            };
            let case = |value| cases.iter().position(|case| case.value == value);
            let index = taken.and_then(|value| case(value).or_else(|| case(SwitchValue::Default)));
            match index {
                // A `break` of the switch would leave what surrounds it.
                Some(index) if !cases[index].fall_through && !leaves(&cases[index].body) => {
                    return result.extend_block(reachable(cases.swap_remove(index).body, known));
                }
                _ => {
                    for case in &mut cases {
                        case.body = reachable(std::mem::take(&mut case.body), known);
                    }
                    Statement::Switch { selector, cases }
                }
            }
        }
        Statement::Block(block) => Statement::Block(reachable(block, known)),
        Statement::Loop { body, continuing, break_if } => {
            Statement::Loop { body: reachable(body, known), continuing: reachable(continuing, known), break_if }
        }
        other => other,
    };
    result.push(statement, span);
}

/// Returns whether a block has a `break` that ends the statement around it.
fn leaves(block: &Block) -> bool {
    block.iter().any(|statement| match statement {
        Statement::Break => true,
        Statement::Block(block) => leaves(block),
        Statement::If { accept, reject, .. } => leaves(accept) || leaves(reject),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::specialised;
    use naga::valid::{Capabilities, ValidationFlags, Validator};

    const TEXT: &str = "
override KIND: u32 = 0u;
override DOUBLE: bool = false;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
fn unused(x: u32) -> u32 { return x * 3u; }
fn of_kind(x: u32) -> u32 {
    switch KIND {
        case 0u: { return x; }
        case 1u: { return unused(x); }
        default: { return 7u; }
    }
}
fn doubled(x: u32) -> u32 {
    if DOUBLE {
        let twice = unused(x) - x;
        return twice;
    }
    return x;
}
@compute @workgroup_size(1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    for (var i = 0u; i < 4u; i++) {
        if KIND == 0u && i == 2u { continue; }
        out[id.x + i] = doubled(of_kind(i));
    }
}
";

    /// The functions of the shader, after checking that it is still valid.
    fn functions(constants: &[(&'static str, f64)]) -> Vec<(String, usize)> {
        let module = specialised(TEXT, &constants.to_vec()).unwrap();
        Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module).unwrap();
        assert!(module.overrides.is_empty());
        module.functions.iter().map(|(_, f)| (f.name.clone().unwrap(), f.body.len())).collect()
    }

    #[test]
    fn branches_that_constants_never_take_are_gone() {
        let named = |name: &str, statements| (name.to_owned(), statements);
        assert_eq!(functions(&[]), [named("of_kind", 1), named("doubled", 1)]);
        let tripled = functions(&[("KIND", 1.0), ("DOUBLE", 1.0)]);
        assert_eq!(tripled.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["unused", "of_kind", "doubled"]);
        assert_eq!(functions(&[("KIND", 9.0)])[0], named("of_kind", 1));
    }
}
