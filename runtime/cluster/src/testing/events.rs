//! The contract of event stores.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;

use super::{LONG, eventually, unique};
use mcpgen_mcp::replicas::{EventStore, Home, SessionStore, StoredEvent, StoredSession, StoredStream, StreamId};

/// Tests an [`EventStore`] that stores up to `max_bytes` bytes per stream.
pub async fn event_store<S: SessionStore + EventStore>(replica: impl AsyncFn() -> S, max_bytes: usize) {
    appends_in_order(&replica).await;
    drops_the_oldest_events(&replica, max_bytes).await;
    continues_at_another_replica(&replica).await;
    accepts_concurrent_writers(&replica).await;
}

fn events(numbers: impl IntoIterator<Item = u64>) -> Vec<StoredEvent> {
    numbers.into_iter().map(event).collect()
}

fn event(number: u64) -> StoredEvent {
    StoredEvent { number, message: Bytes::from(format!("event\0{number}\r\n\n")), is_last: number.is_multiple_of(10) }
}

async fn session<S: SessionStore>(store: &S) -> String {
    let id = unique("session");
    assert!(store.create(StoredSession::new(&id), LONG).await.expect("an available store"));
    id
}

async fn append(store: &impl EventStore, session: &str, number: u64, events: Vec<StoredEvent>) {
    let stream = StreamId { session: session.to_owned(), number };
    let requests = [format!("{number}"), "\"a:b\\n\"".to_owned()];
    store.append(&stream, &requests, events).await.expect("appended events");
}

async fn streams(store: &impl EventStore, session: &str) -> Vec<StoredStream> {
    store.streams(session).await.expect("an available store")
}

fn numbers(stream: &StoredStream) -> Vec<u64> {
    stream.events.iter().map(|event| event.number).collect()
}

async fn appends_in_order<S: SessionStore + EventStore>(replica: &impl AsyncFn() -> S) {
    let (a, b) = (replica().await, replica().await);
    let id = session(&a).await;
    assert_eq!(streams(&a, &id).await, []);
    let large = (1_u64 << 40) + 1;
    append(&a, &id, large, events([1])).await;
    append(&a, &id, 2, events([1, 2, 5])).await;
    append(&a, &id, 10, events([u64::MAX - 1, u64::MAX])).await;
    // Appends can be retried, and may overlap with earlier ones.
    append(&a, &id, 2, events([1, 2, 5])).await;
    append(&a, &id, 2, events([4, 5, 9, 10])).await;
    append(&a, &id, 2, Vec::new()).await;
    let found = streams(&b, &id).await;
    assert_eq!(found, streams(&a, &id).await, "all replicas find the same events");
    let order: Vec<_> = found.iter().map(|stream| stream.number).collect();
    assert_eq!(order, [2, 10, large]);
    assert_eq!(found[0].events, events([1, 2, 5, 9, 10]));
    assert_eq!(found[1].events, events([u64::MAX - 1, u64::MAX]));
    assert_eq!((&found[0].requests[..], found[0].dropped), (&["2".to_owned(), "\"a:b\\n\"".to_owned()][..], 0));
    // Events before the first one are missing, so a client must not resume from them.
    for (stream, opened) in [(3, false), (4, true)] {
        if opened {
            append(&a, &id, stream, Vec::new()).await;
        }
        append(&a, &id, stream, events([7, 8])).await;
        let found = streams(&b, &id).await.into_iter().find(|found| found.number == stream).expect("the stream");
        assert_eq!((numbers(&found), found.dropped), (vec![7, 8], 6), "opened: {opened}");
        a.remove_stream(&StreamId { session: id.clone(), number: stream }).await.expect("a removed stream");
    }
    let second = StreamId { session: id.clone(), number: 2 };
    a.remove_stream(&second).await.expect("a removed stream");
    a.remove_stream(&second).await.expect("a stream that does not exist");
    assert_eq!(streams(&b, &id).await, found[1..]);
    let first = StreamId { session: id.clone(), number: 10 };
    assert!(b.append(&first, &[], events([1])).await.is_err(), "only the home of the session appends");
    assert_eq!(streams(&b, &id).await, found[1..]);
    a.remove(&id).await.expect("a removed session");
    assert_eq!(streams(&b, &id).await, []);
    append(&a, &id, 2, events([1])).await;
    assert_eq!(streams(&b, &id).await, [], "events without a session are ignored");
    assert!(a.create(StoredSession::new(&id), LONG).await.expect("an available store"));
    assert_eq!(streams(&b, &id).await, [], "a new session has no events of an old one");
}

async fn drops_the_oldest_events<S: SessionStore + EventStore>(replica: &impl AsyncFn() -> S, max_bytes: usize) {
    let a = replica().await;
    let id = session(&a).await;
    let message = Bytes::from(vec![b'x'; max_bytes / 10]);
    let large = |number| StoredEvent { number, message: message.clone(), is_last: false };
    append(&a, &id, 1, (1..=5).map(large).collect()).await;
    append(&a, &id, 1, (6..=25).map(large).collect()).await;
    let found = streams(&a, &id).await.remove(0);
    let bytes: usize = found.events.iter().map(|event| event.message.len()).sum();
    assert!(bytes <= max_bytes, "{bytes} bytes");
    let kept = numbers(&found);
    assert!(kept.len() >= 5 && kept.last() == Some(&25), "the newest events are kept: {kept:?}");
    assert_eq!(Some(found.dropped + 1), kept.first().copied(), "the last dropped event is known");
    // A retried append does not bring dropped events back.
    append(&a, &id, 1, (1..=25).map(large).collect()).await;
    assert_eq!(streams(&a, &id).await, [found]);
    // An event larger than the limit is dropped along with all others.
    let huge = StoredEvent { number: 26, message: Bytes::from(vec![b'y'; max_bytes + 1]), is_last: false };
    append(&a, &id, 1, vec![huge]).await;
    let found = streams(&a, &id).await.remove(0);
    assert_eq!((numbers(&found), found.dropped), (vec![], 26));
    append(&a, &id, 1, events([26, 27])).await;
    assert_eq!(numbers(&streams(&a, &id).await[0]), [27]);
}

async fn continues_at_another_replica<S: SessionStore + EventStore>(replica: &impl AsyncFn() -> S) {
    let (a, b) = (replica().await, replica().await);
    let id = session(&a).await;
    append(&a, &id, 1, events([1, 2])).await;
    drop(a);
    eventually("the death of a replica is detected", async || {
        let home = b.locate(&id).await.expect("an available store");
        matches!(home, Some(Home::Here(_))).then_some(())
    })
    .await;
    append(&b, &id, 1, events([2, 3])).await;
    assert_eq!(numbers(&streams(&b, &id).await[0]), [1, 2, 3], "no event is lost or repeated");
}

async fn accepts_concurrent_writers<S: SessionStore + EventStore>(replica: &impl AsyncFn() -> S) {
    let a = Arc::new(replica().await);
    let id = session(&*a).await;
    let writers = (0..8).map(|stream| {
        let (a, id) = (Arc::clone(&a), id.clone());
        tokio::spawn(async move {
            for number in 1..=20 {
                append(&*a, &id, stream, events([number])).await;
            }
        })
    });
    for writer in join_all(writers).await {
        writer.expect("a writer that does not panic");
    }
    let found = streams(&*a, &id).await;
    assert_eq!(found.len(), 8);
    for stream in found {
        assert_eq!(stream.events, events(1..=20), "stream {}", stream.number);
    }
}
