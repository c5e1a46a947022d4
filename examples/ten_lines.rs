//! Runs a model in ten lines of code. The model must have a single input of 32-bit floats.
//!
//! `cargo run --release --example ten_lines MODEL`

use texpool::{Context, Model, TensorView};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("which model? a path of a .tflite or .onnx file")?;

    let context = Context::open(&Default::default())?;
    let model = Model::open(path)?;
    let compiled = context.compile(&model).memory_budget(2 << 20).build()?;
    let mut session = compiled.session()?;

    let pixels = vec![0.5f32; model.input(0)?.len()];
    let outputs = session.run([(0, TensorView::from(&pixels))])?;
    for (name, output) in outputs.iter() {
        println!("{name} {:?}: {:?} ...", output.dims(), &output.as_slice::<f32>()?[..4]);
    }
    println!("{} bytes in the pool", compiled.pool_bytes());
    Ok(())
}
