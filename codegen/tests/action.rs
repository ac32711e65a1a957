//! Runs the GitHub action's scripts in a scratch repository, against a fake GitHub.

#[path = "support/github.rs"]
mod github;
#[path = "support/shell.rs"]
mod shell;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use github::{Comment, GitHub, USER};
use shell::{bash, has, succeeds, text};
use tempfile::TempDir;

const OLD: &str = include_str!("diff/old.json");
const NEW: &str = include_str!("diff/new.json");
const OLD_TOOLS: &str =
    r#"{"tools": [{"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}}}]}"#;
const NEW_TOOLS: &str = r#"{"tools": [{"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}}]}"#;

/// A clone with a branch `change` that is based on `main`.
struct Scratch {
    home: TempDir,
    github: GitHub,
}

/// What a run of the action leaves behind.
struct Run {
    code: Option<i32>,
    log: String,
    summary: String,
    outputs: String,
}

impl Scratch {
    /// Returns `None` if a required program is not installed.
    fn new() -> Option<Scratch> {
        if !has(&["bash", "git", "jq", "curl"]) {
            return None;
        }
        let scratch = Scratch { home: tempfile::tempdir().expect("a folder"), github: GitHub::start() };
        let upstream = scratch.path("upstream");
        fs::create_dir_all(upstream.join("schema")).expect("a folder");
        fs::write(upstream.join("schema/schema.json"), OLD).expect("written");
        fs::write(upstream.join("tools.json"), OLD_TOOLS).expect("written");
        succeeds(bash(&upstream, "git init -q -b main && git add . && git commit -qm old"));
        succeeds(bash(
            scratch.home.path(),
            "git clone -q --depth=1 file://$PWD/upstream clone && cd clone && git switch -qc change",
        ));
        let event = r#"{"pull_request": {"number": 7, "labels": []}}"#;
        fs::write(scratch.path("event.json"), event).expect("written");
        Some(scratch)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.path("clone").join(path), text).expect("written");
    }

    fn command(&self, inputs: &[(&str, &str)]) -> Command {
        let mut command = bash(&self.path("clone"), "\"$ROOT\"/.github/action/diff.sh");
        command.env("GITHUB_API_URL", &self.github.url).env("GITHUB_REPOSITORY", "o/r").env("GITHUB_BASE_REF", "main");
        command.env("GITHUB_GRAPHQL_URL", format!("{}/graphql", self.github.url));
        command.env("GITHUB_TOKEN", "secret").env("RUNNER_TEMP", self.home.path());
        for (name, file) in [("EVENT_PATH", "event.json"), ("STEP_SUMMARY", "summary.md"), ("OUTPUT", "outputs")] {
            command.env(format!("GITHUB_{name}"), self.path(file));
        }
        command.envs(inputs.iter().map(|(name, value)| (format!("INPUT_{name}"), value)));
        command
    }

    fn run(&self, inputs: &[(&str, &str)]) -> Run {
        for file in ["summary.md", "outputs"] {
            fs::write(self.path(file), "").expect("written");
        }
        let output = self.command(inputs).output().expect("bash runs");
        let read = |file: &str| fs::read_to_string(self.path(file)).expect("a file");
        Run { code: output.status.code(), log: text(&output), summary: read("summary.md"), outputs: read("outputs") }
    }

    fn comments(&self) -> Vec<String> {
        self.github.state().comments.values().map(|comment| comment.body.clone()).collect()
    }
}

#[track_caller]
fn exits(run: &Run, code: i32, parts: &[&str]) {
    assert_eq!(run.code, Some(code), "{}", run.log);
    for part in parts {
        assert!(run.log.contains(part), "{part:?} is not in the log:\n{}", run.log);
    }
}

const SCHEMA: (&str, &str) = ("SCHEMA", "schema/schema.json");
const TOOLS: (&str, &str) = ("TOOLS", "tools.json");

