//! Sends authorized HTTP requests in the current session.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::backoff;
use super::error::HttpError;
use super::message::{OutgoingMessage, Progress};
use super::options::{AuthorizeRequest, Challenge, ClientOptions};
use super::response::check_status;
use super::state::{SessionHeaders, TransportState};
use crate::headers::{PROTOCOL_VERSION, SESSION};

/// How many times a request is repeated after a 401 or 403.
const MAX_CHALLENGES: usize = 3;

/// How long a message waits in total for a server that responds with 503.
const MAX_WAIT: Duration = Duration::from_secs(30);

impl TransportState {
    /// Posts a message, and returns the HTTP response and the session that was used. If the session is lost, begins a
    /// new one and posts the message there.
    pub(super) async fn post(
        self: &Arc<Self>,
        outgoing: &OutgoingMessage,
    ) -> Result<(reqwest::Response, Option<HeaderValue>), HttpError> {
        let session_headers = self.session_headers(outgoing);
        let response = self.send(Method::POST, Some(outgoing), &session_headers).await?;
        if response.status() != StatusCode::NOT_FOUND || session_headers.session.is_none() {
            return Ok((check_status(response).await?, session_headers.session));
        }
        self.replace_session(&session_headers.session).await?;
        let session_headers = self.session_headers(outgoing);
        let response = self.send(Method::POST, Some(outgoing), &session_headers).await?;
        Ok((check_status(response).await?, session_headers.session))
    }

    /// Returns the session and revision for a message.
    fn session_headers(&self, outgoing: &OutgoingMessage) -> SessionHeaders {
        let known = self.state().session_headers.clone();
        match outgoing.version.as_deref() {
            Some(version) => SessionHeaders { session: None, version: HeaderValue::from_str(version).ok() },
            None => known,
        }
    }

    /// Sends one HTTP request, with the headers and body of a message if there is one.
    pub(super) async fn send(
        &self,
        method: Method,
        outgoing: Option<&OutgoingMessage>,
        session_headers: &SessionHeaders,
    ) -> Result<reqwest::Response, HttpError> {
        let mut headers = HeaderMap::new();
        if let Some(outgoing) = outgoing {
            headers.clone_from(&outgoing.headers);
            headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        self.send_with(method, headers, outgoing, session_headers).await
    }

    /// Like [`send`](Self::send), but with the given headers. If the server responds to a message with 503 and
    /// `Retry-After`, sends the message again, at most [`ClientOptions::max_retries`] times and within [`MAX_WAIT`].
    /// Requests that open streams are not repeated here; their callers do that.
    pub(super) async fn send_with(
        &self,
        method: Method,
        mut headers: HeaderMap,
        outgoing: Option<&OutgoingMessage>,
        session_headers: &SessionHeaders,
    ) -> Result<reqwest::Response, HttpError> {
        headers.extend(session_headers.version.clone().map(|version| (PROTOCOL_VERSION, version)));
        headers.extend(session_headers.session.clone().map(|session| (SESSION, session)));
        let Self { client, options, url, .. } = self;
        let (mut waited, mut attempts) = (Duration::ZERO, 0);
        loop {
            let (method, headers) = (method.clone(), headers.clone());
            let response =
                HttpRequest { client, options, url, method, headers, outgoing, timeout: None }.send().await?;
            let pause = retry_after(&response, SystemTime::now()).map(|pause| backoff::delay(pause, 0));
            let may_retry = |pause: &Duration| attempts < options.max_retries && waited + *pause <= MAX_WAIT;
            let Some(pause) = pause.filter(|pause| outgoing.is_some() && may_retry(pause)) else {
                return Ok(response);
            };
            tracing::debug!(?pause, "the server is busy; trying again");
            tokio::time::sleep(pause).await;
            (waited, attempts) = (waited + pause, attempts + 1);
        }
    }
}

pub(super) struct HttpRequest<'a> {
    pub(super) client: &'a reqwest::Client,
    pub(super) options: &'a ClientOptions,
    pub(super) url: &'a reqwest::Url,
    pub(super) method: Method,
    /// Headers in addition to those of the options and the authorization.
    pub(super) headers: HeaderMap,
    pub(super) outgoing: Option<&'a OutgoingMessage>,
    /// How long to wait for the headers of each response. Authorization, which may involve a user, does not count.
    pub(super) timeout: Option<Duration>,
}

impl HttpRequest<'_> {
    /// Authorizes the request again after a 401 or 403, at most [`MAX_CHALLENGES`] times.
    pub(super) async fn send(self) -> Result<reqwest::Response, HttpError> {
        let Self { client, options, url, method, headers, outgoing, timeout } = self;
        let (mut refused, mut challenged) = (None::<(Challenge, reqwest::Response)>, 0);
        loop {
            let mut all = options.headers.clone();
            all.extend(headers.clone());
            if let Some(authorization) = &options.authorization {
                let challenge = refused.as_ref().map(|(challenge, _)| challenge);
                let request = AuthorizeRequest::new(&method, url, challenge);
                let authorized = authorization.authorize(request).await.map_err(HttpError::Authorization)?;
                match (authorized, refused.take()) {
                    (Some(mut authorized), _) => {
                        authorized.values_mut().for_each(|value| value.set_sensitive(true));
                        all.extend(authorized);
                    }
                    (None, None) => {}
                    // The caller will read the reason from the body.
                    (None, Some((_, response))) => return Ok(response),
                }
            }
            let sent = all.get(AUTHORIZATION).cloned();
            let mut request = client.request(method.clone(), url.clone()).headers(all);
            if let Some(outgoing) = outgoing {
                request = request.body(outgoing.bytes.clone());
                outgoing.progress.send_replace(Progress::Sending);
            }
            let response = match timeout {
                Some(timeout) => {
                    tokio::time::timeout(timeout, request.send()).await.map_err(|_| no_response(timeout))?
                }
                None => request.send().await,
            }?;
            if let Some(outgoing) = outgoing {
                outgoing.progress.send_replace(Progress::Received);
            }
            let Some(authorization) = &options.authorization else { return Ok(response) };
            let status = response.status();
            let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
            if !is_refused || challenged >= MAX_CHALLENGES {
                authorization.on_response(url, response.headers());
                return Ok(response);
            }
            refused = Some((Challenge::new(status, response.headers().clone(), sent), response));
            challenged += 1;
        }
    }
}

/// Returns how long to wait if the server responds with 503 and `Retry-After`, as seconds or a date. At least 100 ms.
fn retry_after(response: &reqwest::Response, now: SystemTime) -> Option<Duration> {
    if response.status() != StatusCode::SERVICE_UNAVAILABLE {
        return None;
    }
    let value = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    let pause = match value.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(backoff::base(Some(pause), pause))
}

fn no_response(timeout: Duration) -> std::io::Error {
    let message = format!("the server sent no response headers within {timeout:?}");
    std::io::Error::new(std::io::ErrorKind::TimedOut, message)
}
