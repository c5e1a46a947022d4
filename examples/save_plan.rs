//! Plans a model once, saves the plan to a file, and runs the model with it without another search.
//!
//! `cargo run --release --example save_plan MODEL PLAN`

use std::{error::Error, fs, time::Instant};
use texpool::{CompiledModel, Context, Model, Outputs, TensorView};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let (Some(model), Some(file)) = (args.next(), args.next()) else { Err("MODEL PLAN")? };
    let context = Context::open(&Default::default())?;
    let model = Model::open(model)?;

    let begun = Instant::now();
    let compiled = context.compile(&model).smallest().build()?;
    println!("planned in {:.3} s: a pool of {} bytes", begun.elapsed().as_secs_f64(), compiled.pool_bytes());
    fs::write(&file, compiled.save())?;

    // The next start of the program only needs to do this. Loading checks that the plan belongs to this model.
    let begun = Instant::now();
    let loaded = context.load(&model, &fs::read(&file)?)?;
    println!("loaded in {:.3} s: {} bytes of file", begun.elapsed().as_secs_f64(), fs::metadata(&file)?.len());

    let same = run(&compiled)? == run(&loaded)? && compiled.pool_bytes() == loaded.pool_bytes();
    println!("{}", if same { "the same pool, the same bits" } else { "they differ" });
    Ok(())
}

fn run(compiled: &CompiledModel) -> Result<Outputs, texpool::Error> {
    let values = vec![0.5f32; compiled.inputs()[0].len()];
    compiled.session()?.run([(0, TensorView::from(&values))])
}
