//! Checks what the modules of our crates import: a layer may import only from lower layers, and there are no cycles.
//!
//! tests/LAYERS.md lists the layers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Item, UseTree, Visibility};

type ModulePath = Vec<String>;

/// The modules of a crate and what each of them imports.
#[derive(Default)]
struct Modules {
    /// The names that a module re-exports, with the paths that they refer to.
    exports: BTreeMap<ModulePath, BTreeMap<String, ModulePath>>,
    paths: BTreeMap<ModulePath, BTreeSet<ModulePath>>,
}

impl Modules {
    fn read(src: &Path) -> Self {
        let mut modules = Self::default();
        for file in files(src).into_iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs")) {
            let path = file.strip_prefix(src).expect("it is below the folder").with_extension("");
            let mut module: ModulePath = path.iter().map(|name| name.to_str().expect("UTF-8").to_owned()).collect();
            module.pop_if(|last| matches!(last.as_str(), "mod" | "lib"));
            modules.add(module, &fs::read_to_string(&file).expect("a readable file"));
        }
        modules
    }

    fn add(&mut self, module: ModulePath, source: &str) {
        let file = syn::parse_file(source).unwrap_or_else(|error| panic!("{}: {error}", module.join("::")));
        let mut exports = BTreeMap::new();
        let mut paths = BTreeSet::new();
        for item in file.items.iter().filter(|item| !is_test(item)) {
            match item {
                Item::Use(item) if !matches!(item.vis, Visibility::Inherited) => {
                    leaves(&item.tree, &mut Vec::new(), &mut |name, path| {
                        exports.insert(name, absolute(&module, path).unwrap_or_default());
                    });
                }
                item => collect(quote::ToTokens::to_token_stream(item), &module, &mut paths),
            }
        }
        self.exports.insert(module.clone(), exports);
        self.paths.insert(module, paths);
    }

    fn defined_in(&self, path: &[String]) -> Option<ModulePath> {
        let mut module = ModulePath::new();
        for (index, name) in path.iter().enumerate() {
            let child = [module.as_slice(), std::slice::from_ref(name)].concat();
            if self.paths.contains_key(&child) {
                module = child;
                continue;
            }
            return match self.exports.get(&module)?.get(name) {
                Some(target) if !target.is_empty() && target[..] != path[..=index] => {
                    self.defined_in(&[target, &path[index + 1..]].concat())
                }
                _ => Some(module),
            };
        }
        Some(module)
    }

    fn imports(&self) -> BTreeMap<&ModulePath, BTreeSet<ModulePath>> {
        let imports = self.paths.iter().map(|(module, paths)| {
            let targets = paths.iter().filter_map(|path| self.defined_in(path));
            (module, targets.filter(|target| target != module).collect())
        });
        imports.collect()
    }

    /// Returns the imports from higher layers and the modules that are in no layer.
    fn upward_imports(&self, layers: &[&str]) -> Vec<String> {
        let height = |module: &ModulePath| layers.iter().position(|layer| module.first().is_some_and(|it| it == layer));
        let mut upward = Vec::new();
        for (module, targets) in self.imports() {
            let own = height(module);
            if own.is_none() && !module.is_empty() {
                upward.push(format!("{} is in no layer", module.join("::")));
            }
            let is_upward =
                |target: &&ModulePath| own.is_some() && height(target).is_none_or(|layer| Some(layer) > own);
            for target in targets.iter().filter(is_upward) {
                upward.push(format!("{} imports from crate::{}", module.join("::"), target.join("::")));
            }
        }
        upward
    }

    fn circles(&self) -> Vec<String> {
        let imports = self.imports();
        let reached: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
            imports.keys().map(|module| (*module, reachable(module, &imports))).collect();
        let mut circles = BTreeSet::new();
        for (module, others) in &reached {
            let circle: Vec<String> = others
                .iter()
                .filter(|other| reached.get(**other).is_some_and(|back| back.contains(*module)))
                .map(|module| module.join("::"))
                .collect();
            if !circle.is_empty() {
                circles.insert(circle.join(", "));
            }
        }
        circles.into_iter().collect()
    }
}

fn reachable<'m>(
    module: &ModulePath,
    imports: &'m BTreeMap<&ModulePath, BTreeSet<ModulePath>>,
) -> BTreeSet<&'m ModulePath> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&ModulePath> = imports[module].iter().collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(imports.get(module).into_iter().flatten());
        }
    }
    found
}

