//! Writes the table of functions that validate messages, with a row for each revision, so that a new revision needs no
//! change here.

use std::path::PathBuf;
use std::{env, fs};

use mcpgen_types::Revision;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows: String = Revision::ALL.iter().map(|revision| row(*revision)).collect();
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    fs::write(out.join("validators.rs"), format!("static VALIDATORS: &[Validators] = &[\n{rows}];\n"))?;
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}

fn row(revision: Revision) -> String {
    let module = format!("mcpgen_types::v{}", revision.as_str().replace('-', "_"));
    let types = |sender: &str| {
        format!(
            "Types {{ message: validate::<{module}::{sender}Message>, result: result_types::<{module}::{sender}Request> }}"
        )
    };
    format!(
        "    Validators {{\n        revision: {:?},\n        client: {},\n        server: {},\n    }},\n",
        revision.as_str(),
        types("Client"),
        types("Server")
    )
}
