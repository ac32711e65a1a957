//! Checks a request's host, origin, method and content types before its body is read.

use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};

use super::allowed_hosts::AllowedHosts;
use super::refusal::Refusal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Post,
    /// The client opens or resumes an event stream.
    Listen,
    End,
}

/// Admits or refuses a request. GET and DELETE are allowed only if the server keeps sessions.
pub(super) fn admit(parts: &Parts, allowed_hosts: &AllowedHosts, keeps_sessions: bool) -> Result<Operation, Refusal> {
    allowed_hosts.check(parts)?;
    let operation = match (&parts.method, keeps_sessions) {
        (&Method::POST, _) => Operation::Post,
        (&Method::GET, true) => Operation::Listen,
        (&Method::DELETE, true) => Operation::End,
        (_, true) => return Err(Refusal::method("GET, POST, DELETE")),
        (_, false) => return Err(Refusal::method("POST")),
    };
    let accepted: &[&str] = match operation {
        Operation::Post => &["application/json", "text/event-stream"],
        Operation::Listen => &["text/event-stream"],
        Operation::End => &[],
    };
    if let Some(missing) = accepted.iter().find(|kind| !accepts(&parts.headers, kind)) {
        let why = format!("`Accept` must allow {}: {missing} is missing", accepted.join(" and "));
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, why));
    }
    if operation == Operation::Post && !is_json(&parts.headers) {
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "`Content-Type` must be application/json"));
    }
    if let Some(coding) = parts.headers.get(CONTENT_ENCODING).filter(|coding| *coding != "identity") {
        let why =
            format!("`Content-Encoding` {coding:?} is not supported; send the body as it is, or decode it in a layer");
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    Ok(operation)
}

