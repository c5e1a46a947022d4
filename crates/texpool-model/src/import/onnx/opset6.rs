//! Handles the differences between operator set 6 and operator set 7. The row of an operator names the difference
//! that applies to it ([`BeforeOpset7`]).

use super::{lower::reshaped, node_lowering::NodeLowering, op_registry::BeforeOpset7};
use crate::import::error::Problem;

/// Converts a node of operator set 6 or older to the form of set 7.
pub(super) fn upgrade(ctx: &mut NodeLowering<'_>, before: BeforeOpset7) -> Result<(), Problem> {
    if ctx.opset >= 7 {
        return Ok(());
    }
    let first = match before {
        BeforeOpset7::Same => return Ok(()),
        BeforeOpset7::TrainsUnlessIsTest if ctx.flag("is_test", false)? => return Ok(()),
        BeforeOpset7::TrainsUnlessIsTest => {
            return Err(Problem::new("it is in training mode", "export the model for inference"));
        }
        BeforeOpset7::BroadcastAtAxis if ctx.has("axis") => ctx.axis(ctx.operand(0)?.dims().len(), 0)?,
        BeforeOpset7::BroadcastAtAxis => return Ok(()),
        BeforeOpset7::SlopePerChannel => match ctx.operand(1)? {
            slopes if slopes.dims().len() == 1 && slopes.len() > 1 => 1,
            _ => return Ok(()),
        },
    };
    let (rank, second) = (ctx.operand(0)?.dims().len(), ctx.operand(1)?);
    let behind = rank.checked_sub(first + second.dims().len());
    let behind = behind.ok_or_else(|| Problem::malformed(format!("{:?} do not fit at axis {first}", second.dims())))?;
    // Broadcasting aligns the last axes, so appending ones moves the operand to the axis where it belongs.
    let dims = [second.dims(), &vec![1; behind]].concat();
    ctx.operands[1] = Some(reshaped(ctx.lowering, &second, &dims)?);
    Ok(())
}
