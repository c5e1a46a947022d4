//! Lowers the selection of boxes: NON_MAX_SUPPRESSION_V4 and V5, and the custom operator that ends most detectors.

use super::{
    custom::{CustomOptions, count},
    parts::{joined, part, stored},
};
use crate::import::{
    error::Problem,
    op_registry::{Floats, Support},
    tflite::{
        op_registry::{Described::Alone, TfLiteOpEntry},
        operator_lowering::OperatorLowering,
    },
};
use texpool_ops::graph::{
    Act, Binary, Gather, MAX_ELEMENTS, NonMaxSuppression, Op, Pad, PadMode, Reduce, ReduceKind, Shape, TensorId,
    Threshold, TopK, Transpose, Unary,
};

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new("NON_MAX_SUPPRESSION_V4", Alone(SUPPRESSION), suppression).several_results(),
    TfLiteOpEntry::new("NON_MAX_SUPPRESSION_V5", Alone(SUPPRESSION), suppression).several_results(),
    TfLiteOpEntry::new(
        DETECTION,
        Alone(Support::new(Floats, "non_max_suppression").limits(DETECTION_LIMITS)),
        detection,
    )
    .several_results(),
];

const SUPPRESSION: Support = Support::new(Floats, "non_max_suppression").limits(
    "number and limits must be known; 98304 boxes; a sigma of 0; places without a box are 0; of equal scores, the lower \
     index comes first",
);
const DETECTION: &str = "CUSTOM TFLite_Detection_PostProcess";
const DETECTION_LIMITS: &str =
    "anchors must be constant; 98304 of them; places without a box are 0; of equal scores, the lower index comes first";

/// Detections of a class if the operator states no number, as in TensorFlow Lite.
const DETECTIONS_PER_CLASS: f64 = 100.0;

/// Returns a tensor with zeros behind its elements.
fn widened(ctx: &mut OperatorLowering<'_, '_>, x: TensorId, shape: Shape) -> Result<TensorId, Problem> {
    let (from, to) = (ctx.shape(x).dims(), shape.dims());
    if from == to {
        return Ok(x);
    }
    let after = std::array::from_fn(|axis| (to[axis] - from[axis]) as isize);
    ctx.between(Op::Pad(Pad { before: [0; 4], after, mode: PadMode::Constant(0.0) }), &[x], shape)
}

/// Gives a tensor as a result of these extents, which the file need not state.
fn give(ctx: &mut OperatorLowering<'_, '_>, result: usize, x: TensorId, dims: &[usize]) -> Result<(), Problem> {
    ctx.select(result)?;
    ctx.gives_if_stated(dims)?;
    let shape = ctx.shape(x);
    ctx.emit_as(Op::Reshape, &[x], Act::None, shape)
}

/// Selects boxes, and returns the operator's result.
fn select(
    ctx: &mut OperatorLowering<'_, '_>,
    op: NonMaxSuppression,
    [boxes, scores]: [TensorId; 2],
) -> Result<TensorId, Problem> {
    let shape = Shape { w: op.places + 1, c: 2, ..ctx.shape(scores) };
    ctx.between(Op::NonMaxSuppression(op), &[boxes, scores], shape)
}

/// The results are the indices of the selected boxes, their scores in version 5, and their number.
fn suppression(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(5, 6)?;
    let is_v5 = ctx.operand_count() == 6;
    ctx.results(if is_v5 { 3 } else { 2 })?;
    let (boxes, scores) = (ctx.operand(0)?, ctx.operand(1)?);
    let count = match (ctx.dims(boxes), ctx.dims(scores)) {
        (&[count, 4], &[of]) if count == of => count,
        (boxes, scores) => {
            return Err(Problem::malformed(format!("{boxes:?} are no boxes of the scores {scores:?}")));
        }
    };
    if !ctx.is_float(boxes) || !ctx.is_float(scores) {
        return Err(Problem::unsupported("its boxes or scores are quantised"));
    }
    let number = usize::try_from(ctx.integer(2, "number of boxes")?).ok().filter(|number| *number <= MAX_ELEMENTS);
    let number = number.ok_or_else(|| Problem::malformed("its number of boxes is below 0, or too large"))?;
    if number == 0 {
        return Err(Problem::empty("it selects no boxes"));
    }
    let [overlap, score] = [ctx.scalar(3, "limit of the overlap")?, ctx.scalar(4, "limit of the score")?];
    if !(0.0..=1.0).contains(&overlap) || score.is_nan() {
        return Err(Problem::malformed(format!("its limits are {overlap} for the overlap and {score} for the score")));
    }
    if is_v5 && ctx.scalar(5, "sigma")? != 0.0 {
        return Err(Problem::unsupported("it lowers scores instead of leaving boxes out: its sigma is not 0"));
    }
    let places = number.min(count);
    let score = Threshold { value: score, is_included: false };
    let overlap = Threshold { value: overlap, is_included: true };
    let op = NonMaxSuppression { places, score, overlap, unused: [0.0; 2] };
    let boxes = stored(ctx, boxes, Shape::new(1, 1, count, 4))?;
    let scores = stored(ctx, scores, Shape::new(1, 1, 1, count))?;
    let found = select(ctx, op, [boxes, scores])?;
    for channel in 0..=usize::from(is_v5) {
        let column = part(ctx, found, [0, 0, 0, channel], Shape::new(1, 1, places, 1))?;
        let column = widened(ctx, column, Shape::new(1, 1, number, 1))?;
        give(ctx, channel, column, &[number])?;
    }
    let selected = part(ctx, found, [0, 0, places, 0], Shape::new(1, 1, 1, 1))?;
    give(ctx, 1 + usize::from(is_v5), selected, &[])
}

