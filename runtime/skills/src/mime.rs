//! MIME types of files.

/// MIME types by file extension in lower case, sorted.
const TYPES: &[(&str, &str)] = &[
    ("avif", "image/avif"),
    ("bash", "text/x-shellscript"),
    ("bmp", "image/bmp"),
    ("c", "text/x-c"),
    ("cpp", "text/x-c++"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("gif", "image/gif"),
    ("go", "text/x-go"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/vnd.microsoft.icon"),
    ("java", "text/x-java"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("markdown", "text/markdown"),
    ("md", "text/markdown"),
    ("mdx", "text/mdx"),
    ("mjs", "text/javascript"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("otf", "font/otf"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("py", "text/x-python"),
    ("rb", "text/x-ruby"),
    ("rs", "text/x-rust"),
    ("rtf", "application/rtf"),
    ("sh", "text/x-shellscript"),
    ("sql", "application/sql"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tex", "text/x-tex"),
    ("toml", "application/toml"),
    ("ts", "text/x-typescript"),
    ("tsv", "text/tab-separated-values"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// The MIME type of directories.
pub(crate) const DIRECTORY: &str = "inode/directory";

/// Finds the MIME type by the name's extension or, if that is unknown, by the content.
pub(super) fn of_file(name: &str, content: &[u8]) -> &'static str {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let known = extension.and_then(|extension| TYPES.binary_search_by_key(&&*extension, |(known, _)| *known).ok());
    match known.and_then(|index| TYPES.get(index)) {
        Some((_, mime_type)) => mime_type,
        None if std::str::from_utf8(content).is_ok_and(|text| !text.contains('\0')) => "text/plain",
        None => "application/octet-stream",
    }
}

/// Whether files of this type are text. They are sent as text if they are UTF-8, and otherwise as bytes.
pub(super) fn is_text(mime_type: &str) -> bool {
    let text = ["json", "jsonl", "rtf", "sql", "toml", "xml", "yaml"];
    mime_type.starts_with("text/")
        || mime_type.ends_with("+xml")
        || mime_type.strip_prefix("application/").is_some_and(|subtype| text.contains(&subtype))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_ordered() {
        assert!(TYPES.is_sorted_by(|(a, _), (b, _)| a < b));
    }

    #[test]
    fn finds_types_by_extension_and_content() {
        for (name, content, expected, text) in [
            ("SKILL.md", &b""[..], "text/markdown", true),
            ("a.PNG", b"text", "image/png", false),
            ("a.tar.gz", b"", "application/gzip", false),
            ("a.svg", b"", "image/svg+xml", true),
            ("a.yaml", b"", "application/yaml", true),
            ("LICENSE", b"text", "text/plain", true),
            ("a.unknown", b"a\0b", "application/octet-stream", false),
            ("a.unknown", b"\xff", "application/octet-stream", false),
        ] {
            let found = of_file(name, content);
            assert_eq!((found, is_text(found)), (expected, text), "{name}");
        }
    }
}
