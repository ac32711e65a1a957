//! Measures contenders in turn, so that other work on the machine affects all of them equally. Computes medians.

use std::time::{Duration, Instant};

pub struct Contender<'a> {
    pub name: String,
    pub work: Box<dyn FnMut() + 'a>,
}

impl<'a> Contender<'a> {
    pub fn new(name: &str, work: impl FnMut() + 'a) -> Self {
        Self { name: name.to_owned(), work: Box::new(work) }
    }
}

const TURN: Duration = Duration::from_millis(2);

/// Returns the median time that each contender takes for its work over this many turns, in nanoseconds.
pub fn alternate(mut contenders: Vec<Contender<'_>>, turns: usize) -> Vec<(String, f64)> {
    let repeats: Vec<u32> = contenders.iter_mut().map(|contender| calibrate(&mut contender.work)).collect();
    let mut times = vec![Vec::with_capacity(turns); contenders.len()];
    for turn in 0..turns {
        for place in 0..contenders.len() {
            // Each turn begins with another contender, so that none always benefits from its position.
            let index = (place + turn) % contenders.len();
            let began = Instant::now();
            for _ in 0..repeats[index] {
                (contenders[index].work)();
            }
            times[index].push(began.elapsed().as_nanos() as f64 / f64::from(repeats[index]));
        }
    }
    contenders.into_iter().zip(times).map(|(contender, times)| (contender.name, median(times))).collect()
}

/// Returns how many times the work fits into a turn. This also warms up the work.
fn calibrate(work: &mut dyn FnMut()) -> u32 {
    let mut repeats = 1;
    loop {
        let began = Instant::now();
        for _ in 0..repeats {
            work();
        }
        let elapsed = began.elapsed();
        if elapsed >= TURN {
            return (f64::from(repeats) * TURN.as_secs_f64() / elapsed.as_secs_f64()).ceil() as u32;
        }
        repeats *= 2;
    }
}

/// Returns the median, or NaN if there are no figures.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