/// Options of the custom operator.
#[derive(Debug)]
struct Options {
    /// Most boxes of a run, most classes of a box, and most boxes of a class.
    boxes: usize,
    classes_per_box: usize,
    boxes_per_class: usize,
    classes: usize,
    /// True if each class selects boxes for itself. Otherwise a box has the score of its best class.
    is_by_class: bool,
    score: f32,
    overlap: f32,
    /// Divisors of the codes of `y`, `x`, height and width.
    scales: [f64; 4],
}

impl Options {
    fn new(bytes: &[u8]) -> Result<Self, Problem> {
        let stated = CustomOptions::new(bytes)?;
        let [boxes, classes_per_box, classes] =
            ["max_detections", "max_classes_per_detection", "num_classes"].map(|name| stated.count(name));
        let is_by_class = stated.optional("use_regular_nms").is_some_and(|flag| flag != 0.0);
        let per_class = "detections_per_class";
        let boxes_per_class = match is_by_class {
            true => count(per_class, stated.optional(per_class).unwrap_or(DETECTIONS_PER_CLASS))?,
            false => 1,
        };
        let [score, overlap] = ["nms_score_threshold", "nms_iou_threshold"].map(|name| stated.number(name));
        let (score, overlap) = (score? as f32, overlap? as f32);
        if !(overlap > 0.0 && overlap <= 1.0) || score.is_nan() {
            return Err(Problem::malformed(format!(
                "its limits are {overlap} for the overlap and {score} for the score"
            )));
        }
        let [y, x, h, w] = ["y_scale", "x_scale", "h_scale", "w_scale"].map(|name| stated.number(name));
        let scales = [y?, x?, h?, w?];
        if scales.iter().any(|scale| !scale.is_normal()) {
            return Err(Problem::malformed(format!("its scales are {scales:?}")));
        }
        let (boxes, classes_per_box, classes) = (boxes?, classes_per_box?, classes?);
        Ok(Self { boxes, classes_per_box, boxes_per_class, classes, is_by_class, score, overlap, scales })
    }
}

/// The results are boxes, classes, scores and the number of detections.
fn detection(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(3, 3)?;
    ctx.results(4)?;
    let options = Options::new(ctx.custom_options()?)?;
    let (codes, scores) = (ctx.operand(0)?, ctx.operand(1)?);
    let (anchors, channels, all) = match (ctx.dims(codes), ctx.dims(scores)) {
        (&[1, anchors, channels], &[1, of, all]) if anchors == of && channels >= 4 => (anchors, channels, all),
        (codes, scores) => {
            return Err(Problem::malformed(format!("{codes:?} are no boxes of the scores {scores:?}")));
        }
    };
    // A class in front of all others is the background.
    let first = match all.checked_sub(options.classes) {
        Some(first @ 0..=1) => first,
        _ => return Err(Problem::malformed(format!("its scores are of {all} classes, not of {}", options.classes))),
    };
    let (boxes, total) = (options.boxes.min(anchors), options.boxes.saturating_mul(options.classes_per_box));
    if total > MAX_ELEMENTS / 4 {
        return Err(Problem::limit(format!("its {total} detections are too many")));
    }
    let codes = stored(ctx, codes, Shape::new(1, 1, anchors, channels))?;
    let boxes_of_anchors = decoded(ctx, codes, anchors, &options)?;
    let scores = stored(ctx, scores, Shape::new(1, 1, anchors, all))?;
    let scores = part(ctx, scores, [0, 0, 0, first], Shape::new(1, 1, anchors, options.classes))?;
    let found = match options.is_by_class {
        true => by_class(ctx, boxes_of_anchors, scores, &options)?,
        false => by_best_class(ctx, boxes_of_anchors, scores, boxes, &options)?,
    };
    // A row of detections is a box; its classes lie along the columns.
    let Found { boxes, classes, scores, number } = found;
    let each = ctx.shape(classes).c;
    let rows = ctx.shape(classes).w;
    let (per_row, most) = if options.is_by_class { (1, total) } else { (options.classes_per_box, options.boxes) };
    let single = ctx.view(boxes, Shape::new(1, rows, 1, 4))?;
    let boxes = if each == 1 { single } else { ctx.between(Op::Tile, &[single], Shape::new(1, rows, each, 4))? };
    let boxes = widened(ctx, boxes, Shape::new(1, most, per_row, 4))?;
    give(ctx, 0, boxes, &[1, total, 4])?;
    for (result, values) in [(1, classes), (2, scores)] {
        let values = widened(ctx, values, Shape::new(1, 1, most, per_row))?;
        give(ctx, result, values, &[1, total])?;
    }
    give(ctx, 3, number, &[1])
}

