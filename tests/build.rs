//! Writes the registry: every definition of every vendored revision, with what decodes, encodes and builds it.
//!
//! It stands on the generator's model only for names; what is valid is the judge's word.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mcpgen::protocol::{Content, Member, Origin, Protocol, Rest, Shape, Struct};
use mcpgen::workspace::Workspace;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    println!("cargo::rerun-if-changed=../schema");
    println!("cargo::rerun-if-changed=build.rs");
    let workspace = Workspace::open(Some(&root))?;
    let mut code =
        String::from("/// Every definition of every vendored revision.\npub const REGISTRY: &[Entry] = &[\n");
    let mut builders = String::new();
    for revision in &workspace.revisions {
        let protocol = workspace.model(&revision.name)?;
        let module = revision.module();
        for def in protocol.types.iter().filter(|def| def.origin == Origin::Definition) {
            let path = format!("mcpgen_types::{module}::{}", def.rust);
            let rebuild = match &def.shape {
                Shape::Struct(body) => {
                    let name = format!("rebuild_{module}_{}", mcpgen::naming::module_name(&def.name));
                    builders.push_str(&builder(&protocol, &name, &path, body));
                    format!("Some({name})")
                }
                _ => "None".to_owned(),
            };
            let (revision, name) = (&revision.name, &def.name);
            writeln!(code, "    Entry::of::<{path}>({revision:?}, {name:?}, {rebuild}),")?;
        }
    }
    code.push_str("];\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    std::fs::write(out.join("registry.rs"), code + &builders)?;
    Ok(())
}

/// A function that builds a value from a document's members, with `new`, the setters and `extra.insert` alone.
fn builder(protocol: &Protocol, name: &str, path: &str, body: &Struct) -> String {
    let is_argument = |member: &&Member| {
        member.required && matches!(member.content, Content::Value(_)) && !has_default(protocol, member)
    };
    let mut code = format!(
        "#[allow(unused_mut)]\nfn {name}(document: &Value) -> Result<Value, Error> {{\n    let mut known: Vec<&str> = Vec::new();\n"
    );
    let mut arguments = Vec::new();
    for member in body.members.iter().filter(is_argument) {
        let field = mcpgen::naming::escape(&member.rust);
        let star = if member.boxed { "*" } else { "" };
        arguments.push(format!("{star}argument(|it: &{path}| &it.{field}, document, {:?})?", member.wire));
    }
    code.push_str(&format!("    let mut built = <{path}>::new({});\n", arguments.join(", ")));
    for member in &body.members {
        code.push_str(&format!("    known.push({:?});\n", member.wire));
        let field = mcpgen::naming::escape(&member.rust);
        let setter = mcpgen::naming::setter_name(&member.rust);
        let (wire, star) = (&member.wire, if member.boxed { "*" } else { "" });
        match &member.content {
            Content::Constant(_) if member.required => {}
            Content::Constant(_) => {
                code.push_str(&format!("    built = built.{setter}(document.get({wire:?}).is_some());\n"));
            }
            Content::Value(_) if is_argument(&member) => {}
            Content::Value(_) if member.required => code.push_str(&format!(
                "    built = built.{setter}({star}argument(|it: &{path}| &it.{field}, document, {wire:?})?);\n"
            )),
            Content::Value(_) => code.push_str(&format!(
                "    if let Some(value) = optional(|it: &{path}| &it.{field}, document, {wire:?})? {{ built = built.{setter}({star}value); }}\n"
            )),
        }
    }
    if body.rest != Rest::Closed {
        code.push_str("    insert_extra(&mut built.extra, document, &known)?;\n");
    }
    code.push_str("    mcpgen_types::to_value(&built)\n}\n");
    code
}

/// Whether `new` knows the value itself: the one type of the official schemas of which it does.
fn has_default(protocol: &Protocol, member: &Member) -> bool {
    let Content::Value(content) = &member.content else { return false };
    member.default.is_some()
        && content.by_value().is_some_and(|id| matches!(protocol.types[id].shape, Shape::Core("ResultType")))
}
