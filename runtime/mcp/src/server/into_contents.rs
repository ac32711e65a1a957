//! What reading a resource can return.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcpgen_types::v2026_07_28::{BlobResourceContents, TextOrBlobResourceContents, TextResourceContents};
use tower::BoxError;

/// What reading a resource returns. `None` means that the resource does not exist.
pub(super) type Contents = Result<Option<Vec<TextOrBlobResourceContents>>, BoxError>;

/// What reading a resource can return: text, bytes, or contents. `None` means that the resource does not exist.
#[diagnostic::on_unimplemented(
    message = "a resource cannot return `{Self}`",
    label = "the function of this resource returns `{Self}`",
    note = "return text, bytes, `Vec<TextOrBlobResourceContents>`, or an `Option` of one of these",
    note = "to report failures, return a `Result` of one of these whose error is an error, text, `ErrorObject` or `BoxError`; \
            `ToolError` is for tools"
)]
pub trait IntoContents {
    /// Converts to the contents of the resource with this URI. Text and bytes get `mime_type`, the resource's declared
    /// type; a list of contents is left unchanged.
    ///
    /// # Errors
    ///
    /// Returns an error if the resource cannot be read, or if reading it requires input from the client.
    fn into_contents(
        self,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<Option<Vec<TextOrBlobResourceContents>>, BoxError>;
}

impl IntoContents for String {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Contents {
        let mut contents = TextResourceContents::new(uri).text(self);
        contents.mime_type = mime_type.map(str::to_owned);
        Ok(Some(vec![contents.into()]))
    }
}

impl IntoContents for &str {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Contents {
        self.to_owned().into_contents(uri, mime_type)
    }
}

impl IntoContents for Vec<u8> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Contents {
        let mut contents = BlobResourceContents::new(uri).blob(STANDARD.encode(self));
        contents.mime_type = mime_type.map(str::to_owned);
        Ok(Some(vec![contents.into()]))
    }
}

impl IntoContents for Vec<TextOrBlobResourceContents> {
    fn into_contents(self, _: &str, _: Option<&str>) -> Contents {
        Ok(Some(self))
    }
}

impl<T: IntoContents> IntoContents for Option<T> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Contents {
        self.map_or(Ok(None), |contents| contents.into_contents(uri, mime_type))
    }
}

impl<T: IntoContents, E: Into<BoxError>> IntoContents for Result<T, E> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Contents {
        self.map_err(Into::into)?.into_contents(uri, mime_type)
    }
}
