//! `mcpgen-gateway completions` and `mcpgen-gateway man`.

use anyhow::Context as _;
use clap::Command;
use clap_complete::Shell;

/// Returns a script that completes the commands and options in a shell.
pub(crate) fn completions(mut cli: Command, shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli, "mcpgen-gateway", &mut script);
    // clap's script for bash uses both names for a command with a hyphen, so it would never complete options.
    String::from_utf8_lossy(&script).replace("mcpgen__subcmd__gateway", "mcpgen__gateway").into_bytes()
}

/// Returns the manual page of the program, or of one of its commands.
pub(crate) fn man(mut cli: Command, command: Option<&str>) -> anyhow::Result<Vec<u8>> {
    cli.build();
    let page = match command {
        None => cli,
        Some(name) => cli.find_subcommand(name).with_context(|| format!("there is no command `{name}`"))?.clone(),
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    Ok(text)
}
