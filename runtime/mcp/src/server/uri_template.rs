//! Reads variables from URIs.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// A URI template (RFC 6570) that reads variables from URIs.
///
/// Supports the expressions `{name}`, `{+path}` and `{#fragment}`, with text in between. The crate uri-template-ex
/// matches the same URIs, but would bring a regular expression engine into every server.
#[derive(Debug)]
pub(super) struct UriTemplate {
    /// Text before the first variable.
    start: String,
    variables: Vec<Variable>,
}

#[derive(Debug)]
struct Variable {
    name: String,
    /// Whether the value is a single path segment, as for `{name}`.
    is_segment: bool,
    /// Text after the variable.
    text: String,
}

/// The maximum length of a URI, in bytes. Matching takes about that much memory per variable.
const LONGEST: usize = 64 << 10;

impl UriTemplate {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// Returns why the template is not supported.
    pub(super) fn parse(template: &str) -> Result<Self, &'static str> {
        let mut pieces = template.split('{');
        let mut parsed = Self { start: text(pieces.next().unwrap_or_default())?, variables: Vec::new() };
        for piece in pieces {
            let (expression, after) = piece.split_once('}').ok_or(UNMATCHED_BRACE)?;
            let name = expression.strip_prefix(['+', '#']).unwrap_or(expression);
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return Err("unsupported expression; use {name}, {+name} or {#name}");
            }
            if parsed.names().any(|known| known == name) {
                return Err("a variable occurs twice; use each name once");
            }
            if expression.starts_with('#') {
                parsed.variables.last_mut().map_or(&mut parsed.start, |last| &mut last.text).push('#');
            }
            if parsed.variables.last().is_some_and(|last| last.text.is_empty()) {
                return Err("two variables without text between them; separate them, for example with a slash");
            }
            let is_segment = name.len() == expression.len();
            parsed.variables.push(Variable { name: name.to_owned(), is_segment, text: text(after)? });
        }
        Ok(parsed)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|variable| variable.name.as_str())
    }

    /// Returns the percent-decoded variables, each as long as possible, or `None` if the URI does not match.
    pub(super) fn variables(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        if uri.len() > LONGEST {
            return None;
        }
        let uri = encoded(uri);
        let uri = uri.strip_prefix(&self.start)?;
        let mut begin = 0;
        let read = |(variable, ends): (&Variable, Vec<bool>)| {
            let longest = uri[begin..].bytes().take_while(|byte| variable.allows(*byte)).count();
            let end = (begin..=begin + longest).rev().find(|end| ends[*end])?;
            let value = decoded(&uri[begin..end]).filter(|value| !variable.is_segment || is_one_segment(value))?;
            begin = end + variable.text.len();
            Some((variable.name.clone(), value))
        };
        self.variables.iter().zip(self.ends(uri.as_bytes())?).map(read).collect()
    }

    /// For each variable, returns where its value may end so that the rest of the URI still matches. `None` if the URI
    /// does not match.
    ///
    /// This takes linear time. Trying one end after another would not, if a client repeats the text that follows a
    /// variable.
    fn ends(&self, uri: &[u8]) -> Option<Vec<Vec<bool>>> {
        // The positions at which the next variable may begin, or the URI may end.
        let mut begins = vec![false; uri.len() + 1];
        begins[uri.len()] = true;
        let mut all = Vec::with_capacity(self.variables.len());
        for variable in self.variables.iter().rev() {
            let text = variable.text.as_bytes();
            let ends = |at: usize| uri[at..].starts_with(text) && begins[at + text.len()];
            let ends: Vec<bool> = (0..=uri.len()).map(ends).collect();
            let mut ends_later = false;
            for at in (0..=uri.len()).rev() {
                let continues = ends_later && variable.allows(uri[at]);
                begins[at] = continues || (ends[at] && !variable.is_segment);
                ends_later = continues || ends[at];
            }
            all.push(ends);
        }
        all.reverse();
        begins[0].then_some(all)
    }
}

impl Variable {
    fn allows(&self, byte: u8) -> bool {
        !self.is_segment || !matches!(byte, b'/' | b'?' | b'#')
    }
}

/// Returns whether a value is one path segment. Percent-encoding must not smuggle further segments into it.
fn is_one_segment(value: &str) -> bool {
    !value.is_empty() && value != "." && value != ".." && !value.contains(['/', '\\', '\0'])
}

