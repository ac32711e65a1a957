//! Pairs responses with requests, and decodes results by the method of their request.
#![cfg(all(feature = "v2025_11_25", feature = "v2026_07_28"))]

use mcpgen_types::traffic::{Event, PendingRequests, Traffic};
use mcpgen_types::v2025_11_25::{ClientMessage, ClientRequest, ServerMessage, ServerRequest};
use mcpgen_types::{
    MethodSet, NotificationSet, Request, RequestId, RequestSet, RequestTypeVisitor, ResponseMessage, Revision,
    TaskRequest,
};

/// Describes an event, and checks the result of a response.
fn describe<R: RequestSet, N: NotificationSet, P: RequestSet>(event: Event<'_, R, N, P>) -> String {
    match event {
        Event::Request { message, is_duplicate } => {
            let note = if is_duplicate { ", duplicate" } else { "" };
            format!("request {} {}{note}", message.id(), message.request().method())
        }
        Event::Notification(notification) => format!("notification {}", notification.notification().method()),
        Event::Response { request, response } => match request.request().check_result(&response) {
            Ok(name) => format!("{} {}: {}", request.id(), request.request().method(), name.expect("a known type")),
            Err(error) => format!("{} invalid: {error}", request.id()),
        },
        Event::Error { request, error } => {
            format!("{} {} failed: {}", request.id(), request.request().method(), error.error.message)
        }
        Event::UnpairedResponse(response) => format!("unpaired response {}", response.id),
        Event::UnpairedError(error) => format!("unpaired error: {}", error.error.message),
    }
}