/// Returns whether the client accepts this type. A request without `Accept` accepts any type.
fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let mut values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    let any = kind.split_once('/').map(|(group, _)| format!("{group}/*"));
    values.peek().is_none()
        || values.flat_map(|value| value.split(',')).any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let range = parts.next().unwrap_or_default();
            let refused = parts.any(|part| matches!(part.strip_prefix("q="), Some("0" | "0.0" | "0.00" | "0.000")));
            let fits = range == "*/*" || range.eq_ignore_ascii_case(kind) || any.as_deref() == Some(range);
            fits && !refused
        })
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn rejects_several_hosts_and_user_information() {
        let any = AllowedHosts::any();
        for (allowed_hosts, uri, hosts, expected) in [
            (&any, "/mcp", &["localhost"][..], 200),
            (&any, "/mcp", &["localhost", "localhost"], 400),
            (&any, "/mcp", &["localhost", "evil.example.com"], 400),
            (&any, "/mcp", &["user@localhost"], 400),
            (&any, "/mcp", &["user:secret@localhost:80"], 400),
            (&any, "http://user@localhost/mcp", &[], 400),
            (&any, "http://localhost/mcp", &["user@localhost"], 400),
            (&any, "http://localhost/mcp", &["localhost"], 200),
            (&AllowedHosts::default(), "http://evil.example.com/mcp", &["localhost"], 403),
        ] {
            let mut request = Request::builder().method("DELETE").uri(uri);
            for host in hosts {
                request = request.header("host", *host);
            }
            let (parts, ()) = request.body(()).expect("a request").into_parts();
            let found = admit(&parts, allowed_hosts, true).map_or_else(|rejected| rejected.status.as_u16(), |_| 200);
            assert_eq!(found, expected, "{uri} {hosts:?}");
        }
    }

    #[test]
    fn errors_name_the_host_and_the_remedy() {
        let request = Request::builder().method("DELETE").uri("/mcp").header("host", "example.com");
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let rejected = admit(&parts, &AllowedHosts::default(), true).expect_err("a rejected host");
        assert_eq!(rejected.why, "host `example.com` is not allowed; add it to `EndpointOptions::allowed_hosts`");
    }

    fn status(allowed_hosts: &AllowedHosts, keeps_sessions: bool, method: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().method(method).uri("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        admit(&parts, allowed_hosts, keeps_sessions).map_or_else(|rejected| rejected.status.as_u16(), |_| 200)
    }

    #[test]
    fn checks_hosts_and_origins() {
        let local = AllowedHosts::default();
        let these = AllowedHosts::these(["mcp.example.com", "localhost:81"]).and_origin("https://app.example.com");
        let any = AllowedHosts::any();
        let table: &[(&AllowedHosts, &str, Option<&str>, bool)] = &[
            (&local, "localhost", None, true),
            (&local, "localhost:3000", Some("http://localhost:5173"), true),
            (&local, "127.0.0.1:80", Some("http://[::1]:1"), true),
            (&local, "[::1]:80", None, true),
            (&local, "LOCALHOST", Some("http://LocalHost"), true),
            (&local, "localhost.", None, false),
            (&local, "evil.example.com", None, false),
            (&local, "localhost.evil.example.com", None, false),
            (&local, "localhost", Some("http://evil.example.com"), false),
            (&local, "localhost", Some("null"), false),
            (&local, "localhost", Some("http://localhost@evil.example.com"), false),
            (&these, "MCP.example.com", None, true),
            (&these, "mcp.example.com:8443", Some("https://mcp.example.com"), true),
            (&these, "mcp.example.com", Some("https://app.example.com"), true),
            (&these, "mcp.example.com", Some("https://other.example.com"), false),
            (&these, "localhost:81", None, true),
            (&these, "localhost:82", None, false),
            (&any, "whatever", None, true),
            (&any, "whatever", Some("https://whatever"), true),
            (&any, "whatever", Some("https://other"), false),
            (&any, "", None, false),
        ];
        for (allowed_hosts, host, origin, may) in table {
            let mut headers = vec![("accept", "text/event-stream"), ("host", host)];
            headers.extend(origin.map(|origin| ("origin", origin)));
            let expected = if *may { 200 } else { 403 };
            assert_eq!(status(allowed_hosts, true, "GET", &headers), expected, "{host:?} from {origin:?}");
        }
    }

    #[test]
    fn checks_methods_and_content_types() {
        let json = ("content-type", "application/json; charset=utf-8");
        let both = ("accept", "application/json, text/event-stream");
        type Case<'a> = (bool, &'a str, &'a [(&'a str, &'a str)], u16);
        let table: &[Case<'_>] = &[
            (true, "POST", &[json, both], 200),
            (true, "POST", &[json, ("accept", "text/event-stream;q=0.5 , Application/JSON")], 200),
            (true, "POST", &[json, ("accept", "*/*")], 200),
            (true, "POST", &[json, ("accept", "application/*, text/*")], 200),
            (true, "POST", &[json, ("accept", "application/json"), ("accept", "text/event-stream")], 200),
            (true, "POST", &[json], 200),
            (true, "POST", &[json, ("accept", "application/json")], 406),
            (true, "POST", &[json, ("accept", "application/json, text/event-stream;q=0")], 406),
            (true, "POST", &[json, ("accept", "text/html")], 406),
            (true, "POST", &[both], 415),
            (true, "POST", &[both, ("content-type", "text/plain")], 415),
            (true, "POST", &[both, json, ("content-encoding", "gzip")], 415),
            (true, "POST", &[both, json, ("content-encoding", "identity")], 200),
            (true, "GET", &[("accept", "text/event-stream")], 200),
            (true, "GET", &[("accept", "application/json")], 406),
            (true, "DELETE", &[], 200),
            (true, "PUT", &[], 405),
            (true, "OPTIONS", &[], 405),
            (false, "POST", &[json, both], 200),
            (false, "GET", &[("accept", "text/event-stream")], 405),
            (false, "DELETE", &[], 405),
        ];
        for (keeps_sessions, method, headers, expected) in table {
            let headers: Vec<_> = headers.iter().copied().chain([("host", "localhost")]).collect();
            assert_eq!(
                status(&AllowedHosts::default(), *keeps_sessions, method, &headers),
                *expected,
                "{method} {headers:?}"
            );
        }
    }
}
