//! Lowers RoiAlign, which pools regions of pictures at places between the pixels. Weights of rows and of columns are
//! matrices, so that a region is a product of three matrices.

use super::{
    basic::{one, two},
    gather::{picked, picked_by},
    matmul::product,
    reduce::reduced_over,
    shapes::{reshaped, transposed},
    slice::take,
};
use crate::import::{
    common::axes::{AxisRange, axis},
    error::Problem,
    onnx::{
        array::Array,
        fold::math,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::Value,
    },
    op_registry::Floats,
};
use texpool_ops::graph::{Binary, ElementType, ReduceKind, Unary};

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("RoiAlign", 10, Floats, "binary, gather, matmul, reduce, unary", Any, align)
        .limits("the sampling ratio must be stated unless the regions are known")];

/// One side of the regions, down or across.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// Column of the regions that has the begin. The end is two behind.
    begin: usize,
    /// Number of cells of a region.
    cells: usize,
    /// Extent of the pictures.
    extent: usize,
}

/// Places in a cell, as the attributes state them.
#[derive(Clone, Copy, Debug)]
struct Sampling {
    scale: f32,
    /// Distance from the corner of a pixel to its centre, or 0 if regions count from centres.
    offset: f32,
    /// Number of places in a cell along a side. 0 for one for each pixel.
    ratio: usize,
    is_max: bool,
}

/// Weights of the pixels of a side, `[regions, 1, places, extent]`. An average has one matrix, with a row for each cell.
/// A maximum has one for the pixels before each place and one for those behind, with a row for each place.
struct Weights {
    matrices: Vec<Value>,
    /// Number of places in a cell; 1 for averages.
    places: usize,
}

impl Sampling {
    fn of(ctx: &NodeLowering<'_>) -> Result<Self, Problem> {
        let mode = ctx.text("mode", "avg")?;
        if mode != "avg" && mode != "max" {
            return Err(Problem::malformed(format!("its mode is `{mode}`")));
        }
        let before = ctx.opset < 16;
        let counts =
            ctx.text("coordinate_transformation_mode", if before { "output_half_pixel" } else { "half_pixel" })?;
        Ok(Self {
            scale: ctx.float("spatial_scale", 1.0)?,
            offset: if counts == "half_pixel" { 0.5 } else { 0.0 },
            ratio: ctx.size("sampling_ratio", 0)?,
            is_max: mode == "max",
        })
    }

    /// Returns the weights of a side for regions that are known.
    fn known(self, ctx: &mut NodeLowering<'_>, regions: &Array, side: Side) -> Result<Weights, Problem> {
        let values = regions.to_f32();
        let mut spans = Vec::with_capacity(values.len() / 4);
        for region in values.chunks_exact(4) {
            let [from, to] = [region[side.begin], region[side.begin + 2]].map(|at| at * self.scale - self.offset);
            let length = if self.offset == 0.0 { (to - from).max(1.0) } else { to - from };
            let cell = length / side.cells as f32;
            // The cast makes 0 of what is no number.
            let ratio = if self.ratio > 0 { self.ratio } else { cell.ceil().max(0.0) as usize };
            if ratio > side.extent.saturating_mul(8).max(1 << 10) && self.ratio == 0 {
                return Err(Problem::limit(format!("a region has {ratio} places in a cell")));
            }
            spans.push((from, cell, ratio));
        }
        let most = spans.iter().map(|&(_, _, ratio)| ratio).max().unwrap_or(0).max(1);
        let rows = if self.is_max { side.cells.saturating_mul(most) } else { side.cells };
        let dims = vec![spans.len(), 1, rows, side.extent];
        let work = side.cells.saturating_mul(most).saturating_mul(spans.len());
        ctx.meter().work(work.saturating_mul(4))?;
        let count = ctx.budget_for(&dims, 4 * size_of::<f32>(), 1)?;
        let mut matrices = vec![vec![0.0f32; count]; if self.is_max { 2 } else { 1 }];
        for (region, &(from, cell, ratio)) in spans.iter().enumerate() {
            for place in 0..side.cells * most {
                let (in_cell, number) = (place / most, place % most);
                // A region with fewer places repeats its last one, which a maximum does not notice.
                let number = if self.is_max { number.min(ratio.saturating_sub(1)) } else { number };
                if number >= ratio {
                    continue;
                }
                let at = from + in_cell as f32 * cell + (number as f32 + 0.5) * cell / ratio as f32;
                if !(-1.0..=side.extent as f32).contains(&at) {
                    continue;
                }
                let at = at.clamp(0.0, (side.extent - 1) as f32);
                let (low, part) = (at as usize, at.fract());
                let row = (region * rows + if self.is_max { place } else { in_cell }) * side.extent;
                let share = if self.is_max { 1.0 } else { 1.0 / ratio as f32 };
                let behind = matrices.len() - 1;
                matrices[0][row + low] += share * (1.0 - part);
                if low + 1 < side.extent {
                    matrices[behind][row + low + 1] += share * part;
                }
            }
        }
        let array = |values: Vec<f32>| Value::Known(Array::of_floats(dims.clone(), ElementType::F32, &values));
        let matrices = matrices.into_iter().map(array).collect();
        Ok(Weights { matrices, places: if self.is_max { most } else { 1 } })
    }

