//! The `WWW-Authenticate` header (RFC 9110, RFC 6750, RFC 9449, RFC 9728).

use std::collections::BTreeMap;
use std::fmt::Write;

use http::HeaderValue;

/// A challenge from a `WWW-Authenticate` header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthChallenge {
    /// The scheme, in lowercase.
    pub scheme: String,
    /// Parameters by name, in lowercase.
    pub params: BTreeMap<String, String>,
}

impl AuthChallenge {
    /// Parses the challenges in a response's `WWW-Authenticate` headers. Skips malformed ones.
    pub fn parse<'h>(headers: impl IntoIterator<Item = &'h HeaderValue>) -> Vec<Self> {
        let texts = headers.into_iter().filter_map(|header| header.to_str().ok());
        texts.flat_map(|text| Parser { rest: text }.challenges()).collect()
    }

    /// Returns a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.params.get(name).map(String::as_str)
    }

    /// Returns the scopes in the `scope` parameter, if any.
    #[must_use]
    pub fn scopes(&self) -> Option<Vec<String>> {
        let scopes: Vec<_> = self.get("scope")?.split_ascii_whitespace().map(ToOwned::to_owned).collect();
        (!scopes.is_empty()).then_some(scopes)
    }

    /// Formats the challenge as a header value. Characters that a quoted string cannot contain become spaces.
    #[must_use]
    pub fn to_header(&self) -> HeaderValue {
        let mut text = self.scheme.clone();
        for (index, (name, value)) in self.params.iter().enumerate() {
            text.push_str(if index == 0 { " " } else { ", " });
            let _ = write!(text, "{name}=\"");
            for char in value.chars() {
                match char {
                    '"' | '\\' => text.extend(['\\', char]),
                    ' '..='~' => text.push(char),
                    _ => text.push(' '),
                }
            }
            text.push('"');
        }
        HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("Bearer"))
    }
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn challenges(mut self) -> Vec<AuthChallenge> {
        let mut challenges: Vec<AuthChallenge> = Vec::new();
        while let Some(name) = self.token() {
            let name = name.to_ascii_lowercase();
            let rest = self.rest.trim_start();
            match (rest.strip_prefix('='), challenges.last_mut()) {
                (Some(rest), Some(challenge)) => {
                    self.rest = rest.trim_start();
                    let value = self.value();
                    challenge.params.entry(name).or_insert(value);
                }
                _ => challenges.push(AuthChallenge { scheme: name, params: BTreeMap::new() }),
            }
        }
        challenges
    }

    /// Returns the next token, and skips anything before it.
    fn token(&mut self) -> Option<&'t str> {
        let is_token = |char: char| char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(char);
        self.rest = self.rest.trim_start_matches(|char| !is_token(char));
        let end = self.rest.find(|char| !is_token(char)).unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!token.is_empty()).then_some(token)
    }

    /// Reads a quoted string or a token.
    fn value(&mut self) -> String {
        let Some(quoted) = self.rest.strip_prefix('"') else {
            let end = self.rest.find([',', ' ', '\t']).unwrap_or(self.rest.len());
            let (value, rest) = self.rest.split_at(end);
            self.rest = rest;
            return value.to_owned();
        };
        let (mut value, mut chars) = (String::new(), quoted.char_indices());
        while let Some((index, char)) = chars.next() {
            match char {
                '\\' => value.extend(chars.next().map(|(_, char)| char)),
                '"' => {
                    self.rest = &quoted[index + 1..];
                    return value;
                }
                char => value.push(char),
            }
        }
        self.rest = "";
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_challenges() {
        type Expected<'t> = &'t [(&'t str, &'t [(&'t str, &'t str)])];
        let table: &[(&str, Expected<'_>)] = &[
            ("Bearer", &[("bearer", &[])]),
            ("Bearer realm=\"a, b\"", &[("bearer", &[("realm", "a, b")])]),
            (
                "DPoP error=\"use_dpop_nonce\", Bearer scope=\"a b\",error=invalid_token",
                &[
                    ("dpop", &[("error", "use_dpop_nonce")]),
                    ("bearer", &[("scope", "a b"), ("error", "invalid_token")]),
                ],
            ),
            ("Basic realm=\"a\\\"b\" , Bearer", &[("basic", &[("realm", "a\"b")]), ("bearer", &[])]),
            (
                "Bearer resource_metadata = \"https://a/b?c=d\"",
                &[("bearer", &[("resource_metadata", "https://a/b?c=d")])],
            ),
            ("Bearer scope=\"not closed", &[("bearer", &[("scope", "not closed")])]),
            ("Bearer Scope=\"a\", scope=\"b\"", &[("bearer", &[("scope", "a")])]),
            ("", &[]),
            ("=\"\"", &[]),
            (",,, \"\"", &[]),
        ];
        for (text, expected) in table {
            let header = HeaderValue::from_str(text).expect("a header value");
            let challenges = AuthChallenge::parse([&header]);
            let shown: Vec<(&str, Vec<(&str, &str)>)> = challenges
                .iter()
                .map(|it| {
                    (
                        it.scheme.as_str(),
                        it.params.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
                    )
                })
                .collect();
            let mut expected: Vec<(&str, Vec<(&str, &str)>)> =
                expected.iter().map(|(scheme, params)| (*scheme, params.to_vec())).collect();
            expected.iter_mut().for_each(|(_, params)| params.sort_unstable());
            assert_eq!(shown, expected, "{text}");
        }
    }

    #[test]
    fn formats_what_it_reads() {
        let params = [("scope", "a b"), ("error_description", "a \"quoted\" \\ part")];
        let params = params.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let challenge = AuthChallenge { scheme: "bearer".to_owned(), params };
        assert_eq!(AuthChallenge::parse([&challenge.to_header()]), [challenge]);
    }
}
