//! Generates a module from each contract in `contracts`, and from the published contracts if they are there.

use std::path::{Path, PathBuf};

use mcpgen::{Generator, Mapping};

/// Published contracts in `../../../shared/family`, with the names of their modules.
const PUBLISHED: [(&str, &str); 4] = [
    ("acp", "acp-v1.json"),
    ("lsp", "lsp-3.17-metaModel.json"),
    ("starknet", "starknet-openrpc.json"),
    ("a2a", "a2a-0.3.0.json"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=contracts");
    println!("cargo::rustc-check-cfg=cfg(published)");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut modules = String::new();
    let mut generate = |name: &str, file: PathBuf| -> Result<(), Box<dyn std::error::Error>> {
        let mut generator = Generator::new(file, name);
        let messages = here.join(format!("contracts/{name}.toml"));
        if messages.is_file() {
            generator = generator.mapping(Mapping::read(&messages)?);
        }
        generator.build_script(name)?;
        modules.push_str(&format!("include!(concat!(env!(\"OUT_DIR\"), \"/{name}.include.rs\"));\n"));
        Ok(())
    };
    for name in ["chat", "queue", "sums"] {
        generate(name, here.join(format!("contracts/{name}.json")))?;
    }
    let family = here.join("../../../shared/family");
    if family.is_dir() {
        println!("cargo::rustc-cfg=published");
        for (name, file) in PUBLISHED {
            generate(name, family.join(file))?;
        }
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    std::fs::write(out.join("modules.rs"), modules)?;
    Ok(())
}
