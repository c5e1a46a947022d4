//! The driver's word: what it allocated for the pool, beside what was planned. Plans in phases are compared with it where
//! they are run (`phases/`).

use texpool::gpu::{Session, SessionOptions};

use crate::support::{MODELS, models, open};

/// What a driver may count for a pool at most. lavapipe lays textures out in tiles of 4 by 4 texels and adds a page or
/// so to each: 4 rows of 256 texels of 16 bytes make 16 KiB.
pub(crate) fn driver_limit(planned: u64, textures: usize) -> u64 {
    planned + textures as u64 * ROUNDING
}

/// Bytes for a texture.
const ROUNDING: u64 = 16384;

fn agrees(file: &str) {
    let gpu = open();
    let graph = texpool::import::open(models::model(file)).unwrap();
    let session = Session::new(&gpu, &graph, &SessionOptions::default()).unwrap();
    let memory = session.memory();
    let textures = session.compiled().plan().textures.len();
    println!("{file}: {} planned, {} by the driver, {textures} textures", memory.pool_planned, memory.pool_driver);
    assert!(memory.pool_driver >= memory.pool_planned, "{file}: the driver counts less than was planned");
    let most = driver_limit(memory.pool_planned, textures);
    assert!(memory.pool_driver <= most, "{file}: the driver counts {}, at most {most} expected", memory.pool_driver);
}

/// The pool on the device is as large as its plan, up to alignment.
#[test]
fn the_driver_allocates_what_was_planned() {
    MODELS.iter().for_each(|file| agrees(file));
}