    /// Returns the weights of a side for regions of a run.
    fn computed(self, ctx: &mut NodeLowering<'_>, regions: &Value, side: Side) -> Result<Weights, Problem> {
        if self.ratio == 0 {
            return Err(Problem::unsupported(
                "its regions are computed at run time, and decide how many places they have",
            ));
        }
        let elem = ElementType::F32;
        let count = regions.dims()[0];
        let places = side.cells.saturating_mul(self.ratio);
        let scalar = |ctx: &mut NodeLowering<'_>, binary, a: &Value, by: f32| {
            two(ctx, binary, a, &math::scalar(by), elem).map(Value::Computed)
        };
        let edge = |ctx: &mut NodeLowering<'_>, column: usize| -> Result<Value, Problem> {
            let edge = take(ctx, regions, &[(1, AxisRange::run(column, 1))])?;
            let edge = reshaped(ctx.lowering, &edge, &[count, 1, 1])?;
            let scaled = scalar(ctx, Binary::Mul, &edge, self.scale)?;
            if self.offset == 0.0 { Ok(scaled) } else { scalar(ctx, Binary::Sub, &scaled, self.offset) }
        };
        let [from, to] = [edge(ctx, side.begin)?, edge(ctx, side.begin + 2)?];
        let mut length = Value::Computed(two(ctx, Binary::Sub, &to, &from, elem)?);
        if self.offset == 0.0 {
            length = scalar(ctx, Binary::Maximum, &length, 1.0)?;
        }
        ctx.budget_for(&[places.saturating_add(side.extent)], 4 * size_of::<f32>(), 1)?;
        let shares: Vec<f32> = (0..places).map(|place| (place as f32 + 0.5) / places as f32).collect();
        let shares = Value::Known(Array::of_floats(vec![places, 1], elem, &shares));
        let along = Value::Computed(two(ctx, Binary::Mul, &length, &shares, elem)?);
        let at = Value::Computed(two(ctx, Binary::Add, &from, &along, elem)?);
        let before = scalar(ctx, Binary::Less, &at, -1.0)?;
        let behind = scalar(ctx, Binary::Greater, &at, side.extent as f32)?;
        let outside = Value::Computed(two(ctx, Binary::Or, &before, &behind, ElementType::Bool)?);
        let at = ctx.compute(&at)?;
        let at = one(ctx, Unary::Clip { min: 0.0, max: (side.extent - 1) as f32 }, &at, elem)?;
        let pixels: Vec<f32> = (0..side.extent).map(|pixel| pixel as f32).collect();
        let pixels = Value::Known(Array::of_floats(vec![side.extent], elem, &pixels));
        // The distance to a pixel, and one minus it, which is the pixel's weight if it is not negative.
        let distance = two(ctx, Binary::Sub, &Value::Computed(at.clone()), &pixels, elem)?;
        let size = Value::Computed(one(ctx, Unary::Abs, &distance, elem)?);
        let near = two(ctx, Binary::Sub, &math::scalar(1.0), &size, elem)?;
        let near = Value::Computed(one(ctx, Unary::Relu, &near, elem)?);
        let weights = two(ctx, Binary::ZeroIf, &outside, &near, elem)?;
        if !self.is_max {
            let cells = [count, side.cells, self.ratio, side.extent];
            let parted = reshaped(ctx.lowering, &Value::Computed(weights), &cells)?;
            let parted = ctx.compute(&parted)?;
            let mean = Value::Computed(reduced_over(ctx, &parted, ReduceKind::Mean, &[2])?);
            let mean = reshaped(ctx.lowering, &mean, &[count, 1, side.cells, side.extent])?;
            return Ok(Weights { matrices: vec![mean], places: 1 });
        }
        let weights = Value::Computed(weights);
        let is_behind = scalar(ctx, Binary::Less, &Value::Computed(distance), 0.0)?;
        let low = Value::Computed(two(ctx, Binary::ZeroIf, &is_behind, &weights, elem)?);
        let high = Value::Computed(two(ctx, Binary::ZeroUnless, &is_behind, &weights, elem)?);
        let mut matrices = Vec::with_capacity(2);
        for corner in [low, high] {
            matrices.push(reshaped(ctx.lowering, &corner, &[count, 1, places, side.extent])?);
        }
        Ok(Weights { matrices, places: self.ratio })
    }

    fn weights(self, ctx: &mut NodeLowering<'_>, regions: &Value, side: Side) -> Result<Weights, Problem> {
        match regions {
            Value::Known(array) => self.known(ctx, array, side),
            Value::Computed(_) => self.computed(ctx, regions, side),
        }
    }
}