#[test]
fn keeps_one_comment_up_to_date() {
    let Some(scratch) = Scratch::new() else { return };
    // Nothing changed, so the check passes without a comment.
    let run = scratch.run(&[SCHEMA]);
    exits(&run, 0, &["nothing to comment on"]);
    assert!(run.summary.contains("**0 breaking**") && run.outputs.contains("exit-code=0\n"), "{}", run.summary);
    assert_eq!(scratch.comments(), Vec::<String>::new());

    // A breaking change gives annotations at lines, a summary, and a comment.
    scratch.write("schema/schema.json", NEW);
    let run = scratch.run(&[SCHEMA]);
    exits(&run, 1, &["::error file=schema/schema.json,line=", "created a comment"]);
    assert!(run.summary.contains("### Breaking") && run.outputs.contains("exit-code=1\n"), "{}", run.summary);
    assert!(run.summary.contains("`base` → `schema/schema.json`"), "{}", run.summary);
    let [comment] = &scratch.comments()[..] else { panic!("one comment") };
    assert!(comment.starts_with("<!-- mcpgen diff: schema/schema.json -->\n## "), "{comment}");

    // The second run updates its comment, even among others and on a later page.
    {
        let mut state = scratch.github.state();
        let ours = state.comments.remove(&1).expect("the comment");
        let others = Comment { user: "a-person", body: "a comment".to_owned() };
        state.comments.extend((1..=120).map(|id| (id, others.clone())));
        state.comments.insert(121, ours.clone());
        state.comments.insert(122, ours);
    }
    exits(&scratch.run(&[SCHEMA]), 1, &["updated the comment 121"]);
    assert_eq!(scratch.comments().len(), 121, "the copy was deleted, and no comment was added");

    // The change is withdrawn.
    scratch.write("schema/schema.json", OLD);
    exits(&scratch.run(&[SCHEMA]), 0, &["updated the comment 121"]);
    assert!(scratch.github.state().comments[&121].body.contains("**0 breaking**"));

    // Another file has its own comment.
    scratch.write("tools.json", NEW_TOOLS);
    let run = scratch.run(&[TOOLS]);
    exits(&run, 1, &["::error file=tools.json", "created a comment"]);
    assert_eq!(scratch.comments().len(), 122);
    assert!(!scratch.github.state().anonymous, "each request has the token");
    assert!(!run.log.contains("secret"), "{}", run.log);
}

/// Anyone can write a comment with the action's marker, before or after the action does.
#[test]
fn comments_of_others_are_left_alone() {
    let Some(scratch) = Scratch::new() else { return };
    scratch.write("tools.json", NEW_TOOLS);
    let marked = |user| Comment { user, body: "<!-- mcpgen diff: tools.json -->\n".to_owned() };
    let others = [(1, marked("mallory")), (2, marked("github-actions")), (4, marked("other-app[bot]"))];
    scratch.github.state().comments.extend(others.clone());
    exits(&scratch.run(&[TOOLS]), 1, &["created a comment"]);
    // A later run finds its own comment among them.
    scratch.github.state().comments.extend([(6, marked(USER)), (7, marked("mallory"))]);
    exits(&scratch.run(&[TOOLS]), 1, &["updated the comment 5"]);
    let mut comments = scratch.github.state().comments.clone();
    assert!(comments.remove(&5).is_some_and(|own| own.user == USER && own.body.contains("**1 breaking**")));
    let expected = others.into_iter().chain([(7, marked("mallory"))]).collect();
    assert_eq!(comments, expected, "only the own copy, 6, was deleted");
}

#[test]
fn a_label_accepts_findings() {
    let Some(scratch) = Scratch::new() else { return };
    scratch.write("tools.json", NEW_TOOLS);
    let label = ("SKIP_LABEL", "accepted");
    exits(&scratch.run(&[TOOLS, label]), 1, &[]);
    scratch.github.state().labels.push("accepted");
    let run = scratch.run(&[TOOLS, label]);
    exits(&run, 0, &["the label `accepted` accepts the findings"]);
    assert!(run.summary.contains("The label `accepted` accepts the findings."), "{}", run.summary);
}

