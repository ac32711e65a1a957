//! Decides whether a request is modern or legacy, and compares its headers with its body.

use http::request::Parts;
use mcpgen_types::Revision;

use super::refusal::Refusal;
use super::request_body::RequestBody;
use super::state::EndpointState;
use crate::headers::{self, METHOD, NAME, PROTOCOL_VERSION};

impl EndpointState {
    /// Rejects unsupported `MCP-Protocol-Version` values.
    pub(super) fn check_version(&self, parts: &Parts) -> Result<(), Refusal> {
        match version_header(parts)? {
            None => Ok(()),
            Some(version) => {
                let spoken = self.config.supported_revisions();
                match spoken.iter().any(|known| known.as_str() == version) {
                    true => Ok(()),
                    false => Err(Refusal::bad(format!(
                        "`MCP-Protocol-Version` {version:?} is not supported; supported revisions: {}",
                        spoken.iter().map(|known| known.as_str()).collect::<Vec<_>>().join(", ")
                    ))),
                }
            }
        }
    }

    /// Returns whether a request is modern: by `_meta` or, failing that, by the `MCP-Protocol-Version` header.
    pub(super) fn is_modern(&self, parts: &Parts, posted: &RequestBody) -> Result<bool, Refusal> {
        if !self.keeps_sessions || !self.speaks_modern {
            return Ok(self.speaks_modern);
        }
        if posted.has_metadata {
            return Ok(true);
        }
        match version_header(parts)? {
            Some(version) => match version.parse::<Revision>() {
                Ok(revision) => Ok(!revision.is_legacy()),
                Err(_) => self.check_version(parts).map(|()| false),
            },
            None => Ok(false),
        }
    }

    /// Checks the headers of a modern request, except those for arguments.
    pub(super) fn check(&self, parts: &Parts, posted: &RequestBody, method: &str) -> Result<(), String> {
        let headers = &parts.headers;
        let missing = |name: &http::HeaderName| format!("header `{name}` is missing");
        let version = version_header(parts).map_err(|refusal| refusal.why)?;
        let version = version.ok_or_else(|| missing(&PROTOCOL_VERSION))?;
        match &posted.version {
            Some(value) if *value != version => {
                return Err(format!("header `{PROTOCOL_VERSION}` is {version:?}, but the body has {value:?}"));
            }
            _ => {}
        }
        match headers.get_all(METHOD).iter().collect::<Vec<_>>()[..] {
            [] => return Err(missing(&METHOD)),
            [value] if value.as_bytes() == method.as_bytes() => {}
            _ => return Err(format!("header `{METHOD}` does not match the method of the body, {method:?}")),
        }
        if headers::is_named(method) {
            match (headers::only(headers, &NAME).map_err(|mismatch| mismatch.0)?, &posted.subject) {
                (value, subject) if value == *subject => {}
                (None, _) => return Err(missing(&NAME)),
                (Some(value), _) => return Err(format!("header `{NAME}` is {value:?}, which does not match the body")),
            }
        }
        Ok(())
    }

    /// Checks the headers that repeat a modern request's arguments.
    pub(super) fn check_arguments(&self, parts: &Parts, posted: &RequestBody, method: &str) -> Result<(), String> {
        match &posted.subject {
            Some(tool) if method == "tools/call" => {
                let annotated = self.options.tool_headers.as_ref().map_or_else(Vec::new, |of| of(tool));
                match annotated.is_empty() {
                    true => Ok(()),
                    false => {
                        let checked = headers::check_params(&parts.headers, &annotated, &posted.arguments());
                        checked.map_err(|mismatch| mismatch.0)
                    }
                }
            }
            _ => Ok(()),
        }
    }
}

fn version_header(parts: &Parts) -> Result<Option<&str>, Refusal> {
    let mut values = parts.headers.get_all(PROTOCOL_VERSION).iter();
    match (values.next().map(|value| value.to_str()), values.next()) {
        (None, _) => Ok(None),
        (Some(Ok(version)), None) => Ok(Some(version)),
        _ => Err(Refusal::bad(format!("header `{PROTOCOL_VERSION}` must occur once and be ASCII text"))),
    }
}
