//! Activations fused into an operator of the file.

use crate::import::error::Problem;
use texpool_ops::graph::{Act, Unary};

pub(super) fn activation(code: i8) -> Result<Act, Problem> {
    match code {
        0 => Ok(Act::None),
        1 => Ok(Act::Unary(Unary::Relu)),
        2 => Ok(Act::Unary(Unary::ReluN1To1)),
        3 => Ok(Act::Unary(Unary::Relu6)),
        4 => Ok(Act::Unary(Unary::Tanh)),
        5 => Err(Problem::unsupported("its fused activation SIGN_BIT is not supported")),
        other => Err(Problem::malformed(format!("its fused activation {other} is unknown"))),
    }
}
