//! Writes programs that use the types of a revision: a server with a handler for each request that needs a capability,
//! and a client that calls each of them. Everything comes from the model, so that a new revision gets its own programs.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use mcpgen_model::method_facts::{MethodFacts, method_facts};
use mcpgen_model::text::names::{escape, setter_name};
use mcpgen_model::{Content, DocTarget, Json, Message, Protocol, Revision, Shape, Side, Type, named_members};

/// A program that uses the types of a revision.
#[derive(Clone, Debug)]
pub struct Quickstart {
    /// `server` or `client`.
    pub side: &'static str,
    /// The name of the revision.
    pub revision: String,
    /// The text of its `main.rs`. It needs the crates in [`DEPENDENCIES`].
    pub program: String,
}

/// The commands that add the dependencies of the programs.
pub const DEPENDENCIES: &str = "\
cargo add mcpgen-sdk
cargo add mcpgen-types --features all-revisions
cargo add serde_json
cargo add tokio --features macros,process,rt
";

/// Writes the quickstarts of a revision.
pub fn quickstarts(protocol: &Protocol) -> [Quickstart; 2] {
    let revision = || protocol.revision.clone();
    [
        Quickstart { side: "server", revision: revision(), program: server(protocol) },
        Quickstart { side: "client", revision: revision(), program: client(protocol) },
    ]
}

/// A request that needs a capability of its receiver. The runtime leaves such requests to the program.
struct Handled<'p> {
    message: Message<'p>,
    facts: MethodFacts,
}

fn handled(protocol: &Protocol, sender: Side) -> Vec<Handled<'_>> {
    let facts = method_facts(protocol);
    let requests = protocol.messages().filter(|it| it.request.is_some() && it.senders.contains(&sender));
    let of = |message: Message<'_>| facts.iter().find(|facts| facts.method == message.method).cloned();
    let handled = requests.filter_map(|message| Some(Handled { message, facts: of(message)? }));
    handled.filter(|it| !it.facts.capability.is_empty()).collect()
}

fn server(protocol: &Protocol) -> String {
    let requests = handled(protocol, Side::Client);
    let mut writer = Writer::new(protocol);
    let mut handlers = String::new();
    for Handled { message, .. } in &requests {
        writer.handler(&mut handlers, *message);
    }
    let capabilities = capabilities(protocol, Side::Server, &requests);
    let constant = Revision::module_of(&protocol.revision).to_uppercase();
    let about = format!(
        "A server of MCP {}. It responds to each request that needs a capability, with the example of our documentation.",
        protocol.revision
    );
    let body = format!(
        "#[tokio::main(flavor = \"current_thread\")]\n\
         async fn main() -> Result<(), Box<dyn std::error::Error>> {{\n    \
             let server = LocalInfo::new(\"quickstart-server\", \"1.0.0\")\n        \
                 .with_revisions(vec![Revision::{constant}]){capabilities};\n    \
             let router = Router::new(){handlers};\n    \
             serve((server, router), stdio::stdio(lines::DEFAULT_LINE_LIMIT)?).await?;\n    \
             Ok(())\n}}\n"
    );
    let imports = "use mcpgen_sdk::transport::{lines, stdio};\nuse mcpgen_sdk::{LocalInfo, Router, serve};\n";
    writer.program(&about, imports, &["Revision"], &body)
}

fn client(protocol: &Protocol) -> String {
    let mut writer = Writer::new(protocol);
    let mut handlers = String::new();
    let embedded = handled(protocol, Side::Server);
    for Handled { message, .. } in &embedded {
        writer.handler(&mut handlers, *message);
    }
    let capabilities = capabilities(protocol, Side::Client, &embedded);
    let mut calls = String::new();
    for request in handled(protocol, Side::Client) {
        writer.call(&mut calls, &request);
    }
    let constant = Revision::module_of(&protocol.revision).to_uppercase();
    let about = format!(
        "A client of MCP {}. It starts a server, and sends each request that needs a capability.",
        protocol.revision
    );
    let body = format!(
        "#[tokio::main(flavor = \"current_thread\")]\n\
         async fn main() -> Result<(), Box<dyn std::error::Error>> {{\n    \
             let mut arguments = std::env::args().skip(1);\n    \
             let mut command = Command::new(arguments.next().ok_or(\"usage: client COMMAND [ARGUMENT..]\")?);\n    \
             command.args(arguments);\n    \
             let client = LocalInfo::new(\"quickstart-client\", \"1.0.0\")\n        \
                 .with_revisions(vec![Revision::{constant}]){capabilities};\n    \
             let router = Router::new(){handlers};\n    \
             let (server, incoming, outgoing) = ChildProcess::start(command, lines::DEFAULT_LINE_LIMIT)?;\n    \
             let client = connect(client, router.clone(), router, incoming, outgoing, Limits::default()).await?;\n\n\
             {calls}\n    \
             client.close().await?;\n    \
             server.close().await?;\n    \
             Ok(())\n}}\n"
    );
    let imports = "use mcpgen_sdk::client::ChildProcess;\nuse mcpgen_sdk::transport::lines;\n\
                   use mcpgen_sdk::{Limits, LocalInfo, Router, connect};\n";
    let program = writer.program(&about, imports, &["Revision"], &body);
    // This import comes last alphabetically.
    program.replacen("\n\n#[tokio", "\nuse tokio::process::Command;\n\n#[tokio", 1)
}

