//! Which reductions there are.

/// Functions of all values along some axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceKind {
    /// Arithmetic mean.
    Mean,
    /// Sum.
    Sum,
    /// Sum of the squares.
    SumSquare,
    /// The greatest.
    Max,
    /// The least.
    Min,
    /// Product.
    Prod,
    /// Sum of the absolute values.
    L1,
    /// Square root of the sum of the squares.
    L2,
    /// Natural logarithm of the sum.
    LogSum,
    /// Natural logarithm of the sum of `e^x`.
    LogSumExp,
    /// Index of the greatest along the one axis marked.
    ArgMax {
        /// Whether of equal ones the last counts, not the first.
        last: bool,
    },
    /// Index of the least along the one axis marked.
    ArgMin {
        /// Whether of equal ones the last counts, not the first.
        last: bool,
    },
}

impl ReduceKind {
    /// The function's name as the TensorFlow Lite schema writes it, or as ONNX does where the schema has none.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "MEAN",
            Self::Sum => "SUM",
            Self::SumSquare => "ReduceSumSquare",
            Self::Max => "REDUCE_MAX",
            Self::Min => "REDUCE_MIN",
            Self::Prod => "REDUCE_PROD",
            Self::L1 => "ReduceL1",
            Self::L2 => "ReduceL2",
            Self::LogSum => "ReduceLogSum",
            Self::LogSumExp => "ReduceLogSumExp",
            Self::ArgMax { .. } => "ARG_MAX",
            Self::ArgMin { .. } => "ARG_MIN",
        }
    }

    /// Whether the function of one value alone is that value.
    pub const fn keeps_one(self) -> bool {
        matches!(self, Self::Mean | Self::Sum | Self::Max | Self::Min | Self::Prod | Self::LogSumExp)
    }

    /// Whether the result is an index, along one axis.
    pub const fn is_index(self) -> bool {
        matches!(self, Self::ArgMax { .. } | Self::ArgMin { .. })
    }
}
