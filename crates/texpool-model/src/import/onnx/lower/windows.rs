//! Reads the windows of convolutions and pools from a node's attributes.

use crate::import::{
    common::window::{self, MAX_REACH},
    error::Problem,
    onnx::node_lowering::NodeLowering,
};
use texpool_ops::graph::Padding;

/// Rule for the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import::onnx) enum Auto {
    Stated,
    /// Border for `extent / stride` results. An odd pixel goes to the end, or to the front if `in_front` is set.
    Same {
        in_front: bool,
    },
    None,
}

/// Windows along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Along {
    pub(super) extent: usize,
    pub(super) stride: usize,
    pub(super) dilation: usize,
    /// Stated border, in front and at the end.
    pub(super) border: [usize; 2],
    pub(super) auto: Auto,
}

impl Along {
    /// Windows of one element.
    pub(super) const SINGLE: Self = Self { extent: 1, stride: 1, dilation: 1, border: [0; 2], auto: Auto::Stated };

    /// Returns whether each window is the element at its place.
    pub(super) fn is_single(&self) -> bool {
        self.extent == 1 && self.stride == 1 && self.border == [0; 2]
    }

    /// Returns the extent spanned by the dilated window.
    pub(super) fn reach(&self) -> Result<usize, Problem> {
        window::reach([1, self.extent], [1, self.dilation]).map(|[_, reach]| reach)
    }

    /// Returns the border of an axis of that extent.
    pub(super) fn around(&self, extent: usize) -> Result<[usize; 2], Problem> {
        let Auto::Same { in_front } = self.auto else { return Ok(self.border) };
        let Padding { left, right, .. } = window::same([1, extent], [1, self.reach()?], [1, self.stride], in_front);
        Ok([left, right])
    }

    /// Returns the number of positions on an axis of that extent. Only complete windows count.
    pub(super) fn positions(&self, extent: usize, border: [usize; 2]) -> Result<usize, Problem> {
        window::positions(extent, border, self.reach()?, self.stride)
    }

    /// Extends the border at the end of an axis of that extent for a last window that hangs over it.
    pub(super) fn overhanging(&self, extent: usize, border: [usize; 2]) -> Result<[usize; 2], Problem> {
        Ok(overhanging(extent, border, self.reach()?, self.stride))
    }
}

/// Window, stride, dilation and border, each as `[y, x]`.
#[derive(Clone, Copy, Debug)]
pub(in crate::import::onnx) struct Window {
    pub(in crate::import::onnx) extent: [usize; 2],
    pub(in crate::import::onnx) stride: [usize; 2],
    pub(in crate::import::onnx) dilation: [usize; 2],
    /// Extents spanned by the dilated window.
    pub(in crate::import::onnx) reach: [usize; 2],
    pub(in crate::import::onnx) padding: Padding,
    pub(in crate::import::onnx) auto: Auto,
}

impl Window {
    /// Joins the windows along the last one or two axes of an image.
    pub(super) fn of(axes: &[Along]) -> Result<Self, Problem> {
        let [y, x] = match *axes {
            [.., y, x] => [y, x],
            [x] => [Along::SINGLE, x],
            [] => [Along::SINGLE; 2],
        };
        let (extent, dilation) = ([y.extent, x.extent], [y.dilation, x.dilation]);
        let ([top, bottom], [left, right]) = (y.border, x.border);
        let padding = Padding { top, bottom, left, right };
        let reach = window::reach(extent, dilation)?;
        Ok(Self { extent, stride: [y.stride, x.stride], dilation, reach, padding, auto: x.auto })
    }

    /// Returns the border for an image with extents `[h, w]`.
    pub(in crate::import::onnx) fn around(&self, image: [usize; 2]) -> Padding {
        match self.auto {
            Auto::Same { in_front } => window::same(image, self.reach, self.stride, in_front),
            Auto::Stated | Auto::None => self.padding,
        }
    }

    /// Extends the border at the end for a last window that hangs over it.
    pub(super) fn overhanging(&self, border: Padding, image: [usize; 2]) -> Padding {
        let Padding { top, bottom, left, right } = border;
        let [_, bottom] = overhanging(image[0], [top, bottom], self.reach[0], self.stride[0]);
        let [_, right] = overhanging(image[1], [left, right], self.reach[1], self.stride[1]);
        Padding { bottom, right, ..border }
    }
}

