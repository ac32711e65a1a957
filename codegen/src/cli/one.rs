//! `mcpgen inspect REV TYPE..`: one type after the other.

use std::fmt::Write;

use mcpgen::Error;
use mcpgen::prose::Place;
use mcpgen::protocol::{Content, Protocol, Shape, TypeDef};

/// What is known of these types.
pub(super) fn texts(protocol: &Protocol, names: &[String]) -> Result<String, Error> {
    let mut text = String::new();
    for name in names {
        let def = protocol.types.iter().find(|def| def.name == *name || def.rust == *name).ok_or_else(|| {
            let known = protocol.types.iter().flat_map(|def| [def.name.as_str(), def.rust.as_str()]);
            let hint = meant(name, known).unwrap_or_default();
            Error::Usage(format!("there is no type `{name}` in {}{hint}", protocol.revision))
        })?;
        if !text.is_empty() {
            text.push('\n');
        }
        show(&mut text, protocol, def);
    }
    Ok(text)
}

/// The words "did you mean", if something of a similar name is known.
pub(super) fn meant<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<String> {
    let similar = known.map(|known| (strsim::jaro_winkler(&known.to_lowercase(), &word.to_lowercase()), known));
    let (likeness, best) = similar.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (likeness > 0.8).then(|| format!("; did you mean `{best}`?"))
}

fn show(text: &mut String, protocol: &Protocol, def: &TypeDef) {
    let said = |place: Place| protocol.words.of(&place).map(|entry| entry.doc.split("\n\n").next().unwrap_or_default());
    let mut line = |depth: usize, line: String| {
        writeln!(text, "{}{}", "  ".repeat(depth), line.replace('\n', " ")).expect("text takes text");
    };
    let rust = if def.rust == def.name { String::new() } else { format!(" ({} in Rust)", def.rust) };
    line(0, format!("{}{rust}, area {}, {}", def.name, def.area, def.pointer));
    said(Place::Type(def.name.clone())).into_iter().for_each(|doc| line(1, doc.to_owned()));
    match &def.shape {
        Shape::Struct(body) => {
            for member in &body.members {
                let presence = if member.required { "required" } else { "optional" };
                match &member.content {
                    Content::Constant(value) => line(1, format!("{}: always {value}", member.wire)),
                    Content::Value(content) => {
                        line(1, format!("{}: {}, {presence}", member.wire, protocol.describe(content)));
                        let place = Place::Member(def.name.clone(), member.wire.clone());
                        said(place).into_iter().for_each(|doc| line(2, doc.to_owned()));
                    }
                }
            }
        }
        Shape::Union(union) => {
            for variant in &union.variants {
                line(1, format!("{}: {}", variant.rust, protocol.describe(&variant.content)));
            }
        }
        Shape::Enum(values) => {
            for value in values {
                line(1, value.json.to_string());
                let key = value.json.as_str().map_or_else(|| value.json.to_string(), str::to_owned);
                said(Place::Value(def.name.clone(), key)).into_iter().for_each(|doc| line(2, doc.to_owned()));
            }
        }
        Shape::Bounded(bounded) => line(1, format!("a limited {}", protocol.describe(&bounded.inner))),
        Shape::Alias(content, _) | Shape::Newtype(content) => line(1, format!("= {}", protocol.describe(content))),
        Shape::Core(core) => line(1, format!("= mcpgen_types::{core}")),
        Shape::Never => line(1, "nothing is one".to_owned()),
    }
}