const UNMATCHED_BRACE: &str = "unmatched brace";

fn text(text: &str) -> Result<String, &'static str> {
    if text.contains('}') { Err(UNMATCHED_BRACE) } else { Ok(encoded(text).into_owned()) }
}

/// Percent-encodes what URIs cannot contain, such as `é`. Some clients do this when they expand a template, others do
/// not.
fn encoded(text: &str) -> Cow<'_, str> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    if text.bytes().all(is_allowed) {
        return text.into();
    }
    let encode = |byte| if is_allowed(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

/// Percent-decodes text. `None` if the encoding or the decoded text is invalid.
fn decoded(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2)?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)?);
        bytes.extend(rest.bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
        let found = UriTemplate::parse(template).expect("a template").variables(uri);
        let expected =
            expected.map(|pairs| pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect());
        assert_eq!(found, expected, "{template} {uri:.80}");
    }

    #[test]
    fn matches_segments() {
        for (uri, title) in [
            ("a+b", "a+b"),
            ("a:b", "a:b"),
            ("u@h", "u@h"),
            ("a,b;c=d&e$f*g!(h)'i'", "a,b;c=d&e$f*g!(h)'i'"),
            ("~b.c-d_e", "~b.c-d_e"),
            ("a%2Bb%3a", "a+b:"),
            ("caf%C3%A9", "café"),
            ("café au lait", "café au lait"),
            ("a%3Fb%23c", "a?b#c"),
            ("...", "..."),
        ] {
            check("note:///x/{title}", &format!("note:///x/{uri}"), Some(&[("title", title)]));
        }
        for uri in [
            "", "a/b", "a?b", "a#b", ".", "..", "%2e%2e", "..%2Fetc", "a%5Cb", "a\\b", "a%00", "%zz", "%", "%1", "%+f",
            "%é0", "%FF",
        ] {
            check("note:///x/{title}", &format!("note:///x/{uri}"), None);
        }
    }

    #[test]
    fn matches_paths_and_fragments() {
        check("files:///{+path}", "files:///a+b@c:d,e/../f?g#h", Some(&[("path", "a+b@c:d,e/../f?g#h")]));
        check("files:///{+path}", "files:///", Some(&[("path", "")]));
        check("files:///{+path}", "files:///%zz", None);
        check("f://x{#f}", "f://x#a/b?c", Some(&[("f", "a/b?c")]));
        check("f://x{#f}", "f://x", None);
        check("{+path}{#f}", "x:a#b", Some(&[("f", "b"), ("path", "x:a")]));
        check("x:{a}{#b}", "x:1#2", Some(&[("a", "1"), ("b", "2")]));
    }

    #[test]
    fn matches_text_around_variables() {
        check("x:y", "x:y", Some(&[]));
        check("x:y", "x:yz", None);
        check("x:{a}/y", "x:1/y", Some(&[("a", "1")]));
        check("x:{a}/y", "x:1/yz", None);
        check("q://x/search?term={t}&n={n}", "q://x/search?term=a&n=1", Some(&[("n", "1"), ("t", "a")]));
        check("file:///my café/{name}", "file:///my café/a", Some(&[("name", "a")]));
        check("file:///my café/{name}", "file:///my%20caf%C3%A9/a", Some(&[("name", "a")]));
    }

    #[test]
    fn makes_values_as_long_as_the_rest_allows() {
        check("t:{a}-{b}", "t:1-2-3", Some(&[("a", "1-2"), ("b", "3")]));
        check("t:{a}-{b}", "t:1-2-", Some(&[("a", "1"), ("b", "2-")]));
        check("t:{a}-{b}", "t:-1-", None);
        check("t:{+a}/x{b}", "t:q/xm/xn", Some(&[("a", "q/xm"), ("b", "n")]));
        check("t:{a}x{+b}", "t:1/2x3", None);
        check("t:{a}x{+b}", "t:1x/2x3", Some(&[("a", "1"), ("b", "/2x3")]));
    }

    #[test]
    fn takes_linear_time() {
        let dashes = "-".repeat(LONGEST - 1);
        check("{+a}-{b}-{c}-{d}-{+e}-{f}!", &dashes, None);
        check("{+a}", &"a".repeat(LONGEST + 1), None);
    }
}