fn is_test(item: &Item) -> bool {
    matches!(item, Item::Mod(module) if module.content.is_some() && module.ident == "tests")
}

/// Calls `leaf` with each name that a `use` introduces and with its path.
fn leaves(tree: &UseTree, path: &mut ModulePath, leaf: &mut impl FnMut(String, ModulePath)) {
    match tree {
        UseTree::Path(tree) => {
            path.push(tree.ident.to_string());
            leaves(&tree.tree, path, leaf);
            path.pop();
        }
        UseTree::Name(name) => leaf(name.ident.to_string(), [&path[..], &[name.ident.to_string()]].concat()),
        UseTree::Rename(name) => leaf(name.rename.to_string(), [&path[..], &[name.ident.to_string()]].concat()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, path, leaf)),
        UseTree::Glob(_) => leaf("*".to_owned(), path.clone()),
    }
}

/// Returns the path from the root of the crate. A path that begins with `crate`, `self` or `super` may lead to any
/// module of the crate. Any other path is relative to the module, unless it leads to another crate.
fn absolute(module: &ModulePath, mut path: ModulePath) -> Option<ModulePath> {
    let mut from = module.clone();
    match path.first()?.as_str() {
        "crate" => from.clear(),
        "super" => drop(from.pop()),
        "self" => {}
        _ => return Some([from, path].concat()),
    }
    path.remove(0);
    if path.first().is_some_and(|first| first == "super") { absolute(&from, path) } else { Some([from, path].concat()) }
}

