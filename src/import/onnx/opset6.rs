//! What operator set 6 says in other ways than 7: operands broadcast where an attribute says so, and not by themselves.

use super::{lower::reshaped, node_lowering::NodeLowering};
use crate::import::error::Problem;

const NEWEST: i64 = 6;

/// Operators of which the second operand's extents lie at the attribute `axis` of the first's.
const BROADCAST: [&str; 12] =
    ["Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater", "PRelu"];

/// Brings a node's operands to the form that operator set 7 knows.
pub(super) fn upgrade(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    if ctx.opset > NEWEST || !ctx.node.domain.is_empty() {
        return Ok(());
    }
    let name = ctx.node.op.as_str();
    if matches!(name, "BatchNormalization" | "Dropout") && !ctx.flag("is_test", false)? {
        return Err(Problem::new("it is in training mode", "export the model for inference"));
    }
    if !BROADCAST.contains(&name) {
        return Ok(());
    }
    let (rank, second) = (ctx.operand(0)?.dims().len(), ctx.operand(1)?);
    let first = match (name, second.dims().len()) {
        // One slope a channel.
        ("PRelu", 1) if second.len() > 1 => 1,
        ("PRelu", _) => return Ok(()),
        _ if ctx.has("axis") => ctx.axis(rank, 0)?,
        _ => return Ok(()),
    };
    let behind = rank.checked_sub(first + second.dims().len());
    let behind = behind.ok_or_else(|| Problem::malformed(format!("{:?} do not fit at axis {first}", second.dims())))?;
    let dims = [second.dims(), &vec![1; behind]].concat();
    ctx.operands[1] = Some(reshaped(ctx.lowering, &second, &dims)?);
    Ok(())
}
