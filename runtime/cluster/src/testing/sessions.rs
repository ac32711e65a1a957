//! The contract of session stores.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::time::sleep;

use super::{LONG, eventually, unique};
use mcpgen_mcp::replicas::{Home, JournalEntry, SessionStore, StoredSession};

/// Tests a [`SessionStore`].
pub async fn session_store<S: SessionStore>(replica: impl AsyncFn() -> S) {
    creates_and_locates(&replica).await;
    keeps_the_order_of_the_journal(&replica).await;
    expires(&replica).await;
    moves_sessions_of_dead_replicas(&replica).await;
    accepts_concurrent_writers(&replica).await;
}

/// Tests that an empty [`SessionStore`] accepts `max` sessions, and rejects further ones.
pub async fn session_limit<S: SessionStore>(replica: impl AsyncFn() -> S, max: usize) {
    let store = replica().await;
    for n in 0..max {
        assert!(create(&store, &format!("limit-{n}")).await, "session {n} of {max}");
    }
    let error = store.create(StoredSession::new("limit"), LONG).await.expect_err("the store is full");
    assert!(error.is_full(), "{error}");
    store.remove("limit-0").await.expect("a removed session");
    assert!(create(&store, "limit").await, "there is room for one session");
}

async fn create(store: &impl SessionStore, id: &str) -> bool {
    store.create(StoredSession::new(id), LONG).await.expect("an available store")
}

async fn locate(store: &impl SessionStore, id: &str) -> Option<Home> {
    store.locate(id).await.expect("an available store")
}

/// Returns the session, and panics if this replica is not its home.
async fn here(store: &impl SessionStore, id: &str) -> StoredSession {
    match locate(store, id).await {
        Some(Home::Here(session)) => session,
        home => panic!("the session's home is {home:?}"),
    }
}

async fn record(store: &impl SessionStore, id: &str, key: &str, message: &[u8]) {
    let entry = JournalEntry::new(key, Bytes::copy_from_slice(message));
    store.record(id, entry).await.expect("a recorded message");
}

async fn creates_and_locates<S: SessionStore>(replica: &impl AsyncFn() -> S) {
    let (a, b) = (replica().await, replica().await);
    let id = unique("session");
    assert_eq!(locate(&a, &id).await, None, "before it is created");
    let mut session = StoredSession::new(&id);
    (session.owner, session.principal) = (Some("ann {}\n".to_owned()), Some("bob".to_owned()));
    assert!(a.create(session.clone(), LONG).await.expect("an available store"));
    assert!(!create(&a, &id).await && !create(&b, &id).await, "the ID exists");
    let Some(Home::Replica(home)) = locate(&b, &id).await else { panic!("the home is another replica") };
    assert_eq!(locate(&b, &id).await, Some(Home::Replica(home)), "the home does not change");
    let found = here(&a, &id).await;
    assert!(found.epoch > 0, "the epoch increases when a replica begins to run the session");
    session.epoch = found.epoch;
    assert_eq!(found, session);
    // Only the home may change a session.
    assert!(b.record(&id, JournalEntry::new("key", Bytes::new())).await.is_err());
    let ids = [id.clone(), unique("unknown")];
    assert_eq!(a.renew(&ids, LONG).await.expect("an available store"), &ids[1..]);
    assert_eq!(b.renew(&ids, LONG).await.expect("an available store"), ids);
    assert!(a.record(&ids[1], JournalEntry::new("key", Bytes::new())).await.is_err(), "it does not exist");
    // IDs come from clients and may contain anything.
    for id in ["", "{", "}", "a}b{c", "*", "é", "a\nb"].map(|id| format!("{id}{}", unique(id))) {
        assert!(create(&a, &id).await);
        assert_eq!(here(&a, &id).await.id, id);
        a.remove(&id).await.expect("a removed session");
    }
    b.remove(&id).await.expect("any replica can remove a session");
    assert_eq!((locate(&a, &id).await, locate(&b, &id).await), (None, None));
    a.remove(&id).await.expect("a session that does not exist");
    assert!(create(&b, &id).await);
    assert_eq!(here(&b, &id).await.journal, [], "nothing is left of the removed session");
}