/// A sender, a message without `jsonrpc`, and the description of its event.
const LOG: &[(char, &str, &str)] = &[
    (
        'c',
        r#""id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}"#,
        "request 1 initialize",
    ),
    (
        's',
        r#""id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"b","version":"1"}}"#,
        "1 initialize: InitializeResult",
    ),
    ('c', r#""method":"notifications/initialized""#, "notification notifications/initialized"),
    // Responses in another order.
    ('c', r#""id":2,"method":"tools/list""#, "request 2 tools/list"),
    ('c', r#""id":3,"method":"tools/call","params":{"name":"add"}"#, "request 3 tools/call"),
    ('s', r#""id":3,"result":{"content":[]}"#, "3 tools/call: CallToolResult"),
    ('s', r#""id":2,"result":{"tools":[]}"#, "2 tools/list: ListToolsResult"),
    // An ID is used again once its request has a response.
    ('c', r#""id":3,"method":"tools/call","params":{"name":"add"}"#, "request 3 tools/call"),
    ('s', r#""id":3,"result":{"tools":[]}"#, "3 invalid: tools/call result: content: missing required member"),
    ('s', r#""id":3,"result":{"content":[]}"#, "unpaired response 3"),
    // The IDs of the two directions are independent, and so are integers and strings.
    ('c', r#""id":1,"method":"ping""#, "request 1 ping"),
    ('c', r#""id":"1","method":"tools/list""#, "request 1 tools/list"),
    ('s', r#""id":1,"method":"roots/list""#, "request 1 roots/list"),
    (
        'c',
        r#""id":1,"result":{"roots":[{"uri":1}]}"#,
        "1 invalid: roots/list result: roots[0].uri: expected string, found number",
    ),
    ('c', r#""id":1,"result":{}"#, "unpaired response 1"),
    ('s', r#""id":"1","error":{"code":-32603,"message":"no tools"}"#, "1 tools/list failed: no tools"),
    ('s', r#""id":1,"result":{}"#, "1 ping: Result"),
    // A call that runs as a task.
    ('c', r#""id":4,"method":"tools/call","params":{"name":"add","task":{}}"#, "request 4 tools/call"),
    ('s', r#""id":4,"result":{"content":[]}"#, "4 tools/call: CallToolResult"),
    ('c', r#""id":5,"method":"tools/call","params":{"name":"add","task":{}}"#, "request 5 tools/call"),
    (
        's',
        r#""id":5,"result":{"task":{"taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttl":null}}"#,
        "5 tools/call: CreateTaskResult",
    ),
    ('c', r#""id":5,"method":"tools/call","params":{"name":"add","task":{}}"#, "request 5 tools/call"),
    (
        's',
        r#""id":5,"result":{"task":{"taskId":"t"}}"#,
        "5 invalid: tools/call task result: task.status: missing required member",
    ),
    // Not a call that runs as a task.
    ('c', r#""id":5,"method":"tools/call","params":{"name":"add"}"#, "request 5 tools/call"),
    ('s', r#""id":5,"result":{"content":[],"task":1}"#, "5 tools/call: CallToolResult"),
    // Two requests with one ID: the first response belongs to the first.
    ('c', r#""id":6,"method":"tools/list""#, "request 6 tools/list"),
    ('c', r#""id":6,"method":"ping""#, "request 6 ping, duplicate"),
    ('s', r#""id":6,"result":{"tools":[]}"#, "6 tools/list: ListToolsResult"),
    ('s', r#""id":6,"result":{}"#, "6 ping: Result"),
    ('s', r#""id":6,"error":{"code":1,"message":"again"}"#, "unpaired error: again"),
    // Errors that belong to no request.
    ('s', r#""error":{"code":-32700,"message":"not JSON"}"#, "unpaired error: not JSON"),
    // In flight at the end.
    ('c', r#""id":8,"method":"tools/list""#, "request 8 tools/list"),
    ('c', r#""method":"notifications/cancelled","params":{"requestId":8}"#, "notification notifications/cancelled"),
    ('c', r#""id":7,"method":"ping""#, "request 7 ping"),
    ('s', r#""id":8,"method":"ping""#, "request 8 ping"),
];

#[test]
fn pairs_responses_with_requests() {
    let mut traffic = Traffic::<ClientRequest, ServerRequest>::default();
    for (sender, message, expected) in LOG {
        let text = format!(r#"{{"jsonrpc":"2.0",{message}}}"#);
        let described = match sender {
            'c' => describe(traffic.client(mcpgen_types::from_str::<ClientMessage>(&text).expect(message))),
            _ => describe(traffic.server(mcpgen_types::from_str::<ServerMessage>(&text).expect(message))),
        };
        assert_eq!(described, *expected, "{message}");
    }
    let client: Vec<_> = traffic.pending_client_requests().map(|request| request.request().method()).collect();
    let server: Vec<_> = traffic.pending_server_requests().map(|request| request.request().method()).collect();
    assert_eq!((client, server), (vec!["tools/list", "ping"], vec!["ping"]));
}

#[test]
fn pending_requests_are_ordered_and_counted() {
    let mut pending = PendingRequests::new();
    let ids: [RequestId; 5] = [3.into(), "a".into(), 1.into(), 3.into(), "1".into()];
    let inserted: Vec<bool> = ids.iter().enumerate().map(|(n, id)| pending.insert(id.clone(), n)).collect();
    assert_eq!(inserted, [true, true, true, false, true]);
    assert!(pending.iter().map(|(id, n)| (id, *n)).eq(ids.iter().zip(0..)));
    assert_eq!((pending.len(), pending.is_empty()), (5, false));
    let taken: Vec<_> = [3, 3, 3, 2].map(|id| pending.take(&id.into())).into();
    assert_eq!(taken, [Some(0), Some(3), None, None]);
    assert_eq!(pending.iter().map(|(_, n)| *n).collect::<Vec<_>>(), [1, 2, 4]);
    assert_eq!(pending.len(), 3);
}

/// Returns the method and the revision of a request type, and whether it may run as a task.
struct Describe;

impl RequestTypeVisitor for Describe {
    type Output = (&'static str, Revision, bool);

    fn visit<R: Request>(self) -> Self::Output {
        (R::METHOD, Revision::of(R::VERSION), false)
    }

    fn visit_task<R: TaskRequest>(self) -> Self::Output {
        (R::METHOD, Revision::of(R::VERSION), true)
    }
}

fn check_types<R: RequestSet>(revision: Revision) {
    for method in R::METHODS {
        let spec = revision.method(method).expect(method);
        let found = R::request_type(method, Describe);
        assert_eq!(found, Some((*method, revision, spec.may_run_as_task)), "{revision} {method}");
    }
    assert_eq!(R::request_type("none", Describe), None);
}

#[test]
fn every_request_of_every_revision_has_a_type() {
    macro_rules! check {
        ($($module:ident: $revision:ident),*) => {$(
            check_types::<mcpgen_types::$module::ClientRequest>(Revision::$revision);
            check_types::<mcpgen_types::$module::ServerRequest>(Revision::$revision);
        )*};
    }
    check!(v2025_11_25: V2025_11_25, v2026_07_28: V2026_07_28);
    #[cfg(feature = "all-revisions")]
    check!(v2024_11_05: V2024_11_05, v2025_03_26: V2025_03_26, v2025_06_18: V2025_06_18);
}

#[test]
fn a_request_decodes_its_own_result() {
    use mcpgen_types::v2025_11_25::{CallToolRequest, CallToolRequestParams, PingRequest};
    let call = CallToolRequest::new(1, CallToolRequestParams::new("add"));
    let response = |result: &str| {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        mcpgen_types::from_str::<ResponseMessage>(&text).expect("a response")
    };
    let result = call.decode_result(&response(r#"{"content":[],"isError":true}"#)).expect("a result");
    assert_eq!(result.is_error, Some(true));
    let table = [
        (r#"{"content":[{"type":"text"}]}"#, "tools/call result: content[0].text: missing required member"),
        (r#"{"content":{}}"#, "tools/call result: content: expected array, found object"),
        (r#"{}"#, "tools/call result: content: missing required member"),
    ];
    for (result, expected) in table {
        let error = call.decode_result(&response(result)).expect_err("an invalid result");
        assert_eq!(error.to_string(), expected);
    }
    let error = call.decode_task_result(&response("{}")).expect_err("an invalid result");
    assert_eq!(error.to_string(), "tools/call task result: task: missing required member");
    assert!(PingRequest::new(1).decode_result(&response(r#"{"a":1}"#)).is_ok());
}
