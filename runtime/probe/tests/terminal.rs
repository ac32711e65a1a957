//! Runs the command in a terminal: colours and progress, and none without one.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::{HttpServer, probe, server};

const COLUMNS: u16 = 60;

/// The streams that are connected to a terminal.
#[derive(Clone, Copy)]
enum Terminal {
    Stdout,
    Stderr,
}

/// Opens a terminal, and returns the end of the program that runs in it.
fn open() -> std::io::Result<(File, OwnedFd)> {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&terminal)?;
    unlockpt(&terminal)?;
    let size = Winsize { ws_col: COLUMNS, ws_row: 24, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size)?;
    let path = ptsname(&terminal, Vec::new())?;
    let path = path.to_str().map_err(std::io::Error::other)?;
    let program = File::options().read(true).write(true).open(path)?;
    Ok((File::from(terminal), OwnedFd::from(program)))
}

/// Runs a command, and returns what it writes to the terminal.
fn run_in(terminal: Terminal, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    run_with(terminal, arguments, variables, &[])
}

/// Like [`run_in`], and sends these lines to the command.
fn run_with(terminal: Terminal, arguments: &[&str], variables: &[(&str, &str)], lines: &[&str]) -> String {
    let (mut screen, program) = open().expect("a terminal");
    let mut command = probe(arguments);
    command.stdin(Stdio::piped()).env("TERM", "xterm").envs(variables.iter().copied());
    match terminal {
        Terminal::Stdout => command.stdout(Stdio::from(program)),
        Terminal::Stderr => command.stderr(Stdio::from(program)),
    };
    let mut child = command.spawn().expect("the command runs");
    // The command holds the other end of the terminal.
    drop(command);
    let reader = thread::spawn(move || {
        let mut shown = Vec::new();
        // Reading fails when the last program has closed the terminal.
        let _ = screen.read_to_end(&mut shown);
        String::from_utf8_lossy(&shown).into_owned()
    });
    let mut input = child.stdin.take().expect("a pipe");
    for line in lines {
        writeln!(input, "{line}").expect("written");
        // The server responds before its input is closed.
        thread::sleep(Duration::from_millis(300));
    }
    drop(input);
    child.wait_with_output().expect("it exits");
    reader.join().expect("no panic")
}

#[test]
fn colours_are_for_terminals_unless_no_color_is_set() {
    let command = ["list", "--", &server()];
    let shown = run_in(Terminal::Stdout, &command, &[]);
    assert!(shown.contains("\u{1b}[1mtools\u{1b}[0m (4)"), "{shown:?}");
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let shown = run_in(Terminal::Stdout, &command, &[(name, value)]);
        assert!(shown.contains("tools (4)") && !shown.contains('\u{1b}'), "{name}: {shown:?}");
    }
}

#[test]
fn watch_shows_problems_in_red() {
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}"#;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let command = ["watch", "--", &server(), "--broken"];
    let shown = run_with(Terminal::Stderr, &command, &[], &[initialize, list]);
    assert!(shown.contains("\u{1b}[31minvalid: "), "{shown:?}");
    let shown = run_with(Terminal::Stderr, &command, &[("NO_COLOR", "1")], &[initialize, list]);
    assert!(shown.contains("invalid: ") && !shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn progress_is_for_terminals() {
    let http = HttpServer::start();
    for target in [&[http.url.as_str()][..], &["--", &server()]] {
        let command = [&["call", "steps"], target].concat();
        let shown = run_in(Terminal::Stderr, &command, &[]);
        assert!(shown.contains("connecting to") && shown.contains("step 3"), "{shown:?}");
        assert!(shown.contains("100 %") && !shown.contains("  0 %"), "{shown:?}");
        // The line is removed at the end.
        assert!(shown.ends_with("\u{1b}[2K"), "{shown:?}");
        assert_eq!(run_in(Terminal::Stdout, &command, &[]), "finished\r\n");
    }
}

#[test]
fn long_descriptions_end_at_the_edge_of_the_terminal() {
    let shown = run_in(Terminal::Stdout, &["list", "--only", "tools", "--", &server()], &[("NO_COLOR", "1")]);
    let longest = shown.lines().map(|line| line.trim_end().chars().count()).max();
    assert_eq!(longest, Some(usize::from(COLUMNS)), "{shown:?}");
    assert!(shown.contains('…'), "{shown:?}");
}
