//! A server of skills, and a client that loads them. Serves the folder given as an argument, or a built-in skill.
//!
//! ```sh
//! cargo run --example skills --features skills -- path/to/skills
//! ```

use std::error::Error;

use mcpgen_sdk::prelude::*;
use mcpgen_sdk::skills::{ServeSkills, Skills, SkillsClient};
use mcpgen_sdk::transport;

const SKILL: &str = "\
---
name: haiku
description: Writes a haiku. Use it when someone asks for a short poem.
---
Write three lines with 5, 7 and 5 syllables. See [an example](example.txt).
";
const EXAMPLE: &str = "The kettle is on.\nNobody has said a word\nsince the snow began.\n";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let skills = match std::env::args_os().nth(1) {
        Some(folder) => Skills::from_folder(folder)?,
        None => Skills::from_files([("haiku/SKILL.md", SKILL), ("haiku/example.txt", EXAMPLE)])?,
    };
    let (here, there) = transport::duplex();
    tokio::spawn(serve(Server::builder("poems", "0.1.0").skills(skills).build(), there));

    let client = Client::builder("reader", "0.1.0").connect(here.0, here.1).await?;
    for entry in client.skills().await? {
        println!("{}: {}", entry.frontmatter.name, entry.frontmatter.description);
        // No file has been read so far. A real client asks the user before the model acts on a skill.
        let skill = client.load_skill(&entry).await?;
        println!("  {} ({} bytes)", skill.entry.uri, skill.text.len());
        let root = entry.uri.trim_end_matches("/SKILL.md");
        for child in client.read_directory(root).await? {
            println!("  {} ({})", child.name, child.mime_type.unwrap_or_default());
        }
    }
    Ok(())
}
