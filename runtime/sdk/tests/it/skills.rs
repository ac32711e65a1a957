//! Servers of skills: folders, entries, files and directories.

#![cfg(feature = "skills")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcpgen_sdk::protocol::PeerExt;
use mcpgen_sdk::protocol::cache_hints::CacheHint;
use mcpgen_sdk::skills::{ReplaceSkills, ServeSkills, SkillError, Skills, SkillsClient, SkillsExtension};
use mcpgen_sdk::{CallError, Client, ClientBuilder, Server, serve, transport};
use mcpgen_types::ext::skills::{ListSkillsRequest, Skill};
use mcpgen_types::v2026_07_28::SubscriptionFilter;
use mcpgen_types::{ErrorCode, ErrorObject, Request, Revision};
use serde_json::{Value, json};

const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];
const REFUNDS: &str =
    "---\nname: refunds\ndescription: Refunds orders.\nmetadata:\n  version: '1.0'\n---\nSee `forms/`.\n";
const LATE: &str = "---\nname: late\ndescription: Refunds late orders.\n---\n";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0";

fn files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("acme/refunds/SKILL.md", REFUNDS.into()),
        ("acme/refunds/forms/a b.txt", "a form".into()),
        ("acme/refunds/forms/seal.png", PNG.into()),
        ("acme/refunds/late/SKILL.md", LATE.into()),
        ("acme/README.md", "not part of a skill".into()),
        ("greet/SKILL.md", "---\nname: greet\ndescription: Greets people.\n---\n".into()),
    ]
}

fn skills() -> Skills {
    Skills::from_files(files()).expect("valid skills")
}

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

fn error_of<T>(result: Result<T, SkillError>) -> ErrorObject {
    match result.map(drop) {
        Err(SkillError::Call(CallError::ErrorResponse(error))) => error,
        other => panic!("not an error response: {other:?}"),
    }
}

#[tokio::test]
async fn lists_entries_with_all_their_files() {
    let file = |uri: &str, content: &[u8], digest: &str| json!({ "uri": uri, "size": content.len(), "digest": digest });
    let late = file("skill://acme/refunds/late/SKILL.md", LATE.as_bytes(), LATE_DIGEST);
    let refunds = json!({
        "uri": "skill://acme/refunds/SKILL.md",
        "frontmatter": { "name": "refunds", "description": "Refunds orders.", "metadata": { "version": "1.0" } },
        "resources": [
            file("skill://acme/refunds/SKILL.md", REFUNDS.as_bytes(), REFUNDS_DIGEST),
            file("skill://acme/refunds/forms/a%20b.txt", b"a form", FORM_DIGEST),
            file("skill://acme/refunds/forms/seal.png", PNG, PNG_DIGEST),
            late,
        ],
    });
    let nested = json!({
        "uri": "skill://acme/refunds/late/SKILL.md",
        "frontmatter": { "name": "late", "description": "Refunds late orders." },
        "resources": [late],
    });
    for (revision, page_size) in REVISIONS.into_iter().flat_map(|revision| [(revision, 100), (revision, 1)]) {
        let server = Server::builder("server", "1").page_size(page_size).skills(skills()).build();
        let client = connect(&server, client(revision)).await;
        let listed = client.skills().await.expect("skills");
        let entries: Vec<Value> = listed.iter().map(json_of).collect();
        assert_eq!(entries[..2], [refunds.clone(), nested.clone()], "{revision}");
        assert_eq!((entries.len(), &*listed[2].uri), (3, "skill://greet/SKILL.md"), "{revision}");
        for entry in &listed {
            assert_eq!(client.skill(&entry.uri).await.expect("an entry"), *entry, "{revision}");
        }
        let settings = client.peer().extension::<SkillsExtension>().expect("settings").expect("declared");
        assert_eq!(json_of(&settings), json!({ "directoryRead": true }), "{revision}");
    }
}

