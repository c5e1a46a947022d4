//! Networks in stripes beside the catalogue's cases, fed numbers.

use super::{Gain::Factor, tested};

tested! {
    "models":
    blazeface, Some("face_detection_short_range.tflite"), Factor(4.0);
    mobilenet_v1, Some("mobilenet_v1_1.0_224.tflite"), Factor(6.0);
    face_landmark, Some("face_landmark.tflite"), Factor(1.5);
    selfie_segmentation, Some("selfie_segmentation.tflite"), Factor(1.5);
    selfie_landscape, Some("selfie_segmentation_landscape.tflite"), Factor(1.5);
    posenet, Some("posenet_mv1_075_float_from_checkpoints.tflite"), Factor(6.0);
    deeplab, Some("deeplabv3_257_mv_gpu.tflite"), Factor(2.5);
    // Its outputs are views of maps with more rows than they have.
    full_range_faces, Some("face_detection_full_range_sparse.tflite"), Factor(2.0);
}
