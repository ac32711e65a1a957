//! The URIs of skills and their files.

/// Every skill has this file.
pub(crate) const SKILL_FILE: &str = "SKILL.md";
/// The prefix of all URIs that a server gives its skills.
const SCHEME: &str = "skill://";

/// The URI of a file or directory. The path uses `/` as the separator.
pub(super) fn of_path(path: &str) -> String {
    let mut uri = SCHEME.to_owned();
    encode(path, &mut uri);
    uri
}

fn encode(path: &str, uri: &mut String) {
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => uri.push(byte.into()),
            b'/' | b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';'
            | b'=' => {
                uri.push(byte.into());
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
}

/// The URI of a skill's directory, from that of its `SKILL.md`.
pub(crate) fn root(uri: &str) -> Option<&str> {
    uri.strip_suffix(SKILL_FILE)?.strip_suffix('/')
}

/// A skill's name, from the URI of its `SKILL.md`: the last segment but one.
pub(crate) fn name(uri: &str) -> Option<&str> {
    let (_, path) = root(uri)?.split_once("://")?;
    path.rsplit('/').next().filter(|name| !name.is_empty())
}

/// Resolves a reference in a skill against the skill's directory. Returns the possible URIs, or `None` if the
/// reference leads out of the directory.
///
/// A reference is a URI below the directory, or a path relative to it, percent-encoded or not.
pub(crate) fn resolve(root: &str, reference: &str) -> Option<Vec<String>> {
    let reference = reference.split_once('#').map_or(reference, |(path, _)| path);
    if reference.contains("://") {
        let path = reference.strip_prefix(root)?.strip_prefix('/')?;
        return is_inside(path).then(|| vec![reference.to_owned()]);
    }
    let mut segments: Vec<&str> = Vec::new();
    for segment in reference.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()?),
            segment => segments.push(segment),
        }
    }
    if reference.starts_with('/') || segments.is_empty() {
        return None;
    }
    let path = segments.join("/");
    let mut encoded = format!("{root}/");
    encode(&path, &mut encoded);
    let plain = format!("{root}/{path}");
    Some(if plain == encoded { vec![plain] } else { vec![plain, encoded] })
}

/// Whether a relative path stays inside its directory.
pub(crate) fn is_inside(path: &str) -> bool {
    let is_dots = |segment: &str| matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
    !path.split('/').any(|segment| segment.is_empty() || is_dots(segment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_paths() {
        for (path, expected) in [
            ("git/SKILL.md", "skill://git/SKILL.md"),
            ("a b/ü.md", "skill://a%20b/%C3%BC.md"),
            ("a/50%?#.md", "skill://a/50%25%3F%23.md"),
            ("a/b:c@d.md", "skill://a/b%3Ac%40d.md"),
            ("a/b\\c", "skill://a/b%5Cc"),
        ] {
            assert_eq!(of_path(path), expected);
        }
    }

    #[test]
    fn finds_the_directory_and_the_name() {
        for (uri, expected) in [
            ("skill://git/SKILL.md", Some(("skill://git", "git"))),
            ("skill://acme/billing/refunds/SKILL.md", Some(("skill://acme/billing/refunds", "refunds"))),
            ("github://owner/repo/refunds/SKILL.md", Some(("github://owner/repo/refunds", "refunds"))),
            ("skill://SKILL.md", None),
            ("skill:///SKILL.md", None),
            ("skill://git/skill.md", None),
            ("skill://git/NOT-SKILL.md", None),
        ] {
            assert_eq!(name(uri).map(|name| (root(uri).expect("a directory"), name)), expected, "{uri}");
        }
    }

    #[test]
    fn resolves_references_inside_the_directory_only() {
        let root = "skill://a/b";
        for (reference, expected) in [
            ("guide.md", Some(vec!["skill://a/b/guide.md"])),
            ("./references/../guide.md#part", Some(vec!["skill://a/b/guide.md"])),
            ("a b.md", Some(vec!["skill://a/b/a b.md", "skill://a/b/a%20b.md"])),
            ("skill://a/b/c/d.md", Some(vec!["skill://a/b/c/d.md"])),
            ("skill://a/b", None),
            ("skill://a/bc/d.md", None),
            ("skill://a/b/../c.md", None),
            ("skill://a/b/%2E%2e/c.md", None),
            ("https://example.com/a", None),
            ("../c.md", None),
            ("c/../../d.md", None),
            ("/etc/passwd", None),
            ("", None),
            (".", None),
        ] {
            let expected = expected.map(|uris| uris.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(resolve(root, reference), expected, "{reference}");
        }
    }
}
