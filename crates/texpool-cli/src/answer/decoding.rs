//! The decoding of a network's outputs, as the catalogue states it, and the answer that it gives.

use super::{
    anchors::Anchors,
    boxes::Boxes,
    canvas::Canvas,
    centerface::Centerface,
    classes::{Class, ClassList, Classes},
    face_check::FaceCheck,
    landmarks::Landmarks,
    mask::{Mask, MaskOutput},
    output::{DecodeError, Output},
    points::Points,
    pose_heatmaps::PoseHeatmaps,
    proposals::Proposals,
    retinaface::Retinaface,
    segments::Segments,
    text_line::{TextLine, TextReader},
    text_regions::TextRegions,
    view::View,
    yolo::Yolo,
};
use image::RgbImage;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Decoding of a network's outputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Decoding {
    /// Classes of the picture.
    Classes(Classes),
    /// A class for each pixel: the last axis of the first output.
    Segments,
    /// A mask of one thing.
    Mask(MaskOutput),
    /// Boxes relative to anchors of a grid.
    Anchors(Anchors),
    /// RetinaFace's boxes and points on three grids.
    Retinaface(Retinaface),
    /// CenterFace's heat map of faces.
    Centerface(Centerface),
    /// YOLO v2's boxes and classes in a grid.
    YoloV2(Yolo),
    /// Regions of text in a map of probabilities.
    TextRegions(TextRegions),
    /// MTCNN's first network, which proposes faces.
    Proposals(Proposals),
    /// MTCNN's second and third networks, which look at one face.
    FaceCheck(FaceCheck),
    /// Points as coordinates.
    Landmarks(Landmarks),
    /// PoseNet's heat map of each point of a body.
    PoseHeatmaps(PoseHeatmaps),
    /// A line of text.
    Text(TextReader),
}

/// The answer of a network about a picture. Coordinates are in pixels of the picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Answer {
    /// Its classes.
    Classes(ClassList),
    /// A class for each pixel.
    Segments(Segments),
    /// The pixels of one thing.
    Mask(Mask),
    /// Boxes around things.
    Boxes(Boxes),
    /// Points of one thing.
    Points(Points),
    /// A line of text.
    Text(TextLine),
}

impl Decoding {
    /// Returns the name under which the model file lists the names for this decoding, if it does.
    pub fn names_in_file(&self) -> Option<&str> {
        match self {
            Self::Text(reader) => Some(&reader.characters),
            _ => None,
        }
    }

    /// Decodes the outputs of a network that saw a part of a picture. `names` are those of its classes, if they are
    /// known, and `top` is the number of classes, boxes or points that the text shows.
    ///
    /// # Errors
    /// Every [`DecodeError`].
    pub fn decode(
        &self,
        outputs: &[Output<'_>],
        view: &View,
        names: Option<&[String]>,
        top: Option<usize>,
    ) -> Result<Answer, DecodeError> {
        if let Some(output) = outputs.iter().find(|output| output.values.iter().any(|value| !value.is_finite())) {
            return Err(DecodeError::NotFinite { name: output.name.to_owned() });
        }
        let boxes = |boxes: Boxes| Answer::Boxes(Boxes { top, ..boxes });
        let points = |points: Points| Answer::Points(Points { top, ..points });
        Ok(match self {
            Self::Classes(classes) => Answer::Classes(classes.decode(outputs, names, top)?),
            Self::Segments => Answer::Segments(Segments::decode(outputs, view, names, top)?),
            Self::Mask(mask) => Answer::Mask(mask.decode(outputs, view)?),
            Self::Anchors(anchors) => boxes(anchors.decode(outputs, view)?),
            Self::Retinaface(retinaface) => boxes(retinaface.decode(outputs, view)?),
            Self::Centerface(centerface) => boxes(centerface.decode(outputs, view)?),
            Self::YoloV2(yolo) => boxes(yolo.decode(outputs, view, names)?),
            Self::TextRegions(regions) => boxes(regions.decode(outputs, view)?),
            Self::Proposals(proposals) => boxes(proposals.decode(outputs, view)?),
            Self::FaceCheck(check) => points(check.decode(outputs, view)?),
            Self::Landmarks(landmarks) => points(landmarks.decode(outputs, view)?),
            Self::PoseHeatmaps(heatmaps) => points(heatmaps.decode(outputs, view)?),
            Self::Text(reader) => Answer::Text(reader.decode(outputs, names)?),
        })
    }
}

impl Answer {
    /// Returns the classes of the picture or of its pixels, the likeliest first.
    pub fn classes(&self) -> &[Class] {
        match self {
            Self::Classes(list) => &list.classes,
            Self::Segments(segments) => &segments.list.classes,
            _ => &[],
        }
    }

    /// Draws the answer on the picture that it is about.
    pub fn draw(&self, picture: &mut RgbImage) {
        let mut canvas = Canvas::new(picture);
        match self {
            Self::Classes(list) => list.draw(&mut canvas),
            Self::Segments(segments) => segments.draw(&mut canvas),
            Self::Mask(mask) => mask.draw(&mut canvas),
            Self::Boxes(boxes) => boxes.draw(&mut canvas),
            Self::Points(points) => points.draw(&mut canvas),
            Self::Text(line) => line.draw(&mut canvas),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Classes(list) => list.fmt(f),
            Self::Segments(segments) => segments.fmt(f),
            Self::Mask(mask) => mask.fmt(f),
            Self::Boxes(boxes) => boxes.fmt(f),
            Self::Points(points) => points.fmt(f),
            Self::Text(line) => line.fmt(f),
        }
    }
}
