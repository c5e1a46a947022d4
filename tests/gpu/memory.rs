//! The driver's word: what it allocated for the pool, beside what was planned. Plans in phases are compared with it where
//! they are run (`phases/`).

use std::{sync::mpsc, time::Duration};

use texpool::{
    gpu::{Executor, ExecutorOptions, Gpu, Memory, Role, TextureSet},
    graph::{Act, Graph, GraphBuilder, Unary},
    plan::{TexelFormat, TextureSpec},
};

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
    let session = Executor::new(&gpu, &graph, &ExecutorOptions::default()).unwrap();
    let memory = session.memory();
    let textures = session.compiled().plan().textures.len();
    let Memory { pool_planned, pool_driver, .. } = memory;
    let pool_driver = pool_driver.unwrap();
    println!("{file}: {pool_planned} planned, {pool_driver} by the driver, {textures} textures");
    assert!(pool_driver >= pool_planned, "{file}: the driver counts less than was planned");
    let most = driver_limit(pool_planned, textures);
    assert!(pool_driver <= most, "{file}: the driver counts {pool_driver}, at most {most} expected");
}

/// The pool on the device is as large as its plan, up to alignment.
#[test]
fn the_driver_allocates_what_was_planned() {
    MODELS.iter().for_each(|file| agrees(file));
}

/// A chain of links over an image of so many rows, with weights in front.
fn chain(rows: usize, links: usize) -> Graph {
    let mut b = GraphBuilder::new("chain");
    let x = b.input("x", &[1, 1, rows, 12]).unwrap();
    let values: Vec<f32> = (0..12 * 12).map(|i| (i % 17) as f32 / 17.0 - 0.4).collect();
    let weights = b.constant("w", &[12, 12], &values).unwrap();
    let mut y = b.fully_connected("dense", x, weights, None, Act::None).unwrap();
    for link in 0..links {
        y = b.unary("y", [Unary::Sin, Unary::Log][link % 2], y).unwrap();
    }
    b.finish(&[y]).unwrap()
}

/// What a session of a graph reports while others work on its device.
fn reported(gpu: &Gpu, graph: &Graph) -> (Executor, Memory) {
    let mut session = Executor::new(gpu, graph, &ExecutorOptions::default()).unwrap();
    // Textures of inputs and outputs, and buffers for their values, are made when they are needed.
    assert_eq!((session.memory().io_planned, session.memory().staging), (0, 0));
    session.run(&[&vec![0.5; graph.shape(graph.inputs[0]).len()]]).unwrap();
    let memory = session.memory();
    (session, memory)
}

/// Bytes by which the driver's figures may differ: of each allocation it counts what it left out for alignment, which
/// depends on the neighbours: less than 256 bytes each on lavapipe, and more on SwiftShader where a buffer and an image
/// are neighbours; 6,688 bytes of a session were seen there. The smaller of the sessions here takes 50 KB.
const ALIGNMENT: u64 = 16 * 1024;

/// Asserts that a session reports what it did alone.
fn is_that_of(found: Memory, alone: Memory) {
    let driver = |memory: Memory| [memory.driver.unwrap(), memory.pool_driver.unwrap()];
    for (found, alone) in driver(found).into_iter().zip(driver(alone)) {
        assert!(found.abs_diff(alone) <= ALIGNMENT, "{found} bytes by the driver, {alone} alone");
    }
    let own = |memory: Memory| [memory.pool_planned, memory.io_planned, memory.weights, memory.tables, memory.staging];
    assert_eq!(own(found), own(alone));
}

/// A session's bytes are its own, whatever else lies on its device, or comes and goes while it is made.
#[test]
fn sessions_on_one_device_report_their_own_bytes() {
    let [small, large] = [chain(64, 3), chain(4096, 6)];
    let alone = [&small, &large].map(|graph| reported(&open(), graph).1);
    for memory in alone {
        let (driver, pool) = (memory.driver.unwrap(), memory.pool_driver.unwrap());
        assert!(driver >= memory.planned() && pool >= memory.pool_planned, "{memory:?}");
        assert!(memory.weights > 0 && memory.tables > 0 && memory.staging > 0 && memory.io_planned > 0, "{memory:?}");
    }
    assert!(alone[0].driver < alone[1].driver && alone[0].pool_driver < alone[1].pool_driver, "{alone:?}");

    let gpu = open();
    let spec = TextureSpec { width: 256, height: 64, format: TexelFormat::Rgba32Float };
    let (tell, done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let gpu = &gpu;
        // The host's own work: textures that come and go until the channel closes.
        scope.spawn(move || {
            while done.try_recv() == Err(mpsc::TryRecvError::Empty) {
                let mut textures = TextureSet::new(gpu);
                textures.create("pool 0", spec, Role::Shared).unwrap();
                std::thread::sleep(Duration::from_millis(1));
                drop(textures);
                gpu.device.poll(wgpu::PollType::Poll).unwrap();
            }
        });
        // A failure closes it, too.
        let _tell = tell;
        for _ in 0..5 {
            let (first, memory) = reported(gpu, &small);
            is_that_of(memory, alone[0]);
            let (second, memory) = reported(gpu, &large);
            is_that_of(memory, alone[1]);
            is_that_of(first.memory(), alone[0]);
            drop(first);
            is_that_of(second.memory(), alone[1]);
        }
    });
}
