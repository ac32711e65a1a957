//! Sessions of legacy revisions behind a load balancer: requests reach any of several endpoints that share stores.
#![cfg(all(feature = "http-server", feature = "http-client"))]

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use mcpgen_cluster::{MemoryHub, MemoryStores};
use mcpgen_sdk::Server;
use mcpgen_sdk::http::server::{Body, Endpoint, EndpointOptions, Health, ServeHttp};
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::replicas::{
    Answer, ExchangeBus, ForwardedRequest, ForwardedResponse, Home, Replicas, SessionStore, StoreError,
};
use serde_json::{Value, json};

use crate::support::http_server::{Observed, server};
use crate::support::requests::{Event, call, events, read, request, send, session};

const REVISION: &str = "2025-11-25";

/// A replica of the server in [`server`].
struct Replica {
    endpoint: Endpoint,
    server: Server,
    observed: Arc<Observed>,
    stores: MemoryStores,
}

impl Replica {
    /// Makes the other replicas believe that this one has died.
    async fn kill(self) {
        self.stores.leave().await.expect("in memory");
    }
}

fn replica(hub: &MemoryHub, change: impl FnOnce(&mut EndpointOptions)) -> Replica {
    let observed = Arc::<Observed>::default();
    let stores = hub.replica();
    let server = server(&observed).change_bus(stores.clone()).build();
    let mut options = EndpointOptions::default().with_replicas(Replicas::new(stores.clone()));
    options.limits.drain_timeout = Duration::from_millis(200);
    change(&mut options);
    let endpoint = server.http(options).expect("a sound server");
    Replica { endpoint, server, observed, stores }
}

fn replicas() -> (MemoryHub, [Replica; 3]) {
    let hub = MemoryHub::new(100, 64 << 10);
    let replicas = [(); 3].map(|()| replica(&hub, |_| {}));
    (hub, replicas)
}

async fn post(replica: &Replica, session: &str, body: &str) -> http::Response<Body> {
    send(&replica.endpoint, "POST", &[("mcp-session-id", session)], body).await
}

async fn get(replica: &Replica, session: &str, last_event: Option<&str>) -> http::Response<Body> {
    let mut headers = vec![("mcp-session-id", session)];
    headers.extend(last_event.map(|id| ("last-event-id", id)));
    send(&replica.endpoint, "GET", &headers, "").await
}

/// Reads events until `done` accepts one.
async fn events_until(response: &mut http::Response<Body>, done: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut text = String::new();
    let read = async {
        while let Some(frame) = response.body_mut().frame().await {
            let data = frame.expect("a frame").into_data().expect("data");
            text.push_str(std::str::from_utf8(&data).expect("text"));
            if events(&text).iter().any(&done) {
                break;
            }
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(5), read).await;
    assert!(in_time.is_ok(), "no such event in {text:?}");
    events(&text)
}

#[tokio::test]
async fn any_replica_handles_requests_of_a_session() {
    let (_hub, replicas) = replicas();
    let id = session(&replicas[0].endpoint, REVISION).await;
    for (number, replica) in replicas.iter().chain(&replicas).enumerate() {
        let number = i64::try_from(number).expect("small");
        let (status, _, events) = read(post(replica, &id, &call(number, "echo", json!({ "n": number }))).await).await;
        assert_eq!((status, events.len()), (200, 1));
        assert_eq!(events[0].json()["result"]["content"][0]["text"], format!(r#"{{"n":{number}}}"#));
        assert_eq!(events[0].json()["id"], number);
    }
    assert_eq!(replicas.iter().map(|replica| replica.endpoint.sessions()).sum::<usize>(), 1, "one replica runs it");
    let (status, _, events) = read(post(&replicas[1], "0123456789", &call(1, "echo", json!({}))).await).await;
    assert_eq!((status, events.len()), (404, 1));
    let ended = send(&replicas[2].endpoint, "DELETE", &[("mcp-session-id", &id)], "").await;
    assert_eq!(ended.status(), 204);
    for replica in &replicas {
        assert_eq!(post(replica, &id, &call(1, "echo", json!({}))).await.status(), 404);
    }
}

#[tokio::test]
async fn a_response_reaches_the_replica_that_waits_for_it() {
    let (_hub, replicas) = replicas();
    let id = session(&replicas[0].endpoint, REVISION).await;
    let mut response = post(&replicas[1], &id, &call(1, "ask", json!({}))).await;
    let asked = events_until(&mut response, |event| event.data.contains("elicitation/create")).await;
    let question = asked.last().expect("the question").json();
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } }).to_string();
    assert_eq!(post(&replicas[2], &id, &answer).await.status(), 202);
    let last = events_until(&mut response, |event| event.data.contains("decline")).await;
    assert_eq!(last.last().expect("the result").json()["id"], 1);
}

