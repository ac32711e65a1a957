//! Servers of skills may leave out cache hints. Even strict clients accept such results.

use mcpgen_mcp::client::lenient::{DecodePolicy, decode};
use mcpgen_types::Json;
use mcpgen_types::ext::skills::ListSkillsResult;
use serde_json::json;

#[test]
fn a_list_without_cache_hints_may_not_be_cached() {
    let result = Json::from(&json!({ "resultType": "complete", "skills": [] }));
    let (decoded, repairs) = decode::<ListSkillsResult>(&result, DecodePolicy::Strict).expect("the hints are repaired");
    assert_eq!((decoded.ttl_ms.to_string(), repairs.len()), ("0".to_owned(), 2));
}
