//! The authorization code grant with PKCE (RFC 7636), resource indicators (RFC 8707) and issuer identification
//! (RFC 9207).

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::discovery::Discovered;
use super::error::{ErrorResponse, OAuthError};
use super::user_agent::{AuthorizationRequest, PendingLogin, parameter};
use crate::fetch::Fetcher;
use crate::util::{random_text, sha256};

/// An authorization code, and what the token endpoint needs to check it.
pub(super) struct Authorized {
    pub(super) code: SecretString,
    pub(super) verifier: SecretString,
    pub(super) redirect_uri: String,
}

/// Sends the user to the authorization server and returns the authorization code.
pub(super) async fn authorize(
    fetcher: &Fetcher,
    found: &Discovered,
    client_id: &str,
    scope: Option<&str>,
    login: Box<dyn PendingLogin>,
) -> Result<Authorized, OAuthError> {
    check_pkce(found)?;
    let endpoint = found.server.authorization_endpoint.as_ref().ok_or_else(|| OAuthError::MissingMember {
        issuer: found.server.issuer.clone(),
        member: "authorization_endpoint",
    })?;
    // The user's browser opens this, so it must not be, for example, a `file` URL.
    fetcher.check(endpoint)?;
    let (verifier, state, redirect_uri) = (SecretString::from(random_text()?), random_text()?, login.redirect_uri());
    let mut url = endpoint.clone();
    url.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", client_id)
        .append_pair("redirect_uri", &redirect_uri)
        .append_pair("code_challenge", &sha256(verifier.expose_secret()))
        .append_pair("code_challenge_method", "S256")
        .append_pair("state", &state)
        .append_pair("resource", &found.resource);
    if let Some(scope) = scope {
        url.query_pairs_mut().append_pair("scope", scope);
        // OpenID providers issue a refresh token only if the user consents again.
        if scope.split(' ').any(|scope| scope == "offline_access") {
            url.query_pairs_mut().append_pair("prompt", "consent");
        }
    }
    let issuer = found.server.issuer.clone();
    let requires_issuer = found.server.authorization_response_iss_parameter_supported == Some(true);
    let request = AuthorizationRequest { url, state, issuer, requires_issuer };
    let response = login.log_in(request.clone()).await.map_err(OAuthError::UserAgent)?;
    let code = read_response(&request, &response)?;
    Ok(Authorized { code, verifier, redirect_uri })
}

/// Requires PKCE support, unless the server has no metadata at all and so cannot declare it.
fn check_pkce(found: &Discovered) -> Result<(), OAuthError> {
    let methods = found.server.code_challenge_methods_supported.as_deref().unwrap_or_default();
    match found.has_no_metadata || methods.iter().any(|method| method == "S256") {
        true => Ok(()),
        false => Err(OAuthError::NoPkce(found.server.issuer.clone())),
    }
}

/// Returns the code in a response.
///
/// Checks state and issuer first, so that nothing from a forged response is used or shown.
fn read_response(request: &AuthorizationRequest, response: &Url) -> Result<SecretString, OAuthError> {
    request.check(response)?;
    if let Some(error) = parameter(response, "error")? {
        let description = parameter(response, "error_description")?;
        return Err(OAuthError::Refused(ErrorResponse::new(&error, description.as_deref())));
    }
    Ok(parameter(response, "code")?.ok_or(OAuthError::AuthorizationResponse("`code` is missing"))?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::AuthorizationServerMetadata;

    #[test]
    fn accepts_only_responses_to_its_request() {
        let table = [
            ("code=c&state=s", None, Ok("c")),
            ("code=c&state=s&iss=https%3A%2F%2Fas.example", None, Ok("c")),
            ("code=c&state=s&iss=https%3A%2F%2Fas.example", Some(true), Ok("c")),
            ("code=c&state=s", Some(true), Err("`iss` is missing")),
            ("code=c&state=s", Some(false), Ok("c")),
            ("code=c&state=s&iss=https%3A%2F%2Fas.example%2F", None, Err("`iss` names another")),
            ("code=c&state=s&iss=https%3A%2F%2FAS.example", None, Err("`iss` names another")),
            ("code=c&state=s&iss=https%3A%2F%2Fas.example%3A443", Some(true), Err("`iss` names another")),
            ("error=access_denied&state=s&iss=https%3A%2F%2Fevil.example", None, Err("`iss` names another")),
            ("code=c", None, Err("`state` does not")),
            ("code=c&state=t", None, Err("`state` does not")),
            ("code=c&state=s&state=s", None, Err("occurs twice")),
            ("code=c&code=d&state=s", None, Err("occurs twice")),
            ("state=s", None, Err("`code` is missing")),
            ("error=access_denied&error_description=no&state=s", None, Err("access_denied: no")),
            ("error=access_denied&state=t", None, Err("`state` does not")),
        ];
        for (query, advertises_iss, expected) in table {
            let url = format!("http://127.0.0.1:1/callback?{query}").parse().expect("a URL");
            let requires_issuer = advertises_iss == Some(true);
            let request =
                AuthorizationRequest::new("https://as.example/".parse().expect("a URL"), "s", "https://as.example");
            let request = AuthorizationRequest { requires_issuer, ..request };
            match (read_response(&request, &url), expected) {
                (Ok(code), Ok(expected)) => assert_eq!(code.expose_secret(), expected, "{query}"),
                (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{query}: {error}"),
                (result, _) => panic!("{query}: {:?}", result.map(|_| ())),
            }
        }
    }

    #[test]
    fn requires_pkce_with_s256() {
        let server = AuthorizationServerMetadata::default();
        let mut found = Discovered { resource: String::new(), scopes: None, server, has_no_metadata: false };
        for (methods, expected) in [(None, false), (Some(vec!["plain"]), false), (Some(vec!["plain", "S256"]), true)] {
            found.server.code_challenge_methods_supported =
                methods.clone().map(|methods| methods.into_iter().map(ToOwned::to_owned).collect());
            assert_eq!(check_pkce(&found).is_ok(), expected, "{methods:?}");
        }
    }
}
