//! Runs the commands on the repository's pages, in a copy of the project, and checks links between pages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pages with commands, and commands not run here because CI runs them, they are slow, or they need the network.
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

/// Returns the commands in a page's shell blocks, without comments.
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

fn project(root: &Path, at: &Path) {
    copy(&root.join("schema"), &at.join("schema"));
    copy(&root.join("generated/src"), &at.join("generated/src"));
    fs::copy(root.join("generated/Cargo.toml"), at.join("generated/Cargo.toml")).expect("copied");
    let newest = fs::read_to_string(root.join("schema/2026-07-28/schema.json")).expect("a schema");
    let next = newest.replacen("\"$defs\": {", "\"$defs\": {\n    \"Addition\": { \"type\": \"string\" },", 1);
    assert_ne!(newest, next, "the new revision has another definition");
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
    let Some(root) = root() else { return eprintln!("skipped: no pages") };
    if Command::new("git").arg("--version").output().is_err() {
        return eprintln!("skipped: git is not installed");
    }
    for page in PAGES {
        let home = tempfile::tempdir().expect("a temporary folder");
        project(&root, home.path());
        let commands = commands(&fs::read_to_string(root.join(page)).expect("the page"));
        assert!(!commands.is_empty(), "{page} has commands");
        for command in commands.iter().filter(|command| !ELSEWHERE.contains(&command.as_str())) {
            let arguments = ["cargo mcpgen ", "cargo run -p mcpgen -- "];
            let arguments = arguments.iter().find_map(|begin| command.strip_prefix(begin));
            let arguments = arguments.unwrap_or_else(|| panic!("{page}: cannot run {command:?}"));
            let output = Command::new(env!("CARGO_BIN_EXE_mcpgen"))
                .args(arguments.split_whitespace())
                .current_dir(home.path())
                .output()
                .expect("it runs");
            // These exit with 1 if there are differences.
            let compares = ["diff ", "docs --missing"].iter().any(|begin| arguments.starts_with(begin));
            let code = output.status.code();
            assert!(
                code == Some(0) || (compares && code == Some(1)),
                "{page}: {command}: {code:?}\n{}",
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(!output.stdout.is_empty(), "{page}: {command}: no output");
        }
    }
}

enum Step {
    File(String, String),
    /// A command and its output, which is not compared if empty.
    Command(String, String),
}

/// Returns the files and commands of a page, in order. A JSON block is the file last named in the text above it. In a
/// console block, `$` starts a command, and its output follows.
fn steps(page: &str) -> Vec<Step> {
    let (mut steps, mut name) = (Vec::new(), String::new());
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let is_block = line.len() > 3 && line.starts_with("```");
        let block: Vec<&str> =
            if is_block { lines.by_ref().take_while(|line| *line != "```").collect() } else { Vec::new() };
        match line {
            "```json" => steps.push(Step::File(name.clone(), block.join("\n"))),
            "```toml" => steps.push(Step::File("mcpgen.toml".into(), block.join("\n"))),
            "```console" => {
                for line in block {
                    match (line.strip_prefix("$ "), steps.last_mut()) {
                        (Some(command), _) => steps.push(Step::Command(command.trim().into(), String::new())),
                        (None, Some(Step::Command(_, output))) => output.extend([line, "\n"]),
                        (None, _) => panic!("{line:?} has no command"),
                    }
                }
            }
            line => {
                let named = line.split('`').skip(1).step_by(2).find(|word| word.ends_with(".json"));
                name = named.map_or(name, str::to_owned);
            }
        }
    }
    steps
}

