//! Links in Markdown.

/// Returns the names that a text links to: `` [`Name`] ``.
pub(crate) fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("[`").skip(1).filter_map(|rest| rest.split_once("`]").map(|(name, _)| name))
}
