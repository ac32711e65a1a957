//! The addresses of pages, relative to the root of the site.

use std::fmt::Write as _;

/// Returns the address of a page about a revision or an extension.
pub(crate) fn model(folder: &str, name: &str) -> String {
    format!("{folder}/{}.html", file_name(name))
}

/// Returns the address of the page about a type, by its name in the schema.
pub(crate) fn type_page(name: &str) -> String {
    format!("types/{}.html", file_name(name))
}

/// Returns the address of a page about two revisions.
pub(crate) fn pair(folder: &str, old: &str, new: &str) -> String {
    format!("{folder}/{}-to-{}.html", file_name(old), file_name(new))
}

/// Turns a name into one that is safe as a file name and in an address.
pub(crate) fn file_name(name: &str) -> String {
    let mut safe = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || (c == '.' && !safe.is_empty()) {
            safe.push(c);
        } else {
            let _ = write!(safe, "~{:x}~", u32::from(c));
        }
    }
    safe
}

/// Returns the relative path from a page to the root of the site.
pub(crate) fn to_root(page: &str) -> String {
    "../".repeat(page.matches('/').count())
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_files_safely() {
        for (name, expected) in [
            ("Tool", "Tool"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28-RC.1", "2026-07-28-RC.1"),
            ("../x", "~2e~.~2f~x"),
            ("a b\"<", "a~20~b~22~~3c~"),
        ] {
            assert_eq!(super::file_name(name), expected);
        }
        assert_eq!(super::to_root("types/Tool.html"), "../");
        assert_eq!(super::to_root("index.html"), "");
    }
}