#[tokio::test]
async fn a_request_can_be_cancelled_at_another_replica() {
    let (_hub, replicas) = replicas();
    let id = session(&replicas[0].endpoint, REVISION).await;
    let body = call(1, "wait", json!({}));
    let waiting = post(&replicas[1], &id, &body);
    let cancel = async {
        replicas[0].observed.started.notified().await;
        let cancelled =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }).to_string();
        assert_eq!(post(&replicas[2], &id, &cancelled).await.status(), 202);
    };
    let (response, ()) = tokio::join!(waiting, cancel);
    assert_eq!(response.into_body().collect().await.expect("a body").to_bytes().len(), 0, "no response");
    assert_eq!(replicas[0].observed.ended.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_stream_is_resumed_at_another_replica() {
    let (_hub, replicas) = replicas();
    let id = session(&replicas[0].endpoint, REVISION).await;
    let response = post(&replicas[1], &id, &call(1, "later", json!({}))).await;
    let (_, _, first) = read(response).await;
    let last_event = first.iter().rfind(|event| !event.id.is_empty()).expect("a priming event").id.clone();
    replicas[0].observed.proceed.notify_one();
    let (status, _, events) = read(get(&replicas[2], &id, Some(&last_event)).await).await;
    assert_eq!(status, 200);
    assert!(events.last().expect("the response").data.contains("at last"));
}

#[tokio::test]
async fn another_replica_takes_over_when_the_home_dies() {
    let (_hub, replicas) = replicas();
    let [home, second, third] = replicas;
    let id = session(&home.endpoint, REVISION).await;
    let level = request(1, "logging/setLevel", json!({ "level": "error" }));
    assert_eq!(post(&second, &id, &level).await.status(), 200);
    let response = post(&second, &id, &call(2, "later", json!({}))).await;
    let (_, _, first) = read(response).await;
    let last_event = first.iter().rfind(|event| !event.id.is_empty()).expect("a priming event").id.clone();
    let mut standalone = get(&third, &id, None).await;
    home.server.changed(&Change::Tools);
    let notified = events_until(&mut standalone, |event| event.data.contains("list_changed")).await;
    let notified = notified.last().expect("the notification").id.clone();
    home.kill().await;

    let rest = standalone.into_body().collect();
    tokio::time::timeout(Duration::from_secs(5), rest).await.expect("the stream ends").expect("without an error");
    let (status, _, events) = read(post(&second, &id, &call(3, "echo", json!({}))).await).await;
    assert_eq!((status, &events[0].json()["result"]["content"][0]["text"]), (200, &json!("{}")));
    assert_eq!((second.endpoint.sessions(), third.endpoint.sessions()), (1, 0));
    let (status, _, events) = read(get(&third, &id, Some(&last_event)).await).await;
    let failed = events.last().expect("a response").json();
    assert_eq!((status, &failed["id"], &failed["error"]["code"]), (200, &json!(2), &json!(-32603)));
    assert!(failed["error"]["message"].as_str().expect("text").contains("send the request again"), "{failed}");

    // The client resumes after the notification that it has, and gets another one for changes that it may have missed.
    let mut standalone = get(&third, &id, Some(&notified)).await;
    let resumed = events_until(&mut standalone, |event| event.data.contains("list_changed")).await;
    let methods: Vec<Value> =
        resumed.iter().filter(|event| !event.data.is_empty()).map(|event| event.json()["method"].clone()).collect();
    assert_eq!(methods, ["notifications/tools/list_changed"], "{resumed:?}");
}

#[tokio::test]
async fn a_new_home_can_ask_the_user() {
    let (_hub, replicas) = replicas();
    let [home, second, _] = replicas;
    let id = session(&home.endpoint, REVISION).await;
    home.kill().await;
    let mut response = post(&second, &id, &call(1, "ask", json!({}))).await;
    let asked = events_until(&mut response, |event| event.data.contains("\"id\"")).await;
    assert_eq!(asked.last().expect("the question").json()["method"], "elicitation/create");
}

#[tokio::test]
async fn a_client_that_reuses_ids_gets_no_response_of_the_journal() {
    let (_hub, replicas) = replicas();
    let [home, second, _] = replicas;
    let id = session(&home.endpoint, REVISION).await;
    home.kill().await;
    // The call has the same ID as `initialize`.
    let (status, _, events) = read(post(&second, &id, &call(0, "echo", json!({}))).await).await;
    assert_eq!((status, &events[0].json()["result"]["content"][0]["text"]), (200, &json!("{}")), "{events:?}");
}

#[tokio::test]
async fn a_closed_replica_hands_its_sessions_over() {
    let (_hub, replicas) = replicas();
    let id = session(&replicas[0].endpoint, REVISION).await;
    replicas[0].endpoint.close().await;
    let (status, _, events) = read(post(&replicas[1], &id, &call(3, "echo", json!({}))).await).await;
    assert_eq!((status, &events[0].json()["result"]["content"][0]["text"]), (200, &json!("{}")));
    assert_eq!(replicas[1].endpoint.sessions(), 1);
}

#[tokio::test]
async fn one_replica_takes_over_concurrent_requests() {
    let (_hub, replicas) = replicas();
    let [home, second, third] = replicas;
    let id = session(&home.endpoint, REVISION).await;
    home.kill().await;
    let id = &id;
    let calls = (1..=20).map(|number| {
        let replica = if number % 2 == 0 { &second } else { &third };
        let body = call(number, "echo", json!({ "n": number }));
        async move { read(post(replica, id, &body).await).await }
    });
    let responses = futures_util::future::join_all(calls).await;
    for (status, _, events) in responses {
        assert_eq!(status, 200, "{events:?}");
    }
    assert_eq!(second.endpoint.sessions() + third.endpoint.sessions(), 1);
}

#[tokio::test]
async fn a_session_belongs_to_its_owner_at_every_replica() {
    let hub = MemoryHub::new(100, 64 << 10);
    let by_user = |options: &mut EndpointOptions| {
        let user = |parts: &http::request::Parts| {
            let user = parts.headers.get("x-user").and_then(|user| user.to_str().ok());
            user.unwrap_or_default().to_owned()
        };
        options.owner = Some(Arc::new(user));
    };
    let replicas = [(); 3].map(|()| replica(&hub, by_user));
    let id = session(&replicas[0].endpoint, REVISION).await;
    let body = call(1, "echo", json!({}));
    let statuses = async |user: &str| {
        let mut statuses = Vec::new();
        for replica in &replicas {
            let headers = [("mcp-session-id", id.as_str()), ("x-user", user)];
            statuses.push(send(&replica.endpoint, "POST", &headers, &body).await.status().as_u16());
        }
        statuses
    };
    assert_eq!(statuses("eve").await, [404, 404, 404]);
    assert_eq!(statuses("").await, [200, 200, 200]);
    let [home, second, third] = replicas;
    home.kill().await;
    for replica in [second, third] {
        let headers = [("mcp-session-id", id.as_str()), ("x-user", "eve")];
        assert_eq!(send(&replica.endpoint, "POST", &headers, &body).await.status(), 404);
    }
}

#[tokio::test]
async fn credentials_stay_at_the_replica_that_receives_a_request() {
    let (_hub, replicas) = replicas();
    let id = session(&replicas[0].endpoint, REVISION).await;
    let credentials = ["authorization", "proxy-authorization", "cookie", "dpop"];
    let mut headers = vec![("mcp-session-id", id.as_str()), ("x-trace", "1")];
    headers.extend(credentials.map(|name| (name, "secret")));
    for (replica, is_home) in replicas.iter().zip([true, false, false]) {
        let (_, _, events) =
            read(send(&replica.endpoint, "POST", &headers, &call(1, "headers", json!({}))).await).await;
        let result = events[0].json()["result"]["content"][0]["text"].clone();
        let names: Vec<_> = result.as_str().expect("a text").split(' ').collect();
        assert!(names.contains(&"x-trace"), "{names:?}");
        for name in credentials {
            assert_eq!(names.contains(&name), is_home, "{name}");
        }
    }
}

#[tokio::test]
async fn sessions_of_a_full_store_are_refused() {
    let hub = MemoryHub::new(1, 64 << 10);
    let replicas = [(); 2].map(|()| replica(&hub, |_| {}));
    session(&replicas[0].endpoint, REVISION).await;
    let params = json!({
        "protocolVersion": REVISION,
        "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" },
    });
    let (status, headers, events) =
        read(send(&replicas[1].endpoint, "POST", &[], &request(0, "initialize", params)).await).await;
    assert_eq!((status, headers["retry-after"].to_str().expect("text")), (503, "1"), "{events:?}");
    crate::support::http_server::until(|| replicas[1].endpoint.sessions() == 0).await;
}

