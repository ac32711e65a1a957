//! Replicas that die, and a Redis that forgets everything or does not respond.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use http::{HeaderMap, Method, StatusCode, Uri};
use mcpgen_redis::RedisStores;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::replicas::{
    BusEvent, ChangeBus, EventStore, ExchangeBus, ForwardedRequest, ForwardedResponse, Home, JournalEntry, RateLimiter,
    SessionStore, StoredEvent, StoredSession, StreamId,
};
use mcpgen_sdk::tasks::{StoredTask, TaskStore};
use mcpgen_types::Map;
use mcpgen_types::v2025_11_25::{Task, TaskStatus};
use tokio::time::{Instant, sleep, timeout};

use crate::redis_server::RedisServer;

const LONG: Duration = Duration::from_secs(600);

fn task(id: &str) -> StoredTask {
    let now = jiff::Timestamp::now();
    StoredTask {
        task: Task::new(id, TaskStatus::Working, now.to_string(), Some(60_000)).last_updated_at(now.to_string()),
        owner: "ann".to_owned(),
        until: now + jiff::SignedDuration::from_secs(60),
        outcome: None,
        input_requests: Map::new(),
        input_responses: Map::new(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_of_dead_replicas_fail() {
    let Some(redis) = RedisServer::start().await else { return };
    let (a, b) = (redis.replica().await, redis.replica().await);
    for id in ["one", "two"] {
        TaskStore::create(&a, task(id)).await.expect("a new task");
    }
    sleep(redis.options().lease * 2).await;
    let running = b.get("one").await.expect("an available store").expect("the task");
    assert_eq!(running.task.status, TaskStatus::Working, "its replica is alive");
    drop(a);
    sleep(redis.options().lease * 2).await;
    let failed = b.get("one").await.expect("an available store").expect("the task");
    assert_eq!(failed.task.status, TaskStatus::Failed);
    let message = failed.task.status_message.expect("a message");
    assert_eq!(message, "the server process that ran the task has ended; start the task again");
    assert_eq!(failed.outcome.expect("an outcome").expect_err("an error").message, message);
    let listed = b.list("ann", None, 10).await.expect("an available store");
    assert_eq!(listed.iter().map(|task| task.status).collect::<Vec<_>>(), [TaskStatus::Failed; 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn background_tasks_end_with_the_last_clone() {
    let Some(redis) = RedisServer::start().await else { return };
    let stores = redis.replica().await;
    let mut changes = stores.subscribe();
    let clone = stores.clone();
    drop(stores);
    assert!(timeout(Duration::from_secs(3), changes.next()).await.is_err(), "a clone exists");
    drop(clone);
    let end = timeout(Duration::from_secs(5), changes.next()).await.expect("the stream ends");
    assert_eq!(end, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscribers_learn_that_redis_lost_changes() {
    let Some(redis) = RedisServer::start().await else { return };
    let (a, b) = (redis.replica().await, redis.replica().await);
    let mut changes = b.subscribe();
    a.publish(&Change::Tools).await.expect("an available bus");
    assert_eq!(changes.next().await, Some(BusEvent::Change(Change::Tools)));
    redis.command("FLUSHALL").await;
    let missed = timeout(Duration::from_secs(5), changes.next()).await.expect("an event without further changes");
    assert_eq!(missed, Some(BusEvent::Missed));
    a.publish(&Change::Prompts).await.expect("an available bus");
    assert_eq!(changes.next().await, Some(BusEvent::Change(Change::Prompts)));
    // Publish a change before the loss is noticed.
    redis.command("FLUSHALL").await;
    a.publish(&Change::Resources).await.expect("an available bus");
    assert_eq!(changes.next().await, Some(BusEvent::Missed));
    assert_eq!(changes.next().await, Some(BusEvent::Change(Change::Resources)));
}

/// Records that it was dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Answers requests with one frame and a body that never ends. Sets the returned flag when a body is dropped.
fn answer_endlessly(stores: &RedisStores) -> Arc<AtomicBool> {
    let is_dropped = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_dropped);
    stores.answer(Box::new(move |_| {
        let guard = Dropped(Arc::clone(&flag));
        let frames = stream::iter([Ok(Bytes::from_static(b"a"))]).chain(stream::pending()).map(move |frame| {
            let _guard = &guard;
            frame
        });
        let frames = frames.boxed();
        async move { ForwardedResponse::new(StatusCode::OK, HeaderMap::new(), frames) }.boxed()
    }));
    is_dropped
}

/// Waits until the answering replica has dropped the body.
async fn until_set(is_dropped: &AtomicBool, limit: Duration) {
    let until = Instant::now() + limit;
    while !is_dropped.load(Ordering::SeqCst) {
        assert!(Instant::now() < until, "the other replica stops the request");
        sleep(Duration::from_millis(20)).await;
    }
}

fn get() -> ForwardedRequest {
    ForwardedRequest::new(Method::GET, Uri::from_static("/"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_end_when_the_requester_dies() {
    let Some(redis) = RedisServer::start().await else { return };
    let (a, b) = (redis.replica().await, redis.replica().await);
    let is_dropped = answer_endlessly(&b);
    let mut response = a.forward(b.replica_id(), get()).await.expect("a response");
    response.frames.next().await.expect("a frame").expect("a frame");
    drop(a);
    let end = timeout(Duration::from_secs(5), response.frames.next()).await.expect("the frames end");
    assert!(end.expect("an end with an error").is_err());
    // The requester is dead, so it cannot cancel the request.
    until_set(&is_dropped, Duration::from_secs(15)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_connections_end_responses() {
    let Some(redis) = RedisServer::start().await else { return };
    let (a, b) = (redis.replica().await, redis.replica().await);
    let is_dropped = answer_endlessly(&b);
    for connections in ["pubsub", "normal"] {
        let mut response = a.forward(b.replica_id(), get()).await.expect("a response");
        response.frames.next().await.expect("a frame").expect("a frame");
        is_dropped.store(false, Ordering::SeqCst);
        redis.command(&format!("CLIENT KILL TYPE {connections} SKIPME yes")).await;
        if connections == "pubsub" {
            let end = timeout(Duration::from_secs(5), response.frames.next()).await.expect("the frames end");
            assert!(end.expect("an end with an error").is_err(), "frames may be lost");
            until_set(&is_dropped, Duration::from_secs(5)).await;
        }
        // New requests work after a few attempts at most.
        let until = Instant::now() + Duration::from_secs(5);
        while a.forward(b.replica_id(), get()).await.is_err() {
            assert!(Instant::now() < until, "the replicas connect again");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// How many operations succeed and fail on two replicas while Redis fails.
#[derive(Default)]
struct Counts {
    ok: AtomicUsize,
    failed: AtomicUsize,
}

impl Counts {
    fn add(&self, ok: bool) {
        if ok { &self.ok } else { &self.failed }.fetch_add(1, Ordering::SeqCst);
    }
}

/// Uses the stores until `stop` is set. Panics on a wrong answer. Redis may lose a session, but not part of one.
async fn load(a: RedisStores, b: RedisStores, worker: usize, stop: Arc<AtomicBool>, counts: Arc<Counts>) {
    let limiter = a.rate_limiter(1_000_000, Duration::from_secs(1));
    for round in 0.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let began = Instant::now();
        let id = format!("session-{worker}-{round}");
        let ok = session(&a, &b, &id).await;
        counts.add(ok);
        counts.add(limiter.check("ann").await.is_ok());
        counts.add(a.publish(&Change::Resource(id.clone())).await.is_ok());
        counts.add(forward(&a, &b, &id).await);
        assert!(began.elapsed() < Duration::from_secs(60), "operations end");
        sleep(Duration::from_millis(5)).await;
    }
}

/// Creates and uses a session. Returns whether all operations succeed.
async fn session(a: &RedisStores, b: &RedisStores, id: &str) -> bool {
    let Ok(created) = SessionStore::create(a, StoredSession::new(id), LONG).await else { return false };
    if !created {
        return false;
    }
    let entry = JournalEntry::new("key", Bytes::from(id.to_owned()));
    if a.record(id, entry.clone()).await.is_err() {
        return false;
    }
    let stream = StreamId { session: id.to_owned(), number: 1 };
    let event = StoredEvent { number: 1, message: Bytes::from(id.to_owned()), is_last: true };
    if a.append(&stream, &[], vec![event.clone()]).await.is_err() {
        return false;
    }
    match b.locate(id).await {
        Ok(Some(Home::Replica(home))) => assert_eq!(home, a.replica_id()),
        Ok(Some(Home::Here(session))) => assert_eq!(session.journal, [entry], "{id}"),
        _ => return false,
    }
    match b.streams(id).await {
        Ok(streams) if !streams.is_empty() => assert_eq!(streams[0].events, [event]),
        _ => return false,
    }
    a.remove(id).await.is_ok()
}

/// Forwards a request. Returns whether the response is complete.
async fn forward(a: &RedisStores, b: &RedisStores, id: &str) -> bool {
    let request = ForwardedRequest::new(Method::GET, Uri::try_from(format!("/{id}")).expect("a URI"));
    let Ok(response) = a.forward(b.replica_id(), request).await else { return false };
    let frames: Vec<_> = response.frames.collect().await;
    let Ok(frames) = frames.into_iter().collect::<Result<Vec<_>, _>>() else { return false };
    assert_eq!(frames.concat(), format!("/{id}").repeat(50).as_bytes(), "a complete response has all frames");
    true
}

/// Uses the stores while Redis fails. Checks that they recover.
async fn survives(failure: impl AsyncFnOnce(&RedisServer)) {
    let Some(redis) = RedisServer::start().await else { return };
    let (a, b) = (redis.replica().await, redis.replica().await);
    b.answer(Box::new(|request| {
        let path = Bytes::from(request.uri.path().to_owned());
        let frames = stream::iter(vec![path; 50]).map(Ok).boxed();
        async move { ForwardedResponse::new(StatusCode::OK, HeaderMap::new(), frames) }.boxed()
    }));
    let (stop, counts) = (Arc::new(AtomicBool::new(false)), Arc::new(Counts::default()));
    let workers: Vec<_> = (0..8)
        .map(|worker| tokio::spawn(load(a.clone(), b.clone(), worker, Arc::clone(&stop), Arc::clone(&counts))))
        .collect();
    sleep(Duration::from_secs(1)).await;
    assert!(counts.ok.load(Ordering::SeqCst) > 0 && counts.failed.load(Ordering::SeqCst) == 0, "before the failure");
    failure(&redis).await;
    let failed = Instant::now();
    // Everything works again, without a restart.
    let mut successes = 0;
    while successes < 20 {
        let id = format!("after-{}", failed.elapsed().as_micros());
        let ok = session(&a, &b, &id).await && forward(&a, &b, &id).await;
        successes = if ok { successes + 1 } else { 0 };
        assert!(failed.elapsed() < Duration::from_secs(30), "the stores recover");
        sleep(Duration::from_millis(20)).await;
    }
    stop.store(true, Ordering::SeqCst);
    for worker in workers {
        worker.await.expect("no wrong answer");
    }
    let (ok, lost) = (counts.ok.load(Ordering::SeqCst), counts.failed.load(Ordering::SeqCst));
    println!("{ok} operations succeeded and {lost} failed; recovered after {:?}", failed.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn survives_a_flush() {
    survives(async |redis| {
        for _ in 0..3 {
            redis.command("FLUSHALL").await;
            sleep(Duration::from_millis(300)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn survives_a_stop_of_ten_seconds() {
    survives(async |redis| redis.pause(Duration::from_secs(10)).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_oldest_streams_of_a_session_are_removed() {
    let Some(redis) = RedisServer::start().await else { return };
    // The limits on streams and bytes, the size of an event, and which of the streams 0 to 11 are left.
    for (max_streams, max_bytes, size, expected) in [
        (4, 1 << 20, 10, vec![0, 9, 10, 11]),
        (512, 1000, 300, vec![0, 10, 11]),
        (512, 1000, 1001, vec![0, 11]),
        (512, 1 << 20, 10, (0..12).collect()),
    ] {
        let mut options = redis.options();
        (options.max_streams, options.max_session_bytes) = (max_streams, max_bytes);
        options.prefix = format!("{max_streams}-{size}");
        let stores = RedisStores::connect(options).await.expect("a connection");
        assert!(SessionStore::create(&stores, StoredSession::new("s"), LONG).await.expect("an available store"));
        let append = async |number: u64, events| {
            let stream = StreamId { session: "s".to_owned(), number };
            stores.append(&stream, &[], events).await.expect("appended events");
        };
        let event = |number| StoredEvent { number, message: vec![b'x'; size].into(), is_last: false };
        for stream in 0..12 {
            append(stream, vec![event(1)]).await;
        }
        let streams = stores.streams("s").await.expect("an available store");
        assert_eq!(streams.iter().map(|stream| stream.number).collect::<Vec<_>>(), expected);
        // Removed streams no longer count toward the bytes.
        for stream in streams {
            stores.remove_stream(&StreamId { session: "s".to_owned(), number: stream.number }).await.expect("removed");
        }
        let key = format!("{max_streams}-{size}:session:{{s}}");
        assert_eq!(redis.query::<u64>(&format!("HGET {key} bytes")).await, 0);
        // A removed stream can be resumed only from its next event on.
        append(3, vec![event(2)]).await;
        let streams = stores.streams("s").await.expect("an available store");
        assert_eq!((streams[0].number, streams[0].dropped, streams[0].events.len()), (3, 1, 1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_learns_that_its_sessions_have_moved() {
    let Some(redis) = RedisServer::start().await else { return };
    let mut options = redis.options();
    // The replicas do not notice an expired lease themselves during the test.
    options.lease = Duration::from_secs(120);
    let connect = async || RedisStores::connect(options.clone()).await.expect("a connection");
    let (a, b) = (connect().await, connect().await);
    let ids = ["moved", "stays"].map(str::to_owned);
    for id in &ids {
        assert!(SessionStore::create(&a, StoredSession::new(id), LONG).await.expect("an available store"));
    }
    let soon = async |a: &RedisStores| timeout(Duration::from_secs(10), a.moved()).await.expect("in time");
    // A new replica finds no lease of its own, so it checks its sessions.
    soon(&a).await;
    assert_eq!(a.renew(&ids, LONG).await.expect("an available store"), [""; 0]);

    redis.command(&format!("DEL mcpgen:replica:{{{}}}", a.replica_id())).await;
    assert!(matches!(b.locate("moved").await, Ok(Some(Home::Here(_)))));
    soon(&a).await;
    assert_eq!(a.renew(&ids, LONG).await.expect("an available store"), ids[..1]);

    // Whatever happens while a replica is not subscribed, it checks its sessions afterwards.
    redis.command("HSET mcpgen:session:{stays} home another").await;
    assert_eq!(a.renew(&ids[1..], LONG).await.expect("an available store"), [""; 0], "nobody has told it");
    redis.command("CLIENT KILL TYPE pubsub").await;
    soon(&a).await;
    assert_eq!(a.renew(&ids[1..], LONG).await.expect("an available store"), ids[1..]);
}
