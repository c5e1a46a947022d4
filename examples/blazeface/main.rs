//! Finds faces in a photo, draws them, and prints the memory usage.
//!
//! `cargo run --release --example blazeface [PHOTO [PICTURE.png]]`. If no photo is given, one is downloaded.

mod detect;
mod draw;

use std::{error::Error, path::PathBuf, process::ExitCode};
use texpool::{Model, TensorView};
// Parts of the texpool command. An application would use its own files, pictures and drivers.
use texpool_cli::{
    fetch::{Bar, Fetcher},
    io::{Fit, Preprocessing, Range, check_picture_name, check_target, preprocess, printable, read_picture, write_png},
    report::MemoryReport,
    setup::{self, Install},
};

const GREEN: [u8; 3] = [40, 220, 60];
const RED: [u8; 3] = [240, 40, 40];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (photo, out) = (args.next(), args.next().unwrap_or_else(|| "faces.png".into()));
    // Check this first, before doing work that cannot be saved.
    check_picture_name(&out, "png")?;
    check_target(&out)?;
    // Without a GPU, this installs the software driver, and prints a message to standard error.
    let context = setup::open_context(&Default::default(), Install::Yes)?;
    let bar = Bar::default();
    let fetcher = Fetcher::new(&bar)?;
    let model = Model::open(fetcher.get("blazeface")?)?;
    let photo = photo.map_or_else(|| fetcher.get("astronaut"), Ok)?;

    let mut picture = read_picture(&photo)?;
    let input = preprocess(&picture, 128, 128, &Preprocessing::new(Fit::Letterbox, Range::Signed));

    let compiled = context.compile(&model).build()?;
    let mut session = compiled.session()?;
    let outputs = session.run([("input", TensorView::from(&input.values))])?;

    // 896 anchors with 16 regressors and one score each.
    let faces = detect::faces(outputs["regressors"].as_slice()?, outputs["classificators"].as_slice()?);
    for face in &faces {
        let [left, top, right, bottom] = face.bounds;
        let (from, to) = (input.frame.at(left, top), input.frame.at(right, bottom));
        println!("face {:.2}: x {:.0} to {:.0}, y {:.0} to {:.0}", face.score, from[0], to[0], from[1], to[1]);
        draw::rectangle(&mut picture, from, to, GREEN);
        face.points.iter().for_each(|[x, y]| draw::disc(&mut picture, input.frame.at(*x, *y), RED));
    }
    write_png(&out, &picture)?;
    println!("{} faces in {}, drawn in {}\n", faces.len(), printable(&photo), printable(&out));

    let report = MemoryReport::from_compiled(compiled.compiled());
    print!("{}", report.on_device(&session.memory()));
    Ok(())
}
