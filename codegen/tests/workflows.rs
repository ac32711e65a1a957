//! Runs the workflows' scripts in scratch repositories.

#[path = "support/github.rs"]
mod github;
#[path = "support/shell.rs"]
mod shell;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use github::GitHub;
use serde_json::Value;
use shell::{ROOT, bash, has, succeeds};

const OLD: &str = include_str!("diff/old.json");
const NEW: &str = include_str!("diff/new.json");

/// Imports a draft, then a changed one, and expects a single pull request with the report.
#[test]
fn imports_the_draft_and_keeps_one_pull_request() {
    if !has(&["bash", "git", "jq", "curl"]) {
        return;
    }
    let (home, github) = (tempfile::tempdir().expect("a folder"), GitHub::start());
    let path = |name: &str| home.path().join(name);
    fs::create_dir_all(path("upstream/schema/draft")).expect("a folder");
    fs::create_dir_all(path("clone")).expect("a folder");
    fs::write(path("old.json"), OLD).expect("written");
    let set_up = "git init -q --bare -b main ../origin.git && git init -q -b main && git remote add origin ../origin.git && \
                  mcpgen import ../old.json --revision 2026-01-01 --root . && mcpgen generate && git add . && \
                  git commit -qm start && git push -q origin main";
    succeeds(bash(&path("clone"), set_up));
    let nightly = || {
        let script = "git switch -q main && \"$ROOT\"/.github/scripts/import-draft.sh ../upstream && \
                      if grep -q changed=true \"$GITHUB_OUTPUT\"; then \
                      \"$ROOT\"/.github/scripts/pull-request.sh import-draft 'Import the draft' \"$RUNNER_TEMP/draft-report.md\"; fi";
        let mut command = bash(&path("clone"), script);
        fs::write(path("output"), "").expect("written");
        command.env("MCPGEN", env!("CARGO_BIN_EXE_mcpgen")).env("RUNNER_TEMP", home.path());
        command.env("GITHUB_OUTPUT", path("output")).env("GITHUB_API_URL", &github.url);
        command.env("GITHUB_REPOSITORY", "o/r").env("GITHUB_TOKEN", "secret");
        succeeds(command)
    };
    fs::write(path("upstream/schema/draft/schema.json"), OLD).expect("written");
    let log = nightly();
    assert!(log.contains("the draft has not changed") && github.state().pulls.is_empty(), "{log}");

    fs::write(path("upstream/schema/draft/schema.json"), NEW).expect("written");
    assert!(nightly().contains("opened a pull request"));
    let pull = github.state().pulls[&1].clone();
    assert_eq!((pull["head"].as_str(), pull["base"].as_str()), (Some("import-draft"), Some("main")));
    assert!(pull["body"].as_str().is_some_and(|body| body.contains("### Breaking")), "{pull}");
    let pushed = || succeeds(bash(&path("origin.git"), "git rev-parse import-draft"));
    let first = pushed();
    let files = succeeds(bash(&path("origin.git"), "git ls-tree -r --name-only import-draft"));
    assert!(files.contains("schema/draft/schema.json") && files.contains("generated/src/draft/mod.rs"), "{files}");

    // The next night, nothing is new: the branch stays, and the pull request is updated.
    let log = nightly();
    assert!(log.contains("the branch is unchanged") && log.contains("updated pull request 1"), "{log}");
    assert_eq!(pushed(), first);
    assert_eq!(github.state().pulls.len(), 1);
    assert!(!github.state().anonymous);
}

