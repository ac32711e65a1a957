//! A page of a computed list.

/// A page of a computed list; see [`ServerBuilder::resource_list`](super::ServerBuilder::resource_list).
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// The next page's cursor, in any format. `None` on the last page.
    pub next_cursor: Option<String>,
}

/// Creates the last or only page.
impl<T> From<Vec<T>> for Page<T> {
    fn from(items: Vec<T>) -> Self {
        Self { items, next_cursor: None }
    }
}