#[test]
fn sessions_in_pages_work() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let mut found = Vec::new();
    pages(&folder, &mut found);
    assert!(!found.is_empty(), "there are pages");
    for page in found {
        let home = tempfile::tempdir().expect("a temporary folder");
        for step in steps(&fs::read_to_string(&page).expect("the page")) {
            let (command, expected) = match step {
                Step::File(name, text) => {
                    fs::write(home.path().join(name), text).expect("written");
                    continue;
                }
                Step::Command(command, expected) => (command, expected),
            };
            let place = format!("{}: {command}", page.display());
            let arguments = command.strip_prefix("mcpgen ").unwrap_or_else(|| panic!("{place}: cannot run it"));
            let mut mcpgen = Command::new(env!("CARGO_BIN_EXE_mcpgen"));
            let output = mcpgen.args(arguments.split_whitespace()).current_dir(home.path()).output().expect("it runs");
            let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            let compares = ["diff ", "contains "].iter().any(|command| arguments.starts_with(command));
            let accepted: &[i32] = if compares { &[0, 1] } else { &[0] };
            assert!(output.status.code().is_some_and(|code| accepted.contains(&code)), "{place}: {text}{errors}");
            assert!(!text.is_empty(), "{place}: no output");
            assert!(expected.is_empty() || text == expected, "{place}:\n{text}");
        }
    }
}

/// Finds Markdown pages, except in build directories.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Returns link targets outside code.
fn links(page: &str) -> Vec<&str> {
    let prose = page.split("```").step_by(2);
    prose.flat_map(|text| text.split("](").skip(1)).filter_map(|rest| rest.split_once(')')).map(|(to, _)| to).collect()
}

/// Returns a page's anchors, as GitHub derives them from headings.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.split("```").step_by(2).flat_map(str::lines).filter(|line| line.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let slug = |line: &str| line.trim_start_matches('#').trim().to_lowercase().chars().filter(kept).collect::<String>();
    headings.map(|line| slug(line).replace(' ', "-")).collect()
}

#[test]
fn links_in_pages_resolve() {
    let Some(root) = root() else { return eprintln!("skipped: no pages") };
    let (mut found, mut broken) = (Vec::new(), Vec::new());
    pages(&root, &mut found);
    for page in &found {
        let text = fs::read_to_string(page).expect("a page");
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().expect("a folder").join(file) };
            let has_anchor =
                || fs::read_to_string(&target).is_ok_and(|text| anchors(&text).iter().any(|a| a == anchor));
            if !target.exists() || (!anchor.is_empty() && !has_anchor()) {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(found.len() > 8 && broken.is_empty(), "{broken:#?}");
}

/// Source files named on a page must exist, relative to the page's folder or one above it.
#[test]
fn source_files_in_pages_exist() {
    let Some(root) = root() else { return eprintln!("skipped: no pages") };
    let (mut found, mut missing, mut named) = (Vec::new(), Vec::new(), 0);
    pages(&root, &mut found);
    for page in &found {
        let text = fs::read_to_string(page).expect("a page");
        let code = text.split('`').skip(1).step_by(2);
        let is_source = |code: &&str| {
            let is_path = code.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
            is_path && code.contains("/src/") && code.ends_with(".rs")
        };
        for path in code.filter(is_source) {
            named += 1;
            if !page.ancestors().take_while(|folder| folder.starts_with(&root)).any(|folder| folder.join(path).exists())
            {
                missing.push(format!("{}: {path}", page.display()));
            }
        }
    }
    assert!(named > 8 && missing.is_empty(), "{named} named, {missing:#?}");
}

#[test]
fn layers_list_the_folders_of_each_crate() {
    let Some(root) = root() else { return eprintln!("skipped: no pages") };
    let page = fs::read_to_string(root.join("tests/LAYERS.md")).expect("the page");
    let sections = page.split("\n## ").filter_map(|section| section.split_once('\n'));
    let crates: Vec<_> = sections.filter(|(title, _)| title.ends_with("/src")).collect();
    assert!(crates.len() >= 15, "{}", crates.len());
    for (src, text) in crates {
        let words = text.split("```").skip(1).step_by(2).flat_map(str::lines).filter_map(|line| line.split(' ').next());
        let is_path = |word: &&str| word.ends_with('/') || word.ends_with(".rs");
        let listed: Vec<&str> = words.filter(is_path).filter(|word| !word.contains('*')).collect();
        for path in &listed {
            assert!(root.join(src).join(path).exists(), "{src}/{path} does not exist");
        }
        for entry in fs::read_dir(root.join(src)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let is_revision = name.starts_with("v20");
            let is_listed = || listed.iter().any(|listed| listed.starts_with(&format!("{name}/")));
            assert!(!path.is_dir() || is_revision || is_listed(), "tests/LAYERS.md does not list {src}/{name}");
        }
    }
}
