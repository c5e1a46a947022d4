//! CPU reference of separable convolutions.

use super::SeparableConv2d;
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError, each_pixel, inside},
};

impl Reference for SeparableConv2d {
    /// Computes all channels of the depthwise convolution at a pixel, and then the sums over them.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let [weights, bias] = [&operands.get(1)?, &operands.get(2)?];
        let [window, window_bias] = [&operands.get(3)?, &operands.get(4)?];
        let conv = &self.depthwise;
        let mut values = Vec::with_capacity(out.len());
        each_pixel(out, |b, oy, ox| {
            let mut between = window_bias.data.to_vec();
            for ky in 0..window.shape.h {
                let y = inside(oy * conv.stride[0], ky * conv.dilation[0], conv.padding.top, x.shape.h);
                let Some(y) = y else { continue };
                for kx in 0..window.shape.w {
                    let column = inside(ox * conv.stride[1], kx * conv.dilation[1], conv.padding.left, x.shape.w);
                    let Some(column) = column else { continue };
                    let taps = window.pixel(0, ky, kx).iter();
                    for ((sum, value), tap) in between.iter_mut().zip(x.pixel(b, y, column)).zip(taps) {
                        *sum += value * tap;
                    }
                }
            }
            if let Some(function) = self.between {
                between.iter_mut().for_each(|value| *value = function.of(*value));
            }
            for o in 0..out.c {
                let products = between.iter().zip(weights.pixel(o, 0, 0)).map(|(value, weight)| value * weight);
                values.push(products.sum::<f32>() + bias.data[o]);
            }
        });
        Ok(values)
    }
}
