//! What operator set 6 says in other ways than 7: operands broadcast where an attribute says so, and not by themselves.

use super::{call::Call, lower::reshaped};
use crate::import::error::Problem;

const NEWEST: i64 = 6;

/// Operators of which the second operand's extents lie at the attribute `axis` of the first's.
const BROADCAST: [&str; 12] =
    ["Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater", "PRelu"];

/// Brings a node's operands to the form that operator set 7 knows.
pub(super) fn renew(call: &mut Call<'_>) -> Result<(), Problem> {
    if call.opset > NEWEST || !call.node.domain.is_empty() {
        return Ok(());
    }
    let name = call.node.op.as_str();
    if matches!(name, "BatchNormalization" | "Dropout") && !call.flag("is_test", false)? {
        return Err(Problem::new("it is in training mode", "export the model for inference"));
    }
    if !BROADCAST.contains(&name) {
        return Ok(());
    }
    let (rank, second) = (call.operand(0)?.dims().len(), call.operand(1)?);
    let first = match (name, second.dims().len()) {
        // One slope a channel.
        ("PRelu", 1) if second.len() > 1 => 1,
        ("PRelu", _) => return Ok(()),
        _ if call.has("axis") => call.axis(rank, 0)?,
        _ => return Ok(()),
    };
    let behind = rank.checked_sub(first + second.dims().len());
    let behind = behind.ok_or_else(|| Problem::malformed(format!("{:?} do not fit at axis {first}", second.dims())))?;
    let dims = [second.dims(), &vec![1; behind]].concat();
    call.operands[1] = Some(reshaped(call.site, &second, &dims)?);
    Ok(())
}
