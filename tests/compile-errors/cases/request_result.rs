//! The handler of a request returns the result of another request.

use mcpgen_sdk::prelude::*;
use mcpgen_types::v2026_07_28::{CallToolRequest, CallToolResult, ListToolsRequest};

fn main() {
    let _ = Router::new()
        .request::<ListToolsRequest>(|_, _| async { Ok::<_, ErrorObject>(CallToolResult::new(Vec::new())) })
        .request::<CallToolRequest>(|_, _| async { CallToolResult::new(Vec::new()) });
}
