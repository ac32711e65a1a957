//! Conversions between revisions: one case for each rule and each kind of outcome.
#![cfg(all(feature = "convert", feature = "all-revisions"))]

use mcpgen_types::convert::{Conversion, Policy, convert, convert_equal, convert_with};
use mcpgen_types::{Json, Revision, Version, v2024_11_05, v2025_06_18, v2025_11_25, v2026_07_28};

const V1: Revision = Revision::V2024_11_05;
const V3: Revision = Revision::V2025_06_18;
const V4: Revision = Revision::V2025_11_25;
const V5: Revision = Revision::V2026_07_28;

/// Converts a document. Returns the result, and each loss in one line, or the error.
fn converted(conversion: Option<Conversion>, source: &str, policy: Policy) -> String {
    let conversion = conversion.expect("both revisions have the type");
    let source = Json::parse(source).expect("a JSON text");
    match conversion.apply(&source, policy) {
        Ok(converted) => {
            let lost = converted.lost.iter().map(|lost| format!("\n{lost}"));
            format!("{}{}", converted.value, lost.collect::<String>())
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn rules_convert_what_the_schemas_do_not_tell() {
    let definition = Conversion::of_definition;
    let result = Conversion::of_result;
    let params = Conversion::of_params;
    let cases = [
        // error-response
        (
            definition("JSONRPCError", V1, V5),
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#,
        ),
        (
            definition("JSONRPCErrorResponse", V5, V1),
            r#"{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}"#,
            "cannot convert to revision 2024-11-05: /id: missing required member",
        ),
        // result-type
        (result("tools/call", V3, V5), r#"{"content":[]}"#, r#"{"content":[],"resultType":"complete"}"#),
        (result("tools/call", V5, V3), r#"{"resultType":"complete","content":[]}"#, r#"{"content":[]}"#),
        (
            result("tools/call", V5, V3),
            r#"{"resultType":"input_required","requestState":"x"}"#,
            "cannot convert to revision 2025-06-18: /resultType: expected constant \"complete\", found \"input_required\"",
        ),
        // cache-ttl, cache-scope
        (
            result("tools/list", V4, V5),
            r#"{"tools":[]}"#,
            r#"{"tools":[],"ttlMs":0,"cacheScope":"private","resultType":"complete"}"#,
        ),
        (
            result("tools/list", V5, V4),
            r#"{"tools":[],"ttlMs":0.0,"cacheScope":"private","resultType":"complete"}"#,
            r#"{"tools":[]}"#,
        ),
        (
            result("tools/list", V5, V4),
            r#"{"tools":[],"ttlMs":5,"cacheScope":"public","resultType":"complete"}"#,
            "{\"tools\":[]}\n/ttlMs: not defined in revision 2025-11-25\n/cacheScope: not defined in revision 2025-11-25",
        ),
        // request-params, request-metadata, request-revision, request-capabilities
        (
            definition("ListToolsRequest", V4, V5),
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            concat!(
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"#,
                r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#
            ),
        ),
        (
            params("tools/call", V4, V1),
            r#"{"_meta":{"progressToken":1},"name":"a"}"#,
            r#"{"_meta":{"progressToken":1},"name":"a"}"#,
        ),
        // elicitation-mode, elicitation-id
        (
            params("elicitation/create", V5, V3),
            r#"{"message":"Name?","mode":"form","requestedSchema":{"type":"object","properties":{}}}"#,
            r#"{"message":"Name?","requestedSchema":{"type":"object","properties":{}}}"#,
        ),
        // sampling-tools, task, input-responses
        (
            params("sampling/createMessage", V4, V3),
            r#"{"maxTokens":1,"messages":[],"tools":[]}"#,
            "cannot convert to revision 2025-06-18: /tools: the revision does not define this member",
        ),
        (
            params("tools/call", V4, V3),
            r#"{"name":"a","task":{}}"#,
            "cannot convert to revision 2025-06-18: /task: the revision does not define this member",
        ),
        (
            params("tools/call", V5, V4),
            r#"{"name":"a","requestState":"x"}"#,
            "cannot convert to revision 2025-11-25: /requestState: the revision does not define this member",
        ),
        // output-schema-type
        (
            definition("Tool", V5, V4),
            r#"{"name":"a","inputSchema":{"type":"object"},"outputSchema":{}}"#,
            "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"}}\n/outputSchema: not valid in revision 2025-11-25: missing required member",
        ),
        // envelope
        (
            definition("CallToolRequest", V5, V1),
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
        ),
        // single-content
        (
            definition("SamplingMessage", V5, V3),
            r#"{"role":"user","content":[{"type":"text","text":"x"}]}"#,
            r#"{"role":"user","content":{"type":"text","text":"x"}}"#,
        ),
        (
            definition("SamplingMessage", V5, V3),
            r#"{"role":"user","content":[]}"#,
            r#"cannot convert to revision 2025-06-18: /content: expected object, found array"#,
        ),
        // titled-enum
        (
            definition("PrimitiveSchemaDefinition", V5, V3),
            r#"{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}"#,
            r#"{"type":"string","enum":["a","b"],"enumNames":["A","B"]}"#,
        ),
    ];
    for (conversion, source, expected) in cases {
        assert_eq!(converted(conversion, source, Policy::Omit), expected, "{source}");
    }
}

#[test]
fn elicitation_ids_are_unique() {
    let source = r#"{"message":"Log in","mode":"url","url":"https://example.org"}"#;
    let conversion = Conversion::of_params("elicitation/create", V5, V4);
    let (one, other) = (converted(conversion, source, Policy::Strict), converted(conversion, source, Policy::Strict));
    assert!(one.contains(r#""elicitationId":""#), "{one}");
    assert_ne!(one, other);
}

#[test]
fn policies_decide_about_members_that_the_target_does_not_define() {
    let tool = r#"{"name":"add","title":"Add","inputSchema":{"type":"object"},"icons":[{"src":"a.png"}],"x":[1,1.0]}"#;
    let conversion = Conversion::of_definition("Tool", V5, V3);
    for (policy, expected) in [
        (
            Policy::Strict,
            "cannot convert to revision 2025-06-18: /icons: the revision does not define this member".to_owned(),
        ),
        (
            Policy::Omit,
            r#"{"name":"add","title":"Add","inputSchema":{"type":"object"},"x":[1,1.0]}"#.to_owned()
                + "\n/icons: not defined in revision 2025-06-18",
        ),
        (Policy::KeepUnknown, format!("{tool}\n/icons: unknown in revision 2025-06-18")),
    ] {
        assert_eq!(converted(conversion, tool, policy), expected, "{policy:?}");
    }
}

#[test]
fn values_that_cannot_be_expressed_are_errors_unless_they_are_optional() {
    let cases = [
        (
            Conversion::of_result("tools/call", V4, V1),
            r#"{"content":[{"type":"audio","data":"","mimeType":"a/b"}]}"#,
            "cannot convert to revision 2024-11-05: /content/0: expected one of \"text\", \"image\", \"resource\", found \"audio\"",
        ),
        (
            Conversion::of_result("tools/call", V5, V3),
            r#"{"content":[],"structuredContent":[1],"resultType":"complete"}"#,
            "{\"content\":[]}\n/structuredContent: not valid in revision 2025-06-18: expected object, found array",
        ),
    ];
    for (conversion, source, expected) in cases {
        assert_eq!(converted(conversion, source, Policy::Omit), expected, "{source}");
    }
}

#[test]
fn typed_values_convert_in_both_directions() {
    let tool: v2026_07_28::Tool =
        mcpgen_types::from_str(r#"{"name":"add","inputSchema":{"type":"object"},"x":1}"#).expect("a tool");
    let old = convert_with::<_, v2025_06_18::Tool>(&tool, Policy::Strict).expect("nothing is lost");
    assert_eq!(old.value.name, "add");
    let new = convert::<_, v2026_07_28::Tool>(&old.value).expect("a valid tool");
    assert_eq!((new.value, new.lost), (tool.clone(), Vec::new()));
    let same = convert_with::<_, v2026_07_28::Tool>(&tool, Policy::Strict).expect("the identity");
    assert_eq!(same.value, tool);
}

#[test]
fn equal_types_convert_without_losses() {
    let role: v2026_07_28::Role = convert_equal(&v2024_11_05::Role::User).expect("equal types");
    assert_eq!(role, v2026_07_28::Role::User);
    let conversion = Conversion::of_type::<v2024_11_05::Role>(V5).expect("both revisions have the type");
    assert!(conversion.is_identity());
    assert!(!Conversion::of_type::<v2025_11_25::Tool>(V3).expect("both revisions have the type").is_identity());
}

#[test]
fn types_and_methods_of_one_revision_have_no_conversion() {
    assert_eq!(Conversion::of_definition("Task", V4, V5), None);
    assert_eq!(Conversion::of_params("server/discover", V5, V4), None);
    assert_eq!(Conversion::of_result("initialize", V4, V5), None);
    assert_eq!(Conversion::of_type::<v2025_11_25::Task>(V5), None);
    assert_eq!(Conversion::of_definition("Tool", V4, Revision::of(Version::new("draft"))), None);
}
