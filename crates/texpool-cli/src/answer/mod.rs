//! Answers of networks as people read them: labels, boxes, points, masks and text, decoded from the outputs.
//!
//! [`Decoding`] says how the outputs of a network are read; the catalogue has one for each network, with its source.
//! [`Decoding::decode`] makes an [`Answer`], which has a text form, a JSON form, and can be drawn on the picture. Knows no
//! model, no graph and no device: outputs are names, extents and dense values.

mod anchors;
mod bounds;
mod boxes;
mod canvas;
mod centerface;
mod classes;
mod decoding;
mod detection;
mod face_check;
mod font;
mod landmarks;
mod map;
mod mask;
mod output;
mod overlap;
mod points;
mod pose_heatmaps;
mod proposals;
mod retinaface;
mod segments;
mod text_line;
mod text_regions;
mod view;
mod yolo;

pub use anchors::Anchors;
pub use boxes::{Boxes, DetectedObject};
pub use centerface::Centerface;
pub use classes::{Class, ClassList, Classes};
pub use decoding::{Answer, Decoding};
pub use detection::Detection;
pub use face_check::FaceCheck;
pub use landmarks::{Landmarks, PointOutput, Score, Sides};
pub use map::Map;
pub use mask::{Mask, MaskOutput};
pub use output::{DecodeError, Output};
pub use points::{Point, Points};
pub use pose_heatmaps::PoseHeatmaps;
pub use proposals::Proposals;
pub use retinaface::Retinaface;
pub use segments::Segments;
pub use text_line::{TextLine, TextReader};
pub use text_regions::TextRegions;
pub use view::View;
pub use yolo::Yolo;