/// Reads a list with one number per dimension.
pub(super) fn sizes(
    ctx: &NodeLowering<'_>,
    name: &str,
    dimensions: usize,
    default: usize,
) -> Result<Vec<usize>, Problem> {
    let Some(list) = ctx.ints(name) else { return Ok(vec![default; dimensions]) };
    let within = |&n: &i64| usize::try_from(n).ok().filter(|n| (1..=MAX_REACH).contains(n));
    let sizes: Option<Vec<usize>> = list.iter().map(within).collect();
    sizes
        .filter(|sizes| sizes.len() == dimensions)
        .ok_or_else(|| Problem::malformed(format!("its {name} are {list:?} for {dimensions} dimensions")))
}

/// Reads a list with one number for each of one or two dimensions, as `[y, x]`.
pub(in crate::import::onnx) fn spatial(
    ctx: &NodeLowering<'_>,
    name: &str,
    dimensions: usize,
    default: usize,
) -> Result<[usize; 2], Problem> {
    Ok(match *sizes(ctx, name, dimensions, default)? {
        [y, x] => [y, x],
        [x] => [1, x],
        _ => [default; 2],
    })
}

/// Reads the windows along each axis, whose extents are `extent`, from a node's attributes.
pub(super) fn stated(ctx: &NodeLowering<'_>, extent: &[usize]) -> Result<Vec<Along>, Problem> {
    let dimensions = extent.len();
    let auto = match ctx.text("auto_pad", "NOTSET")?.as_str() {
        "NOTSET" | "" => Auto::Stated,
        "SAME_UPPER" => Auto::Same { in_front: false },
        "SAME_LOWER" => Auto::Same { in_front: true },
        "VALID" => Auto::None,
        other => return Err(Problem::malformed(format!("its auto_pad is {other}"))),
    };
    let pads = ctx.ints("pads").unwrap_or_default();
    let borders: Vec<usize> = pads.iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect();
    if borders.iter().any(|&n| n > MAX_REACH) {
        return Err(Problem::unsupported(format!("its pads are {pads:?}")));
    }
    // `auto_pad` overrides the border that the file states.
    let is_stated = auto == Auto::Stated && !borders.is_empty();
    if is_stated && borders.len() != 2 * dimensions {
        return Err(Problem::malformed(format!("its pads are {pads:?} for {dimensions} dimensions")));
    }
    let strides = sizes(ctx, "strides", dimensions, 1)?;
    let dilations = sizes(ctx, "dilations", dimensions, 1)?;
    let along = |axis: usize| Along {
        extent: extent[axis],
        stride: strides[axis],
        dilation: dilations[axis],
        border: if is_stated { [borders[axis], borders[dimensions + axis]] } else { [0; 2] },
        auto,
    };
    Ok((0..dimensions).map(along).collect())
}

/// Reads a window of one or two dimensions from a node's attributes.
pub(in crate::import::onnx) fn stated_window(
    ctx: &NodeLowering<'_>,
    dimensions: usize,
    extent: [usize; 2],
) -> Result<Window, Problem> {
    Window::of(&stated(ctx, &extent[2 - dimensions.min(2)..])?)
}

/// Returns the number of window positions. Only complete windows count.
pub(super) fn slid(slide: &Window, padding: Padding, image: [usize; 2]) -> Result<[usize; 2], Problem> {
    let Padding { top, bottom, left, right } = padding;
    let count = |axis: usize, border| window::positions(image[axis], border, slide.reach[axis], slide.stride[axis]);
    Ok([count(0, [top, bottom])?, count(1, [left, right])?])
}

/// Extends the border at the end for a last window that hangs over it. Such a window exists only if it begins inside
/// the image or the border in front.
fn overhanging(extent: usize, [front, back]: [usize; 2], reach: usize, stride: usize) -> [usize; 2] {
    let room = (extent + front + back).saturating_sub(reach);
    let mut steps = room.div_ceil(stride);
    // A window that begins behind the image would be empty. The first window never does, since the image is not
    // empty.
    if steps * stride >= extent + front {
        steps -= 1;
    }
    [front, back + (steps * stride).saturating_sub(room)]
}
