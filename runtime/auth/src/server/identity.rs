//! The identity from a verified access token.

use std::collections::BTreeSet;
use std::fmt;

use http::request::Parts;
use mcpgen_sdk::Context;
use mcpgen_sdk::transport::Principal;
use serde_json::{Map, Value};

/// The identity from a verified access token, without the token itself.
///
/// The [layer](super::ProtectedResource) attaches it to each request. Handlers read it with [`Identity::of`].
#[derive(Clone)]
#[non_exhaustive]
pub struct Identity {
    /// The token's issuer.
    pub issuer: String,
    /// The user or, if the client acts on its own behalf, the client. Unique per issuer.
    pub subject: String,
    /// The client that the token was issued to.
    pub client_id: Option<String>,
    /// The token's scopes.
    pub scopes: BTreeSet<String>,
    /// When the token expires, in seconds since 1970.
    pub expires_at: Option<u64>,
    /// The thumbprint of the DPoP key that the token is bound to, if any.
    pub thumbprint: Option<String>,
    /// All of the token's claims.
    pub claims: Map<String, Value>,
}

impl Identity {
    /// Creates an identity without scopes or other claims.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            subject: subject.into(),
            client_id: None,
            scopes: BTreeSet::new(),
            expires_at: None,
            thumbprint: None,
            claims: Map::new(),
        }
    }

    /// Creates an identity from a token's claims (RFC 9068, RFC 7662). `None` if the token has neither a subject nor a
    /// client ID.
    pub(super) fn from_claims(issuer: String, claims: Map<String, Value>) -> Option<Self> {
        let text = |name: &str| claims.get(name)?.as_str().map(ToOwned::to_owned);
        let client_id = text("client_id").or_else(|| text("azp"));
        let subject = text("sub").or_else(|| client_id.clone()).filter(|subject| !subject.is_empty())?;
        let thumbprint = claims.get("cnf").and_then(|cnf| cnf.get("jkt")?.as_str().map(ToOwned::to_owned));
        let (scopes, expires_at) = (scopes(&claims), claims.get("exp").and_then(Value::as_u64));
        Some(Self { issuer, subject, client_id, scopes, expires_at, thumbprint, claims })
    }

    /// Adds scopes.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Returns a request's identity, if the layer verified one.
    #[must_use]
    pub fn of(context: &Context) -> Option<&Self> {
        context.extensions().get::<Parts>()?.extensions.get()
    }

    /// Returns the owner of sessions, request state and rate limits: the issuer and the subject.
    #[must_use]
    pub fn principal(&self) -> Principal {
        // An issuer is a URL without spaces, so different pairs get different names.
        Principal::new(format!("{} {}", self.issuer.replace(' ', "%20"), self.subject))
    }
}

/// Reads the claim `scope`, or `scp`, which some issuers use instead. Either is a string or a list.
fn scopes(claims: &Map<String, Value>) -> BTreeSet<String> {
    let claim = claims.get("scope").or_else(|| claims.get("scp"));
    let words = |text: &Value| text.as_str().unwrap_or_default().split(' ').map(ToOwned::to_owned).collect::<Vec<_>>();
    let scopes = match claim {
        Some(Value::Array(list)) => list.iter().flat_map(words).collect(),
        Some(text) => words(text),
        None => Vec::new(),
    };
    scopes.into_iter().filter(|scope| !scope.is_empty()).collect()
}

impl fmt::Debug for Identity {
    /// Omits the claims, which may contain personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("issuer", &self.issuer)
            .field("subject", &self.subject)
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
