//! The driver's word: what it allocated for the pool, beside what was planned.

use texpool::{
    gpu::{Session, SessionOptions},
    prepare::{Phases, PrepareOptions},
};

use crate::support::{MODELS, models, open};

/// Bytes a driver may add to a texture: a page, or rows up to the next four of the widest texture.
const ROUNDING: u64 = 65536;

fn agrees(file: &str, phases: Phases) {
    let gpu = open();
    let graph = texpool::import::open(models::model(file)).unwrap();
    let prepare = PrepareOptions { phases, ..PrepareOptions::default() };
    let session = Session::new(&gpu, &graph, &SessionOptions { prepare, ..SessionOptions::default() }).unwrap();
    let memory = session.memory();
    let textures = session.prepared().plan.textures.len() as u64;
    println!("{file}: {} planned, {} by the driver, {textures} textures", memory.pool_planned, memory.pool_driver);
    assert!(memory.pool_driver >= memory.pool_planned, "{file}: the driver counts less than was planned");
    let most = memory.pool_planned + memory.pool_planned / 50 + textures * ROUNDING;
    assert!(memory.pool_driver <= most, "{file}: the driver counts {}, at most {most} expected", memory.pool_driver);
}

#[test]
fn the_driver_allocates_what_was_planned() {
    MODELS.iter().for_each(|file| agrees(file, Phases::Off));
}

#[test]
fn the_driver_allocates_what_was_planned_in_phases() {
    MODELS.iter().for_each(|file| agrees(file, Phases::Min));
}