/// Results of a detector: boxes `[1, 1, N, 4]`, classes and scores `[1, 1, N, classes of a box]`, and their number.
struct Found {
    boxes: TensorId,
    classes: TensorId,
    scores: TensorId,
    number: TensorId,
}

/// Returns boxes by their corners: `y` and `x`, first the lower ones.
fn decoded(
    ctx: &mut OperatorLowering<'_, '_>,
    codes: TensorId,
    count: usize,
    options: &Options,
) -> Result<TensorId, Problem> {
    let anchors = ctx.constant(2, "anchors")?;
    if ctx.dims(anchors) != [count, 4] {
        let dims = ctx.dims(anchors);
        return Err(Problem::malformed(format!("its anchors are {dims:?}, not of {count} boxes")));
    }
    let values = ctx.reals(2, "anchors")?;
    let [y_scale, x_scale, h_scale, w_scale] = options.scales;
    let anchors = values.as_chunks::<4>().0.iter().map(|anchor| anchor.map(f64::from));
    let mut list = |of: &dyn Fn([f64; 4]) -> [f64; 2]| -> Result<TensorId, Problem> {
        let numbers = ctx.meter().filled(2 * count, anchors.clone().flat_map(of).map(|number| number as f32))?;
        ctx.new_constant(Shape::new(1, 1, count, 2), &numbers)
    };
    let steps = list(&|[_, _, h, w]| [h / y_scale, w / x_scale])?;
    let centres = list(&|[y, x, ..]| [y, x])?;
    let halves = list(&|[_, _, h, w]| [0.5 * h, 0.5 * w])?;
    let inverse = [h_scale, w_scale].map(|scale| (1.0 / scale) as f32);
    let inverse = ctx.new_constant(Shape::new(1, 1, 1, 2), &inverse)?;
    let pairs = Shape::new(1, 1, count, 2);
    let binary = |ctx: &mut OperatorLowering<'_, '_>, op: Binary, a: TensorId, b: TensorId| {
        ctx.between(Op::Binary(op), &[a, b], pairs)
    };
    let moved = part(ctx, codes, [0; 4], pairs)?;
    let moved = binary(ctx, Binary::Mul, moved, steps)?;
    let centres = binary(ctx, Binary::Add, moved, centres)?;
    let sizes = part(ctx, codes, [0, 0, 0, 2], pairs)?;
    let sizes = binary(ctx, Binary::Mul, sizes, inverse)?;
    let sizes = ctx.between(Op::Unary(Unary::Exp), &[sizes], pairs)?;
    let sizes = binary(ctx, Binary::Mul, sizes, halves)?;
    let low = binary(ctx, Binary::Sub, centres, sizes)?;
    let high = binary(ctx, Binary::Add, centres, sizes)?;
    joined(ctx, 3, &[low, high])
}

/// Selects boxes by their best class, and returns the best classes of each.
fn by_best_class(
    ctx: &mut OperatorLowering<'_, '_>,
    boxes: TensorId,
    scores: TensorId,
    places: usize,
    options: &Options,
) -> Result<Found, Problem> {
    let count = ctx.shape(scores).w;
    let k = options.classes_per_box.min(options.classes);
    let per_anchor = Shape::new(1, 1, count, k);
    let [values, classes] =
        [false, true].map(|indices| ctx.between(Op::TopK(TopK { k, largest: true, indices }), &[scores], per_anchor));
    let (values, classes) = (values?, classes?);
    let best = part(ctx, values, [0; 4], Shape { c: 1, ..per_anchor })?;
    let best = ctx.view(best, Shape::new(1, 1, 1, count))?;
    let found = select(ctx, suppressing(places, options, [count as f32, 0.0]), [boxes, best])?;
    let indices = part(ctx, found, [0; 4], Shape::new(1, 1, places, 1))?;
    let indices = ctx.view(indices, Shape::new(1, 1, 1, places))?;
    // The row behind the last anchor is that of places without a box.
    let table = joined(ctx, 3, &[boxes, classes, values])?;
    let columns = 4 + 2 * k;
    let table = widened(ctx, table, Shape::new(1, 1, count + 1, columns))?;
    let rows = ctx.between(Op::Gather(Gather { axis: 2 }), &[table, indices], Shape::new(1, 1, places, columns))?;
    let [boxes, classes, scores] =
        [(0, 4), (4, k), (4 + k, k)].map(|(begin, c)| part(ctx, rows, [0, 0, 0, begin], Shape::new(1, 1, places, c)));
    let number = part(ctx, found, [0, 0, places, 0], Shape::new(1, 1, 1, 1))?;
    Ok(Found { boxes: boxes?, classes: classes?, scores: scores?, number })
}

