//! Options of the supported builtin operators.

use super::table::tables;
use crate::import::tflite::reader::{Numbers, Text};

tables! {
    /// CONV_2D
    Conv2dOptions {
        padding: i8 = 4, 0;
        stride_w: i32 = 6, 0;
        stride_h: i32 = 8, 0;
        activation: i8 = 10, 0;
        dilation_w: i32 = 12, 1;
        dilation_h: i32 = 14, 1;
    }
    /// CONV_3D and CONV_3D_TRANSPOSE
    Conv3dOptions {
        padding: i8 = 4, 0;
        stride_d: i32 = 6, 0;
        stride_w: i32 = 8, 0;
        stride_h: i32 = 10, 0;
        activation: i8 = 12, 0;
        dilation_d: i32 = 14, 1;
        dilation_w: i32 = 16, 1;
        dilation_h: i32 = 18, 1;
    }
    /// DEPTHWISE_CONV_2D; the depth multiplier follows from the weights.
    DepthwiseOptions {
        padding: i8 = 4, 0;
        stride_w: i32 = 6, 0;
        stride_h: i32 = 8, 0;
        activation: i8 = 12, 0;
        dilation_w: i32 = 14, 1;
        dilation_h: i32 = 16, 1;
    }
    /// MAX_POOL_2D and AVERAGE_POOL_2D
    PoolOptions {
        padding: i8 = 4, 0;
        stride_w: i32 = 6, 0;
        stride_h: i32 = 8, 0;
        filter_w: i32 = 10, 0;
        filter_h: i32 = 12, 0;
        activation: i8 = 14, 0;
    }
    /// FULLY_CONNECTED
    FullyConnectedOptions {
        activation: i8 = 4, 0;
        weights_format: i8 = 6, 0;
        keep_num_dims: bool = 8, false;
    }
    /// SOFTMAX
    SoftmaxOptions { beta: f32 = 4, 0.0; }
    /// CONCATENATION
    ConcatOptions { axis: i32 = 4, 0; activation: i8 = 6, 0; }
    /// ADD
    AddOptions { activation: i8 = 4, 0; }
    /// SUB
    SubOptions { activation: i8 = 4, 0; }
    /// MUL
    MulOptions { activation: i8 = 4, 0; }
    /// DIV
    DivOptions { activation: i8 = 4, 0; }
    /// RESIZE_BILINEAR
    ResizeBilinearOptions { align_corners: bool = 8, false; half_pixel_centers: bool = 10, false; }
    /// RESIZE_NEAREST_NEIGHBOR
    ResizeNearestOptions { align_corners: bool = 4, false; half_pixel_centers: bool = 6, false; }
    /// RESHAPE
    ReshapeOptions { new_shape: Numbers<i32> = 4; }
    /// SPACE_TO_DEPTH
    SpaceToDepthOptions { block_size: i32 = 4, 0; }
    /// DEPTH_TO_SPACE
    DepthToSpaceOptions { block_size: i32 = 4, 0; }
    /// MEAN
    ReducerOptions { keep_dims: bool = 4, false; }
    /// SQUEEZE
    SqueezeOptions { squeeze_dims: Numbers<i32> = 4; }
    /// STRIDED_SLICE
    StridedSliceOptions {
        begin_mask: i32 = 4, 0;
        end_mask: i32 = 6, 0;
        ellipsis_mask: i32 = 8, 0;
        new_axis_mask: i32 = 10, 0;
        shrink_axis_mask: i32 = 12, 0;
        offset: bool = 14, false;
    }
    /// TRANSPOSE_CONV
    TransposeConvOptions {
        padding: i8 = 4, 0;
        stride_w: i32 = 6, 0;
        stride_h: i32 = 8, 0;
        activation: i8 = 10, 0;
    }
    /// L2_NORMALIZATION
    L2NormOptions { activation: i8 = 4, 0; }
    /// LOCAL_RESPONSE_NORMALIZATION
    LrnOptions { radius: i32 = 4, 0; bias: f32 = 6, 0.0; alpha: f32 = 8, 0.0; beta: f32 = 10, 0.0; }
    /// GATHER
    GatherOptions { axis: i32 = 4, 0; batch_dims: i32 = 6, 0; }
    /// ONE_HOT
    OneHotOptions { axis: i32 = 4, 0; }
    /// PACK
    PackOptions { axis: i32 = 6, 0; }
    /// UNPACK
    UnpackOptions { axis: i32 = 6, 0; }
    /// MIRROR_PAD
    MirrorPadOptions { mode: i8 = 4, 0; }
    /// BATCH_MATMUL
    BatchMatMulOptions { adj_x: bool = 4, false; adj_y: bool = 6, false; }
    /// CUMSUM
    CumsumOptions { exclusive: bool = 4, false; reverse: bool = 6, false; }
    /// GELU
    GeluOptions { approximate: bool = 4, false; }
    /// LEAKY_RELU
    LeakyReluOptions { alpha: f32 = 4, 0.0; }
    /// UNIDIRECTIONAL_SEQUENCE_RNN
    SequenceRnnOptions { time_major: bool = 4, false; activation: i8 = 6, 0; }
    /// BIDIRECTIONAL_SEQUENCE_RNN
    BidirectionalRnnOptions { time_major: bool = 4, false; activation: i8 = 6, 0; merge_outputs: bool = 8, false; }
    /// UNIDIRECTIONAL_SEQUENCE_LSTM
    SequenceLstmOptions {
        activation: i8 = 4, 0;
        cell_clip: f32 = 6, 0.0;
        time_major: bool = 10, false;
        diagonal_recurrent_tensors: bool = 14, false;
    }
    /// BIDIRECTIONAL_SEQUENCE_LSTM
    BidirectionalLstmOptions {
        activation: i8 = 4, 0;
        cell_clip: f32 = 6, 0.0;
        merge_outputs: bool = 10, false;
        time_major: bool = 12, true;
    }
    /// IF
    IfOptions { then_subgraph_index: i32 = 4, 0; else_subgraph_index: i32 = 6, 0; }
    /// WHILE
    WhileOptions { cond_subgraph_index: i32 = 4, 0; body_subgraph_index: i32 = 6, 0; }
    /// CALL_ONCE
    CallOnceOptions { init_subgraph_index: i32 = 4, 0; }
    /// VAR_HANDLE
    VarHandleOptions { container: Text = 4; shared_name: Text = 6; }
}
