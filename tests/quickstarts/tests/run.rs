//! Runs the quickstarts of each revision against each other. Those of different revisions refuse each other.

use std::collections::BTreeMap;
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_mcpgen-quickstarts");

/// Returns the revisions of the quickstarts of each side, with the number of calls.
fn quickstarts() -> BTreeMap<String, Vec<(String, usize)>> {
    let output = Command::new(PROGRAM).env_remove("QUICKSTART").output().expect("it runs");
    let mut quickstarts: BTreeMap<String, Vec<(String, usize)>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [side, revision, calls] = words[..] else { panic!("{line}") };
        let calls = calls.parse().expect("a number");
        quickstarts.entry(side.to_owned()).or_default().push((revision.to_owned(), calls));
    }
    quickstarts
}

/// Runs a client, which starts a server.
fn run(client: &str, server: &str) -> Output {
    let server = format!("QUICKSTART=server {server}");
    let mut command = Command::new(PROGRAM);
    command.env("QUICKSTART", format!("client {client}")).args(["env", &server, PROGRAM]);
    command.output().expect("it runs")
}

#[cfg(unix)]
#[test]
fn each_client_calls_each_method_of_the_server_of_its_revision() {
    let quickstarts = quickstarts();
    let revisions = |side: &str| quickstarts[side].iter().map(|(revision, _)| revision.clone()).collect::<Vec<_>>();
    assert_eq!(revisions("client"), revisions("server"));
    assert!(quickstarts["client"].len() >= 5, "{quickstarts:?}");
    for (revision, calls) in &quickstarts["client"] {
        let output = run(revision, revision);
        let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{revision}: {text}\n{errors}");
        assert!(*calls >= 8, "{revision}: {calls}");
        let results = text.lines().filter(|line| line.contains(": {"));
        assert_eq!(results.count(), *calls, "{revision}: {text}");
    }
}

#[cfg(unix)]
#[test]
fn a_client_refuses_a_server_of_another_revision() {
    let quickstarts = quickstarts();
    let (Some(first), Some(last)) = (quickstarts["client"].first(), quickstarts["server"].last()) else {
        panic!("{quickstarts:?}")
    };
    for ((client, _), (server, _)) in [(first, last), (last, first)] {
        let output = run(client, server);
        assert!(!output.status.success(), "{client} and {server}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
