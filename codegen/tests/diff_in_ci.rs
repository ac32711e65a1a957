//! Runs the workflow from codegen/docs/ci.md on two commits of a temporary repository.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const PAGE: &str = include_str!("../docs/ci.md");

/// Returns the script of the step `Compare`.
fn command() -> String {
    let (_, step) = PAGE.split_once("- name: Compare\n").expect("the workflow has the step");
    let (_, script) = step.split_once("run: |\n").expect("the step runs a script");
    let indent = script.len() - script.trim_start().len();
    let lines = script.lines().take_while(|line| line.len() > indent && line[..indent].trim().is_empty());
    lines.map(|line| format!("{}\n", &line[indent..])).collect()
}

/// Runs a script in bash, which finds this build of mcpgen and no Git configuration.
fn shell(folder: &Path, script: &str) -> Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_mcpgen")).parent().expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([bin.to_owned()].into_iter().chain(std::env::split_paths(&path))).expect("a path");
    let mut shell = Command::new("bash");
    shell.args(["-e", "-c", script]).current_dir(folder).env("PATH", path);
    for (name, value) in [("NAME", "a"), ("EMAIL", "a@example.org")] {
        shell.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    shell.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    shell.env("GITHUB_BASE_REF", "main").env("GITHUB_STEP_SUMMARY", folder.join("summary.md"));
    // Set if a Git hook runs the tests.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        shell.env_remove(name);
    }
    shell.output().expect("the shell runs")
}

#[track_caller]
fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn runs_the_documented_workflow() {
    for tool in ["git", "bash"] {
        if Command::new(tool).arg("--version").output().is_err() {
            eprintln!("skipped: {tool} is not installed, so the workflow is not tested");
            return;
        }
    }
    let home = tempfile::tempdir().expect("a temporary folder");
    let (upstream, clone) = (home.path().join("upstream"), home.path().join("clone"));
    fs::create_dir_all(upstream.join("schema")).expect("a folder");
    let write = |folder: &Path, text: &str| fs::write(folder.join("schema/schema.json"), text).expect("written");
    write(&upstream, include_str!("diff/old.json"));
    succeeds(&shell(&upstream, "git init -q -b main && git add . && git commit -qm old"));
    succeeds(&shell(home.path(), "git clone -q upstream clone && cd clone && git switch -qc change"));

    succeeds(&shell(&clone, &command()));
    assert!(fs::read_to_string(clone.join("summary.md")).expect("a summary").contains("**0 breaking**"));

    write(&clone, include_str!("diff/new.json"));
    succeeds(&shell(&clone, "git commit -qam new"));
    let output = shell(&clone, &command());
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let annotations = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(annotations.contains("::error file=schema/schema.json,line="), "{annotations}");
    assert!(fs::read_to_string(clone.join("summary.md")).expect("a summary").contains("### Breaking"));
    let sarif: Value = serde_json::from_slice(&fs::read(clone.join("diff.sarif")).expect("a log")).expect("JSON");
    let location = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
    assert_eq!(location["uri"], "schema/schema.json");

    // Reviewers can accept findings with ignores or with a baseline.
    let rules: Vec<&Value> =
        sarif["runs"][0]["results"].as_array().expect("results").iter().map(|it| &it["ruleId"]).collect();
    let ignores: String =
        rules.iter().map(|rule| format!("[[ignore]]\nrule = {rule}\nreason = \"agreed\"\n")).collect();
    fs::write(clone.join("mcpgen.toml"), ignores).expect("written");
    succeeds(&shell(&clone, &command()));
    fs::remove_file(clone.join("mcpgen.toml")).expect("removed");
    let baseline = "mcpgen diff git:origin/main:schema/schema.json schema/schema.json";
    succeeds(&shell(
        &clone,
        &format!("{baseline} --write-baseline accepted.txt && {baseline} --baseline accepted.txt"),
    ));

    let output = shell(&clone, &command().replace("$GITHUB_BASE_REF", "elsewhere"));
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
}
