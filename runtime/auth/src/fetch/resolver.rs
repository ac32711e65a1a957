//! Resolves host names only to allowed addresses, so that a name cannot lead to an internal machine.

use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::policy::{NetworkPolicy, PolicyError, is_local_name};

/// Uses the system's resolver, and drops addresses that the policy forbids.
#[derive(Clone, Copy, Debug)]
pub(super) struct PolicyResolver(pub(super) NetworkPolicy);

impl Resolve for PolicyResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = self.0;
        Box::pin(async move {
            let is_local = is_local_name(name.as_str());
            let (mut allowed, mut refused) = (Vec::new(), PolicyError::Private);
            for address in tokio::net::lookup_host((name.as_str(), 0)).await? {
                match policy.check_address(address.ip(), is_local) {
                    Ok(()) => allowed.push(address),
                    Err(why) => refused = why,
                }
            }
            match allowed.is_empty() {
                true => Err(refused.into()),
                false => Ok(Box::new(allowed.into_iter()) as Box<dyn Iterator<Item = SocketAddr> + Send> as Addrs),
            }
        })
    }
}