// Computed with `sha256sum`.
const REFUNDS_DIGEST: &str = "sha256:5723943dad2353e6af40c3f94f308bd555b3a898308850462bc02e16e78e531c";
const LATE_DIGEST: &str = "sha256:b412008d72126a9b5f9347bbedb89963e9addccffc440d000349cd096732ff82";
const FORM_DIGEST: &str = "sha256:e9979206fc15cd663622a6f1efe711bebffbdd4cc8ce7329a1e031742f48648a";
const PNG_DIGEST: &str = "sha256:843ac23b1736b4487ec81cf7c07ddd9bb46ae5b7818c2c3843d99d62fa75f3c9";

#[tokio::test]
async fn files_are_resources_with_metadata() {
    let resource = |uri: &str, name: &str, mime_type: &str, size: usize| json!({ "uri": uri, "name": name, "mimeType": mime_type, "size": size });
    for revision in REVISIONS {
        let client = connect(&Server::builder("server", "1").skills(skills()).build(), client(revision)).await;
        let listed: Vec<Value> = client.resources().await.expect("resources").iter().map(json_of).collect();
        let mut refunds = resource("skill://acme/refunds/SKILL.md", "refunds", "text/markdown", REFUNDS.len());
        refunds["description"] = json!("Refunds orders.");
        assert_eq!(listed.len(), 5, "{listed:?}");
        assert_eq!(listed[0], refunds);
        assert_eq!(listed[1], resource("skill://acme/refunds/forms/a%20b.txt", "a b.txt", "text/plain", 6));
        assert_eq!(listed[2], resource("skill://acme/refunds/forms/seal.png", "seal.png", "image/png", PNG.len()));
        for (uri, expected) in [
            ("skill://acme/refunds/forms/a%20b.txt", json!({ "mimeType": "text/plain", "text": "a form" })),
            ("skill://acme/refunds/forms/seal.png", json!({ "mimeType": "image/png", "blob": "iVBORw0KGgoA" })),
        ] {
            let mut contents = json_of(&client.read_resource(uri).await.expect("a resource"))["contents"].take();
            assert_eq!(contents[0].as_object_mut().and_then(|it| it.remove("uri")), Some(json!(uri)));
            assert_eq!(contents, json!([expected]));
        }
    }
}

#[tokio::test]
async fn reads_directories() {
    let server = Server::builder("server", "1").page_size(1).skills(skills()).build();
    for revision in REVISIONS {
        let client = connect(&server, client(revision)).await;
        for (uri, expected) in [
            ("skill://acme", &[("refunds", "inode/directory")][..]),
            (
                "skill://acme/refunds",
                &[("refunds", "text/markdown"), ("forms", "inode/directory"), ("late", "inode/directory")],
            ),
            ("skill://acme/refunds/forms", &[("a b.txt", "text/plain"), ("seal.png", "image/png")]),
            ("skill://greet", &[("greet", "text/markdown")]),
        ] {
            let children = client.read_directory(uri).await.expect("children");
            let found: Vec<_> = children.iter().map(|it| (&*it.name, it.mime_type.as_deref().unwrap_or(""))).collect();
            assert_eq!(found, expected, "{uri}");
            assert!(children.iter().all(|child| child.uri.starts_with(&format!("{uri}/"))), "{children:?}");
        }
    }
}

#[tokio::test]
async fn rejects_uris_that_are_not_served() {
    let server = Server::builder("server", "1").skills(skills()).build();
    for revision in REVISIONS {
        let client = connect(&server, client(revision)).await;
        for uri in ["skill://other/SKILL.md", "skill://acme/refunds", "skill://acme/refunds/forms/seal.png", "", "x"] {
            let error = error_of(client.skill(uri).await);
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{uri}: {error}");
            assert!(error.message.contains(&format!("no skill is served at {uri}")), "{error}");
        }
        for uri in [
            "skill://acme/refunds/SKILL.md",
            "skill://acme/refunds/",
            "skill://acme/refunds/forms/..",
            "skill://other",
            "skill://",
            "",
        ] {
            let error = error_of(client.read_directory(uri).await);
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{uri}: {error}");
        }
        for uri in [
            "skill://acme/README.md",
            "skill://acme/refunds/../README.md",
            "skill://acme/refunds/%2e%2e/README.md",
            "skill://acme/refunds/forms",
            "skill:///etc/passwd",
        ] {
            assert!(client.read_resource(uri).await.is_err(), "{uri}");
        }
        let params = json!({ "cursor": "c2tpbGw" });
        let request = client.peer().custom_request::<_, Value>("skills/list", &params).expect("params");
        assert!(request.send().await.is_err_and(|error| error.to_string().contains("not a cursor of this list")));
    }
}

