//! However a command ends, it ends the server's processes. `watch` shows how they end.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::{Answer, HttpServer, RECORD, probe, run, server};

/// A way in which a command ends, and its exit code.
#[derive(Clone, Copy, Debug)]
enum Way {
    Signal(&'static str, i32),
    Timeout,
    /// The client of `watch` disconnects.
    EndOfInput,
}

/// A server that does not respond, and ignores the end of its input. Its arguments are the file for the process IDs,
/// and a command that decides what happens at SIGTERM. It starts another process, as `npx` does.
const SERVER: &str = r#"eval "$2"; echo hello >&2; sleep 600 & echo "$$ $!" >"$1.new"; mv "$1.new" "$1"; while :; do wait; sleep 1; done"#;

/// How many times to check, every 20 ms, before a test fails.
const CHECKS: usize = 3000;

fn until<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    for _ in 0..CHECKS {
        if let Some(found) = check() {
            return found;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("{what}")
}

fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

fn check(command: &[&str], way: Way, on_term: &str) {
    let what = format!("{command:?} {way:?} {on_term:?}");
    let home = tempfile::tempdir().expect("a folder");
    let pids = home.path().join("pids");
    let path = pids.to_str().expect("UTF-8");
    let timeout: &[&str] = if matches!(way, Way::Timeout) { &["--timeout", "2"] } else { &[] };
    let arguments = [command, timeout, &["--", "sh", "-c", SERVER, "sh", path, on_term]].concat();
    let mut child = probe(&arguments).stdin(Stdio::piped()).spawn().expect("the command runs");
    let started = until(&format!("{what} does not start"), || fs::read_to_string(&pids).ok());
    let code = match way {
        Way::Signal(name, code) => {
            let sent = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status();
            assert!(sent.expect("kill runs").success());
            code
        }
        Way::Timeout => 3,
        Way::EndOfInput => {
            drop(child.stdin.take());
            0
        }
    };
    let mut waiting = Some(child);
    let answer =
        thread::spawn(move || Answer::from(waiting.take().expect("a child").wait_with_output().expect("it ends")));
    until(&format!("{what} does not end"), || answer.is_finished().then_some(()));
    let answer = answer.join().expect("no panic");
    assert_eq!(answer.code, Some(code), "{what}: {}", answer.err);
    for pid in started.split_whitespace() {
        until(&format!("{what} leaves {pid} of {started}"), || (!is_running(pid)).then_some(()));
    }
    match way {
        Way::Timeout => {
            let part = "waiting for a response to `server/discover` or `initialize`); set a longer --timeout";
            assert!(answer.err.contains(part), "{what}: {}", answer.err);
        }
        _ if command == ["watch"] => {
            assert!(
                answer.err.contains("hello\n") && answer.err.contains("(the server ended: "),
                "{what}: {}",
                answer.err
            );
        }
        _ => assert_eq!(answer.err, "", "{what}"),
    }
}

#[test]
fn no_server_outlives_a_command() {
    assert!(Path::new("/proc/self/stat").exists(), "the tests need /proc");
    let signals = [Way::Signal("HUP", 129), Way::Signal("INT", 130), Way::Signal("TERM", 143)];
    let mut cases = Vec::new();
    for way in signals.into_iter().chain([Way::Timeout]) {
        for command in [&["ping"][..], &["list"], &["call", "x"], &["read", "x:y"], &["prompt", "x"], &["snapshot"]] {
            cases.push((command, way));
        }
    }
    cases.extend(signals.into_iter().chain([Way::EndOfInput]).map(|way| (&["watch"][..], way)));
    thread::scope(|scope| {
        for (command, way) in cases {
            scope.spawn(move || check(command, way, ""));
        }
        scope.spawn(|| check(&["watch"], Way::EndOfInput, "trap '' TERM"));
        scope.spawn(|| check(&["watch"], Way::Signal("TERM", 143), "trap '' TERM"));
        scope.spawn(|| check(&["ping"], Way::Timeout, "trap '' TERM"));
    });
}

#[test]
fn a_second_signal_ends_a_command_at_once() {
    let home = tempfile::tempdir().expect("a folder");
    let pids = home.path().join("pids");
    let arguments = ["ping", "--", "sh", "-c", SERVER, "sh", pids.to_str().expect("UTF-8"), "trap '' TERM"];
    let mut child = probe(&arguments).spawn().expect("the command runs");
    let started = until("the server does not start", || fs::read_to_string(&pids).ok());
    let ended = (0..CHECKS).find_map(|_| {
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
        thread::sleep(Duration::from_millis(20));
        child.try_wait().expect("a status")
    });
    assert_eq!(ended.and_then(|status| status.code()), Some(130));
    for pid in started.split_whitespace() {
        until(&format!("{pid} is left"), || (!is_running(pid)).then_some(()));
    }
}

/// Sends a signal while a tool runs, and waits until the server has recorded `expected`.
fn stop_a_call(revision: &str, over_http: bool, expected: &str) {
    let what = format!("{revision}, over HTTP: {over_http}");
    let home = tempfile::tempdir().expect("a folder");
    let record = home.path().join("record");
    let http = over_http.then(|| HttpServer::recording(Some(&record)));
    let server = server();
    let (tool, target) = match &http {
        Some(http) => ("sleep", vec![http.url.as_str()]),
        None => ("echo", vec!["--", &server, "--faulty", "call-hangs"]),
    };
    let arguments = [&["call", tool, "--revision", revision], &target[..]].concat();
    let mut child = probe(&arguments).env(RECORD, &record).spawn().expect("the command runs");
    let recorded = |part: &str| fs::read_to_string(&record).is_ok_and(|text| text.contains(part)).then_some(());
    until(&format!("{what}: the server gets no call"), || recorded("tools/call"));
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let status = until(&format!("{what} does not end"), || child.try_wait().expect("a status"));
    assert_eq!(status.code(), Some(143), "{what}");
    until(&format!("{what}: {expected:?} is not in {:?}", fs::read_to_string(&record)), || recorded(expected));
}

#[test]
fn a_signal_cancels_the_call() {
    stop_a_call("2025-06-18", false, "notifications/cancelled");
    stop_a_call("2025-06-18", true, "notifications/cancelled");
    stop_a_call("2025-11-25", true, "notifications/cancelled");
    stop_a_call("2026-07-28", true, "the call has ended");
}

/// The arguments of a call come from standard input, which stays open.
#[test]
fn a_signal_ends_a_command_that_reads_standard_input() {
    let mut child =
        probe(&["call", "x", "--json", "-", "--", "true"]).stdin(Stdio::piped()).spawn().expect("the command runs");
    // The signal is sent once the command handles it, and again until the command has ended.
    let ended = (0..CHECKS).find_map(|_| {
        let handles = fs::read_to_string(format!("/proc/{}/status", child.id())).is_ok_and(|status| {
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t")).expect("a mask");
            u64::from_str_radix(caught, 16).expect("a number") >> 14 & 1 == 1
        });
        if handles {
            Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill runs");
        }
        thread::sleep(Duration::from_millis(20));
        child.try_wait().expect("a status")
    });
    assert_eq!(ended.and_then(|status| status.code()), Some(143));
}

#[test]
fn watch_shows_standard_error_and_the_exit_status() {
    for (script, code, parts) in [
        (
            "echo hi >&2; exit 7",
            1,
            &["hi\n", "(the server ended: exit status: 7)", "error: the server ended: exit status: 7"][..],
        ),
        ("echo hi >&2", 0, &["hi\n", "(the server ended: exit status: 0)"]),
        ("kill -9 $$", 1, &["error: the server ended: signal: 9"]),
        // Text from the server cannot control the terminal.
        (r"printf '\033[2Jone\ntwo' >&2; cat >/dev/null", 0, &["[2Jone\ntwo\n", "exit status: 0"]),
    ] {
        let answer = run(&["watch", "--", "sh", "-c", script]);
        assert_eq!(answer.code, Some(code), "{script}: {}", answer.err);
        for part in parts {
            assert!(answer.err.contains(part), "{script}: {part:?} is not in:\n{}", answer.err);
        }
        assert!(!answer.err.contains('\u{1b}'), "{script}: {:?}", answer.err);
    }
    let answer = run(&["watch", "--", "/nonexistent"]);
    assert_eq!(answer.code, Some(3), "{}", answer.err);
}
