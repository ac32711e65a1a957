//! Tests `mcpgen diff --tools`.

mod support;

use mcpgen_model::snapshot::Snapshot;
use serde_json::{Value, json};
use support::Project;

const TOOL: &str =
    r#"{"name": "read_file", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}"#;

#[test]
fn reads_every_form_of_a_snapshot() {
    let project = Project::empty();
    for (at, old) in [
        format!("[{TOOL}]"),
        format!("{{\"tools\": [{TOOL}]}}"),
        format!("{{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {{\"tools\": [{TOOL}], \"nextCursor\": null}}}}"),
        format!("\u{feff}{{\"resources\": [], \"prompts\": [], \"resourceTemplates\": [], \"tools\": [{TOOL}]}}"),
    ]
    .iter()
    .enumerate()
    {
        project.write("old.json", old);
        project.write("new.json", r#"{"tools": []}"#);
        let answer = project.run(&["diff", "--tools", "old.json", "new.json"]).exits(1);
        let answer =
            answer.prints(&["breaking tool-removed: the tool `read_file` was removed", "remembered-list: breaking"]);
        assert_eq!(answer.out().contains("only the old snapshot has `prompts`"), at == 3, "{}", answer.out());
        project
            .run(&["diff", "--tools", "old.json", "old.json", "--fail-on", "any"])
            .exits(0)
            .prints(&["no differences"]);
    }
}

/// Well-formed items are compared, and a note names the rest.
#[test]
fn compares_around_malformed_items() {
    let project = Project::empty();
    let twice = format!("[{TOOL}, {TOOL}]");
    let cases: &[(&str, &[&str])] = &[
        ("[1]", &["bad.json#/0: tool `/0`: expected a tool, found number; the tool is left out"]),
        ("[{}]", &["bad.json#/0: tool `/0`: `name` is missing; the tool is left out"]),
        (r#"[{"name": ""}]"#, &["bad.json#/0/name: tool ``: the `name` is empty"]),
        (r#"[{"name": 1}]"#, &["bad.json#/0/name: tool `/0`: expected a string, found number"]),
        (r#"[{"name": "a"}]"#, &["bad.json#/0: tool `a`: the tool has no `inputSchema`; the tool is left out"]),
        (r#"[{"name": "a", "inputSchema": []}]"#, &["bad.json#/0/inputSchema: tool `a`: expected a schema"]),
        (
            r#"[{"name": "a", "inputSchema": {"type": "string"}}]"#,
            &["#/0/inputSchema/type: tool `a`: the arguments of a tool"],
        ),
        (
            r#"[{"name": "a", "inputSchema": {}, "annotations": {"readOnlyHint": "yes"}, "title": 1}]"#,
            &[
                "#/0/annotations/readOnlyHint: tool `a`: expected a boolean, found string; the member is left out",
                "#/0/title: tool `a`: expected a string, found number; the member is left out",
            ],
        ),
        (
            r#"[{"name": "a", "inputSchema": {}, "execution": {"taskSupport": "maybe"}}]"#,
            &["#/0/execution/taskSupport: tool `a`: \"maybe\" is not a value"],
        ),
        (&twice, &["bad.json#/1/name: tool `read_file`: /0 has the same `name`, \"read_file\"; the tool is left out"]),
        (
            r#"{"resources": [{"name": "a"}]}"#,
            &["#/resources/0: resource `/resources/0`: `uri` is missing; the resource is left out"],
        ),
        (
            r#"{"prompts": [{"name": "a", "arguments": [{}]}]}"#,
            &["#/prompts/0/arguments/0: prompt `a`: the argument has no `name`; the member is left out"],
        ),
        (
            r#"{"prompts": [{"name": "a", "arguments": [{"name": "b"}, {"name": "b"}]}]}"#,
            &["#/prompts/0/arguments/1: prompt `a`: the prompt has two arguments \"b\""],
        ),
        (
            r#"{"resourceTemplates": [{"name": "a", "uriTemplate": "x"}, {"name": "b", "uriTemplate": "x"}]}"#,
            &["/1/uriTemplate: resource template `x`: "],
        ),
        (r#"[{"name": "a", "inputSchema": {"maxProperties": 1e999}}]"#, &["#/0: tool `a`: not readable as JSON: "]),
    ];
    for (text, parts) in cases {
        project.write("bad.json", text);
        let answer = project.run(&["diff", "--tools", "bad.json", "bad.json", "--fail-on", "any"]).exits(0);
        answer.prints(&["no differences"]).prints(parts);
    }
    // A malformed optional member must not hide other changes.
    let tool =
        |more: &str| format!(r#"[{{"name": "a", "inputSchema": {{"type": "object"{more}}}, "description": null}}]"#);
    project.write("old.json", tool(""));
    project.write("new.json", tool(r#", "required": ["x"], "properties": {"x": {"type": "string"}}"#));
    project.run(&["diff", "--tools", "old.json", "new.json"]).exits(1).prints(&[
        "breaking argument-added-required",
        "old.json#/0/description: tool `a`: expected a string, found null; the member is left out",
        "new.json#/0/description: tool `a`: expected a string, found null; the member is left out",
    ]);
    // A tool that is malformed only in the new list counts as removed.
    project.write("new.json", r#"[{"name": "a"}]"#);
    project.run(&["diff", "--tools", "old.json", "new.json"]).exits(1).prints(&["breaking tool-removed", "tool `a`: "]);
    // Strict parsing names the item too.
    let error = Snapshot::parse("bad.json", r#"[{"name": "a", "title": 1, "inputSchema": {}}]"#.as_bytes());
    let error = error.expect_err("a malformed tool").to_string();
    assert!(error.starts_with("bad.json#/0/title: tool `a`: expected a string, found number"), "{error}");
    let many = format!("[{}]", vec!["1"; 60].join(", "));
    project.write("bad.json", many);
    let answer = project.run(&["diff", "--tools", "bad.json", "bad.json"]).exits(0);
    answer.prints(&["70 other problems of malformed items"]);
}

#[test]
fn rejects_malformed_snapshots_with_their_place() {
    let project = Project::empty();
    project.write("fine.json", "[]");
    let cases: &[(&str, &[&str])] = &[
        ("", &["bad.json:1:0: invalid JSON"]),
        ("3", &["bad.json#: expected lists, found number", "help: store a result of `tools/list`"]),
        ("{}", &["bad.json#: the object has no list"]),
        (r#"{"jsonrpc": "2.0", "error": {}}"#, &["the response has no result"]),
        (r#"{"tools": [], "nextCursor": "x"}"#, &["bad.json#/nextCursor: the list continues", "other pages"]),
        (r#"{"result": {"tools": 1}}"#, &["bad.json#/result/tools: expected an array, found number"]),
        (r#"{"tools": [], "tools": []}"#, &["bad.json:1:", "invalid JSON", "tools"]),
    ];
    for (text, parts) in cases {
        project.write("bad.json", text);
        for sides in [["bad.json", "fine.json"], ["fine.json", "bad.json"]] {
            project.run(&["diff", "--tools", sides[0], sides[1]]).exits(2).prints(parts);
        }
    }
    project.run(&["diff", "--tools", "2025-11-25", "fine.json"]).exits(2).prints(&["`2025-11-25` is not a file"]);
    project.run(&["diff", "--tools", "fine.json", "gone.json"]).exits(2).prints(&["gone.json"]);
    let axis = ["diff", "--tools", "fine.json", "fine.json", "--axis", "rust-api"];
    project.run(&axis).exits(2).prints(&["there is no axis `rust-api` with --tools", "stored-workflow"]);
    let axis = ["diff", "fine.json", "fine.json", "--axis", "stored-workflow"];
    project.run(&axis).exits(2).prints(&["without --tools"]);
}

/// Writes two snapshots. A tool gets another description, which is dangerous, and a new required argument, which breaks
/// calls.
fn with_changes(project: &Project) {
    let tool = |description: &str, more: Value| {
        let mut schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        schema["properties"].as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!([{"name": "read_file", "description": description, "inputSchema": schema}])
    };
    let mut new = tool("Reads any file.", json!({"head": {"type": "integer"}}));
    new[0]["inputSchema"]["required"] = json!(["path", "head"]);
    let pretty = |value: &Value| serde_json::to_string_pretty(value).expect("JSON");
    project.write("old.json", pretty(&tool("Reads a file.", json!({}))));
    project.write("new.json", pretty(&new));
}

#[test]
fn writes_every_format() {
    let project = Project::empty();
    with_changes(&project);
    let report =
        |format: &str| project.run(&["diff", "--tools", "old.json", "new.json", "--format", format]).exits(1).out();
    let json: Value = serde_json::from_str(&report("json")).expect("JSON");
    let schema: Value = serde_json::from_str(include_str!("../diff/schemas/diff-report.schema.json")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let problems: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!((&json["subject"], &json["axes"]), (&json!("lists"), &json!(["remembered-list", "stored-workflow"])));
    let rules: Vec<&str> =
        json["findings"].as_array().expect("findings").iter().filter_map(|it| it["rule"].as_str()).collect();
    assert_eq!(rules, ["argument-added-required", "description-changed"]);
    assert_eq!(json["findings"][0]["subject"], "read_file.arguments.head");
    assert_eq!(json["findings"][0]["new"]["pointer"], "/0/inputSchema/properties/head");
    assert_eq!(
        json["findings"][1]["verdicts"],
        json!({"remembered-list": "dangerous", "stored-workflow": "compatible"})
    );
    assert_eq!(json["findings"][0]["evidence"], "witness");
    let refused = "head: missing required member";
    let witnesses = json!([{"reader": "new", "document": {"path": ""}, "refused": refused}]);
    assert_eq!(json["findings"][0]["witnesses"], witnesses);
    assert_eq!((&json["findings"][1]["evidence"], &json["findings"][1]["witnesses"]), (&json!("none"), &json!([])));
    for format in ["text", "github", "sarif", "html"] {
        assert!(report(format).contains(refused), "{format}: {}", report(format));
    }
    assert!(report("markdown").contains("the new schema refuses"), "{}", report("markdown"));
    let line = json["findings"][0]["new"]["line"].to_string();
    assert!(report("github").contains(&format!("::error file=new.json,line={line},")), "{}", report("github"));
    let text = report("text");
    assert!(text.contains("remembered-list: dangerous, stored-workflow: compatible"), "{text}");
    let markdown = report("markdown");
    assert!(
        markdown.contains("## Tool list diff: ") && markdown.contains("| stored workflow | 1 | 0 | 0 | 1 |"),
        "{markdown}"
    );
    let sarif: Value = serde_json::from_str(&report("sarif")).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "argument-added-required");
    assert!(
        report("junit").contains("<testcase name=\"no finding\" classname=\"tool-removed\""),
        "{}",
        report("junit")
    );
    let axis = ["diff", "--tools", "old.json", "new.json", "--axis", "stored-workflow", "--fail-on", "dangerous"];
    let workflow = project.run(&axis).exits(1).out();
    assert!(!workflow.contains("description-changed"), "{workflow}");
}

#[test]
fn applies_policies_and_baselines() {
    let project = Project::empty();
    with_changes(&project);
    let diff = |options: &[&str]| project.run(&[&["diff", "--tools", "old.json", "new.json"], options].concat());
    project.write("mcpgen.toml", "[lists.severity]\nargument-added-required = \"compatible\"\n");
    diff(&["--fail-on", "breaking"]).exits(0);
    project.write(
        "mcpgen.toml",
        "[[lists.ignore]]\nrule = \"argument-added-required\"\nsubject = \"read_file.arguments.head\"\nreason = \"agreed\"\n",
    );
    diff(&[]).exits(0).prints(&["suppressed: 1 ignored"]);
    // An ignore for schemas neither applies to lists nor is stale there.
    project.write("mcpgen.toml", "[[ignore]]\nrule = \"member-added-required\"\nreason = \"agreed\"\n");
    let out = diff(&[]).exits(1).out();
    assert!(!out.contains("stale"), "{out}");
    project.write("mcpgen.toml", "[severity]\ntool-removed = \"compatible\"\n");
    diff(&[]).exits(2).prints(&["there is no rule \"tool-removed\""]);
    project.write("mcpgen.toml", "");
    diff(&["--write-baseline", "accepted.txt"]).exits(0);
    assert!(project.read("accepted.txt").contains(" description-changed read_file\n"));
    diff(&["--baseline", "accepted.txt", "--fail-on", "dangerous"]).exits(0).prints(&["2 in the baseline"]);
}