#[tokio::test]
async fn a_server_without_skills_still_declares_resources() {
    let client = connect(&Server::builder("server", "1").skills(Skills::default()).build(), client(REVISIONS[1])).await;
    assert!(client.peer().peer_info().is_some_and(|info| info.can(&["resources"])));
    assert_eq!(client.skills().await.expect("no skills"), []);
}

#[tokio::test]
async fn cache_hints_replace_those_of_the_handlers() {
    let hint = CacheHint { fresh_for: Duration::from_secs(60), public: true };
    let server = Server::builder("server", "1").skills(skills()).cache_hint::<ListSkillsRequest>(hint).build();
    let client = connect(&server, client(Revision::V2026_07_28)).await;
    for (method, params, expected) in [
        (ListSkillsRequest::METHOD, json!({}), json!([60_000, "public"])),
        ("skills/get", json!({ "uri": "skill://greet/SKILL.md" }), json!([0, "private"])),
    ] {
        let request = client.peer().custom_request::<_, Value>(method, &params).expect("params");
        let result = request.send().await.expect("a result");
        assert_eq!(json!([result["ttlMs"], result["cacheScope"]]), expected, "{method}");
        assert_eq!(result["resultType"], "complete");
    }
}

#[tokio::test]
async fn replaced_skills_notify_subscribers() {
    let server = Server::builder("server", "1").skills(skills()).build();
    let client = connect(&server, client(Revision::V2026_07_28)).await;
    let filter = SubscriptionFilter::new()
        .with_resources_list_changed(true)
        .with_resource_subscriptions(["skill://greet/SKILL.md".to_owned()]);
    let mut changes = client.changes(filter).await.expect("a subscription");
    let before = client.skill("skill://greet/SKILL.md").await.expect("an entry");

    let text = "---\nname: greet\ndescription: Greets everyone.\n---\n";
    server.replace_skills(Skills::from_files([("greet/SKILL.md", text)]).expect("valid")).expect("replaced");
    let mut found = [changes.try_next().await, changes.try_next().await].map(|change| format!("{change:?}"));
    found.sort();
    assert!(found[0].contains("Resource(\"skill://greet/SKILL.md\")"), "{found:?}");
    assert!(found[1].contains("Resources"), "{found:?}");

    let error = client.load_skill(&before).await.expect_err("an outdated entry");
    assert!(matches!(error, SkillError::Size { .. }), "{error}");
    let after = client.skill("skill://greet/SKILL.md").await.expect("an entry");
    assert!(!mcpgen_sdk::skills::is_same_content(&before, &after));
    assert_eq!(client.load_skill(&after).await.expect("the skill").text, text);
    assert_eq!(client.skills().await.expect("skills").len(), 1);
    assert!(client.read_resource("skill://acme/refunds/SKILL.md").await.is_err());

    let other = Server::builder("server", "1").build();
    assert!(other.replace_skills(Skills::default()).is_err_and(|error| error.to_string().contains("skills")));
}

#[test]
fn rejects_two_skills_with_the_same_files() {
    let server = Server::builder("server", "1").skills(skills()).skills(skills()).build();
    let error = server.config().expect_err("a duplicate");
    assert!(error.to_string().contains("skill://acme/refunds/SKILL.md"), "{error}");
}

