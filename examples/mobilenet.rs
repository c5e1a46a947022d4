//! Classifies a photo with MobileNet v1: prints the five likeliest of 1001 classes.
//!
//! `cargo run --release --example mobilenet [PHOTO]`. If no photo is given, one is downloaded.

use std::{error::Error, path::PathBuf, process::ExitCode};
use texpool::{Model, TensorView};
// Parts of the texpool command. An application would use its own files, pictures and drivers.
use texpool_cli::{
    fetch::{Bar, Fetcher},
    io::{Fit, Preprocessing, Range, preprocess, printable, read_picture},
    setup::{self, Install},
};

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
    // Without a GPU, this installs the software driver, and prints a message to standard error.
    let context = setup::open_context(&Default::default(), Install::Yes)?;
    let bar = Bar::default();
    let fetcher = Fetcher::new(&bar)?;
    let model = Model::open(fetcher.get("mobilenet_v1")?)?;
    let labels = std::fs::read_to_string(fetcher.get("imagenet_labels")?)?;
    let photo = std::env::args_os().nth(1).map(PathBuf::from).map_or_else(|| fetcher.get("coffee"), Ok)?;

    let input = preprocess(&read_picture(&photo)?, 224, 224, &Preprocessing::new(Fit::Centre, Range::Signed));
    let mut session = context.compile(&model).build()?.session()?;
    let outputs = session.run([("input", TensorView::from(&input.values))])?;

    let mut classes: Vec<(&f32, &str)> = outputs[0].as_slice()?.iter().zip(labels.lines()).collect();
    classes.sort_by(|a, b| b.0.total_cmp(a.0));
    println!("{}:", printable(&photo));
    for (probability, label) in classes.iter().take(5) {
        println!("  {:5.1} %  {label}", *probability * 100.0);
    }
    Ok(())
}
