//! Runs the command with a terminal, where it shows colours and progress, and without one, where it shows neither.

#[path = "../../../codegen/tests/support/terminal.rs"]
mod pty;

use pty::{COLUMNS, Stream, run};

use crate::support::{HttpServer, probe, server};

#[test]
fn colours_are_for_terminals_unless_no_color_is_set() {
    let command = ["list", "--", &server()];
    let shown = run(probe(&command), Stream::Stdout, &[], &[]);
    assert!(shown.contains("\u{1b}[1mtools\u{1b}[0m (5)"), "{shown:?}");
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let shown = run(probe(&command), Stream::Stdout, &[(name, value)], &[]);
        assert!(shown.contains("tools (5)") && !shown.contains('\u{1b}'), "{name}: {shown:?}");
    }
}

#[test]
fn watch_shows_problems_in_red() {
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}"#;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let command = ["watch", "--", &server(), "--broken"];
    let shown = run(probe(&command), Stream::Stderr, &[], &[initialize, list]);
    assert!(shown.contains("\u{1b}[31minvalid: "), "{shown:?}");
    let shown = run(probe(&command), Stream::Stderr, &[("NO_COLOR", "1")], &[initialize, list]);
    assert!(shown.contains("invalid: ") && !shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn progress_is_for_terminals() {
    let http = HttpServer::start();
    for target in [&[http.url.as_str()][..], &["--", &server()]] {
        let command = [&["call", "steps"], target].concat();
        let shown = run(probe(&command), Stream::Stderr, &[], &[]);
        assert!(shown.contains("connecting to") && shown.contains("step 3"), "{shown:?}");
        assert!(shown.contains("100 %") && !shown.contains("  0 %"), "{shown:?}");
        // The line is removed at the end.
        assert!(shown.ends_with("\u{1b}[2K"), "{shown:?}");
        assert_eq!(run(probe(&command), Stream::Stdout, &[], &[]), "finished\r\n");
    }
}

#[test]
fn long_descriptions_end_at_the_edge_of_the_terminal() {
    let shown = run(probe(&["list", "--only", "tools", "--", &server()]), Stream::Stdout, &[("NO_COLOR", "1")], &[]);
    let longest = shown.lines().map(|line| line.trim_end().chars().count()).max();
    assert_eq!(longest, Some(usize::from(COLUMNS)), "{shown:?}");
    assert!(shown.contains('…'), "{shown:?}");
}
