//! Streams that a session keeps for clients that resume.

use std::collections::VecDeque;
use std::sync::Arc;

use super::stream::Stream;

/// Streams whose HTTP response is an event stream, oldest first.
#[derive(Debug, Default)]
pub(super) struct Resumable(VecDeque<Arc<Stream>>);

impl Resumable {
    /// Adds a stream. Beyond `max` streams, drops the oldest that has ended or, if none has, the oldest.
    pub(super) fn insert(&mut self, stream: &Arc<Stream>, max: usize) {
        self.0.push_back(Arc::clone(stream));
        while self.0.len() > max {
            let oldest = self.0.iter().position(|stream| stream.has_ended()).unwrap_or(0);
            self.0.remove(oldest);
        }
    }

    pub(super) fn get(&self, number: u64) -> Option<Arc<Stream>> {
        self.0.iter().find(|stream| stream.number == number).cloned()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Stream>> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::stream::SessionBytes;

    #[test]
    fn never_exceeds_its_maximum() {
        let mut resumable = Resumable::default();
        let streams: Vec<_> =
            (0..5).map(|number| Stream::new(number, 10, &SessionBytes::of_budget(1000), None)).collect();
        let numbers = |resumable: &Resumable| resumable.iter().map(|stream| stream.number).collect::<Vec<_>>();
        streams[..3].iter().for_each(|stream| resumable.insert(stream, 3));
        streams[1].end();
        resumable.insert(&streams[3], 3);
        assert_eq!(numbers(&resumable), [0, 2, 3], "an ended stream is dropped before an older one");
        resumable.insert(&streams[4], 3);
        assert_eq!(numbers(&resumable), [2, 3, 4], "without an ended stream, the oldest is dropped");
    }
}