/// Adds all paths of more than one segment in the tokens. Code in `quote!` belongs to another crate.
fn collect(tokens: TokenStream, module: &ModulePath, paths: &mut BTreeSet<ModulePath>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    let mut path = ModulePath::new();
    for (index, token) in tokens.iter().enumerate() {
        let continues = is_colon(index + 1) && is_colon(index + 2);
        match token {
            TokenTree::Ident(ident) if continues || !path.is_empty() => {
                path.push(ident.to_string());
                if !continues {
                    paths.extend(absolute(module, std::mem::take(&mut path)));
                }
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !path.is_empty() => {
                for tree in branches(group.stream()) {
                    paths.extend(absolute(module, [path.clone(), tree].concat()));
                }
                path.clear();
            }
            TokenTree::Group(_) if is_quoted(&tokens[..index]) => {}
            TokenTree::Group(group) => collect(group.stream(), module, paths),
            TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {}
            _ => path.clear(),
        }
    }
}

/// Returns whether the tokens end in the name of a macro that quotes what follows.
fn is_quoted(before: &[TokenTree]) -> bool {
    matches!(before, [.., TokenTree::Ident(name), TokenTree::Punct(bang)]
        if bang.as_char() == '!' && (name == "quote" || name == "parse_quote"))
}

fn branches(group: TokenStream) -> Vec<ModulePath> {
    let tree: syn::ItemUse = syn::parse2(quote::quote!(use {#group};)).expect("the rest of a `use`");
    let mut paths = Vec::new();
    leaves(&tree.tree, &mut Vec::new(), &mut |_, path| paths.push(path));
    paths
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// Checks the modules of a crate, whose sources are in the folder `src` of the repository. Requires more than `minimum`
/// modules, so that the test fails if it finds none.
#[track_caller]
fn check_layers(src: &str, minimum: usize) {
    let layers = documented_layers(include_str!("../../../LAYERS.md"), src);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(src);
    let modules = Modules::read(&folder);
    assert!(modules.paths.len() > minimum, "{:?}", modules.paths.keys());
    for layer in &layers {
        let is_in_layer = |module: &ModulePath| module.first().is_some_and(|name| name == layer);
        let has_modules = modules.paths.keys().any(is_in_layer);
        assert!(has_modules || folder.join(layer).is_dir(), "the layer {layer} of {src} does not exist");
    }
    let upward = modules.upward_imports(&layers);
    assert!(upward.is_empty(), "{}", upward.join("\n"));
    let circles = modules.circles();
    assert!(circles.is_empty(), "modules that import each other:\n{}", circles.join("\n"));
}

/// Returns the modules that a section of tests/LAYERS.md lists, lowest layer first. A line begins with one or more
/// files or folders, such as `error.rs, options.rs` or `http/client/`.
fn documented_layers<'t>(text: &'t str, section: &str) -> Vec<&'t str> {
    let section = text.split("\n## ").find(|text| text.lines().next() == Some(section)).expect("the section");
    let mut layers = Vec::new();
    // Every second part is in a code block.
    for line in section.split("```").skip(1).step_by(2).flat_map(str::lines) {
        let file = |word: &'t str| word.trim_end_matches(',').strip_suffix(".rs");
        let folder = |word: &'t str| word.split_once('/').map(|(folder, _)| folder);
        layers.extend(line.split(' ').map_while(|word| file(word).or(folder(word))));
    }
    layers.dedup();
    layers
}

#[test]
fn crates_are_layered_without_import_circles() {
    for (src, minimum) in [
        ("codegen/schema/src", 22),
        ("codegen/model/src", 30),
        ("codegen/diff/src", 30),
        ("codegen/site/src", 10),
        ("codegen/src", 40),
        ("runtime/src", 40),
        ("runtime/mcp/src", 50),
        ("runtime/http/src", 35),
        ("runtime/tasks/src", 12),
        ("runtime/skills/src", 12),
        ("runtime/validate/src", 5),
        ("runtime/cluster/src", 5),
        ("runtime/otel/src", 3),
        ("runtime/bridge/src", 4),
        ("runtime/auth/src", 30),
        ("runtime/redis/src", 15),
        ("runtime/gateway/src", 12),
    ] {
        check_layers(src, minimum);
    }
}

/// The published crates: the folder, the name, and our crates that it may depend on.
const CRATES: &[(&str, &str, &[&str])] = &[
    ("codegen/pattern", "mcpgen-pattern", &[]),
    ("codegen/schema", "mcpgen-schema", &["mcpgen-pattern"]),
    ("codegen/model", "mcpgen-model", &["mcpgen-schema"]),
    ("codegen/diff", "mcpgen-diff", &["mcpgen-schema", "mcpgen-model"]),
    ("codegen/site", "mcpgen-site", &["mcpgen-schema", "mcpgen-model", "mcpgen-diff"]),
    ("codegen", "mcpgen", &["mcpgen-schema", "mcpgen-model", "mcpgen-diff", "mcpgen-site"]),
    ("generated", "mcpgen-types", &["mcpgen-pattern"]),
    ("runtime", "mcpgen-runtime", &["mcpgen-types"]),
    ("runtime/mcp", "mcpgen-mcp", &["mcpgen-types", "mcpgen-runtime"]),
    ("runtime/http", "mcpgen-http", &["mcpgen-types", "mcpgen-runtime", "mcpgen-mcp"]),
    ("runtime/tasks", "mcpgen-tasks", &["mcpgen-types", "mcpgen-runtime", "mcpgen-mcp"]),
    ("runtime/skills", "mcpgen-skills", &["mcpgen-types", "mcpgen-runtime", "mcpgen-mcp"]),
    ("runtime/validate", "mcpgen-validate", &["mcpgen-types", "mcpgen-runtime", "mcpgen-mcp"]),
    ("runtime/cluster", "mcpgen-cluster", &["mcpgen-types", "mcpgen-mcp", "mcpgen-tasks"]),
    ("runtime/otel", "mcpgen-otel", &["mcpgen-types", "mcpgen-runtime", "mcpgen-mcp"]),
    ("runtime/bridge", "mcpgen-bridge", &["mcpgen-types", "mcpgen-runtime", "mcpgen-mcp", "mcpgen-tasks"]),
    (
        "runtime/sdk",
        "mcpgen-sdk",
        &["mcpgen-types", "mcpgen-runtime", "mcpgen-mcp", "mcpgen-http", "mcpgen-skills", "mcpgen-tasks"],
    ),
    ("runtime/auth", "mcpgen-auth", &["mcpgen-types", "mcpgen-sdk"]),
    ("runtime/redis", "mcpgen-redis", &["mcpgen-types", "mcpgen-sdk"]),
    (
        "runtime/gateway",
        "mcpgen-gateway",
        &[
            "mcpgen-types",
            "mcpgen-sdk",
            "mcpgen-auth",
            "mcpgen-bridge",
            "mcpgen-cluster",
            "mcpgen-otel",
            "mcpgen-redis",
            "mcpgen-schema",
            "mcpgen-model",
            "mcpgen-diff",
        ],
    ),
    ("runtime/probe", "mcpgen-probe", &["mcpgen-types", "mcpgen-sdk", "mcpgen-auth"]),
];

#[test]
fn crates_depend_only_on_crates_below() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (folder, name, below) in CRATES {
        let manifest = fs::read_to_string(root.join(folder).join("Cargo.toml")).expect("a manifest");
        let manifest: toml::Table = manifest.parse().expect("a manifest");
        assert_eq!(manifest["package"]["name"].as_str(), Some(*name));
        let dependencies = manifest["dependencies"].as_table().expect("dependencies");
        let ours: BTreeSet<&str> =
            dependencies.keys().map(String::as_str).filter(|name| name.starts_with("mcpgen")).collect();
        assert!(ours.iter().all(|name| below.contains(name)), "{name} depends on {ours:?}");
    }
    let published = |folder: &PathBuf| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let manifest: toml::Table = manifest.parse().expect("a manifest");
        manifest["package"].get("publish").is_none_or(|publish| publish.as_bool() != Some(false))
    };
    let manifest: toml::Table =
        fs::read_to_string(root.join("Cargo.toml")).expect("a manifest").parse().expect("a manifest");
    let members = manifest["workspace"]["members"].as_array().expect("members");
    let members = members.iter().map(|member| root.join(member.as_str().expect("a path")));
    assert_eq!(members.filter(published).count(), CRATES.len(), "the table has every published crate");
}

type Sources<'s> = &'s [(&'s str, &'s str)];

fn modules(sources: Sources<'_>) -> Modules {
    let mut modules = Modules::default();
    for (module, source) in [("", "pub mod peer;")].iter().chain(sources) {
        modules.add(module.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect(), source);
    }
    modules
}

#[test]
fn finds_upward_imports() {
    let others = [
        ("protocol", "mod role; pub use role::Role;"),
        ("protocol::role", "pub struct Role;"),
        ("peer::outbox", ""),
        ("connection", ""),
        ("connection::run", ""),
        ("server", ""),
        ("client", ""),
    ];
    let table: &[(&str, &[&str])] = &[
        ("use crate::protocol::Role;", &[]),
        ("use crate::peer::outbox::Outbox;", &[]),
        ("use crate::connection::run::Connection;", &["connection::run"]),
        ("use crate::{protocol, connection};", &["connection"]),
        ("use crate::{protocol::{Role, client}, server::{Server}};", &["server"]),
        ("fn run() { loop { crate::client::connect() } }", &["client"]),
        ("fn run() { super::client::connect() }", &["client"]),
        ("impl crate::server::Handler for Peer {}", &["server"]),
        ("/// See [`crate::Server`].\nstruct Peer; // crate::server", &[]),
        ("use crate::Server;", &[""]),
        ("pub(crate) use outbox::Outbox;", &[]),
        ("mod tests { use crate::server::Server; }", &[]),
        ("fn code() { quote!(crate::server::Server {}) }", &[]),
    ];
    for (source, expected) in table {
        let found = modules(&[&others[..], &[("peer", *source)]].concat()).upward_imports(&[
            "protocol",
            "peer",
            "connection",
            "server",
            "client",
        ]);
        let expected: Vec<_> = expected.iter().map(|target| format!("peer imports from crate::{target}")).collect();
        assert_eq!(found, expected, "{source}");
    }
    assert_eq!(
        modules(&[("elsewhere", "")]).upward_imports(&["protocol", "peer", "connection", "server", "client"]),
        ["elsewhere is in no layer"]
    );
}

#[test]
fn finds_circles() {
    let table: &[(Sources<'_>, &[&str])] = &[
        (&[("a", "use crate::b::B;"), ("b", "use crate::c::C;"), ("c", "")], &[]),
        (&[("a", "use crate::b::B;"), ("b", "use crate::c::C;"), ("c", "fn c() { crate::a::a() }")], &["a, b, c"]),
        // A re-export is not an import of the module that contains it.
        (&[("a", "mod x; mod y; pub use x::X;"), ("a::x", "use super::y::Y;"), ("a::y", "")], &[]),
        (
            &[("a", "mod x; mod y; pub use x::X;"), ("a::x", "use super::y::Y;"), ("a::y", "use super::X;")],
            &["a::x, a::y"],
        ),
        (&[("a", "mod x; use x::X; struct A;"), ("a::x", "use super::A;")], &["a, a::x"]),
        (&[("a", "mod x; fn a() { x::x() }"), ("a::x", "use super::A;")], &["a, a::x"]),
        (&[("a", "mod x; pub struct A;"), ("a::x", "use super::A;")], &[]),
    ];
    for (sources, expected) in table {
        assert_eq!(modules(sources).circles(), *expected, "{sources:?}");
    }
}
