//! Clients of skills: what they request, and what they verify.

#![cfg(feature = "skills")]

use std::sync::{Arc, Mutex};

use mcpgen_sdk::skills::{SkillError, SkillLimits, Skills, SkillsClient, is_same_content};
use mcpgen_sdk::{Client, ClientBuilder, LocalInfo, Router, Server, serve, transport};
use mcpgen_types::v2026_07_28::{ListToolsResult, PaginatedRequestParams, Resource};
use mcpgen_types::{ErrorCode, ErrorObject, Revision};
use serde_json::{Value, json};

const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

fn client(revision: Revision) -> ClientBuilder {
    Client::builder("client", "1").revisions([revision])
}

async fn connect(server: &Server, client: ClientBuilder) -> Client {
    let (here, there) = transport::duplex();
    tokio::spawn(serve(server.clone(), there));
    client.connect(here.0, here.1).await.expect("a connection")
}

fn json_of<T: mcpgen_types::codec::Encode>(value: &T) -> Value {
    mcpgen_types::to_value(value).expect("JSON")
}

/// A server whose responses a test chooses, and the URIs that were read.
struct Fake {
    /// The result of `skills/list` and, for its first skill, of `skills/get`.
    skills: Vec<Value>,
    /// The contents of all resources, without their URIs.
    contents: Value,
}

impl Fake {
    async fn connect(self, revision: Revision) -> (Client, Arc<Mutex<Vec<String>>>) {
        let reads = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&reads);
        let Self { skills, contents } = self;
        let first = skills.first().cloned();
        let extensions = json!({ "io.modelcontextprotocol/skills": {} });
        let info =
            LocalInfo::new("server", "1").capability("resources", json!({})).capability("extensions", extensions);
        let is_legacy = revision.is_legacy();
        let with_hints = move |mut result: Value| {
            if !is_legacy {
                result["ttlMs"] = json!(0);
                result["cacheScope"] = json!("private");
            }
            Ok::<_, ErrorObject>(result)
        };
        let router = Router::new()
            .custom_request("skills/list", move |_, _: Value| {
                std::future::ready(with_hints(json!({ "skills": skills })))
            })
            .custom_request("skills/get", move |_, _: Value| std::future::ready(with_hints(json!({ "skill": first }))))
            .custom_request("resources/read", move |_, params: Value| {
                let uri = params["uri"].as_str().unwrap_or_default().to_owned();
                let mut contents = contents.clone();
                for content in contents.as_array_mut().into_iter().flatten() {
                    let object = content.as_object_mut().expect("an object");
                    object.entry("uri").or_insert_with(|| json!(uri));
                }
                log.lock().expect("not poisoned").push(uri);
                std::future::ready(with_hints(json!({ "contents": contents })))
            });
        // A router supports the revisions of its typed handlers.
        let router = match is_legacy {
            true => router.request::<mcpgen_types::v2025_11_25::PingRequest>(|_, _| async {
                Ok::<_, ErrorObject>(mcpgen_types::v2025_11_25::EmptyResult::default())
            }),
            false => router.request::<mcpgen_types::v2026_07_28::ListToolsRequest>(no_tools),
        };
        let (here, there) = transport::duplex();
        tokio::spawn(serve((info, router), there));
        (client(revision).connect(here.0, here.1).await.expect("a connection"), reads)
    }
}

/// Returns the entry of the skill `greet`, with a second file.
fn greet() -> Value {
    let text = "---\nname: greet\ndescription: Greets people.\nversion: 1.0\n---\n";
    let skills = Skills::from_files([("greet/SKILL.md", text), ("greet/a.txt", text)]).expect("valid");
    let mut entry = json_of(skills.entries().next().expect("an entry"));
    // JSON libraries of other languages do not distinguish `1` from `1.0`.
    entry["frontmatter"]["version"] = json!(1);
    entry
}

const GREET: &str = "---\nname: greet\ndescription: Greets people.\nversion: 1.0\n---\n";

