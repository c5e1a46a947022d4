//! Draws random numbers while importing, so that every run has the same ones. They are those of SplitMix64 (Steele,
//! Lea and Flood, "Fast splittable pseudorandom number generators", 2014).

use crate::import::{
    error::Problem,
    onnx::{
        array::{Array, count},
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::Value,
    },
    op_registry::Floats,
};
use texpool_ops::graph::ElementType;

const LIMITS: &str = "drawn on import, so every run has the same numbers; delegates leave it";

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("RandomNormal", 1, Floats, "none", Any, stated).limits(LIMITS).fold(stated),
    OnnxOpEntry::new("RandomUniform", 1, Floats, "none", Any, stated).limits(LIMITS).fold(stated),
    OnnxOpEntry::new("RandomNormalLike", 1, Floats, "none", Any, like).limits(LIMITS).fold_repeated(like),
    OnnxOpEntry::new("RandomUniformLike", 1, Floats, "none", Any, like).limits(LIMITS).fold_repeated(like),
];

/// The generator. Its state advances by a constant, and each state is mixed into a number.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 up to but not including 1.
    fn uniform(&mut self) -> f64 {
        // As many bits as a 64-bit float holds exactly.
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number of the normal distribution, by Box and Muller's method.
    fn normal(&mut self) -> f64 {
        // From 1 down to but not including 0, whose logarithm is infinite.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Returns a hash of bytes (FNV-1a of 64 bits).
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns the generator of a node: that of its seed, or else of the names of its result and of the calls around it.
/// Iterations of a loop have generators of their own.
fn generator(ctx: &NodeLowering<'_>) -> Result<SplitMix64, Problem> {
    let seed = match ctx.has("seed") {
        true => u64::from(ctx.float("seed", 0.0)?.to_bits()),
        false => hash(ctx.lowering.path.bytes().chain(ctx.node.called()[1].bytes())),
    };
    let iteration = if ctx.lowering.is_in_loop() { ctx.lowering.graph.nodes.len() as u64 } else { 0 };
    Ok(SplitMix64(seed ^ iteration.rotate_left(32)))
}

fn stated(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let shape = ctx.ints("shape").ok_or_else(|| Problem::malformed("it states no shape"))?;
    let dims = shape.iter().map(|&extent| usize::try_from(extent).ok()).collect::<Option<Vec<_>>>();
    let dims = dims.ok_or_else(|| Problem::malformed(format!("its shape is {shape:?}")))?;
    draw(ctx, dims, ElementType::F32)
}

fn like(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    draw(ctx, x.dims().to_vec(), x.element_type())
}

/// Sets the result, of the stated type or else of `usual`.
fn draw(ctx: &mut NodeLowering<'_>, dims: Vec<usize>, usual: ElementType) -> Result<(), Problem> {
    let elem = ctx.stated_type("dtype")?.unwrap_or(usual);
    if !elem.is_float() {
        return Err(Problem::malformed(format!("its numbers are of type {elem}, which has no fractions")));
    }
    count(&dims)?;
    // A logarithm, a root and a cosine for each number.
    let elements = ctx.budget_for(&dims, 2 * size_of::<f32>(), 64)?;
    let is_normal = ctx.node.op.starts_with("RandomNormal");
    let [(first, of_first), (second, of_second)] =
        if is_normal { [("mean", 0.0), ("scale", 1.0)] } else { [("low", 0.0), ("high", 1.0)] };
    let [first, second] = [ctx.float(first, of_first)?, ctx.float(second, of_second)?].map(f64::from);
    let mut generator = generator(ctx)?;
    let number = |_| {
        let number = match is_normal {
            true => first + second * generator.normal(),
            false => first + (second - first) * generator.uniform(),
        };
        number as f32
    };
    let values: Vec<f32> = (0..elements).map(number).collect();
    ctx.values.notes.drawn += 1;
    ctx.give(0, Value::Known(Array::of_floats(dims, elem, &values)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers for the seed 1234567, as other implementations print them.
    #[test]
    fn the_generator_is_the_published_one() {
        let mut generator = SplitMix64(1_234_567);
        let numbers = [(); 3].map(|()| generator.next());
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
