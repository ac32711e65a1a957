//! Self-contained HTML pages, which make no requests: `page` writes the frame with styles and scripts, `escape` escapes
//! text and Markdown.

mod escape;
mod page;

pub use escape::{code_spans, escape};
pub use page::{Page, STYLE};
