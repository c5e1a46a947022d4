//! The driver's word: what it allocated for the pool, beside what was planned.

use texpool::gpu::{Session, SessionOptions};

use crate::support::{MODELS, models, open};

/// Bytes a driver may add to a texture: a page, or rows up to the next four of the widest texture.
const ROUNDING: u64 = 65536;

#[test]
fn the_driver_allocates_what_was_planned() {
    let gpu = open();
    for file in MODELS {
        let graph = texpool::import::open(models::model(file)).unwrap();
        let session = Session::new(&gpu, &graph, &SessionOptions::default()).unwrap();
        let memory = session.memory();
        let textures = session.prepared().plan.textures.len() as u64;
        println!("{file}: {} planned, {} by the driver, {textures} textures", memory.pool_planned, memory.pool_driver);
        assert!(memory.pool_driver >= memory.pool_planned, "{file}: the driver counts less than was planned");
        let most = memory.pool_planned + memory.pool_planned / 50 + textures * ROUNDING;
        assert!(
            memory.pool_driver <= most,
            "{file}: the driver counts {}, at most {most} expected",
            memory.pool_driver
        );
    }
}