#[tokio::test]
async fn changes_reach_the_subscribers_of_all_replicas() {
    let (_hub, replicas) = replicas();
    let id = session(&replicas[0].endpoint, REVISION).await;
    let mut standalone = get(&replicas[1], &id, None).await;
    replicas[1].server.changed(&Change::Tools);
    let seen = events_until(&mut standalone, |event| event.data.contains("tools/list_changed")).await;
    assert_eq!(seen.iter().filter(|event| !event.data.is_empty()).count(), 1, "{seen:?}");
    // Both replicas know the change, but only the home of the session sends it.
    let second = tokio::time::timeout(Duration::from_millis(300), standalone.body_mut().frame()).await;
    assert!(second.is_err(), "{second:?}");
}

#[tokio::test]
async fn health_checks_report_shutdown_and_store() {
    let (_hub, replicas) = replicas();
    let check = async |health: Health, method: &str| {
        let request = http::Request::builder().method(method).uri("/").body(()).expect("a request");
        let response = tower::ServiceExt::oneshot(health, request).await.expect("no error");
        read(response).await
    };
    let [replica, ..] = replicas;
    session(&replica.endpoint, REVISION).await;
    let (status, headers, body) = check(Health::ready(&replica.endpoint), "GET").await;
    assert_eq!((status, headers["cache-control"].to_str().expect("text")), (200, "no-store"));
    assert_eq!(body[0].json(), json!({ "status": "ready", "sessions": 1, "store": "available" }));
    assert_eq!(check(Health::ready(&replica.endpoint), "POST").await.0, 405);
    replica.endpoint.close().await;
    let (status, _, body) = check(Health::ready(&replica.endpoint).require_store(), "GET").await;
    assert_eq!((status, &body[0].json()["status"]), (503, &json!("closing")));
    assert_eq!(check(Health::live(&replica.endpoint), "GET").await.0, 200);
}