#[test]
fn rejects_skills_inside_skills_that_were_added_separately() {
    let skill = |path: &str, name: &str| {
        let text = format!("---\nname: {name}\ndescription: A skill.\n---\n");
        Skills::from_files([(format!("{path}/SKILL.md"), text)]).expect("a valid skill")
    };
    let (outer, inner) = (skill("a", "a"), skill("a/b/c", "c"));
    for (first, second) in [(&outer, &inner), (&inner, &outer)] {
        let server = Server::builder("server", "1").skills(first.clone()).skills(second.clone()).build();
        let error = server.config().expect_err("an inner skill").to_string();
        assert!(error.contains("skill://a/b/c") && error.contains("one folder"), "{error}");
    }
    let others = Server::builder("server", "1").skills(outer).skills(skill("ab", "ab")).build();
    assert!(others.config().is_ok());
}

#[tokio::test]
async fn pages_of_skills_have_a_bounded_number_of_files() {
    let files = (0..6).flat_map(|skill| {
        let text = format!("---\nname: s{skill}\ndescription: A skill.\n---\n");
        let others = (0..499).map(move |file| (format!("s{skill}/{file}"), String::new()));
        others.chain([(format!("s{skill}/SKILL.md"), text)])
    });
    let server = Server::builder("server", "1").skills(Skills::from_files(files).expect("valid skills")).build();
    let client = connect(&server, client(REVISIONS[1])).await;
    let request = client.peer().custom_request::<_, Value>(ListSkillsRequest::METHOD, &json!({})).expect("params");
    let page = request.send().await.expect("a page");
    assert_eq!(page["skills"].as_array().map(Vec::len), Some(5), "2,500 files are more than 2,048");
    assert!(page["nextCursor"].is_string());
    assert_eq!(client.skills().await.expect("skills").len(), 6);
}

/// Creates an empty folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("skills").join(name);
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn write(folder: &Path, files: &[(&str, &[u8])]) {
    for (path, content) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }
}

#[tokio::test]
async fn folders_serve_the_same_as_their_files() {
    let folder = folder("same");
    let files = files();
    write(&folder, &files.iter().map(|(path, content)| (*path, &content[..])).collect::<Vec<_>>());
    write(&folder, &[(".git/config", b"hidden"), ("greet/.env", b"hidden"), ("LICENSE", b"not part of a skill")]);
    fs::create_dir_all(folder.join("greet/empty")).expect("a folder");
    let found = Skills::from_folder(&folder).expect("valid skills");
    let entries = |skills: &Skills| skills.entries().cloned().collect::<Vec<Skill>>();
    assert_eq!(entries(&found), entries(&skills()));
    let client = connect(&Server::builder("server", "1").skills(found).build(), client(REVISIONS[1])).await;
    assert_eq!(client.read_directory("skill://greet/empty").await.expect("an empty directory"), []);
    assert_eq!(client.resources().await.expect("resources").len(), 5);
}

