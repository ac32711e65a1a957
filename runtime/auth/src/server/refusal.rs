//! Responses to requests that are not authorized (RFC 6750, RFC 9449, RFC 9728).

use std::collections::BTreeSet;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use serde_json::json;

use super::dpop::ALGORITHMS;
use super::nonce::{DPOP_NONCE, DpopNonces};
use super::options::{DpopPolicy, ResourceOptions};
use crate::challenge::AuthChallenge;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    NoToken,
    InvalidToken(&'static str),
    InvalidProof(&'static str),
    NoNonce,
    /// The token lacks some of the required scopes. Contains all required scopes.
    InsufficientScope(BTreeSet<String>),
    InvalidRequest(&'static str),
    Unavailable,
    /// There is no room to remember another DPoP proof. The client should wait this many seconds.
    TooManyProofs(u64),
    /// The service handled a body without its [`BodyCheck`](mcpgen_sdk::http::server::BodyCheck).
    Unchecked,
}

impl Refusal {
    pub(super) fn respond(self, options: &ResourceOptions, metadata_url: &str) -> Response<Bytes> {
        let (status, error, description) = match &self {
            Self::NoToken => (StatusCode::UNAUTHORIZED, None, "an access token is required"),
            Self::InvalidToken(why) => (StatusCode::UNAUTHORIZED, Some("invalid_token"), *why),
            Self::InvalidProof(why) => (StatusCode::UNAUTHORIZED, Some("invalid_dpop_proof"), *why),
            Self::NoNonce => {
                (StatusCode::UNAUTHORIZED, Some("use_dpop_nonce"), "the proof must contain the nonce of `DPoP-Nonce`")
            }
            Self::InsufficientScope(_) => {
                (StatusCode::FORBIDDEN, Some("insufficient_scope"), "the token lacks a required scope")
            }
            Self::InvalidRequest(why) => (StatusCode::BAD_REQUEST, Some("invalid_request"), *why),
            Self::Unavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, None, "tokens cannot be verified now; try again later")
            }
            Self::TooManyProofs(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, None, "the server cannot remember more DPoP proofs; try again later")
            }
            Self::Unchecked => {
                (StatusCode::INTERNAL_SERVER_ERROR, None, "the server does not check the scopes of operations")
            }
        };
        let body = json!({ "error": error.unwrap_or("unauthorized"), "error_description": description });
        let mut response = Response::new(Bytes::from(body.to_string()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let retry_after = match &self {
            Self::Unavailable => Some(5),
            Self::TooManyProofs(seconds) => Some(*seconds),
            _ => None,
        };
        headers.extend(retry_after.map(|seconds| (RETRY_AFTER, seconds.into())));
        if status.is_server_error() {
            return response;
        }
        // Clients without a token get a nonce, too, so that their first request with a token succeeds right away.
        if let Some(nonce) = options.dpop_nonces.as_ref().and_then(DpopNonces::header) {
            headers.insert(DPOP_NONCE, nonce);
        }
        let mut params = vec![("resource_metadata", metadata_url.to_owned())];
        if let Some(error) = error {
            params.extend([("error", error.to_owned()), ("error_description", description.to_owned())]);
        }
        let scopes = match &self {
            Self::InsufficientScope(required) => required,
            _ => options.scopes.always(),
        };
        if !scopes.is_empty() {
            params.push(("scope", scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ")));
        }
        for scheme in schemes(&self, options.dpop) {
            let mut params = params.clone();
            if *scheme == "DPoP" {
                params.push(("algs", ALGORITHMS.map(crate::jose::Algorithm::name).join(" ")));
            }
            let params = params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            let challenge = AuthChallenge { scheme: (*scheme).to_owned(), params };
            headers.append(WWW_AUTHENTICATE, challenge.to_header());
        }
        response
    }
}

fn schemes(refusal: &Refusal, policy: DpopPolicy) -> &'static [&'static str] {
    match (refusal, policy) {
        (Refusal::InvalidProof(_) | Refusal::NoNonce, _) | (_, DpopPolicy::Required) => &["DPoP"],
        (_, DpopPolicy::Allowed) => &["Bearer", "DPoP"],
    }
}