/// Calls a tool at a replica, and returns the status of the response.
async fn echo(replica: &Replica, session: &str) -> u16 {
    let (status, _, events) = read(post(replica, session, &call(1, "echo", json!({}))).await).await;
    assert!(status != 200 || events[0].json()["result"]["content"][0]["text"] == "{}", "{events:?}");
    status
}

#[tokio::test]
async fn a_session_is_found_after_its_remembered_home_has_died() {
    let (_hub, replicas) = replicas();
    let [home, second, third] = replicas;
    let id = session(&home.endpoint, REVISION).await;
    assert_eq!((echo(&second, &id).await, echo(&third, &id).await), (200, 200));
    home.kill().await;
    assert_eq!((echo(&second, &id).await, echo(&third, &id).await), (200, 200));
    assert_eq!((second.endpoint.sessions(), third.endpoint.sessions()), (1, 0));
    assert_eq!(send(&third.endpoint, "DELETE", &[("mcp-session-id", &id)], "").await.status(), 204);
    assert_eq!((echo(&second, &id).await, echo(&third, &id).await), (404, 404));
}

#[tokio::test]
async fn a_session_is_found_after_its_remembered_home_has_closed() {
    let (_hub, replicas) = replicas();
    let id = session(&replicas[0].endpoint, REVISION).await;
    assert_eq!((echo(&replicas[1], &id).await, echo(&replicas[2], &id).await), (200, 200));
    replicas[0].endpoint.close().await;
    assert_eq!((echo(&replicas[1], &id).await, echo(&replicas[2], &id).await), (200, 200));
}

/// A bus that forwards the next request to the replica in `to`, if there is one.
struct Misdirecting {
    stores: MemoryStores,
    to: Mutex<Option<String>>,
}

impl ExchangeBus for Misdirecting {
    fn forward<'a>(
        &'a self,
        replica: &'a str,
        request: ForwardedRequest,
    ) -> BoxFuture<'a, Result<ForwardedResponse, StoreError>> {
        // Redirects one request, as if this replica had remembered another home.
        let to = self.to.lock().expect("no panic").take();
        async move { self.stores.forward(to.as_deref().unwrap_or(replica), request).await }.boxed()
    }

    fn answer(&self, answer: Answer) {
        self.stores.answer(answer);
    }
}

#[tokio::test]
async fn a_request_that_reaches_another_replica_than_the_home_is_forwarded_again() {
    let (hub, [home, other, _]) = replicas();
    let stores = hub.replica();
    let bus = Arc::new(Misdirecting { stores: stores.clone(), to: Mutex::default() });
    let third = replica(&hub, |options| {
        let shared = Arc::new(stores.clone());
        let exchanges = Arc::clone(&bus) as Arc<dyn ExchangeBus>;
        let mut replicas = Replicas::new(stores);
        (replicas.sessions, replicas.events, replicas.exchanges) = (shared.clone(), shared, exchanges);
        options.replicas = Some(replicas);
    });
    let id = session(&home.endpoint, REVISION).await;
    // The ID of the other replica, which does not run the session.
    let probe = session(&other.endpoint, REVISION).await;
    let Ok(Some(Home::Replica(other))) = home.stores.locate(&probe).await else { panic!("it has another home") };
    let misdirect = || *bus.to.lock().expect("no panic") = Some(other.clone());
    misdirect();
    assert_eq!(echo(&third, &id).await, 503, "the home was just looked up");
    assert_eq!(echo(&third, &id).await, 200);
    misdirect();
    assert_eq!(echo(&third, &id).await, 200, "a remembered home is looked up again");
}
