//! Runs the commands in pages of the repository, in a copy of the project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pages with commands, and the commands that this test does not run: CI runs them, or they are slow or need the
/// network.
const PAGES: [&str; 3] = ["README.md", "CONTRIBUTING.md", "schema/README.md"];
const ELSEWHERE: [&str; 4] = [
    "cargo test --workspace",
    "cargo run --release -p mcpgen-proof --bin prove",
    "MCPGEN_BLESS=1 cargo test -p mcpgen-proof api",
    "cargo run -p mcpgen -- import ../modelcontextprotocol/schema/2025-11-25/schema.json --revision 2025-11-25",
];

fn root() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.to_owned();
    // A packaged crate does not contain the pages.
    root.join("schema/revisions.toml").is_file().then_some(root)
}

/// Returns the lines of a page's shell blocks, without comments.
fn commands(page: &str) -> Vec<String> {
    let (mut found, mut inside) = (Vec::new(), false);
    for line in page.lines().map(str::trim) {
        if line.starts_with("```") {
            inside = matches!(line, "```sh" | "```console");
        } else if inside {
            let line = line.split(" #").next().unwrap_or_default();
            let line = line.strip_prefix("$ ").unwrap_or(line).trim();
            let is_command = ["cargo ", "MCPGEN", "tests/"].iter().any(|begin| line.starts_with(begin));
            found.extend(is_command.then(|| line.to_owned()));
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copied");
        }
    }
}

/// Copies the files that the commands use.
fn project(root: &Path, at: &Path) {
    copy(&root.join("schema"), &at.join("schema"));
    copy(&root.join("generated/src"), &at.join("generated/src"));
    fs::copy(root.join("generated/Cargo.toml"), at.join("generated/Cargo.toml")).expect("copied");
    let newest = fs::read_to_string(root.join("schema/2026-07-28/schema.json")).expect("a schema");
    let next = newest.replacen("\"$defs\": {", "\"$defs\": {\n    \"Addition\": { \"type\": \"string\" },", 1);
    assert_ne!(newest, next, "the new revision has something new");
    for (place, text) in [("path/to/schema.json", &next), ("my-schema.json", &newest), ("new.json", &next)] {
        let path = at.join(place);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }
    fs::create_dir_all(at.join("schema/draft")).expect("a folder");
    fs::write(at.join("schema/draft/schema.json"), &newest).expect("written");
    for arguments in [&["init", "-q", "-b", "main"][..], &["add", "schema/draft"], &["commit", "-qm", "draft"]] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(arguments).current_dir(at);
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            git.env_remove(name);
        }
        assert!(git.status().expect("git runs").success(), "{arguments:?}");
    }
}

#[test]
fn commands_in_pages_work() {
    let Some(root) = root() else { return eprintln!("skipped: the pages are not here") };
    if Command::new("git").arg("--version").output().is_err() {
        return eprintln!("skipped: there is no git");
    }
    for page in PAGES {
        let home = tempfile::tempdir().expect("a temporary folder");
        project(&root, home.path());
        let commands = commands(&fs::read_to_string(root.join(page)).expect("the page"));
        assert!(!commands.is_empty(), "{page} has commands");
        for command in commands.iter().filter(|command| !ELSEWHERE.contains(&command.as_str())) {
            let arguments = ["cargo mcpgen ", "cargo run -p mcpgen -- "];
            let arguments = arguments.iter().find_map(|begin| command.strip_prefix(begin));
            let arguments = arguments.unwrap_or_else(|| panic!("{page}: nobody runs {command:?}"));
            let output = Command::new(env!("CARGO_BIN_EXE_mcpgen"))
                .args(arguments.split_whitespace())
                .current_dir(home.path())
                .output()
                .expect("it runs");
            // These commands find differences.
            let looks = ["diff ", "docs --missing"].iter().any(|begin| arguments.starts_with(begin));
            let code = output.status.code();
            assert!(
                code == Some(0) || (looks && code == Some(1)),
                "{page}: {command}: {code:?}\n{}",
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(!output.stdout.is_empty(), "{page}: {command}: says nothing");
        }
    }
}
