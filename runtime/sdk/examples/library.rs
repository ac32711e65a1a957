//! A server with resources and prompts, on standard input and output or, with `--http 127.0.0.1:3000`, over HTTP: an
//! index of poems, a template to look them up by number, and a prompt that asks for an explanation of one.

#[cfg(feature = "http-server")]
#[path = "support/listen.rs"]
mod listen;
#[path = "support/run.rs"]
mod run;

use mcpgen_sdk::prelude::*;
use mcpgen_types::v2026_07_28::{Prompt, PromptArgument, Resource, ResourceTemplate};

const POEMS: [&str; 3] = ["The tide is out.", "The kettle sings.", "Snow, and nobody about."];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let index = Resource::new("poem:///index", "index").with_mime_type("text/plain");
    let explain = Prompt::new("explain")
        .with_description("Has a poem explained.")
        .with_arguments([PromptArgument::new("number").with_required(true)]);
    let server = Server::builder("library", "0.1.0")
        .instructions("Poems are numbered from 1. The index contains the number of poems.")
        .resource(index, |_| async { format!("{} poems", POEMS.len()) })
        .resource_template(ResourceTemplate::new("poem:///{number}", "poem"), |_, variables| async move {
            poem(&variables["number"])
        })
        .prompt(explain, |_, arguments| async move {
            let poem = poem(&arguments["number"]).unwrap_or("This poem does not exist.");
            format!("Explain this poem:\n{poem}")
        })
        .completion(|_, params| async move {
            let numbers = (1..=POEMS.len()).map(|number| number.to_string());
            numbers.filter(|number| number.starts_with(&params.argument.value)).collect()
        })
        .build();
    run::run(server).await
}

fn poem(number: &str) -> Option<&'static str> {
    POEMS.get(number.parse::<usize>().ok()?.checked_sub(1)?).copied()
}
