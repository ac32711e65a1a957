//! The tasks extension in the capabilities that the bridge declares.

use mcpgen_mcp::protocol::extension::Extension;
use mcpgen_tasks::TasksExtension;
use mcpgen_types::JsonObject;

/// The value of `resultType` that the extension adds.
pub(super) const TASK_RESULT: &str = "task";

const EXTENSIONS: &str = "extensions";

/// Adds the extension to capabilities.
pub(super) fn with_task_extension(mut capabilities: JsonObject) -> JsonObject {
    let mut extensions = extensions(&capabilities).unwrap_or_default();
    extensions.insert_if_absent(TasksExtension::IDENTIFIER, JsonObject::new());
    capabilities.insert(EXTENSIONS, extensions);
    capabilities
}

/// Removes the extension from capabilities.
pub(super) fn without_task_extension(mut capabilities: JsonObject) -> JsonObject {
    let Some(mut extensions) = extensions(&capabilities) else { return capabilities };
    if extensions.remove(TasksExtension::IDENTIFIER).is_some() {
        capabilities.remove(EXTENSIONS);
        if !extensions.is_empty() {
            capabilities.insert(EXTENSIONS, extensions);
        }
    }
    capabilities
}

fn extensions(capabilities: &JsonObject) -> Option<JsonObject> {
    JsonObject::try_from(capabilities.get(EXTENSIONS)?).ok()
}
