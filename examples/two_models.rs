//! Runs two models alternately in one pool: a face detector, and a network that finds landmarks of a face.
//!
//! `cargo run --release --example two_models`

use image::{RgbImage, imageops};
use std::error::Error;
use texpool::{CompiledModel, Context, Model, TensorView};
// A part of the texpool command that downloads models and photos. An application would use its own files.
use texpool_cli::fetch::{Bar, Fetcher};

fn main() -> Result<(), Box<dyn Error>> {
    let bar = Bar::default();
    let fetcher = Fetcher::new(&bar)?;
    let photo = image::open(fetcher.get("astronaut")?)?.to_rgb8();
    let context = Context::open(&Default::default())?;
    let detector = context.compile(&Model::open(fetcher.get("blazeface")?)?).build()?;
    let landmarks = context.compile(&Model::open(fetcher.get("face_landmark")?)?).build()?;

    let mut pool = context.pool([&detector, &landmarks])?;
    let mut detecting = detector.session_in(&pool)?;
    let mut marking = landmarks.session_in(&pool)?;

    // The detector expects values from -1 to 1, the landmark network from 0 to 1.
    let (image, face) = (pixels(&photo, &detector, -1.0), pixels(&photo, &landmarks, 0.0));
    let faces = pool.enter(&mut detecting)?.run([("input", TensorView::from(&image))])?;
    let points = pool.enter(&mut marking)?.run([(0, TensorView::from(&face))])?;

    println!("one pool: {} bytes", pool.bytes());
    println!("a pool each: {} + {} bytes", detector.pool_bytes(), landmarks.pool_bytes());
    let alone = (
        detector.session()?.run([(0, TensorView::from(&image))])?,
        landmarks.session()?.run([(0, TensorView::from(&face))])?,
    );
    println!("{}", if (faces, points) == alone { "the same bits" } else { "they differ" });
    Ok(())
}

/// Scales the photo to the model's input, with `black` for black and 1 for white.
fn pixels(photo: &RgbImage, model: &CompiledModel, black: f32) -> Vec<f32> {
    let [_, height, width, _] = model.input_layout(0).map_or([1; 4], |layout| layout.shape);
    let scaled = imageops::resize(photo, width, height, imageops::FilterType::Triangle);
    scaled.iter().map(|&byte| black + (1.0 - black) * f32::from(byte) / 255.0).collect()
}
