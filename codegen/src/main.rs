//! The command `mcpgen`.

use std::io::{ErrorKind, Write, stderr, stdout};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;
use cli::Cli;
use mcpgen_schema::text::visible_lines;

mod cli;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            // If stderr is closed, nothing can be done.
            let _ = writeln!(stderr(), "{}", visible_lines(&format!("error: {error:#}")));
            ExitCode::from(2)
        }
    }
}

fn run() -> anyhow::Result<ExitCode> {
    let answer = Cli::parse().run()?;
    let mut out = stdout().lock();
    match out.write_all(answer.text.as_bytes()).and_then(|()| out.flush()) {
        // The reader closed the pipe, as in `mcpgen inspect 2025-11-25 | head`.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        written => written.context("writing to stdout")?,
    }
    for note in &answer.notes {
        let _ = writeln!(stderr(), "{}", visible_lines(note));
    }
    Ok(if answer.differs { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
