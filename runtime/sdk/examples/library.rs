//! A server with resources and prompts, on standard input and output or, with `--http 127.0.0.1:3000`, over HTTP: an
//! index of poems, a template to look one up by number, and a prompt that asks for an explanation.

#[path = "support/run.rs"]
mod run;

use mcpgen_sdk::prelude::*;
use mcpgen_sdk::types::{CompleteRequestParams, Prompt, Resource, ResourceTemplate};
use schemars::JsonSchema;
use serde::Deserialize;

const POEMS: [&str; 3] = ["The tide is out.", "The kettle sings.", "Snow, and nobody about."];

/// The variable of the template, and the argument of the prompt.
#[derive(Deserialize, JsonSchema)]
struct Poem {
    /// The number of the poem.
    number: usize,
}

impl Poem {
    fn text(&self) -> Option<&'static str> {
        POEMS.get(self.number.checked_sub(1)?).copied()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder("library", "0.1.0")
        .instructions("Poems are numbered from 1. The index contains the number of poems.")
        .resource(Resource::new("poem:///index", "index").with_mime_type("text/plain"), || async {
            format!("{} poems", POEMS.len())
        })
        .resource_template(ResourceTemplate::new("poem:///{number}", "poem"), read)
        .prompt(Prompt::new("explain").with_description("Has a poem explained."), explain)
        .completion(numbers)
        .build();
    run::run(server).await
}

/// `None`, for an unknown number, becomes the error "resource not found".
async fn read(Args(poem): Args<Poem>) -> Option<&'static str> {
    poem.text()
}

async fn explain(Args(poem): Args<Poem>) -> String {
    format!("Explain this poem:\n{}", poem.text().unwrap_or("This poem does not exist."))
}

async fn numbers(params: CompleteRequestParams) -> Vec<String> {
    let numbers = (1..=POEMS.len()).map(|number| number.to_string());
    numbers.filter(|number| number.starts_with(&params.argument.value)).collect()
}
