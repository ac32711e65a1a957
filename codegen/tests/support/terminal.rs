//! Runs a command in a terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

pub(crate) const COLUMNS: u16 = 60;

/// The stream to connect to the terminal.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// Opens a terminal. Returns our end, and the one for the program.
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

/// Runs a command, sends it these lines, and returns what it writes to the terminal.
pub(crate) fn run(mut command: Command, stream: Stream, variables: &[(&str, &str)], lines: &[&str]) -> String {
    let (mut screen, program) = open().expect("a terminal");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("TERM", "xterm").envs(variables.iter().copied());
    match stream {
        Stream::Stdout => command.stdout(program),
        Stream::Stderr => command.stderr(program),
    };
    let mut child = command.spawn().expect("the command runs");
    // The command still holds the other end of the terminal, so reading would never end.
    drop(command);
    let reader = thread::spawn(move || {
        let mut shown = Vec::new();
        // This fails after the last program has closed the terminal.
        let _ = screen.read_to_end(&mut shown);
        String::from_utf8_lossy(&shown).into_owned()
    });
    let mut input = child.stdin.take().expect("a pipe");
    for line in lines {
        writeln!(input, "{line}").expect("written");
        // Give the command time to respond before its input is closed.
        thread::sleep(Duration::from_millis(300));
    }
    drop(input);
    child.wait_with_output().expect("it exits");
    reader.join().expect("no panic")
}
