//! Which URLs and addresses may be requested.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Which URLs and addresses may be requested. Protects against server-side request forgery: a malicious server must not
/// make this process send requests to machines that only this process can reach.
///
/// URLs must be `https`, except on the loopback interface. By default, only public addresses are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, derive_setters::Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct NetworkPolicy {
    /// Whether to allow `localhost`, `127.0.0.0/8` and `::1`. Clients do so if the MCP server itself is on the loopback
    /// interface.
    pub loopback: bool,
    /// Whether to allow private, link-local and other special addresses.
    pub private: bool,
}

/// Why a URL or an address may not be requested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The scheme is not `https`, and the host is not on the loopback interface.
    #[error("the scheme must be `https`")]
    Scheme,
    /// The URL contains a user name, a password or a fragment, or has no host.
    #[error("the URL must have a host, and no user name, password or fragment")]
    Form,
    /// The host is on the loopback interface, or resolves to it.
    #[error("the host is on the loopback interface; set `NetworkPolicy::loopback` to allow it")]
    Loopback,
    /// The host has, or resolves to, a private, link-local or other special address.
    #[error("the address of the host is not public; set `NetworkPolicy::private` to allow it")]
    Private,
}

impl NetworkPolicy {
    /// Allows loopback addresses if this URL is on the loopback interface.
    #[must_use]
    pub fn for_server(url: &Url) -> Self {
        Self { loopback: is_local(url), private: false }
    }

    /// Checks a URL. Its host's addresses are checked when they are resolved.
    ///
    /// # Errors
    ///
    /// Fails if the URL may not be requested.
    pub fn check(self, url: &Url) -> Result<(), PolicyError> {
        let host = url.host().ok_or(PolicyError::Form)?;
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(PolicyError::Form);
        }
        match url.scheme() {
            "https" => {}
            "http" if is_local(url) => {}
            _ => return Err(PolicyError::Scheme),
        }
        match host {
            Host::Ipv4(address) => self.check_address(address.into(), true),
            Host::Ipv6(address) => self.check_address(address.into(), true),
            Host::Domain(_) if is_local(url) && !self.loopback => Err(PolicyError::Loopback),
            Host::Domain(_) => Ok(()),
        }
    }

    /// Checks an address. `is_local` tells whether the URL itself names the loopback interface: a public name that
    /// resolves to it is refused, even if loopback is allowed.
    pub(super) fn check_address(self, address: IpAddr, is_local: bool) -> Result<(), PolicyError> {
        let address = address.to_canonical();
        if address.is_loopback() {
            return if self.loopback && is_local { Ok(()) } else { Err(PolicyError::Loopback) };
        }
        let is_public = match address {
            IpAddr::V4(address) => is_public_v4(address),
            IpAddr::V6(address) => is_public_v6(address),
        };
        if is_public || self.private { Ok(()) } else { Err(PolicyError::Private) }
    }
}

/// Whether the URL itself names the loopback interface.
pub(crate) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => is_local_name(name),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).to_canonical().is_loopback(),
        None => false,
    }
}

