//! Errors of requests.

use http::StatusCode;
use url::Url;

use super::policy::PolicyError;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The policy forbids the URL.
    #[error("{url} is not requested: {source}")]
    Refused {
        /// The URL, without its query.
        url: String,
        /// The reason.
        source: PolicyError,
    },
    /// The request failed.
    #[error("{url} cannot be requested")]
    Http {
        /// The URL, without its query.
        url: String,
        /// The cause, without the URL.
        source: reqwest::Error,
    },
    /// The response is longer than 512 KiB or not UTF-8.
    #[error("the response of {url} is longer than 512 KiB or not UTF-8")]
    Body {
        /// The URL, without its query.
        url: String,
    },
    /// The server responded with an error, or redirected too many times.
    #[error("{url} responded with {status}")]
    Status {
        /// The URL, without its query.
        url: String,
        /// The status.
        status: StatusCode,
    },
    /// The response is not a JSON object.
    #[error("the response of {url} is not valid: {why}")]
    Json {
        /// The URL, without its query.
        url: String,
        /// What is wrong, without values from the response.
        why: String,
    },
    /// The response lacks a required member.
    #[error("the response of {url} is not valid: `{member}` is missing")]
    Missing {
        /// The URL, without its query.
        url: String,
        /// The path of the member.
        member: String,
    },
    /// A member of the response is not valid.
    #[error("the response of {url} is not valid: `{member}` {why}")]
    Member {
        /// The URL, without its query.
        url: String,
        /// The path of the member.
        member: String,
        /// What was expected and which type was found, without values from the response.
        why: String,
    },
}

#[cfg(any(feature = "client", feature = "server"))]
impl FetchError {
    /// Whether the document does not exist. Some servers respond with a page instead of 404.
    pub(super) fn is_absent(&self) -> bool {
        match self {
            Self::Status { status, .. } => status.is_client_error(),
            Self::Json { .. } => true,
            _ => false,
        }
    }
}

/// Removes the query, which may contain secrets.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.to_string()
}
