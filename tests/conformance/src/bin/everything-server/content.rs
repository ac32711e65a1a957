//! Tools that return each kind of content or fail.

use mcpgen_sdk::ServerBuilder;
use mcpgen_sdk::server::{ToolError, ToolInfo};
use mcpgen_types::v2026_07_28::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, TextContent, TextResourceContents,
};

use crate::samples::{PNG, WAV, base64};

pub(crate) fn tool_info(name: &str, description: &str) -> ToolInfo {
    ToolInfo::new(name).description(description)
}

pub(crate) fn tools(server: ServerBuilder) -> ServerBuilder {
    server
        .tool(tool_info("test_simple_text", "Returns a text."), || async {
            "This is a simple text response for testing."
        })
        .tool(tool_info("test_image_content", "Returns an image."), || async { image() })
        .tool(tool_info("test_audio_content", "Returns audio."), || async {
            ContentBlock::from(AudioContent::new(base64(WAV)).mime_type("audio/wav"))
        })
        .tool(tool_info("test_embedded_resource", "Returns a resource."), || async {
            resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
        })
        .tool(tool_info("test_multiple_content_types", "Returns a text, an image and a resource."), || async {
            let data = r#"{"test":"data","value":123}"#;
            vec![
                TextContent::new("Multiple content types test:").into(),
                image(),
                resource("test://mixed-content-resource", "application/json", data),
            ]
        })
        .tool(tool_info("test_error_handling", "Always fails."), || async {
            Err::<(), _>(ToolError::failed("This tool intentionally returns an error for testing"))
        })
}

fn image() -> ContentBlock {
    ImageContent::new(base64(PNG)).mime_type("image/png").into()
}

fn resource(uri: &str, mime_type: &str, text: &str) -> ContentBlock {
    EmbeddedResource::new(TextResourceContents::new(uri).text(text).with_mime_type(mime_type)).into()
}