/// Writes the capabilities that a side declares.
fn capabilities(protocol: &Protocol, side: Side, requests: &[Handled<'_>]) -> String {
    let definition = match side {
        Side::Client => "ClientCapabilities",
        Side::Server => "ServerCapabilities",
    };
    let all = protocol.types.named(definition).and_then(|id| protocol.as_struct(&Type::Named(id)));
    let paths: BTreeSet<&[String]> = requests.iter().map(|it| it.facts.capability.as_slice()).collect();
    let names: BTreeSet<&String> = paths.iter().filter_map(|path| path.first()).collect();
    let mut text = String::new();
    for name in names {
        let body = all.and_then(|all| protocol.as_struct(all.member(name)?.value()?));
        let parts = paths.iter().filter(|path| path[0] == *name).filter_map(|path| path.get(1));
        let parts = parts.map(|part| {
            let is_flag = body.is_some_and(|body| body.member(part).and_then(|it| it.value()) == Some(&Type::Boolean));
            format!("{part:?}: {}", if is_flag { "true" } else { "{}" })
        });
        let parts: Vec<String> = parts.collect();
        let value = if parts.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", parts.join(", ")) };
        let _ = write!(text, "\n        .capability({name:?}, json!({value}))");
    }
    text
}

/// Names that the programs use for something else.
const TAKEN: [&str; 9] = ["Result", "Ok", "None", "Box", "Command", "LocalInfo", "Router", "Limits", "ErrorObject"];

struct Writer<'p> {
    protocol: &'p Protocol,
    /// The revision's types that the program uses.
    types: BTreeSet<String>,
    needs_example: bool,
    needs_error: bool,
}

impl<'p> Writer<'p> {
    fn new(protocol: &'p Protocol) -> Self {
        Writer { protocol, types: BTreeSet::new(), needs_example: false, needs_error: false }
    }

    /// Adds a handler that returns the documented example of the result.
    fn handler(&mut self, text: &mut String, message: Message<'p>) {
        let Some(request) = message.request else { return };
        let rust = self.name(message);
        let result = self.example(&request.result, &[], 12);
        self.needs_error = true;
        let _ = write!(
            text,
            "\n        {}\n        .request::<{rust}>(|_context, _params| async {{\n            \
             Ok::<_, ErrorObject>({result})\n        }})",
            self.comment(message)
        );
    }

    /// Adds a call with the documented example of the params.
    fn call(&mut self, text: &mut String, Handled { message, facts }: &Handled<'p>) {
        let message = *message;
        let rust = self.name(message);
        // Free-form JSON, such as the arguments of a tool, shows what the method is for.
        let shown: Vec<&str> =
            facts.free_form_params.iter().filter_map(|path| path.first()).map(String::as_str).collect();
        let params = match message.params {
            Some(params) if params.required => self.example(&params.content, &shown, 4),
            _ => "None".to_owned(),
        };
        let method = message.method;
        let _ = write!(
            text,
            "\n    {}\n    let params = {params};\n    \
             let result = client.peer().call::<{rust}>(params).await?;\n    \
             println!(\"{method}: {{}}\", mcpgen_types::to_string(&result));\n",
            self.comment(message)
        );
    }

    fn name(&mut self, message: Message<'p>) -> String {
        let rust = self.protocol.types[message.type_id].rust.clone();
        self.types.insert(rust.clone());
        rust
    }

    /// Returns the first sentence about a method.
    fn comment(&self, message: Message<'p>) -> String {
        let about = self.protocol.docs.of(&DocTarget::Method(message.method.to_owned()));
        let type_name = self.protocol.types[message.type_id].name.clone();
        let about = about.or_else(|| self.protocol.docs.of(&DocTarget::Type(type_name)));
        let paragraph = about.map_or(message.method, |entry| entry.doc.split("\n\n").next().unwrap_or_default());
        let sentence = paragraph.replace('\n', " ").replace(['[', ']'], "");
        let sentence = sentence.split(". ").next().unwrap_or_default().trim_end_matches('.');
        format!("// `{}`: {sentence}.", message.method)
    }

    /// Writes an example of a type: by its constructor, or else as JSON. It has only those optional members that are in
    /// `shown`.
    fn example(&mut self, content: &Type, shown: &[&str], indent: usize) -> String {
        let mut json = self.json(self.complete(content));
        if let (Some(body), Json::Object(members)) = (self.protocol.as_struct(self.complete(content)), &mut json) {
            let is_shown = |name: &str| shown.contains(&name) || body.member(name).is_none_or(|member| member.required);
            members.retain(|name, _| is_shown(name));
        }
        let mut types = self.types.clone();
        if let Some(expression) = self.expression(content, &json, &mut types) {
            self.types = types;
            return expression;
        }
        self.needs_example = true;
        let (line, margin) = (json.to_string(), " ".repeat(indent));
        let text = match line.len() + indent > 92 {
            false => line,
            true => json.to_pretty().replace('\n', &format!("\n{margin}")),
        };
        let hashes = if text.contains("\"#") { "##" } else { "#" };
        format!("example(r{hashes}\"{text}\"{hashes})")
    }