/// The operator with the limits of TensorFlow Lite's custom operator.
const fn suppressing(places: usize, options: &Options, unused: [f32; 2]) -> NonMaxSuppression {
    let score = Threshold { value: options.score, is_included: true };
    let overlap = Threshold { value: options.overlap, is_included: false };
    NonMaxSuppression { places, score, overlap, unused }
}

/// Lets each class select boxes, and returns the best of all classes.
fn by_class(
    ctx: &mut OperatorLowering<'_, '_>,
    boxes: TensorId,
    scores: TensorId,
    options: &Options,
) -> Result<Found, Problem> {
    if options.score < 0.0 {
        let reason =
            format!("each class selects boxes by scores below 0: its nms_score_threshold is {}", options.score);
        return Err(Problem::unsupported(reason));
    }
    let (count, classes) = (ctx.shape(scores).w, options.classes);
    let turn = Op::Transpose(Transpose { perm: [0, 3, 1, 2] });
    let scores = ctx.between(turn, &[scores], Shape::new(1, classes, 1, count))?;
    let places = options.boxes_per_class.min(count);
    // A negative score marks places without a box.
    let found = select(ctx, suppressing(places, options, [count as f32, -1.0]), [boxes, scores])?;
    let columns = Shape::new(1, classes, places, 1);
    let [indices, values] = [0, 1].map(|channel| part(ctx, found, [0, 0, 0, channel], columns));
    let all = classes * places;
    let indices = ctx.view(indices?, Shape::new(1, 1, all, 1))?;
    let numbers = (0..classes).flat_map(|class| std::iter::repeat_n(class as f32, places));
    let numbers = ctx.meter().filled(all, numbers)?;
    let numbers = ctx.new_constant(Shape::new(1, 1, all, 1), &numbers)?;
    let table = joined(ctx, 3, &[indices, numbers])?;
    let values = ctx.view(values?, Shape::new(1, 1, 1, all))?;
    let k = options.boxes.min(all);
    let line = Shape::new(1, 1, 1, k);
    let [best, order] =
        [false, true].map(|indices| ctx.between(Op::TopK(TopK { k, largest: true, indices }), &[values], line));
    let rows = ctx.between(Op::Gather(Gather { axis: 2 }), &[table, order?], Shape::new(1, 1, k, 2))?;
    let column = Shape::new(1, 1, k, 1);
    let [indices, classes_found] = [0, 1].map(|channel| part(ctx, rows, [0, 0, 0, channel], column));
    let indices = ctx.view(indices?, line)?;
    // The row behind the last anchor is that of places without a box.
    let table = widened(ctx, boxes, Shape::new(1, 1, count + 1, 4))?;
    let boxes = ctx.between(Op::Gather(Gather { axis: 2 }), &[table, indices], Shape::new(1, 1, k, 4))?;
    let best = ctx.view(best?, column)?;
    let zero = ctx.new_constant(Shape::new(1, 1, 1, 1), &[0.0])?;
    let is_found = ctx.between(Op::Binary(Binary::GreaterEqual), &[best, zero], column)?;
    let classes_found = ctx.between(Op::Binary(Binary::Mul), &[classes_found?, is_found], column)?;
    let scores = ctx.between(Op::Unary(Unary::Relu), &[best], column)?;
    let numbers = part(ctx, found, [0, 0, places, 0], Shape::new(1, classes, 1, 1))?;
    let sum = Op::Reduce(Reduce { kind: ReduceKind::Sum, axes: [false, true, false, false] });
    let number = ctx.between(sum, &[numbers], Shape::new(1, 1, 1, 1))?;
    let most = ctx.new_constant(Shape::new(1, 1, 1, 1), &[k as f32])?;
    let number = ctx.between(Op::Binary(Binary::Minimum), &[number, most], Shape::new(1, 1, 1, 1))?;
    Ok(Found { boxes, classes: classes_found, scores, number })
}
