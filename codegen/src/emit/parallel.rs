//! Work on several threads.

use std::panic::resume_unwind;
use std::thread;

use mcpgen_schema::Error;

/// Applies a function to each item on its own thread. Propagates panics.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], function: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let function = &function;
    thread::scope(|scope| {
        let threads: Vec<_> = items.iter().map(|item| scope.spawn(move || function(item))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|cause| resume_unwind(cause))).collect()
    })
}

/// Returns all values. Problems of several schemas are merged into one error; any other error takes precedence.
pub(crate) fn all<T>(results: Vec<Result<T, Error>>) -> Result<Vec<T>, Error> {
    let (mut values, mut problems) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Err(Error::Schema(more)) => problems.extend(more),
            result => values.push(result?),
        }
    }
    if problems.is_empty() { Ok(values) } else { Err(Error::Schema(problems)) }
}