    /// For a union of results, returns the variant that completes the request. Returns other types as they are.
    fn complete<'t>(&'t self, content: &'t Type) -> &'t Type {
        let asks = |content: &Type| {
            self.protocol.as_struct(content).is_some_and(|body| body.member("inputRequests").is_some())
        };
        match self.protocol.follow(content) {
            Type::Named(id) => match &self.protocol.types[*id].shape {
                Shape::Union(union) => {
                    let complete = union.variants.iter().find(|variant| !asks(&variant.content));
                    complete.map_or(content, |variant| self.protocol.follow(&variant.content))
                }
                _ => self.protocol.follow(content),
            },
            other => other,
        }
    }

    /// Returns the JSON example in our documentation, or else an empty object.
    fn json(&self, content: &Type) -> Json {
        let example = match content {
            Type::Named(id) => self.protocol.docs.json(&self.protocol.types[*id].name),
            _ => None,
        };
        example.and_then(|text| Json::parse(text).ok()).unwrap_or_else(|| Json::Object(Default::default()))
    }

    /// Writes JSON as an expression that fits where a constructor takes a value of this type. Returns `None` if that
    /// needs more than constructors, setters, and plain values.
    fn expression(&self, content: &Type, json: &Json, types: &mut BTreeSet<String>) -> Option<String> {
        match (self.protocol.follow(content), json) {
            (Type::String, Json::String(text)) => Some(format!("{text:?}")),
            (Type::Boolean, Json::Bool(value)) => Some(value.to_string()),
            (Type::Signed | Type::Unsigned, Json::Number(number)) => Some(number.to_string()),
            (Type::Named(id), json) => {
                let def = &self.protocol.types[*id];
                match (&def.shape, json) {
                    (Shape::Enum(values), json) => {
                        let value = values.iter().find(|value| value.json == *json)?;
                        types.insert(def.rust.clone());
                        Some(format!("{}::{}", def.rust, escape(&value.rust)))
                    }
                    (Shape::Struct(body), Json::Object(members)) => {
                        if TAKEN.contains(&def.rust.as_str())
                            || body.is_json_schema()
                            || !named_members(self.protocol, *id).is_empty()
                        {
                            return None;
                        }
                        let (mut arguments, mut setters) = (Vec::new(), String::new());
                        for member in &body.members {
                            let value = members.get(&member.wire);
                            match (&member.content, value) {
                                (Content::Constant(_), _) if member.required => {}
                                (Content::Constant(_), None) => {}
                                (Content::Constant(_), Some(_)) => return None,
                                (Content::Value(content), Some(value)) => {
                                    let value = self.expression(content, value, types)?;
                                    if member.required && member.default.is_none() {
                                        arguments.push(value);
                                    } else if !member.required {
                                        let _ = write!(setters, ".{}({value})", setter_name(&member.rust));
                                    }
                                }
                                (Content::Value(_), None) if member.required && member.default.is_none() => {
                                    return None;
                                }
                                (Content::Value(_), None) => {}
                            }
                        }
                        if members.keys().any(|name| body.member(name).is_none()) {
                            return None;
                        }
                        types.insert(def.rust.clone());
                        Some(format!("{}::new({}){setters}", def.rust, arguments.join(", ")))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn program(&self, about: &str, imports: &str, core: &[&str], body: &str) -> String {
        let module = Revision::module_of(&self.protocol.revision);
        let types: Vec<&str> = self.types.iter().map(String::as_str).collect();
        let mut core: Vec<&str> = core.to_vec();
        core.extend(self.needs_error.then_some("ErrorObject"));
        core.sort_unstable();
        let core = match core.as_slice() {
            [one] => format!("use mcpgen_types::{one};"),
            all => format!("use mcpgen_types::{{{}}};", all.join(", ")),
        };
        let decode = if self.needs_example { "use mcpgen_types::codec::Decode;\n" } else { "" };
        let json = if body.contains("json!(") { "use serde_json::json;\n" } else { "" };
        let example = match self.needs_example {
            true => {
                "\n/// Decodes an example of our documentation, which is valid.\n\
                 fn example<T: Decode>(json: &str) -> T {\n    \
                 mcpgen_types::from_str(json).expect(\"a valid example\")\n}\n"
            }
            false => "",
        };
        format!(
            "//! {about}\n\n{imports}{decode}use mcpgen_types::{module}::{{\n{}}};\n{core}\n{json}\n{body}{example}",
            wrapped(&types)
        )
    }
}

/// Writes names as a list wrapped into lines.
fn wrapped(names: &[&str]) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for name in names {
        if line.len() + name.len() > 94 {
            let _ = writeln!(lines, "    {}", line.trim_end());
            line.clear();
        }
        let _ = write!(line, "{name}, ");
    }
    let _ = writeln!(lines, "    {}", line.trim_end());
    lines
}