async fn keeps_the_order_of_the_journal<S: SessionStore>(replica: &impl AsyncFn() -> S) {
    let a = replica().await;
    let id = unique("session");
    assert!(create(&a, &id).await);
    for n in 0..12 {
        record(&a, &id, &format!("key {n}"), format!("message {n}").as_bytes()).await;
    }
    record(&a, &id, "key 1", b"\0\xff\r\n:{}").await;
    a.record(&id, JournalEntry::new("key 5", None)).await.expect("a removed entry");
    a.record(&id, JournalEntry::new("unknown", None)).await.expect("nothing to remove");
    let session = here(&a, &id).await;
    let keys: Vec<_> = session.journal.iter().map(|entry| entry.key.as_str()).collect();
    let expected = [0, 2, 3, 4, 6, 7, 8, 9, 10, 11, 1].map(|n| format!("key {n}"));
    assert_eq!(keys, expected, "oldest first; a replaced entry is the newest");
    let last = session.journal.last().and_then(|entry| entry.message.clone());
    assert_eq!(last.as_deref(), Some(&b"\0\xff\r\n:{}"[..]));
}

async fn expires<S: SessionStore>(replica: &impl AsyncFn() -> S) {
    let a = replica().await;
    let (short, renewed) = (unique("short"), unique("renewed"));
    let lifetime = Duration::from_millis(900);
    for id in [&short, &renewed] {
        assert!(a.create(StoredSession::new(id), lifetime).await.expect("an available store"));
    }
    for _ in 0..4 {
        sleep(Duration::from_millis(300)).await;
        let lost = a.renew(std::slice::from_ref(&renewed), lifetime).await.expect("an available store");
        assert_eq!(lost, [""; 0]);
    }
    assert_eq!(locate(&a, &short).await, None, "it has expired");
    assert_eq!(here(&a, &renewed).await.id, renewed);
    sleep(lifetime + Duration::from_millis(300)).await;
    assert_eq!(locate(&a, &renewed).await, None, "it was not renewed again");
    assert!(create(&a, &short).await, "an expired session is gone");
}

async fn moves_sessions_of_dead_replicas<S: SessionStore>(replica: &impl AsyncFn() -> S) {
    let (a, leaving) = (replica().await, replica().await);
    let others = [replica().await, replica().await, replica().await];
    let ids: Vec<_> = (0..20).map(|_| unique("moved")).collect();
    for id in &ids {
        assert!(create(&a, id).await);
        record(&a, id, "key", b"message").await;
    }
    let epoch = here(&a, &ids[0]).await.epoch;
    let left = unique("left");
    assert!(create(&leaving, &left).await);
    leaving.leave().await.expect("an available store");
    assert_eq!(here(&others[0], &left).await.id, left, "the session moves at once");
    // The replica crashes, so it does not leave.
    drop(a);
    let session = eventually("the death of a replica is detected", async || match locate(&others[0], &ids[0]).await {
        Some(Home::Here(session)) => Some(session),
        _ => None,
    })
    .await;
    assert!(session.epoch > epoch, "the epoch increases with each home");
    assert_eq!(session.journal, [JournalEntry::new("key", Bytes::from_static(b"message"))]);
    // Replicas that find the dead home at the same time agree on the new one.
    for id in &ids[1..] {
        let homes = join_all(others.iter().map(|other| locate(other, id))).await;
        let claimed = homes.iter().filter(|home| matches!(home, Some(Home::Here(_)))).count();
        assert_eq!(claimed, 1, "one replica is the home: {homes:?}");
        let named: Vec<_> = homes.iter().filter(|home| matches!(home, Some(Home::Replica(_)))).collect();
        assert!(named.len() == 2 && named[0] == named[1], "the others agree: {homes:?}");
    }
}

async fn accepts_concurrent_writers<S: SessionStore>(replica: &impl AsyncFn() -> S) {
    let replicas = join_all((0..4).map(|_| replica())).await;
    let id = unique("session");
    let created = join_all(replicas.iter().map(|replica| create(replica, &id))).await;
    assert_eq!(created.iter().filter(|created| **created).count(), 1, "one replica creates the session");
    let home = created.iter().position(|created| *created).and_then(|index| replicas.into_iter().nth(index));
    let home = Arc::new(home.expect("one of the replicas"));
    let writers = (0..32).map(|n| {
        let (home, id) = (Arc::clone(&home), id.clone());
        tokio::spawn(async move { record(&*home, &id, &format!("key {}", n % 16), b"message").await })
    });
    for writer in join_all(writers).await {
        writer.expect("a writer that does not panic");
    }
    assert_eq!(here(&*home, &id).await.journal.len(), 16);
}
