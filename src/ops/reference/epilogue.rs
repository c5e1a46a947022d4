//! CPU reference of the epilogue: `then(first(result) + add)`.

use super::operands::{Operands, ReferenceError};
use crate::graph::{Act, Shape, evaluate};

/// Applies the node's epilogue to its result.
pub(super) fn apply(operands: &Operands<'_>, mut result: Vec<f32>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
    let epilogue = operands.node.epilogue;
    activate(operands, epilogue.first, &mut result, out)?;
    if let Some(add) = epilogue.add {
        let add = operands.tensor(add)?;
        let c = add.shape.c;
        // The addend may have fewer channels than the result: `zip` stops after these, and the rest is not changed.
        for (pixel, added) in result.chunks_mut(out.c.max(1)).zip(add.data.chunks(c.max(1))) {
            pixel.iter_mut().zip(added).for_each(|(x, a)| *x += a);
        }
    }
    activate(operands, epilogue.then, &mut result, out)?;
    Ok(result)
}

fn activate(operands: &Operands<'_>, act: Act, values: &mut [f32], out: Shape) -> Result<(), ReferenceError> {
    match act {
        Act::None => {}
        Act::Unary(unary) => values.iter_mut().for_each(|x| *x = evaluate::unary(unary, *x)),
        Act::Prelu(alpha) => {
            let alpha = operands.tensor(alpha)?;
            for pixel in values.chunks_mut(out.c.max(1)) {
                for (x, a) in pixel.iter_mut().zip(alpha.data.iter()) {
                    if *x < 0.0 {
                        *x *= a;
                    }
                }
            }
        }
    }
    Ok(())
}