#[tokio::test]
async fn verifies_entries_and_files() {
    let text = |text: &str| json!([{ "text": text }]);
    let entry = |edit: fn(&mut Value)| {
        let mut entry = greet();
        edit(&mut entry);
        entry
    };
    let same = || entry(|_| {});
    // The entry, the contents, the expected error, and whether the client reads the file.
    let cases: Vec<(Value, Value, &str, bool)> = vec![
        (same(), text(GREET), "", true),
        (
            same(),
            json!([{ "blob": "LS0tCm5hbWU6IGdyZWV0CmRlc2NyaXB0aW9uOiBHcmVldHMgcGVvcGxlLgp2ZXJzaW9uOiAxLjAKLS0tCg==" }]),
            "",
            true,
        ),
        (same(), text(&GREET.replace("people", "PEOPLE")), "the digest of the file is sha256:", true),
        (same(), text(&format!("{GREET}more")), "bytes, but its entry has", true),
        (same(), json!([]), "must return one text or blob", true),
        (same(), json!([{ "text": GREET }, { "text": GREET }]), "must return one text or blob", true),
        (
            same(),
            json!([{ "text": GREET, "uri": "skill://other/SKILL.md" }]),
            "returned skill://other/SKILL.md instead",
            true,
        ),
        (same(), json!([{ "blob": "!" }]), "not valid Base64", true),
        (
            entry(|it| it["frontmatter"]["description"] = json!("Other.")),
            text(GREET),
            "\"description\" of the front matter differs",
            true,
        ),
        (
            entry(|it| it["frontmatter"]["license"] = json!("MIT")),
            text(GREET),
            "\"license\" of the front matter differs",
            true,
        ),
        (
            entry(|it| drop(it["frontmatter"].as_object_mut().map(|it| it.remove("version")))),
            text(GREET),
            "\"version\" of the front matter differs",
            true,
        ),
        (
            entry(|it| it["uri"] = json!("skill://other/SKILL.md")),
            text(GREET),
            "its name is \"greet\", but its URI has \"other\"",
            false,
        ),
        (entry(|it| it["uri"] = json!("skill://greet")), text(GREET), "does not end in `/SKILL.md`", false),
        (
            entry(|it| drop(it["resources"].as_array_mut().map(|it| it.remove(0)))),
            text(GREET),
            "`SKILL.md` is not listed",
            false,
        ),
        (
            entry(|it| it["resources"][1]["uri"] = json!("skill://greet/SKILL.md")),
            text(GREET),
            "is listed twice",
            false,
        ),
        (
            entry(|it| it["resources"][1]["uri"] = json!("skill://other/a.txt")),
            text(GREET),
            "is outside the skill",
            false,
        ),
        (
            entry(|it| it["resources"][1]["uri"] = json!("skill://greet/../a.txt")),
            text(GREET),
            "is outside the skill",
            false,
        ),
        (
            entry(|it| it["resources"][1]["size"] = json!((16 << 20) + 1)),
            text(GREET),
            "more than 16777216 bytes",
            false,
        ),
        (entry(|it| it["resources"][1]["size"] = json!(u64::MAX)), text(GREET), "more than 16777216 bytes", false),
        (entry(|it| it["resources"] = json!("dynamic")), text(GREET), "has no digests", false),
    ];
    for (entry, contents, expected, reads) in cases {
        for revision in REVISIONS {
            let fake = Fake { skills: vec![entry.clone()], contents: contents.clone() };
            let (client, log) = fake.connect(revision).await;
            let entries = client.skills().await.expect("skills");
            assert!(log.lock().expect("not poisoned").is_empty(), "listing must not read files");
            let loaded =
                client.load_skill(&entries[0]).await.map(|skill| skill.text).map_err(|error| error.to_string());
            match expected {
                "" => assert_eq!(loaded.as_deref(), Ok(GREET), "{entry}"),
                part => assert!(loaded.as_ref().is_err_and(|error| error.contains(part)), "{part}: {loaded:?}"),
            }
            assert_eq!(!log.lock().expect("not poisoned").is_empty(), reads, "{expected}");
        }
    }
}