/// The name of a case, the files of a folder, and the parts of the expected error.
type Case<'a> = (&'a str, &'a [(&'a str, &'a [u8])], &'a [&'a str]);

#[test]
fn rejects_invalid_folders_with_the_file_and_a_remedy() {
    let valid = b"---\nname: a\ndescription: A skill.\n---\n";
    let cases: &[Case<'_>] = &[
        (
            "no front matter",
            &[("a/SKILL.md", b"text")],
            &["a/SKILL.md", "line 1: the file must start with front matter"],
        ),
        (
            "invalid YAML",
            &[("a/SKILL.md", b"---\nname: a\nname: b\n---\n")],
            &["a/SKILL.md", "line 3", "remove one of them"],
        ),
        ("no description", &[("a/SKILL.md", b"---\nname: a\n---\n")], &["a/SKILL.md", "add `description: "]),
        ("other name", &[("b/SKILL.md", valid)], &["b/SKILL.md", "must equal the name of its directory, \"b\""]),
        (
            "number",
            &[("a/SKILL.md", b"---\nname: a\ndescription: 1\n---\n")],
            &["a/SKILL.md", "put the value in quotes"],
        ),
        (
            "encoding",
            &[("a/SKILL.md", b"---\nname: a\ndescription: \xff\n---\n")],
            &["a/SKILL.md", "save the file as UTF-8"],
        ),
        ("lower case", &[("a/skill.md", valid)], &["a/skill.md", "rename the file to `SKILL.md`"]),
        ("no directory", &[("SKILL.md", valid)], &["SKILL.md", "use the folder above this one"]),
    ];
    for (name, files, expected) in cases {
        let folder = folder(&format!("invalid {name}"));
        write(&folder, files);
        let error = Skills::from_folder(&folder).expect_err(name);
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        let text = format!("{error}: {source}");
        assert!(expected.iter().all(|part| text.contains(part)), "{name}: {text}");
    }
    let missing = Skills::from_folder("missing folder").expect_err("an error").to_string();
    assert!(missing.contains("missing folder"), "{missing}");
}

#[cfg(unix)]
#[test]
fn rejects_symbolic_links() {
    let outside = folder("links outside");
    write(&outside, &[("secret", b"secret"), ("b/SKILL.md", b"---\nname: b\ndescription: B.\n---\n")]);
    for (target, link) in [("secret", "a/secret.txt"), ("b", "b"), ("b", "a/b"), ("missing", "a/missing")] {
        let folder = folder("links");
        write(&folder, &[("a/SKILL.md", b"---\nname: a\ndescription: A.\n---\n")]);
        std::os::unix::fs::symlink(outside.join(target), folder.join(link)).expect("a link");
        let error = Skills::from_folder(&folder).expect_err("a link").to_string();
        assert!(error.contains(link) && error.contains("symbolic link"), "{error}");
    }
    // The folder itself may be a link, because the caller has chosen it.
    let folder = folder("links to the folder");
    std::os::unix::fs::symlink(&outside, folder.join("link")).expect("a link");
    assert_eq!(Skills::from_folder(folder.join("link")).expect("valid skills").entries().count(), 1);
}

#[test]
fn rejects_invalid_paths() {
    for path in ["", "/a/SKILL.md", "a//SKILL.md", "../a/SKILL.md", "a/../a/SKILL.md", "a/./SKILL.md", "a\\SKILL.md"] {
        let error = Skills::from_files([(path, "")]).expect_err(path).to_string();
        assert!(error.contains("use a relative path"), "{path}: {error}");
    }
    let skill = ("a/SKILL.md", "---\nname: a\ndescription: A.\n---\n");
    let twice = Skills::from_files([skill, skill]).expect_err("a duplicate").to_string();
    assert!(twice.contains("a/SKILL.md: another file has the same path"), "{twice}");
    let both = Skills::from_files([skill, ("a/b", ""), ("a/b/c", "")]).expect_err("a conflict").to_string();
    assert!(both.contains("a/b: the path is also a directory"), "{both}");
}

#[test]
fn limits_the_files_of_a_skill() {
    let skill =
        |name: &str| (format!("{name}/SKILL.md"), format!("---\nname: {name}\ndescription: A.\n---\n").into_bytes());
    let with_files = |count: usize| {
        let files = (0..count).map(|index| (format!("a/{index}"), Vec::new()));
        Skills::from_files(files.chain([skill("a")]))
            .map(|skills| skills.entries().count())
            .map_err(|it| it.to_string())
    };
    assert_eq!(with_files(511), Ok(1));
    let error = with_files(512).expect_err("too many");
    assert!(error.contains("a: the skill has 513 files"), "{error}");
    let with_bytes = |bytes: usize| {
        let (path, text) = skill("a");
        let large = ("a/large".to_owned(), vec![b'a'; bytes - text.len()]);
        Skills::from_files([(path, text), large]).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(with_bytes(16 << 20), Ok(()));
    let error = with_bytes((16 << 20) + 1).expect_err("too large");
    assert!(error.contains("a: the skill has 16777217 bytes"), "{error}");
}