/// Whether the name is reserved for the loopback interface (RFC 6761).
pub(super) fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = a == 0                             // this network
        || address.is_private()
        || (a == 100 && (64..128).contains(&b))         // shared by providers (RFC 6598)
        || address.is_link_local()                      // also the metadata services of clouds
        || (a == 192 && b == 0 && c == 0)               // protocol assignments
        || address.is_documentation()
        || (a == 198 && (18..20).contains(&b))          // benchmarks
        || a >= 224; // multicast, reserved and broadcast
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // Global unicast addresses, except those that contain an IPv4 address or are for documentation.
    let is_global = segments[0] & 0xe000 == 0x2000;
    let is_teredo = segments[0] == 0x2001 && segments[1] == 0;
    let is_6to4 = segments[0] == 0x2002;
    let is_documentation = segments[0] == 0x2001 && segments[1] == 0xdb8;
    let is_nat64 = segments[..6] == [0x64, 0xff9b, 0, 0, 0, 0];
    match is_nat64 {
        true => {
            let [.., a, b, c, d] = address.octets();
            is_public_v4(Ipv4Addr::new(a, b, c, d)) && a != 127
        }
        false => is_global && !is_teredo && !is_6to4 && !is_documentation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: NetworkPolicy = NetworkPolicy { loopback: false, private: false };
    const LOCAL: NetworkPolicy = NetworkPolicy { loopback: true, private: false };
    const PRIVATE: NetworkPolicy = NetworkPolicy { loopback: false, private: true };

    #[test]
    fn refuses_urls_that_could_reach_internal_machines() {
        use PolicyError::{Form, Loopback, Private, Scheme};
        let table: &[(&str, NetworkPolicy, Result<(), PolicyError>)] = &[
            ("https://example.com/a", PUBLIC, Ok(())),
            ("https://8.8.8.8/a", PUBLIC, Ok(())),
            ("http://example.com/a", PUBLIC, Err(Scheme)),
            ("http://example.com/a", LOCAL, Err(Scheme)),
            ("ftp://example.com/a", PUBLIC, Err(Scheme)),
            ("file:///etc/passwd", PUBLIC, Err(Form)),
            ("javascript:alert(1)", PUBLIC, Err(Form)),
            ("https://user:secret@example.com/", PUBLIC, Err(Form)),
            ("https://example.com/#fragment", PUBLIC, Err(Form)),
            ("http://localhost:1/a", PUBLIC, Err(Loopback)),
            ("http://localhost:1/a", LOCAL, Ok(())),
            ("http://a.localhost/a", LOCAL, Ok(())),
            ("http://127.0.0.1/a", PUBLIC, Err(Loopback)),
            ("http://127.9.9.9/a", LOCAL, Ok(())),
            ("http://[::1]/a", LOCAL, Ok(())),
            ("https://[::1]/a", PUBLIC, Err(Loopback)),
            ("https://[::ffff:127.0.0.1]/a", PUBLIC, Err(Loopback)),
            ("https://2130706433/a", PUBLIC, Err(Loopback)),
            ("https://169.254.169.254/latest/meta-data", PUBLIC, Err(Private)),
            ("https://169.254.169.254/latest/meta-data", LOCAL, Err(Private)),
            ("https://10.0.0.1/", PUBLIC, Err(Private)),
            ("https://10.0.0.1/", PRIVATE, Ok(())),
            ("https://172.16.0.1/", PUBLIC, Err(Private)),
            ("https://192.168.1.1/", PUBLIC, Err(Private)),
            ("https://100.64.0.1/", PUBLIC, Err(Private)),
            ("https://0.0.0.0/", PUBLIC, Err(Private)),
            ("https://[fd00::1]/", PUBLIC, Err(Private)),
            ("https://[fe80::1]/", PUBLIC, Err(Private)),
            ("https://[::]/", PUBLIC, Err(Private)),
            ("https://[64:ff9b::a00:1]/", PUBLIC, Err(Private)),
            ("https://[::ffff:10.0.0.1]/", PUBLIC, Err(Private)),
            ("https://[2606:4700::1111]/", PUBLIC, Ok(())),
        ];
        for (url, policy, expected) in table {
            assert_eq!(policy.check(&url.parse().expect("a URL")), *expected, "{url} {policy:?}");
        }
    }

    #[test]
    fn refuses_public_names_of_internal_addresses() {
        for policy in [PUBLIC, LOCAL] {
            assert_eq!(policy.check_address(Ipv4Addr::LOCALHOST.into(), false), Err(PolicyError::Loopback));
            assert_eq!(policy.check_address(Ipv4Addr::new(10, 1, 1, 1).into(), false), Err(PolicyError::Private));
        }
    }
}
