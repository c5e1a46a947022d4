//! Every case of the catalogue in stripes, on the picture that the network is made for.

use super::{
    Gain::{Factor, Nothing},
    tested,
};

tested! {
    "zoo":
    blazeface_onnx_back, None, Factor(8.0);
    blazeface_onnx_front, None, Factor(7.0);
    centerface, None, Factor(17.0);
    efficientnet_lite0, None, Factor(10.0);
    face_detection_full_range, None, Factor(2.0);
    face_landmark_with_attention, None, Factor(4.0);
    hand_landmark_full, None, Factor(8.0);
    hand_landmark_lite, None, Factor(6.0);
    hand_recrop, None, Factor(13.0);
    inception_v3, None, Factor(3.0);
    iris_landmark, None, Factor(2.0);
    light_bvlc_alexnet, None, Factor(5.0);
    light_densenet121, None, Factor(3.0);
    light_inception_v1, None, Factor(4.0);
    light_inception_v2, None, Factor(3.0);
    light_resnet50, None, Factor(4.0);
    light_shufflenet, None, Factor(3.0);
    light_squeezenet, None, Factor(10.0);
    light_vgg19, None, Factor(12.0);
    light_zfnet512, None, Factor(16.0);
    minilm, None, Factor(1.0);
    mobilebert, None, Nothing("no division of eight tokens takes fewer bytes");
    mobilenet_v2, None, Factor(11.0);
    mtcnn_onet, None, Factor(14.0);
    mtcnn_pnet, None, Factor(27.0);
    mtcnn_rnet, None, Factor(8.0);
    palm_detection_full, None, Factor(4.0);
    palm_detection_lite, None, Factor(4.0);
    pose_detection, None, Factor(4.0);
    pose_landmark_full, None, Factor(3.0);
    ppocr_cls, None, Nothing("its fullest step is a depthwise convolution of maps of two rows, and each row needs both");
    ppocr_det, None, Factor(1.9);
    ppocr_rec, None, Factor(1.0);
    resnet18, None, Factor(7.0);
    retinaface, None, Factor(5.0);
    tiny_yolo_v2, None, Factor(55.0);
    u2netp, None, Factor(1.2);
}
