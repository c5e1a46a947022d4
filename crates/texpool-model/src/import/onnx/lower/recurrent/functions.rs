//! Functions of recurrent cells, by their names in the file.

use crate::import::{error::Problem, onnx::node_lowering::NodeLowering};
use texpool_ops::graph::{CellFunction, Unary};

/// Returns the functions of a cell, which are the same in all directions. `default` names those of one direction.
pub(super) fn functions<const N: usize>(
    ctx: &NodeLowering<'_>,
    directions: usize,
    default: [&str; N],
) -> Result<[CellFunction; N], Problem> {
    let mut named: Vec<&str> = match ctx.texts("activations") {
        [] => default.repeat(directions),
        named => named.iter().map(String::as_str).collect(),
    };
    // ONNX states one function for each of two directions as the default of the plain cell, and files repeat that list
    // for a cell with one direction.
    if (N, directions, named.len()) == (1, 1, 2) {
        named.truncate(1);
    }
    if named.len() != N * directions {
        let reason = format!("its activations are {named:?}, its directions have {} altogether", N * directions);
        return Err(Problem::malformed(reason));
    }
    let list = |name: &str| ctx.floats(name).unwrap_or_default().into_iter();
    let (mut alphas, mut betas) = (list("activation_alpha"), list("activation_beta"));
    let mut activations = Vec::with_capacity(named.len());
    for name in named {
        activations.push(function(name, &mut alphas, &mut betas)?);
    }
    // Each direction would need a shader of its own.
    if activations.chunks(N).any(|functions| functions != &activations[..N]) {
        return Err(Problem::unsupported("its directions have different activations"));
    }
    Ok(std::array::from_fn(|i| activations[i]))
}

/// Returns a function. Those that have parameters take the next ones of the lists.
fn function(
    name: &str,
    alphas: &mut impl Iterator<Item = f32>,
    betas: &mut impl Iterator<Item = f32>,
) -> Result<CellFunction, Problem> {
    let mut alpha = |default: f32| alphas.next().unwrap_or(default);
    let mut beta = |default: f32| betas.next().unwrap_or(default);
    let plain = CellFunction::plain;
    Ok(match name.to_ascii_lowercase().as_str() {
        "relu" => plain(Unary::Relu),
        "tanh" => plain(Unary::Tanh),
        "sigmoid" => plain(Unary::Logistic),
        "softplus" => plain(Unary::Softplus),
        "leakyrelu" => plain(Unary::LeakyRelu { alpha: alpha(0.01) }),
        "elu" => plain(Unary::Elu { alpha: alpha(1.0) }),
        "hardsigmoid" => plain(Unary::HardSigmoid { alpha: alpha(0.2), beta: beta(0.5) }),
        "affine" => CellFunction { function: None, inner: 1.0, scale: alpha(1.0), offset: beta(0.0) },
        "scaledtanh" => CellFunction { scale: alpha(1.0), inner: beta(1.0), ..plain(Unary::Tanh) },
        _ => return Err(Problem::unsupported(format!("its activation {name} is none that a recurrent cell can have"))),
    })
}