#[tokio::test]
async fn reads_only_listed_files() {
    let (client, log) =
        Fake { skills: vec![greet()], contents: json!([{ "text": GREET }]) }.connect(REVISIONS[1]).await;
    let entry = client.skill("skill://greet/SKILL.md").await.expect("an entry");
    let skill = client.load_skill(&entry).await.expect("a skill");
    for reference in ["a.txt", "./a.txt#part", "skill://greet/a.txt"] {
        let content = client.read_skill_file(&skill, reference).await.expect("a file");
        assert_eq!((&*content.uri, &*content.bytes), ("skill://greet/a.txt", GREET.as_bytes()));
    }
    for reference in ["b.txt", "../greet/a.txt", "/a.txt", "skill://other/a.txt", "https://example.com/a.txt", ""] {
        let error = client.read_skill_file(&skill, reference).await.expect_err(reference);
        assert!(matches!(error, SkillError::Unlisted { .. }), "{error}");
    }
    assert_eq!(log.lock().expect("not poisoned").len(), 4);
    let error = client.skill("skill://other/SKILL.md").await.expect_err("another entry").to_string();
    assert!(error.contains("it has the URI skill://greet/SKILL.md"), "{error}");
}

#[tokio::test]
async fn loads_dynamic_skills_within_the_limits_if_allowed() {
    let mut entry = greet();
    entry["resources"] = json!("dynamic");
    let fake = Fake { skills: vec![entry], contents: json!([{ "text": GREET }]) };
    let (client, log) = fake.connect(REVISIONS[1]).await;
    let limits = SkillLimits::default().with_allow_dynamic(true).with_bytes(2 * GREET.len() as u64);
    let entries = client.skills().await.expect("skills");
    let skill = client.load_skill_within(&entries[0], limits).await.expect("a skill");
    client.read_skill_file(&skill, "a b.txt").await.expect("a file");
    let error = client.read_skill_file(&skill, "c.txt").await.expect_err("too large");
    assert!(matches!(error, SkillError::Limit { unit: "bytes", .. }), "{error}");
    let error = client.read_skill_file(&skill, "../a.txt").await.expect_err("outside");
    assert!(matches!(error, SkillError::Unlisted { .. }), "{error}");
    let reads = ["skill://greet/SKILL.md", "skill://greet/a%20b.txt", "skill://greet/c.txt"];
    assert_eq!(*log.lock().expect("not poisoned"), reads);
    assert!(!is_same_content(&entries[0], &entries[0]));
}

#[tokio::test]
async fn servers_without_the_extension_are_not_asked() {
    for revision in REVISIONS {
        let with_resources = Server::builder("server", "1").resource(Resource::new("file:///a", "a"), || async { "a" });
        let client = connect(&with_resources.build(), client(revision)).await;
        assert!(matches!(client.skills().await, Err(SkillError::NotDeclared(_))));
        assert!(matches!(client.skill("skill://a/SKILL.md").await, Err(SkillError::NotDeclared(_))));
    }
    let extensions = json!({ "io.modelcontextprotocol/skills": {} });
    let info = LocalInfo::new("server", "1").capability("resources", json!({})).capability("extensions", extensions);
    let (here, there) = transport::duplex();
    let router = Router::new().custom_request("skills/list", |_, _: Value| async { Ok::<_, ErrorObject>(json!({})) });
    tokio::spawn(serve((info, router.request::<mcpgen_types::v2026_07_28::ListToolsRequest>(no_tools)), there));
    let client = client(Revision::V2026_07_28).connect(here.0, here.1).await.expect("a connection");
    let error = client.read_directory("skill://a").await.expect_err("not declared");
    assert!(error.to_string().contains("directoryRead"), "{error}");
}

async fn no_tools(_: mcpgen_sdk::Context, _: PaginatedRequestParams) -> Result<ListToolsResult, ErrorObject> {
    Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, "no tools"))
}
