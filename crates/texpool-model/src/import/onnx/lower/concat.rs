//! Lowers Concat.

use super::align::placed_as;
use crate::import::{
    common::extents,
    error::Problem,
    onnx::{
        array::{Array, count},
        layout::AtomLayout,
        layout_selection::resized,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::LikeOperand, OnnxOpEntry},
        value::{Computed, Value},
    },
    op_registry::All,
};
use texpool_ops::graph::{Concat, ElementType, Op};

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("Concat", 1, All, "concat", LikeOperand, concat).fold(concat)];

fn concat(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let values = (0..ctx.count()).map(|i| ctx.operand(i)).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = values.first() else { return Err(Problem::malformed("it has no operands")) };
    let along = ctx.axis(first.dims().len(), 1)?;
    let result = joined(ctx, &values, along)?;
    ctx.give(0, result);
    Ok(())
}

/// Concatenates values.
pub(in crate::import::onnx) fn joined(
    ctx: &mut NodeLowering<'_>,
    values: &[Value],
    along: usize,
) -> Result<Value, Problem> {
    let dims = extents::concatenated(&values.iter().map(Value::dims).collect::<Vec<_>>(), along)?;
    let constants: Option<Vec<&Array>> = values.iter().map(Value::known).collect();
    if let Some(arrays) = constants {
        // Charged for reading all elements, and for the bytes of the result.
        ctx.budget_for(&dims, 4 * size_of::<i64>(), 1)?;
        return known_joined(&arrays, dims, along).map(Value::Known);
    }
    if dims.contains(&0) {
        return Ok(Value::Known(Array::nothing(dims, values.first().map_or(ElementType::F32, Value::element_type))));
    }
    Problem::check_result(&dims)?;
    // Empty operands add nothing, and the graph does not support empty tensors.
    let values: Vec<&Value> = values.iter().filter(|value| value.len() > 0).collect();
    // Uses the layout of the largest computed operand, with the axis isolated.
    let largest = values.iter().filter_map(|value| match value {
        Value::Computed(computed) => Some(computed),
        Value::Known(_) => None,
    });
    let Some(main) = largest.max_by_key(|x| x.dims.iter().product::<usize>()) else {
        return Err(Problem::unsupported("nothing is left of its operands"));
    };
    // Each of the other axes becomes one atom, because the operands may be split in different ways.
    let others: Vec<usize> = (0..dims.len()).filter(|&a| a != along).collect();
    let order = axis_order(main, &others);
    let (layout, slot) = joint_layout(&dims, along, &order, main)?;
    let mut tensors = Vec::with_capacity(values.len());
    for value in values {
        let part = resized(&layout, &dims, along, slot, value.dims()[along]);
        let tensor = placed_as(ctx.lowering, value, &part)?;
        tensors.push(tensor);
    }
    let tensor = match tensors.as_slice() {
        [one] => *one,
        _ => ctx.emit(Op::Concat(Concat { axis: slot }), &tensors, layout.shape())?,
    };
    let elem = main.elem;
    Ok(Value::Computed(Computed { tensor, layout: layout.tidy(&dims), dims, elem }))
}

/// Orders logical axes by the places of their first atoms.
fn axis_order(x: &Computed, axes: &[usize]) -> [Vec<usize>; 4] {
    let runs = x.layout.runs(&x.dims);
    let mut order: [Vec<usize>; 4] = Default::default();
    for (slot, list) in x.layout.places.iter().enumerate() {
        for &atom in list {
            order[slot].extend(axes.iter().filter(|&&axis| runs[axis].start == atom && !runs[axis].is_empty()));
        }
    }
    order
}

/// Returns the layout of the result. The other axes are placed as in `order`. `along` has a physical axis for itself,
/// the one of the largest operand if possible.
fn joint_layout(
    dims: &[usize],
    along: usize,
    order: &[Vec<usize>; 4],
    main: &Computed,
) -> Result<(AtomLayout, usize), Problem> {
    let run = main.layout.runs(&main.dims)[along].clone();
    let own = main.layout.places.iter().position(|list| list.contains(&run.start) && !run.is_empty());
    let free = own.filter(|&slot| order[slot].is_empty()).or_else(|| (0..4).find(|&slot| order[slot].is_empty()));
    let mut axes = order.clone();
    let slot = match free {
        Some(slot) => slot,
        None => {
            // All four axes are in use. Merges H into B, which frees H and leaves W and C unchanged.
            let last = std::mem::take(&mut axes[1]);
            axes[0].extend(last);
            1
        }
    };
    axes[slot] = vec![along];
    Ok((AtomLayout::of(dims, &axes), slot))
}

fn known_joined(arrays: &[&Array], dims: Vec<usize>, along: usize) -> Result<Array, Problem> {
    let elements = count(&dims)?;
    let inner: usize = dims[along + 1..].iter().product();
    // If the result is empty, the file may state any number of rows, so the loop is skipped.
    let outer: usize = if elements == 0 { 0 } else { dims[..along].iter().product() };
    let elem = arrays[0].element_type();
    let pieces = |outer: usize| {
        arrays.iter().map(move |array| (array, outer * array.dims()[along] * inner, array.dims()[along] * inner))
    };
    let ints: Option<Vec<&[i64]>> = arrays.iter().map(|array| array.to_i64()).collect();
    Ok(match ints {
        Some(ints) => {
            let mut values = Vec::with_capacity(elements);
            for o in 0..outer {
                for (list, (_, start, length)) in ints.iter().zip(pieces(o)) {
                    values.extend_from_slice(&list[start..start + length]);
                }
            }
            Array::of_ints(dims, elem, values)
        }
        None => {
            let floats: Vec<_> = arrays.iter().map(|array| array.to_f32()).collect();
            let mut values = Vec::with_capacity(elements);
            for o in 0..outer {
                for (list, (_, start, length)) in floats.iter().zip(pieces(o)) {
                    values.extend_from_slice(&list[start..start + length]);
                }
            }
            Array::of_floats(dims, elem, &values)
        }
    })
}
