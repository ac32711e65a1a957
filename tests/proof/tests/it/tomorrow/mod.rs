//! Imports a revision that does not exist yet into a copy of the workspace, and generates its types. Without changes to
//! the runtime, servers and clients must support it as they support all others.
//!
//! The copy is compiled only if `MCPGEN_THOROUGH` is set. A program then uses the new revision, and the runtime's tests
//! that cover every revision run. Most other tests expect a certain revision to be the newest one.

mod schema;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

const TOMORROW: &str = "2027-03-15";

#[test]
fn a_new_revision_needs_no_change_of_the_runtime() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tomorrow");
    let copy = scratch.join("workspace");
    let _ = fs::remove_dir_all(&copy);
    for folder in ["schema", "codegen", "generated", "runtime", "tests/proof/tests/it/tomorrow"] {
        copy_folder(&root.join(folder), &copy.join(folder));
    }
    for file in ["Cargo.lock", "README.md", "clippy.toml"] {
        fs::copy(root.join(file), copy.join(file)).expect("a copy");
    }
    let runtime = contents(&copy.join("runtime"));
    let features_before = features(&copy);
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the manifest of the workspace");
    fs::write(copy.join("Cargo.toml"), with_members(&manifest)).expect("a manifest");
    let program = copy.join("tests/proof/tests/it/tomorrow/program");
    fs::rename(program.join("manifest.toml"), program.join("Cargo.toml")).expect("the manifest of the program");

    let newest = fs::read_to_string(root.join(format!("schema/{}/schema.json", schema::NEWEST))).expect("a schema");
    let official = scratch.join("schema.json");
    fs::write(&official, schema::tomorrow(&newest)).expect("a schema");
    mcpgen(&copy, &["import", path(&official), "--revision", TOMORROW]);
    mcpgen(&copy, &["generate"]);
    // VERSIONING.md: a new revision adds a feature, and no other one changes.
    let mut features_after = features(&copy);
    assert_eq!(features_after.remove("v2027_03_15"), Some(toml::Value::Array(Vec::new())));
    let all = features_after["all-revisions"].as_array_mut().expect("a list");
    assert_eq!(all.pop(), Some("v2027_03_15".into()));
    assert_eq!(features_after, features_before);

    if env::var_os("MCPGEN_THOROUGH").is_some() {
        // One build for both, because Cargo unifies the features of the packages that a command names.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
        let built = ["--quiet", "--offline", "-p", "tomorrow", "-p", "mcpgen-sdk", "--bin", "tomorrow", "--test", "it"];
        let run = |program: &OsStr, arguments: &[&str]| {
            let status = Command::new(program)
                .args(arguments)
                .current_dir(&copy)
                // Registry crates are shared with the workspace.
                .env("CARGO_TARGET_DIR", target)
                .env("CARGO_PROFILE_DEV_DEBUG", "false")
                .env_remove("RUSTFLAGS")
                .status();
            assert!(status.expect("a program").success(), "{program:?} {arguments:?}");
        };
        run(env!("CARGO").as_ref(), &[&["build"], &built[..]].concat());
        run(target.join(format!("debug/tomorrow{}", env::consts::EXE_SUFFIX)).as_ref(), &[]);
        let all_revisions = ["--", "bridge::", "server::", "client_methods::all_methods_work_in_every_revision"];
        run(env!("CARGO").as_ref(), &[&["test"], &built[..], &all_revisions].concat());
    }
    assert!(runtime == contents(&copy.join("runtime")), "the runtime has not changed");
}

/// CI sets `MCPGEN` to the program that it has built.
fn mcpgen(copy: &Path, arguments: &[&str]) {
    let mut command = if let Some(built) = env::var_os("MCPGEN") {
        Command::new(built)
    } else {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["run", "--locked", "--quiet", "--package", "mcpgen", "--"]);
        cargo
    };
    let output = command
        .args(arguments)
        .args(["--root", path(copy)])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "mcpgen {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn features(copy: &Path) -> toml::Table {
    let manifest = fs::read_to_string(copy.join("generated/Cargo.toml")).expect("a manifest");
    let manifest: toml::Table = manifest.parse().expect("a manifest");
    manifest["features"].as_table().expect("features").clone()
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Returns the manifest of the workspace with fewer members, so that their dependencies are not needed.
fn with_members(manifest: &str) -> String {
    let mut manifest: toml::Table = manifest.parse().expect("a manifest");
    let members = [
        "codegen/pattern",
        "generated",
        "runtime",
        "runtime/mcp",
        "runtime/sdk",
        "tests/proof/tests/it/tomorrow/program",
    ]
    .map(toml::Value::from);
    let exclude = ["codegen", "runtime/auth"].map(toml::Value::from);
    let workspace = manifest["workspace"].as_table_mut().expect("a table");
    workspace.insert("members".to_owned(), members.to_vec().into());
    workspace.insert("exclude".to_owned(), exclude.to_vec().into());
    // The tests here are few, so optimized builds of our crates do not pay.
    let profiles = manifest["profile"]["dev"]["package"].as_table_mut().expect("a table");
    profiles.retain(|package, _| !package.starts_with("mcpgen"));
    manifest.to_string()
}

/// Copies a folder, except for build results and hidden files.
fn copy_folder(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(&file);
        fs::create_dir_all(target.parent().expect("a parent")).expect("a folder");
        fs::copy(from.join(&file), target).expect("a copy");
    }
}

fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = files(folder);
    files.sort();
    files.into_iter().map(|file| (file.clone(), fs::read(folder.join(file)).expect("a file"))).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(below) = folders.pop() {
        let entries = fs::read_dir(folder.join(&below)).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        for entry in entries.expect("a readable folder") {
            let (name, kind) = (below.join(entry.file_name()), entry.file_type().expect("a file type"));
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            match kind.is_dir() {
                _ if is_hidden || entry.file_name() == "target" || entry.file_name() == "node_modules" => {}
                true => folders.push(name),
                false => found.push(name),
            }
        }
    }
    found
}
