//! The contract of exchange buses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{BoxFuture, join_all, pending};
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::{LONG, eventually, soon, unique};
use mcpgen_mcp::replicas::{
    ExchangeBus, ForwardedRequest, ForwardedResponse, Frames, Home, SessionStore, StoreError, StoredSession,
};

/// How many bytes of a response a bus may buffer while nobody reads.
const MAX_BUFFERED: usize = 8 << 20;

/// Tests an [`ExchangeBus`].
pub async fn exchange_bus<S: SessionStore + ExchangeBus>(replica: impl AsyncFn() -> S) {
    let (a, b) = (Arc::new(replica().await), replica().await);
    let b_id = id_of(&b, &*a).await;
    let early = a.forward(&b_id, get("/early")).await.expect_err("no function answers yet");
    assert!(early.is_undelivered(), "{early}");
    forwards_whole_requests(&a, &b, &b_id).await;
    streams_frames(&*a, &b, &b_id).await;
    limits_buffers(&*a, &b, &b_id).await;
    cancels_requests(&*a, &b, &b_id).await;
    let unknown = soon("an unknown replica", a.forward(&unique("unknown"), get("/"))).await;
    assert!(unknown.expect_err("an error").is_undelivered());
    ends_when_the_replica_dies(&*a, b, &b_id).await;
}

async fn id_of<S: SessionStore>(replica: &S, other: &S) -> String {
    let session = unique("session");
    let created = replica.create(StoredSession::new(&session), LONG).await;
    assert!(created.expect("an available store"));
    match other.locate(&session).await.expect("an available store") {
        Some(Home::Replica(id)) => id,
        home => panic!("the home of the session is {home:?}"),
    }
}

fn get(path: &str) -> ForwardedRequest {
    ForwardedRequest::new(Method::GET, Uri::try_from(path).expect("a URI"))
}

/// Handles forwarded requests; `frames` returns the frames of the response.
fn answer_with<F>(bus: &impl ExchangeBus, frames: F)
where
    F: Fn(ForwardedRequest) -> BoxStream<'static, Result<Bytes, StoreError>> + Send + Sync + 'static,
{
    bus.answer(Box::new(move |request| {
        let response = ForwardedResponse::new(StatusCode::OK, HeaderMap::new(), frames(request));
        async move { response }.boxed()
    }));
}

/// Reads frames to their end, which must not be an error.
async fn read(frames: Frames) -> Vec<u8> {
    let frames: Vec<_> = soon("the frames end", frames.collect()).await;
    frames.into_iter().flat_map(|frame| frame.expect("a frame").to_vec()).collect()
}

async fn forwards_whole_requests<S: ExchangeBus>(a: &Arc<S>, b: &S, b_id: &str) {
    b.answer(Box::new(|request| -> BoxFuture<'static, ForwardedResponse> {
        let summary = format!("{} {} {:?} {:?}\n", request.method, request.uri, request.owner, request.principal);
        let frames = [Bytes::from(summary), Bytes::new(), request.body].map(Ok);
        let response = ForwardedResponse::new(StatusCode::IM_A_TEAPOT, request.headers, stream::iter(frames).boxed());
        async move { response }.boxed()
    }));
    let mut headers = HeaderMap::new();
    headers.append("x-several", HeaderValue::from_static("one"));
    headers.append("x-several", HeaderValue::from_static("two"));
    headers.insert("x-bytes", HeaderValue::from_bytes(b"\xff\x80 \xc3\xa9").expect("a header value"));
    let body: Vec<u8> = (0..1_u32 << 20).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
    let exchanges = (0..16_usize).map(|n| {
        let (a, b_id, headers) = (Arc::clone(a), b_id.to_owned(), headers.clone());
        let body = Bytes::copy_from_slice(&body[..body.len() >> n]);
        tokio::spawn(async move {
            let mut request = ForwardedRequest::new(Method::POST, Uri::try_from(format!("/mcp?n={n}")).expect("a URI"));
            (request.headers, request.body) = (headers.clone(), body.clone());
            (request.owner, request.principal) = (Some("ann\n{}".to_owned()), (n % 2 == 0).then(|| "é".to_owned()));
            let summary = format!("POST /mcp?n={n} {:?} {:?}\n", request.owner, request.principal);
            let response = soon("a response", a.forward(&b_id, request)).await.expect("a response");
            assert_eq!((response.status, &response.headers), (StatusCode::IM_A_TEAPOT, &headers));
            let frames = read(response.frames).await;
            assert!(frames == [summary.as_bytes(), &body].concat(), "exchange {n}: {} bytes", frames.len());
        })
    });
    for exchange in join_all(exchanges).await {
        exchange.expect("an exchange that does not panic");
    }
}

