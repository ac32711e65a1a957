//! URI reference resolution (RFC 3986, section 5).

use std::borrow::Cow;

struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
}

/// Splits a URI at `#`. Without a `#`, the fragment is empty.
pub(crate) fn split_fragment(uri: &str) -> (&str, &str) {
    uri.split_once('#').unwrap_or((uri, ""))
}

/// Decodes percent escapes. Returns the text unchanged if the result is not UTF-8.
pub(crate) fn percent_decoded(text: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(text).decode_utf8().unwrap_or(Cow::Borrowed(text))
}

/// Resolves a reference against a base URI, keeping the reference's fragment.
pub(crate) fn resolve(base: &str, reference: &str) -> String {
    let (target, fragment) = reference.split_once('#').map_or((reference, None), |(uri, f)| (uri, Some(f)));
    let (base, _) = split_fragment(base);
    let mut resolved = if target.is_empty() { base.to_owned() } else { merge(&parts(base), &parts(target)) };
    if let Some(fragment) = fragment {
        resolved.push('#');
        resolved.push_str(fragment);
    }
    resolved
}

fn parts(uri: &str) -> Parts<'_> {
    let is_scheme = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    let (scheme, rest) = match uri.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, uri),
    };
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            (Some(&rest[..end]), &rest[end..])
        }
        None => (None, rest),
    };
    Parts { scheme, authority, path, query }
}

fn merge(base: &Parts<'_>, target: &Parts<'_>) -> String {
    let (scheme, authority, path, query) = match target.path {
        path if target.scheme.is_some() => (target.scheme, target.authority, without_dots(path), target.query),
        path if target.authority.is_some() => (base.scheme, target.authority, without_dots(path), target.query),
        "" => (base.scheme, base.authority, base.path.to_owned(), target.query.or(base.query)),
        path if path.starts_with('/') => (base.scheme, base.authority, without_dots(path), target.query),
        path => {
            let folder = base.path.rfind('/').map_or("", |end| &base.path[..=end]);
            let folder = if folder.is_empty() && base.authority.is_some() { "/" } else { folder };
            (base.scheme, base.authority, without_dots(&format!("{folder}{path}")), target.query)
        }
    };
    let scheme = scheme.map(|scheme| format!("{scheme}:")).unwrap_or_default();
    let authority = authority.map(|authority| format!("//{authority}")).unwrap_or_default();
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{scheme}{authority}{path}{query}")
}

fn without_dots(path: &str) -> String {
    if !path.contains("./") && !path.ends_with('.') {
        return path.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split('/').collect();
    for (index, segment) in segments.iter().enumerate() {
        let is_last = index + 1 == segments.len();
        match *segment {
            "." if is_last => kept.push(""),
            "." => {}
            ".." => {
                if kept.len() > 1 {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    kept.join("/")
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn resolves_references() {
        for (base, reference, expected) in [
            ("", "#/a", "#/a"),
            ("", "item.json", "item.json"),
            ("http://a/b/c/d;p?q", "g", "http://a/b/c/g"),
            ("http://a/b/c/d;p?q", "./g", "http://a/b/c/g"),
            ("http://a/b/c/d;p?q", "/g", "http://a/g"),
            ("http://a/b/c/d;p?q", "//g", "http://g"),
            ("http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y"),
            ("http://a/b/c/d;p?q", "#s", "http://a/b/c/d;p?q#s"),
            ("http://a/b/c/d;p?q", "../../g", "http://a/g"),
            ("http://a/b/c/d;p?q", "..", "http://a/b/"),
            ("http://a", "x", "http://a/x"),
            ("urn:uuid:1", "#/x", "urn:uuid:1#/x"),
            ("urn:uuid:1", "urn:uuid:2", "urn:uuid:2"),
        ] {
            assert_eq!(resolve(base, reference), expected, "{reference} in {base}");
        }
    }
}
