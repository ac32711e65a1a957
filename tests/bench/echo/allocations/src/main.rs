//! Prints the allocations and the allocated bytes of each server per call, as JSON. The client does not allocate during
//! the calls.

use std::collections::BTreeMap;

use anyhow::Result;
use echo_driver::{CONTENDERS, InProcess};

const CALLS: usize = 2_000;

fn main() -> Result<()> {
    let mut measured = BTreeMap::new();
    for contender in &CONTENDERS {
        let mut server = InProcess::start(contender)?;
        // The first calls allocate buffers that later calls reuse.
        measure(&mut server)?;
        measured.insert(contender.name, measure(&mut server)?);
    }
    println!("{}", serde_json::to_string(&measured)?);
    Ok(())
}

fn measure(server: &mut InProcess) -> Result<(f64, f64)> {
    server.client.prepare(CALLS);
    let mut outcome = Ok(());
    let counted = allocation_counter::measure(|| outcome = server.in_flight(1));
    outcome?;
    let per_call = |total: u64| total as f64 / CALLS as f64;
    Ok((per_call(counted.count_total), per_call(counted.bytes_total)))
}