async fn streams_frames<S: ExchangeBus>(a: &S, b: &S, b_id: &str) {
    // A frame arrives before the next one exists.
    let (sender, receiver) = mpsc::unbounded_channel::<Bytes>();
    let receiver = std::sync::Mutex::new(Some(receiver));
    answer_with(b, move |_| {
        let receiver = receiver.lock().expect("no panic").take().expect("one request");
        stream::unfold(receiver, |mut receiver| async move { Some((Ok(receiver.recv().await?), receiver)) }).boxed()
    });
    let mut response = soon("a response", a.forward(b_id, get("/stream"))).await.expect("a response");
    for n in 0..500 {
        sender.send(Bytes::from(format!("frame {n}"))).expect("a receiver");
        let frame = soon("a frame", response.frames.next()).await.expect("a frame").expect("a frame");
        assert_eq!(frame, format!("frame {n}"));
    }
    sleep(Duration::from_secs(5)).await;
    sender.send(Bytes::from_static(b"late")).expect("an idle exchange goes on");
    drop(sender);
    assert_eq!(read(response.frames).await, b"late");
    // An error ends the frames.
    answer_with(b, |_| {
        let failed = Err(StoreError::unavailable("the test fails it"));
        stream::iter([Ok(Bytes::from_static(b"a")), failed]).chain(stream::pending()).boxed()
    });
    let response = soon("a response", a.forward(b_id, get("/error"))).await.expect("a response");
    let frames: Vec<_> = soon("the frames end", response.frames.collect()).await;
    assert_eq!(frames.len(), 2, "nothing follows the error");
    assert!(frames[0].is_ok() && frames[1].is_err(), "{frames:?}");
}

async fn limits_buffers<S: ExchangeBus>(a: &S, b: &S, b_id: &str) {
    const FRAMES: usize = 300;
    let produced = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&produced);
    answer_with(b, move |_| {
        let counter = Arc::clone(&counter);
        let frame = move |n| {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok(Bytes::from(vec![n as u8; 100_000]))
        };
        stream::iter(0..FRAMES).map(frame).boxed()
    });
    let response = soon("a response", a.forward(b_id, get("/large"))).await.expect("a response");
    sleep(Duration::from_secs(1)).await;
    let buffered = produced.load(Ordering::SeqCst) * 100_000;
    assert!(buffered <= MAX_BUFFERED, "{buffered} bytes are buffered for a client that does not read");
    let body = read(response.frames).await;
    let expected: Vec<u8> = (0..FRAMES).flat_map(|n| vec![n as u8; 100_000]).collect();
    assert!(body == expected, "all frames arrive in order: {} bytes", body.len());
}

/// Records that it was dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

async fn is_dropped(what: &str, dropped: &AtomicBool) {
    eventually(what, async || dropped.load(Ordering::SeqCst).then_some(())).await;
}

async fn cancels_requests<S: ExchangeBus>(a: &S, b: &S, b_id: &str) {
    // The request is cancelled before the head of the response exists.
    let (started, dropped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (begun, guard) = (Arc::clone(&started), Arc::clone(&dropped));
    b.answer(Box::new(move |_| {
        let guard = Dropped(Arc::clone(&guard));
        begun.store(true, Ordering::SeqCst);
        async move {
            let _guard = guard;
            pending().await
        }
        .boxed()
    }));
    let mut forward = a.forward(b_id, get("/slow"));
    let begun = eventually("the request arrives", async || started.load(Ordering::SeqCst).then_some(()));
    tokio::select! {
        response = &mut forward => panic!("{response:?}"),
        () = begun => {}
    }
    assert!(!dropped.load(Ordering::SeqCst));
    drop(forward);
    is_dropped("a cancelled request ends", &dropped).await;
    // The request is cancelled while the body is sent.
    let dropped = Arc::new(AtomicBool::new(false));
    let guard = Arc::clone(&dropped);
    answer_with(b, move |_| {
        let guard = Dropped(Arc::clone(&guard));
        stream::iter([Ok(Bytes::from_static(b"a"))])
            .chain(stream::pending())
            .map(move |frame| {
                let _guard = &guard;
                frame
            })
            .boxed()
    });
    let mut response = soon("a response", a.forward(b_id, get("/body"))).await.expect("a response");
    soon("a frame", response.frames.next()).await.expect("a frame").expect("a frame");
    assert!(!dropped.load(Ordering::SeqCst));
    drop(response);
    is_dropped("a cancelled body ends", &dropped).await;
}

async fn ends_when_the_replica_dies<S: SessionStore + ExchangeBus>(a: &S, b: S, b_id: &str) {
    b.answer(Box::new(|request| {
        let frames = stream::iter([Ok(Bytes::from_static(b"a"))]).chain(stream::pending()).boxed();
        let response = ForwardedResponse::new(StatusCode::OK, HeaderMap::new(), frames);
        async move {
            if request.uri.path() == "/head" {
                pending::<()>().await;
            }
            response
        }
        .boxed()
    }));
    let mut response = soon("a response", a.forward(b_id, get("/body"))).await.expect("a response");
    soon("a frame", response.frames.next()).await.expect("a frame").expect("a frame");
    let head = a.forward(b_id, get("/head"));
    let death = async move {
        sleep(Duration::from_millis(300)).await;
        drop(b);
    };
    let (head, ()) = tokio::join!(soon("the request ends", head), death);
    assert!(head.is_err(), "a request without a response fails");
    let end = soon("the body ends", response.frames.next()).await.expect("an end with an error");
    assert!(end.is_err(), "an incomplete body ends with an error");
    assert!(soon("the end", response.frames.next()).await.is_none(), "nothing follows the error");
    assert!(soon("a dead replica", a.forward(b_id, get("/"))).await.is_err());
}