/// Returns the picture of each region.
fn pictures(ctx: &mut NodeLowering<'_>, x: &Value, numbers: &Value) -> Result<Value, Problem> {
    // Products repeat a single picture.
    if x.dims()[0] == 1 {
        return Ok(x.clone());
    }
    match numbers {
        Value::Known(numbers) => {
            let list = numbers.to_i64().ok_or_else(|| Problem::malformed("its batch indices are no integers"))?;
            ctx.budget_for(&[list.len()], 2 * size_of::<usize>(), 1)?;
            let list = list.iter().map(|&number| axis(number, x.dims()[0])).collect::<Result<Vec<_>, _>>()?;
            picked(ctx, x, 0, &list)
        }
        Value::Computed(numbers) => picked_by(ctx, x, 0, numbers),
    }
}

fn align(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let [x, regions, numbers] = [ctx.operand(0)?, ctx.operand(1)?, ctx.operand(2)?];
    let (&[_, channels, height, width], &[count, 4], &[also]) = (x.dims(), regions.dims(), numbers.dims()) else {
        let reason = format!("regions of {:?} in pictures of {:?}", regions.dims(), x.dims());
        return Err(Problem::malformed(reason));
    };
    if count != also {
        return Err(Problem::malformed(format!("{count} regions are in {also} pictures")));
    }
    Problem::check_result(&[count, channels, height, width])?;
    let sampling = Sampling::of(ctx)?;
    let (rows, columns) = (ctx.size("output_height", 1)?, ctx.size("output_width", 1)?);
    if rows == 0 || columns == 0 {
        return Err(Problem::empty("its regions have no cells"));
    }
    let down = sampling.weights(ctx, &regions, Side { begin: 1, cells: rows, extent: height })?;
    let across = sampling.weights(ctx, &regions, Side { begin: 0, cells: columns, extent: width })?;
    let pictures = pictures(ctx, &x, &numbers)?;
    let mut best: Option<Value> = None;
    for of_columns in &across.matrices {
        let turned = transposed(ctx.lowering, of_columns, &[0, 1, 3, 2])?;
        let narrow = product(ctx, &pictures, &turned)?;
        for of_rows in &down.matrices {
            let sampled = product(ctx, of_rows, &narrow)?;
            best = Some(match best {
                Some(best) => Value::Computed(two(ctx, Binary::Maximum, &best, &sampled, x.element_type())?),
                None => sampled,
            });
        }
    }
    let sampled = best.ok_or_else(|| Problem::malformed("it has no weights"))?;
    let result = match (down.places, across.places) {
        (1, 1) => sampled,
        (of_rows, of_columns) => {
            let dims = [count, channels, rows, of_rows, columns, of_columns];
            let parted = reshaped(ctx.lowering, &sampled, &dims)?;
            let parted = ctx.compute(&parted)?;
            Value::Computed(reduced_over(ctx, &parted, ReduceKind::Max, &[3, 5])?)
        }
    };
    let result = reshaped(ctx.lowering, &result, &[count, channels, rows, columns])?;
    let mut result = ctx.compute(&result)?;
    result.elem = x.element_type();
    ctx.give(0, Value::Computed(result));
    Ok(())
}
