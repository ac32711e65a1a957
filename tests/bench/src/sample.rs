//! Contenders in turn, so that whatever else the machine does hits all of them; and the median of each.

use std::time::{Duration, Instant};

/// One contender at one piece of work.
pub struct Contender<'a> {
    pub name: String,
    pub work: Box<dyn FnMut() + 'a>,
}

impl<'a> Contender<'a> {
    pub fn new(name: &str, work: impl FnMut() + 'a) -> Self {
        Self { name: name.to_owned(), work: Box::new(work) }
    }
}

/// How long a contender works before it is the next one's turn.
const TURN: Duration = Duration::from_millis(2);

/// The median time that each contender takes for its work, in nanoseconds, after so many turns of each.
pub fn alternate(mut contenders: Vec<Contender<'_>>, turns: usize) -> Vec<(String, f64)> {
    let repeats: Vec<u32> = contenders.iter_mut().map(|contender| calibrate(&mut contender.work)).collect();
    let mut times = vec![Vec::with_capacity(turns); contenders.len()];
    for turn in 0..turns {
        for place in 0..contenders.len() {
            // Nobody always comes after the same one.
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

/// How often the work fits into a turn; it is warm afterwards.
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

/// The middle one; of nothing, not a number.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
