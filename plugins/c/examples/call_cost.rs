//! Measures the overhead of the C interface over Rust: `cargo run --release --example call_cost [MODEL]`.
//!
//! Runs two sessions of the same model on the same device alternately, one through each interface and each with
//! separate values, so that background load affects both equally.

#[path = "../tests/interface/sine.rs"]
mod sine;

use std::{
    error::Error,
    ffi::{CStr, CString},
    mem, ptr,
    time::{Duration, Instant},
};

use texpool::*;
use texpool_rust::{Model, Session, TensorView, TensorViewMut};

const RUNS: usize = 2000;
/// Time limit for the measurement, even if fewer runs are done.
const MOST: Duration = Duration::from_secs(20);

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1);
    let bytes = path.as_ref().map_or_else(|| Ok(sine::sine()), std::fs::read)?;
    let mut device = ptr::null_mut();
    // SAFETY: there is room for the device.
    check(unsafe { texpool_device_open(ptr::null(), 0, &mut device, ptr::null_mut()) })?;

    // SAFETY: the device is there until the end.
    let context = unsafe { &*device }.context().clone();
    let model = Model::from_bytes(bytes.clone())?;
    let mut in_rust = context.compile(&model).build()?.session()?;
    let mut in_c = InC::new(device, &bytes, &in_rust)?;

    let values: Vec<Vec<f32>> = model.inputs().iter().map(|input| vec![0.5; input.len()]).collect();
    let mut rooms: Vec<Vec<f32>> = model.outputs().iter().map(|output| vec![0.0; output.len()]).collect();
    let mut times: [Vec<Duration>; 2] = Default::default();
    let begun = Instant::now();
    while times[0].len() < RUNS && begun.elapsed() < MOST {
        let at = Instant::now();
        let inputs = values.iter().map(TensorView::from).enumerate();
        in_rust.run_into(inputs, rooms.iter_mut().map(TensorViewMut::from).enumerate())?;
        times[0].push(at.elapsed());
        let at = Instant::now();
        in_c.run()?;
        times[1].push(at.elapsed());
    }
    assert_eq!(in_c.rooms, rooms, "another answer");
    let [rust, c] = times.map(|mut times| {
        times.sort_unstable();
        [1, 2, 3].map(|quarter| times[times.len() * quarter / 4].as_secs_f64() * 1e6)
    });
    println!("{}: microseconds of a run, quartiles", path.as_deref().unwrap_or("sine of 105 numbers"));
    println!("Rust {:9.1} {:9.1} {:9.1}", rust[0], rust[1], rust[2]);
    println!("C    {:9.1} {:9.1} {:9.1}, {:+.1} at the median", c[0], c[1], c[2], c[1] - rust[1]);
    Ok(())
}

fn check(status: texpool_status) -> Result<(), String> {
    // SAFETY: the library returns static strings for names.
    let name = || unsafe { CStr::from_ptr(texpool_status_name(status as i32)) }.to_string_lossy().into_owned();
    if status == texpool_status::TEXPOOL_OK { Ok(()) } else { Err(name()) }
}

/// A session as a C program would use it.
struct InC {
    session: *mut texpool_session,
    inputs: Vec<texpool_input>,
    outputs: Vec<texpool_output>,
    _names: Vec<CString>,
    _values: Vec<Vec<f32>>,
    rooms: Vec<Vec<f32>>,
}

impl InC {
    fn new(device: *mut texpool_device, model: &[u8], like: &Session) -> Result<Self, Box<dyn Error>> {
        // SAFETY: zeros request nothing, and all pointers that are set are valid.
        let session = unsafe {
            let mut descriptor: texpool_session_descriptor = mem::zeroed();
            descriptor.struct_size = size_of::<texpool_session_descriptor>();
            descriptor.device = device;
            descriptor.model_data = model.as_ptr().cast();
            descriptor.model_bytes = model.len();
            let mut session = ptr::null_mut();
            check(texpool_session_create(&descriptor, &mut session, ptr::null_mut()))?;
            session
        };
        let element_type = texpool_element_type::TEXPOOL_F32 as u32;
        // Tensors are identified by name, as in most programs.
        let name = |info: &texpool_rust::TensorInfo| CString::new(info.name.clone());
        let names = like.inputs().iter().chain(like.outputs()).map(name).collect::<Result<Vec<_>, _>>()?;
        let values: Vec<Vec<f32>> = like.inputs().iter().map(|input| vec![0.5; input.len()]).collect();
        let mut rooms: Vec<Vec<f32>> = like.outputs().iter().map(|output| vec![0.0; output.len()]).collect();
        let (of_inputs, of_outputs) = names.split_at(values.len());
        let inputs = of_inputs.iter().zip(&values).map(|(name, values)| texpool_input {
            name: name.as_ptr(),
            index: 0,
            data: values.as_ptr().cast(),
            bytes: values.len() * 4,
            element_type,
            rank: 0,
            dims: ptr::null(),
            strides: ptr::null(),
        });
        let outputs = of_outputs.iter().zip(&mut rooms).map(|(name, room)| texpool_output {
            name: name.as_ptr(),
            index: 0,
            data: room.as_mut_ptr().cast(),
            bytes: room.len() * 4,
            element_type,
        });
        let (inputs, outputs) = (inputs.collect(), outputs.collect());
        Ok(Self { session, inputs, outputs, _names: names, _values: values, rooms })
    }

    fn run(&mut self) -> Result<(), String> {
        let Self { session, inputs, outputs, .. } = self;
        // SAFETY: session, values and output memory are valid.
        check(unsafe {
            let (input_array, output_array) = (inputs.as_ptr(), outputs.as_ptr());
            texpool_session_run(*session, input_array, inputs.len(), output_array, outputs.len(), ptr::null_mut())
        })
    }
}
