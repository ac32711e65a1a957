//! Which hosts and origins may reach a server.

use http::StatusCode;
use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;

use super::refusal::Refusal;

/// Which hosts and origins may reach a server. Protects local servers against DNS rebinding: no web page may reach a
/// server on its visitor's machine, not even through a host name that resolves to that machine.
#[derive(Clone, Debug, Default)]
pub struct AllowedHosts {
    hosts: Hosts,
    origins: Vec<String>,
}

#[derive(Clone, Debug, Default)]
enum Hosts {
    /// `localhost`, `127.0.0.1` and `[::1]`.
    #[default]
    Local,
    These(Vec<String>),
    Any,
}

impl AllowedHosts {
    /// Allows these hosts. A host without a port, such as `mcp.example.com`, matches any port; one with a port, such as
    /// `localhost:8080`, only that port.
    pub fn these<N: Into<String>>(hosts: impl IntoIterator<Item = N>) -> Self {
        Self { hosts: Hosts::These(hosts.into_iter().map(Into::into).collect()), origins: Vec::new() }
    }

    /// Allows any host, for servers behind a proxy that checks it. Web pages must still come from the host and port
    /// that they call.
    #[must_use]
    pub fn any() -> Self {
        Self { hosts: Hosts::Any, origins: Vec::new() }
    }

    /// Also allows web pages of this origin, such as `https://app.example.com`. Browsers send a preflight request
    /// first, so put a CORS layer in front of the endpoint.
    #[must_use]
    pub fn and_origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    fn is_host(&self, host: &Authority) -> bool {
        match &self.hosts {
            Hosts::Local => LOCAL.iter().any(|local| local.eq_ignore_ascii_case(host.host())),
            Hosts::These(hosts) => hosts
                .iter()
                .any(|known| known.eq_ignore_ascii_case(host.as_str()) || known.eq_ignore_ascii_case(host.host())),
            Hosts::Any => true,
        }
    }

    fn is_origin(&self, origin: &str, host: &Authority) -> bool {
        if self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin)) {
            return true;
        }
        let page = origin.split_once("://").and_then(|(_, page)| page.parse::<Authority>().ok());
        page.is_some_and(|page| match &self.hosts {
            Hosts::Any => page == *host,
            _ => self.is_host(&page),
        })
    }

    /// Returns whether a request's host is allowed and, if it comes from a web page, the page's origin as well. An
    /// endpoint checks this itself; call this for other services in the same process.
    #[must_use]
    pub fn allow(&self, parts: &Parts) -> bool {
        self.check(parts).is_ok()
    }

    pub(super) fn check(&self, parts: &Parts) -> Result<(), Refusal> {
        let host = host(parts)?;
        if !self.is_host(&host) {
            let why = format!("host `{host}` is not allowed; add it to `EndpointOptions::allowed_hosts`");
            return Err(Refusal::new(StatusCode::FORBIDDEN, why));
        }
        for origin in parts.headers.get_all(ORIGIN) {
            if !origin.to_str().is_ok_and(|origin| self.is_origin(origin, &host)) {
                let origin = String::from_utf8_lossy(origin.as_bytes());
                let why = format!("origin `{origin}` is not allowed; add it with `AllowedHosts::and_origin`");
                return Err(Refusal::new(StatusCode::FORBIDDEN, why));
            }
        }
        Ok(())
    }
}

/// Refuses a request that names several hosts, or a host with user information.
fn host(parts: &Parts) -> Result<Authority, Refusal> {
    let mut headers = parts.headers.get_all(HOST).iter();
    let header = headers.next();
    if headers.next().is_some() {
        return Err(Refusal::bad("the request has more than one `Host` header"));
    }
    let host = match parts.uri.authority() {
        Some(authority) => Some(authority.clone()),
        None => header.and_then(|host| host.to_str().ok()?.parse::<Authority>().ok()),
    };
    let host = host.ok_or_else(|| Refusal::new(StatusCode::FORBIDDEN, "the request names no valid host"))?;
    if host.as_str().contains('@') || header.is_some_and(|header| header.as_bytes().contains(&b'@')) {
        return Err(Refusal::bad("the host must not contain user information"));
    }
    Ok(host)
}

const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