#[test]
fn a_token_that_cannot_write_is_a_warning() {
    let Some(scratch) = Scratch::new() else { return };
    scratch.write("tools.json", NEW_TOOLS);
    scratch.github.state().refuse = Some(403);
    let warning = "status 403: Resource not accessible by integration";
    exits(&scratch.run(&[TOOLS]), 1, &[warning, "the report is in the summary"]);
    exits(&scratch.run(&[TOOLS, ("FAIL_ON", "none")]), 0, &[warning]);
    exits(&scratch.run(&[TOOLS, ("COMMENT", "false"), ("FAIL_ON", "none")]), 0, &[]);
}

#[test]
fn compares_with_each_kind_of_baseline() {
    let Some(scratch) = Scratch::new() else { return };
    scratch.write("tools.json", NEW_TOOLS);
    let run = |baseline: &str| scratch.run(&[TOOLS, ("BASELINE", baseline), ("COMMENT", "false")]);
    fs::write(scratch.path("old.json"), OLD_TOOLS).expect("written");
    let file = scratch.path("old.json").display().to_string();
    scratch.github.state().files.insert("/download/tools.json".to_owned(), OLD_TOOLS.into());
    let url = format!("{}/download/tools.json", scratch.github.url);
    for baseline in ["base", "git:main", "git:origin/main", &file, &url] {
        exits(&run(baseline), 1, &["::error file=tools.json"]);
    }
    // On a push, the baseline is the commit before the push.
    let before = succeeds(bash(&scratch.path("clone"), "git rev-parse HEAD"));
    fs::write(scratch.path("event.json"), format!(r#"{{"before": "{}"}}"#, before.trim())).expect("written");
    succeeds(bash(&scratch.path("clone"), "git commit -qam new"));
    let output = scratch.command(&[TOOLS]).env_remove("GITHUB_BASE_REF").output().expect("bash runs");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    // A new file breaks nobody.
    scratch.write("more.json", NEW_TOOLS);
    exits(&scratch.run(&[("TOOLS", "more.json")]), 0, &["there is nothing to compare"]);
    for (inputs, problem) in [
        (vec![TOOLS, ("BASELINE", "git:nowhere")], "there is no commit `nowhere`"),
        (vec![TOOLS, ("BASELINE", "git:--upload-pack=touch pwned; git-upload-pack")], "begins with a dash"),
        (vec![TOOLS, ("BASELINE", "git:-")], "begins with a dash"),
        (vec![TOOLS, ("BASELINE", "missing.json")], "there is no file `missing.json`"),
        (vec![TOOLS, SCHEMA], "set one of the inputs"),
        (vec![], "set one of the inputs"),
        (vec![("TOOLS", "missing.json")], "there is no file `missing.json`"),
        (vec![TOOLS, ("FAIL_ON", "sometimes")], "invalid value 'sometimes'"),
    ] {
        exits(&scratch.run(&inputs), 2, &[problem]);
    }
    assert!(!scratch.path("clone/pwned").exists(), "git runs no command of a ref");
}

/// Here, Cargo reads crates from a folder instead of a registry.
#[test]
fn compares_with_a_published_crate() {
    let Some(scratch) = Scratch::new() else { return };
    scratch.write("tools.json", NEW_TOOLS);
    let package = scratch.path("registry/weather-1.2.0");
    fs::create_dir_all(package.join("src")).expect("a folder");
    let manifest = "[package]\nname = \"weather\"\nversion = \"1.2.0\"\nedition = \"2021\"\n";
    for (file, text) in [
        ("Cargo.toml", manifest),
        ("src/lib.rs", ""),
        ("tools.json", OLD_TOOLS),
        (".cargo-checksum.json", r#"{"files": {}, "package": null}"#),
    ] {
        fs::write(package.join(file), text).expect("written");
    }
    let config = format!(
        "[source.crates-io]\nreplace-with = \"local\"\n[source.local]\ndirectory = {:?}\n",
        scratch.path("registry")
    );
    let cargo_home = scratch.path("cargo");
    fs::create_dir(&cargo_home).expect("a folder");
    // Each fake compiler records the token that it sees. Cargo must run ours, not the one that the branch configures.
    let compiler = |name: &str| {
        let (program, record) = (scratch.path(name), scratch.path(&format!("{name}.record")));
        let script = format!("#!/bin/sh\necho \"token: $GITHUB_TOKEN\" >> {}\nexec rustc \"$@\"\n", record.display());
        fs::write(&program, script).expect("written");
        succeeds(bash(scratch.home.path(), &format!("chmod +x {}", program.display())));
        (format!("[build]\nrustc = {program:?}\n"), record)
    };
    let ((ours, our_record), (theirs, their_record)) = (compiler("ours.sh"), compiler("theirs.sh"));
    fs::create_dir(scratch.path("clone/.cargo")).expect("a folder");
    scratch.write(".cargo/config.toml", &theirs);
    fs::write(cargo_home.join("config.toml"), config + &ours).expect("written");
    let run = |baseline: &str| {
        let mut command = scratch.command(&[TOOLS, ("BASELINE", baseline), ("COMMENT", "false")]);
        command.env("CARGO_HOME", &cargo_home).env("TMPDIR", scratch.home.path());
        let output = command.output().expect("bash runs");
        (output.status.code(), text(&output))
    };
    for baseline in ["crate:weather", "crate:weather@1.2.0"] {
        let (code, log) = run(baseline);
        assert!(code == Some(1) && log.contains("::error file=tools.json"), "{baseline}: {log}");
    }
    let (code, log) = run("crate:weather@9.9.9");
    assert!(code == Some(2) && log.contains("cargo cannot download the crate `weather@9.9.9`"), "{log}");
    assert!(!their_record.exists(), "cargo reads the configuration of the branch");
    let record = fs::read_to_string(our_record).expect("a record");
    assert!(record.lines().all(|line| line == "token: "), "{record}");
}

#[test]
fn installs_a_release_with_the_right_checksum() {
    if !has(&["bash", "curl", "jq", "tar", "sha256sum"]) || !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return;
    }
    let (home, github) = (tempfile::tempdir().expect("a folder"), GitHub::start());
    let dist = home.path().join("dist");
    fs::create_dir(&dist).expect("a folder");
    // A tiny program stands in for the binary, which is large in debug builds.
    fs::write(dist.join("mcpgen"), "#!/bin/sh\necho mcpgen 9.9.9\n").expect("written");
    for other in ["mcpgen-gateway", "mcpgen-probe"] {
        fs::write(dist.join(other), "#!/bin/sh\n").expect("written");
    }
    let target = "x86_64-unknown-linux-musl";
    let pack = format!(
        "chmod +x mcpgen* && \"$ROOT\"/.github/scripts/package.sh {target} . out && \"$ROOT\"/.github/scripts/checksums.sh out"
    );
    succeeds(bash(&dist, &pack));
    let archive = fs::read(dist.join(format!("out/mcpgen-{target}.tar.gz"))).expect("an archive");
    // Equal binaries give identical archives.
    succeeds(bash(&dist, &pack));
    assert_eq!(archive, fs::read(dist.join(format!("out/mcpgen-{target}.tar.gz"))).expect("an archive"));
    let sums = fs::read(dist.join("out/SHA256SUMS")).expect("checksums");
    let base = "/o/r/releases/download/v9.9.9";
    let install = |name: &str| {
        let mut command = bash(home.path(), "\"$ROOT\"/.github/action/install.sh");
        command.env("MCPGEN_VERSION", "v9.9.9").env("MCPGEN_REPOSITORY", "o/r").env("GITHUB_SERVER_URL", &github.url);
        command.env("RUNNER_TEMP", home.path().join(name)).env("GITHUB_PATH", home.path().join("path"));
        let output = command.output().expect("bash runs");
        (output.status.code(), text(&output))
    };
    github.state().files.insert(format!("{base}/SHA256SUMS"), sums);
    github.state().files.insert(format!("{base}/mcpgen-{target}.tar.gz"), archive.clone());
    // The install script for users also installs the manual page and completions.
    let install_for_user = |prefix: &str| {
        let mut command = bash(
            home.path(),
            &format!("sh \"$ROOT\"/.github/install.sh --version v9.9.9 --prefix \"$PWD/{prefix}\" mcpgen"),
        );
        let output = command.env("MCPGEN_RELEASES", format!("{}/o/r/releases", github.url)).output().expect("sh runs");
        (output.status.code(), text(&output))
    };
    let (code, log) = install_for_user("usr");
    assert!(code == Some(0) && log.contains("installed mcpgen 9.9.9"), "{log}");
    for file in ["bin/mcpgen", "share/man/man1/mcpgen.1", "share/bash-completion/completions/mcpgen"] {
        assert!(home.path().join("usr").join(file).is_file(), "{file}");
    }
    let (code, log) = install("good");
    assert!(code == Some(0) && log.contains("mcpgen 9.9.9"), "{log}");
    let added = fs::read_to_string(home.path().join("path")).expect("a path");
    assert!(Path::new(added.trim()).join("mcpgen").is_file(), "{added}");

    github.state().files.insert(format!("{base}/mcpgen-{target}.tar.gz"), [archive, vec![0]].concat());
    let (code, log) = install("bad");
    assert!(code == Some(1) && log.contains("the checksum of mcpgen-") && !log.contains("mcpgen 9.9.9"), "{log}");
    let (code, log) = install_for_user("bad-usr");
    assert!(code == Some(1) && log.contains("is wrong; nothing is installed"), "{log}");
    assert!(!home.path().join("bad-usr").exists());
}

/// A fake cargo records its arguments instead of building.
#[test]
fn builds_in_an_empty_folder_without_the_token() {
    if !has(&["bash", "curl"]) {
        return;
    }
    let (home, github) = (tempfile::tempdir().expect("a folder"), GitHub::start());
    let cargo = r#"#!/bin/sh
echo "token <$GITHUB_TOKEN>, files <$(ls -A)>, $*" > "$RECORD"
mkdir -p "$4/bin"
printf '#!/bin/sh\necho mcpgen 9.9.9\n' > "$4/bin/mcpgen"
chmod +x "$4/bin/mcpgen"
"#;
    fs::create_dir_all(home.path().join("bin")).expect("a folder");
    fs::write(home.path().join("bin/cargo"), cargo).expect("written");
    let own = concat!("v", env!("CARGO_PKG_VERSION"));
    for (version, arguments) in [
        ("", "/codegen"),
        (own, "/codegen"),
        ("source", "/codegen"),
        ("latest", "/o/r mcpgen"),
        ("v9.9.9", "/o/r --tag v9.9.9 mcpgen"),
    ] {
        let script = "chmod +x bin/cargo && PATH=$PWD/bin:$PATH \"$ROOT\"/.github/action/install.sh";
        let mut command = bash(home.path(), script);
        command.env("MCPGEN_VERSION", version).env("MCPGEN_REPOSITORY", "o/r").env("GITHUB_SERVER_URL", &github.url);
        command.env("GITHUB_TOKEN", "secret").env("RUNNER_TEMP", home.path().join("temp"));
        command.env("RECORD", home.path().join("record"));
        assert!(succeeds(command).contains("mcpgen 9.9.9"));
        let record = fs::read_to_string(home.path().join("record")).expect("a record");
        assert!(record.starts_with("token <>, files <>, install --locked --root "), "{version}: {record}");
        assert!(record.trim_end().ends_with(arguments), "{version}: {record}");
    }
    // By default, the action asks for the release of its own version.
    let asked = github.state().requests.first().cloned();
    assert_eq!(asked, Some(format!("GET /o/r/releases/download/{own}/SHA256SUMS")));
}

#[test]
fn the_pre_commit_hook_compares_with_the_last_commit() {
    let Some(scratch) = Scratch::new() else { return };
    let hook = |arguments: &str| {
        let output = bash(&scratch.path("clone"), &format!("\"$ROOT\"/.github/action/pre-commit.sh {arguments}"))
            .output()
            .expect("bash runs");
        (output.status.code(), text(&output))
    };
    assert_eq!(hook("schema/schema.json").0, Some(0));
    scratch.write("schema/schema.json", NEW);
    scratch.write("tools.json", NEW_TOOLS);
    scratch.write("more.json", NEW_TOOLS);
    let (code, log) = hook("schema/schema.json");
    assert!(code == Some(1) && log.contains("breaking"), "{log}");
    assert_eq!(hook("--tools tools.json more.json").0, Some(1));
    assert_eq!(hook("--tools more.json").0, Some(0), "the file is new");
    let hooks = fs::read_to_string(format!("{}/.pre-commit-hooks.yaml", shell::ROOT)).expect("hooks");
    for entry in hooks.lines().filter_map(|line| line.trim().strip_prefix("entry: ")) {
        let script = entry.split(' ').next().expect("a script");
        assert!(Path::new(shell::ROOT).join(script).is_file(), "{script}");
    }
}

/// The commands on the page docs/ci.md set up mcpgen as git's diff driver.
#[test]
fn git_diff_shows_findings() {
    let Some(scratch) = Scratch::new() else { return };
    let page = include_str!("../docs/ci.md");
    let (_, rest) = page.split_once("<!-- test: git -->\n```sh\n").expect("the commands");
    let (commands, _) = rest.split_once("```").expect("the end");
    let folder = scratch.path("clone");
    succeeds(bash(&folder, commands));
    scratch.write("schema/schema.json", NEW);
    let shown = succeeds(bash(&folder, "git --no-pager diff"));
    assert!(shown.contains("breaking") && !shown.contains("@@"), "{shown}");
    // A new file has no old version.
    succeeds(bash(&folder, "mkdir other && cp schema/schema.json other && git add --intent-to-add other"));
    assert!(succeeds(bash(&folder, "git --no-pager diff other")).contains("+++"));
}

/// action.yml passes every input to the script, and each step runs a script of this repository.
#[test]
fn the_action_passes_all_inputs() {
    let action = fs::read_to_string(format!("{}/action.yml", shell::ROOT)).expect("the action");
    let script = fs::read_to_string(format!("{}/.github/action/diff.sh", shell::ROOT)).expect("the script");
    let inputs =
        action.split_once("\ninputs:\n").and_then(|(_, rest)| rest.split_once("\noutputs:\n")).expect("inputs").0;
    let names = inputs.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<&str> = names.filter_map(|line| line.trim().strip_suffix(':')).collect();
    assert!(names.len() >= 8, "{names:?}");
    for name in names {
        assert!(action.contains(&format!("${{{{ inputs.{name} }}}}")), "{name} is not used");
        let variable = format!("INPUT_{}", name.to_uppercase().replace('-', "_"));
        let is_of_install = ["version", "token"].contains(&name);
        assert!(is_of_install || script.contains(&variable), "diff.sh does not read {variable}");
    }
    for line in action.lines().filter_map(|line| line.trim().strip_prefix("run: ")) {
        let script = line.trim_matches(['\'', '"']).split_once("$GITHUB_ACTION_PATH/").expect("a script").1;
        assert!(Path::new(shell::ROOT).join(script.trim_matches('"')).is_file(), "{script}");
    }
}
