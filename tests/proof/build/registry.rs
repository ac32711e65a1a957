//! Writes registries: the definitions of a schema, with functions that decode, encode and build their values. The build
//! scripts of `mcpgen-proof` and `mcpgen-own-schemas` share this file.
//!
//! The generator's model provides only the names and the kinds of members. The judge alone decides which documents are
//! valid.

use mcpgen_model::{Content, CoreType, Json, Member, Origin, Protocol, Rest, Shape, Struct, Type, TypeId};

/// Returns the entries of one schema, whose types are in the Rust module `path`, and the functions that the entries
/// call.
pub(crate) fn entries(protocol: &Protocol, origin: &str, path: &str) -> (String, String) {
    let (mut entries, mut builders) = (String::new(), String::new());
    let module = path.rsplit("::").next().unwrap_or(path);
    for (index, def) in protocol.types.iter().enumerate().filter(|(_, def)| def.origin == Origin::Definition) {
        let path = format!("{path}::{}", def.rust);
        let rebuild = match &def.shape {
            // A schema that is kept as JSON text has no fields.
            Shape::Struct(body) if !body.is_json_schema() => {
                let name = format!("rebuild_{module}_{index}");
                builders.push_str(&builder(protocol, index, &name, &path, body));
                format!("Some({name})")
            }
            _ => "None".to_owned(),
        };
        let foreign = match &def.shape {
            Shape::Alias(content, _) if !matches!(protocol.follow(content), Type::Named(_)) => ".foreign()",
            _ => "",
        };
        entries.push_str(&format!("    Entry::of::<{path}>({origin:?}, {:?}, {rebuild}){foreign},\n", def.name));
    }
    (entries, builders)
}

/// Returns the code of a function that builds a value from a document, with only `new`, the setters and `extra.insert`.
fn builder(protocol: &Protocol, id: TypeId, name: &str, path: &str, body: &Struct) -> String {
    let is_argument = |member: &Member| {
        member.required && matches!(member.content, Content::Value(_)) && !has_default(protocol, member)
    };
    let mut code = format!(
        "#[allow(unused_mut, unused_variables, unreachable_code)]\nfn {name}(document: &Value) -> Result<Value, Error> {{\n    let mut known: Vec<&str> = Vec::new();\n"
    );
    let (mut arguments, mut steps, named) = (Vec::new(), String::new(), mcpgen_model::named_members(protocol, id));
    for (index, member) in body.members.iter().enumerate().filter(|(_, member)| is_argument(member)) {
        let field = mcpgen_model::text::names::escape(&member.rust);
        let star = if member.boxed { "*" } else { "" };
        let value = format!("{star}argument(|it: &{path}| &it.{field}, document, {:?})?", member.wire);
        match named.contains(&index) {
            true => steps.push_str(&format!(".{field}({value})")),
            false => arguments.push(value),
        }
    }
    code.push_str(&format!("    let mut built = <{path}>::new({}){steps};\n", arguments.join(", ")));
    for member in &body.members {
        code.push_str(&format!("    known.push({:?});\n", member.wire));
        let field = mcpgen_model::text::names::escape(&member.rust);
        let setter = mcpgen_model::text::names::setter_name(&member.rust);
        let (wire, star) = (&member.wire, if member.boxed { "*" } else { "" });
        match &member.content {
            Content::Constant(_) if member.required => {}
            Content::Constant(_) => {
                code.push_str(&format!("    built = built.{setter}(document.get({wire:?}).is_some());\n"));
            }
            Content::Value(_) if is_argument(member) => {}
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

/// Returns whether `new` sets the member to its default, and so does not take it as an argument.
fn has_default(protocol: &Protocol, member: &Member) -> bool {
    let (Content::Value(content), Some(default)) = (&member.content, &member.default) else { return false };
    match (protocol.follow(content), default) {
        (Type::String, Json::String(_)) | (Type::Boolean, Json::Bool(_)) => true,
        (Type::Named(id), Json::String(text)) => match &protocol.types[*id].shape {
            Shape::Core(CoreType::ResultType) => true,
            Shape::Enum(values) => values.iter().any(|value| value.json.as_str() == Some(text)),
            _ => false,
        },
        _ => false,
    }
}
