//! The contract of change buses.

use futures_util::StreamExt;
use futures_util::future::join_all;

use super::{soon, unique};
use mcpgen_mcp::protocol::change::Change;
use mcpgen_mcp::replicas::{BusEvent, ChangeBus};

/// How many changes the slow subscriber leaves unread at first.
const MANY: usize = 5_000;

/// Tests a [`ChangeBus`].
pub async fn change_bus<S: ChangeBus>(replica: impl AsyncFn() -> S) {
    delivers_in_order(&replica).await;
    notifies_slow_subscribers(&replica).await;
}

async fn publish(bus: &impl ChangeBus, change: &Change) {
    bus.publish(change).await.expect("an available bus");
}

async fn delivers_in_order<S: ChangeBus>(replica: &impl AsyncFn() -> S) {
    let replicas = join_all((0..3).map(|_| replica())).await;
    let prefix = unique("changes");
    let last = Change::Task(prefix.clone());
    let mut subscribers: Vec<_> = replicas.iter().map(ChangeBus::subscribe).collect();
    let lists = [Change::Tools, Change::Prompts, Change::Resources, Change::Resource(format!("file:{prefix}é\n{{}}"))];
    for change in &lists {
        publish(&replicas[0], change).await;
    }
    // Several replicas publish at once.
    join_all(replicas.iter().enumerate().map(|(publisher, replica)| {
        let prefix = &prefix;
        async move {
            for n in 0..50 {
                publish(replica, &Change::Resource(format!("{prefix}/{publisher}/{n}"))).await;
            }
        }
    }))
    .await;
    publish(&replicas[0], &last).await;
    for subscriber in &mut subscribers[1..] {
        let mut received = Vec::new();
        let all = async {
            loop {
                match subscriber.next().await.expect("the bus is not dropped") {
                    BusEvent::Change(change) if change == last => break,
                    BusEvent::Change(change) => received.push(change),
                    BusEvent::Missed => panic!("few changes are not missed"),
                }
            }
        };
        soon("all changes arrive", all).await;
        let found: Vec<_> = received.iter().filter(|change| lists.contains(change)).take(lists.len()).collect();
        assert_eq!(found, lists.iter().collect::<Vec<_>>(), "all kinds of changes arrive, in order");
        let begin = format!("{prefix}/0/");
        let first = received.iter().filter(|change| matches!(change, Change::Resource(uri) if uri.starts_with(&begin)));
        let expected: Vec<_> = (0..50).map(|n| Change::Resource(format!("{begin}{n}"))).collect();
        assert_eq!(first.cloned().collect::<Vec<_>>(), expected, "the changes of one publisher arrive in order");
    }
    // A replica does not receive its own changes. By now, those of the others have arrived.
    let mark = Change::Task(unique("mark"));
    publish(&replicas[1], &mark).await;
    let own = [format!("{prefix}/0/"), format!("file:{prefix}")];
    let others = async {
        loop {
            match subscribers[0].next().await.expect("the bus is not dropped") {
                BusEvent::Change(change) if change == mark => break,
                BusEvent::Change(Change::Resource(uri)) => {
                    assert!(!own.iter().any(|own| uri.starts_with(own)), "{uri}")
                }
                event => assert_ne!(event, BusEvent::Change(last.clone())),
            }
        }
    };
    soon("the changes of the others arrive", others).await;
}

async fn notifies_slow_subscribers<S: ChangeBus>(replica: &impl AsyncFn() -> S) {
    let (a, b) = (replica().await, replica().await);
    let prefix = unique("slow");
    let mut subscriber = b.subscribe();
    for batch in 0..MANY / 100 {
        let changes: Vec<_> = (0..100).map(|n| Change::Resource(format!("{prefix}/{}", batch * 100 + n))).collect();
        join_all(changes.iter().map(|change| publish(&a, change))).await;
    }
    let last = Change::Task(prefix.clone());
    publish(&a, &last).await;
    let (mut received, mut missed) = (0, false);
    let all = async {
        loop {
            match subscriber.next().await.expect("the bus is not dropped") {
                BusEvent::Change(change) if change == last => break,
                BusEvent::Change(Change::Resource(uri)) if uri.starts_with(&prefix) => received += 1,
                BusEvent::Change(_) => {}
                BusEvent::Missed => missed = true,
            }
        }
    };
    soon("the last change arrives", all).await;
    assert!(received == MANY || missed, "a subscriber that misses changes is notified: {received} of {MANY}");
}