/// Every crate is published, and only after those it depends on.
#[test]
fn publishes_all_crates_in_order() {
    if !has(&["bash"]) {
        return;
    }
    let order = succeeds(bash(Path::new(ROOT), ".github/scripts/publish.sh --order"));
    let order: Vec<&str> = order.lines().collect();
    let packages = packages();
    let published: BTreeMap<&str, &Value> = packages
        .iter()
        .filter(|package| package["publish"].is_null())
        .filter_map(|package| Some((package["name"].as_str()?, &package["dependencies"])))
        .collect();
    assert_eq!(order.len(), published.len(), "{order:?} {:?}", published.keys());
    for (at, name) in order.iter().enumerate() {
        let dependencies = published[name].as_array().expect("dependencies");
        let ours = dependencies.iter().filter(|it| it["kind"] != "dev").filter_map(|it| it["name"].as_str());
        for dependency in ours.filter(|name| published.contains_key(name)) {
            assert!(order[..at].contains(&dependency), "{name} depends on {dependency}");
        }
    }
}

/// Each package with tests is in one job of `.ci`, and each job is in `.ci/run` and in the workflow. Their budgets add
/// up to at most 45 minutes.
#[test]
fn every_package_and_job_is_checked() {
    let read =
        |path: &str| fs::read_to_string(format!("{ROOT}/{path}")).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (run, workflow) = (read(".ci/run"), read(".github/workflows/ci.yml"));
    let jobs = run.lines().find_map(|line| line.strip_prefix("for job in ")?.strip_suffix("; do")).expect("the jobs");
    let jobs: Vec<&str> = jobs.split(' ').collect();
    let (mut tested, mut budget) = (BTreeMap::new(), 0);
    for job in &jobs {
        let script = read(&format!(".ci/{job}")).replace("\\\n", " ");
        let seconds = script.lines().find_map(|line| line.strip_prefix("source \"$(dirname \"$0\")/step.sh\" "));
        budget += seconds.and_then(|seconds| seconds.parse::<u32>().ok()).expect("a budget");
        for line in script.lines().filter_map(|line| line.strip_prefix("step .ci/test ")) {
            line.split_whitespace()
                .for_each(|package| assert_eq!(tested.insert(package.to_owned(), *job), None, "{package}"));
        }
        // The workflow runs `install` before jobs that need tools, and jobs build what they need themselves.
        let is_called = workflow.contains(&format!("job: {job} }}")) || workflow.contains(&format!("job: {job},"));
        assert!(is_called || ["install", "build"].contains(job), "{job} is not in the workflow");
    }
    assert!(budget <= 45 * 60, "{budget} s");
    let scripts =
        fs::read_dir(format!("{ROOT}/.ci")).expect("scripts").map(|entry| entry.expect("an entry").file_name());
    let scripts = scripts.map(|name| name.to_string_lossy().into_owned());
    let others =
        scripts.filter(|name| !["run", "step.sh", "test"].contains(&name.as_str()) && !jobs.contains(&name.as_str()));
    assert_eq!(others.collect::<Vec<_>>(), Vec::<String>::new(), "not in .ci/run");
    let packages = packages();
    let names: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    assert_eq!(
        names.iter().filter(|name| !tested.contains_key(**name)).collect::<Vec<_>>(),
        Vec::<&&str>::new(),
        "no job"
    );
    let unknown: Vec<_> = tested.keys().filter(|name| !names.contains(&name.as_str())).collect();
    assert_eq!(unknown, Vec::<&String>::new(), "no such package");
}

/// Returns the packages of the workspace, as `cargo metadata` describes them.
fn packages() -> Vec<Value> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(ROOT)
        .output()
        .expect("cargo runs");
    let mut metadata: Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    serde_json::from_value(metadata["packages"].take()).expect("packages")
}

/// Workflows run single commands or existing scripts, never inline shell.
#[test]
fn workflows_run_scripts() {
    for entry in fs::read_dir(format!("{ROOT}/.github/workflows")).expect("workflows") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a workflow");
        assert!(!text.contains("run: |"), "{}: move the shell to a script", path.display());
        let commands = text.lines().filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix("run: "));
        // A job of the matrix is a script, as the test above checks.
        let words = commands.filter_map(|command| command.split(' ').next()).filter(|word| word.starts_with('.'));
        for script in words.filter(|word| *word != ".ci/${{") {
            assert!(Path::new(ROOT).join(script).is_file(), "{}: {script}", path.display());
        }
    }
}
