//! Runs a model with texpool directly. `call_cost.py` compares the provider with it.
//!
//! `direct MODEL` reads numbers of runs from standard input, one per line. For each it prints the duration of a run
//! in milliseconds, as wall time and as processor time.

use std::{
    error::Error,
    io::{self, BufRead},
    time::{Duration, Instant},
};

use texpool::{Context, Model, TensorView, TensorViewMut};

/// Returns the processor time used by all threads of this process.
fn processor_time() -> Result<Duration, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name in parentheses may contain anything. The third field and those after it follow.
    let fields = stat.rsplit_once(')').ok_or("no name in /proc/self/stat")?.1;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    // A tick is a hundredth of a second on Linux.
    Ok(Duration::from_millis(ticks * 10))
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: direct MODEL")?;
    let context = Context::open(&Default::default())?;
    let mut session = context.compile(&Model::open(file)?).build()?.session()?;
    let inputs: Vec<Vec<f32>> = session.inputs().iter().map(|info| vec![0.5; info.len()]).collect();
    let mut outputs: Vec<Vec<f32>> = session.outputs().iter().map(|info| vec![0.0; info.len()]).collect();
    for line in io::stdin().lock().lines() {
        let count: u32 = line?.trim().parse()?;
        let (begun, cpu_begun) = (Instant::now(), processor_time()?);
        for _ in 0..count {
            let views = inputs.iter().enumerate().map(|(index, values)| (index, TensorView::from(values)));
            let rooms = outputs.iter_mut().enumerate().map(|(index, room)| (index, TensorViewMut::from(room)));
            session.run_into(views, rooms)?;
        }
        let [wall, cpu] = [begun.elapsed(), processor_time()? - cpu_begun];
        println!("{} {}", (wall / count).as_secs_f64() * 1e3, (cpu / count).as_secs_f64() * 1e3);
    }
    Ok(())
}
