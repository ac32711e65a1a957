//! HTML pages in one file, which make no requests: `page` has the frame with styles and scripts, `escape` escapes text.

mod escape;
mod page;

pub(crate) use escape::escape;
pub(crate) use page::Page;
