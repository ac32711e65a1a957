//! How often each server allocates for a call, and how many bytes, as JSON. The client allocates nothing meanwhile.

use std::collections::BTreeMap;

use anyhow::Result;
use echo_driver::{CONTENDERS, Within};

const CALLS: usize = 2_000;

fn main() -> Result<()> {
    let mut found = BTreeMap::new();
    for contender in &CONTENDERS {
        let mut server = Within::start(contender)?;
        // The first ones make room that the others use.
        measure(&mut server)?;
        found.insert(contender.name, measure(&mut server)?);
    }
    println!("{}", serde_json::to_string(&found)?);
    Ok(())
}

/// Allocations and bytes, per call.
fn measure(server: &mut Within) -> Result<(f64, f64)> {
    server.client.prepare(CALLS);
    let mut outcome = Ok(());
    let counted = allocation_counter::measure(|| outcome = server.in_flight(1));
    outcome?;
    let per_call = |total: u64| total as f64 / CALLS as f64;
    Ok((per_call(counted.count_total), per_call(counted.bytes_total)))
}
