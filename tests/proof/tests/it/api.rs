//! Lists the public API of the generated crate and of the runtime crates from their sources, and compares it with
//! snapshots, so that somebody reviews every change and describes it in the CHANGELOG.
//!
//! `MCPGEN_BLESS=1 cargo test -p mcpgen-proof api` rewrites the snapshots in `tests/proof/tests/it/api/`, but not the
//! digests in `SHA256SUMS` beside them. A test fails until you update the digests by hand, which reminds you to
//! describe the change first.

mod expand;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use expand::Macro;
use mcpgen::Workspace;
use mcpgen_model::Status;
use quote::ToTokens;
use regex::{Captures, Regex};
use sha2::{Digest, Sha256};
use syn::{Attribute, Fields, Ident, ImplItem, Item, Signature, TraitItem, Type, UseTree, Visibility};

type Names = Vec<String>;

const EXTENSIONS: &str = "ext";

#[derive(Default)]
struct Crate {
    modules: BTreeMap<Names, Module>,
    macros: BTreeMap<String, Macro>,
}

#[derive(Default)]
struct Module {
    items: Vec<Item>,
    public_children: BTreeSet<String>,
}

fn main_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn parse(path: &Path) -> syn::File {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Crate {
    /// Reads a crate that uses macros of other crates.
    fn read(src: &Path, macros: BTreeMap<String, Macro>) -> Crate {
        let mut found = Crate { macros, ..Crate::default() };
        let items = found.included(parse(&src.join("lib.rs")).items, src);
        // Reads all macros first, because other files may use them.
        found.module(Names::new(), items, src);
        let mut modules = std::mem::take(&mut found.modules);
        for module in modules.values_mut() {
            module.items = found.expanded(std::mem::take(&mut module.items));
        }
        found.modules = modules;
        found
    }

    fn included(&self, items: Vec<Item>, folder: &Path) -> Vec<Item> {
        let include = |item: Item| match &item {
            Item::Macro(call) if call.mac.path.is_ident("include") => {
                let file: syn::LitStr = call.mac.parse_body().unwrap_or_else(|error| panic!("include!: {error}"));
                parse(&folder.join(file.value())).items
            }
            _ => vec![item],
        };
        items.into_iter().flat_map(include).collect()
    }

    fn module(&mut self, path: Names, items: Vec<Item>, folder: &Path) {
        let mut module = Module::default();
        for item in items {
            match item {
                Item::Mod(child) if is_test(&child.attrs) => {}
                Item::Mod(child) => {
                    let name = child.ident.to_string();
                    let below = [path.clone(), vec![name.clone()]].concat();
                    if is_public(&child.vis) {
                        module.public_children.insert(name.clone());
                    }
                    match child.content {
                        Some((_, items)) => self.module(below, items, folder),
                        None => {
                            let (file, nested) = (folder.join(format!("{name}.rs")), folder.join(&name));
                            let file = if file.is_file() { file } else { nested.join("mod.rs") };
                            let items = self.included(parse(&file).items, &nested);
                            self.module(below, items, &nested);
                        }
                    }
                }
                Item::Macro(definition) if definition.mac.path.is_ident("macro_rules") => {
                    let name = definition.ident.as_ref().map(Ident::to_string).unwrap_or_default();
                    if let Some(rules) = Macro::new(definition.mac.tokens.clone()) {
                        self.macros.insert(name.trim_start_matches('_').to_owned(), rules);
                    }
                    module.items.push(Item::Macro(definition));
                }
                other => module.items.push(other),
            }
        }
        self.modules.insert(path, module);
    }

    fn expanded(&self, items: Vec<Item>) -> Vec<Item> {
        let expand = |item: Item| match &item {
            // These macros define no public items.
            Item::Macro(call) if ["thread_local", "task_local"].iter().any(|it| ends_with(&call.mac.path, it)) => {
                Vec::new()
            }
            Item::Macro(call) if call.ident.is_none() => {
                let name = call.mac.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
                let rules = self
                    .macros
                    .get(name.trim_start_matches('_'))
                    .unwrap_or_else(|| panic!("no macro `{name}` with one arm"));
                let code =
                    rules.expand(call.mac.tokens.clone()).unwrap_or_else(|| panic!("`{name}` does not match its arm"));
                let file: syn::File = syn::parse2(code).unwrap_or_else(|error| panic!("{name}!: {error}"));
                self.expanded(file.items)
            }
            _ => vec![item],
        };
        items.into_iter().flat_map(expand).collect()
    }

    /// Returns the public API of a module, sorted, with one item per line. `skip` selects public modules that are
    /// listed separately.
    fn api(&self, root: &[String], skip: &dyn Fn(&str) -> bool) -> String {
        let mut listing =
            Listing { all: self, lines: BTreeSet::new(), exported: BTreeMap::new(), implemented: BTreeMap::new() };
        listing.exports(root, "", skip, 0);
        let inside = self
            .modules
            .iter()
            .filter(|(path, _)| path.starts_with(root) && path.get(root.len()).is_none_or(|name| !skip(name)));
        for (_, module) in inside {
            module.items.iter().for_each(|item| listing.implementation(item));
        }
        for (path, traits) in std::mem::take(&mut listing.implemented) {
            let traits: Vec<String> = traits.into_iter().collect();
            listing.line(&[], format!("{path}: impl {}", traits.join(", ")));
        }
        listing.lines.iter().fold(String::new(), |text, line| text + line + "\n")
    }

    fn defines(&self, name: &str) -> bool {
        self.modules.values().flat_map(|module| &module.items).any(|item| {
            let ident = match item {
                Item::Struct(item) => &item.ident,
                Item::Enum(item) => &item.ident,
                Item::Type(item) => &item.ident,
                Item::Trait(item) => &item.ident,
                _ => return false,
            };
            ident == name
        })
    }
}

struct Listing<'a> {
    all: &'a Crate,
    lines: BTreeSet<String>,
    /// The paths that users write for exported types and traits, keyed by the identifier in each declaration.
    exported: BTreeMap<String, String>,
    /// The traits that each type implements without generics or attributes.
    implemented: BTreeMap<String, BTreeSet<String>>,
}

impl Listing<'_> {
    fn line(&mut self, attrs: &[Attribute], text: impl AsRef<str>) {
        self.lines.insert(format!("{}{}", text.as_ref(), marks(attrs)));
    }

    fn exports(&mut self, path: &[String], prefix: &str, skip: &dyn Fn(&str) -> bool, depth: u32) {
        assert!(depth < 16, "modules re-export each other in a cycle");
        let Some(module) = self.all.modules.get(path) else { return };
        for child in module.public_children.iter().filter(|child| !skip(child)) {
            self.line(&[], format!("{prefix}{child}: mod"));
            self.exports(&[path, std::slice::from_ref(child)].concat(), &format!("{prefix}{child}::"), skip, depth + 1);
        }
        for item in &module.items {
            match item {
                Item::Use(item) if is_public(&item.vis) => {
                    for (from, name) in uses(&item.tree) {
                        self.reexport(path, &from, &name, prefix, &item.attrs, depth);
                    }
                }
                item => self.item(item, prefix, None),
            }
        }
    }

    fn reexport(
        &mut self,
        here: &[String],
        from: &[String],
        name: &str,
        prefix: &str,
        attrs: &[Attribute],
        depth: u32,
    ) {
        let mut base: Names = here.to_vec();
        let mut rest = from;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "self" => {}
                "crate" => base.clear(),
                "super" => drop(base.pop()),
                _ => break,
            }
            rest = others;
        }
        let (target, modules) = rest.split_last().map_or(("", rest), |(last, modules)| (last.as_str(), modules));
        base.extend(modules.iter().cloned());
        // The types that an extension re-exports are in the listing of the revision.
        let is_shared = here.first().is_some_and(|first| first == EXTENSIONS) && base.first() != here.first();
        if is_shared {
            return self.line(attrs, format!("{prefix}{name}: use {}::{target}", base.join("::")));
        }
        let Some(module) = self.all.modules.get(&base).filter(|_| !modules.is_empty() || from.len() != rest.len())
        else {
            return self.line(attrs, format!("{prefix}{name}: use {}", from.join("::")));
        };
        if target == "*" {
            return self.exports(&base, prefix, &|_| false, depth + 1);
        }
        let found: Vec<&Item> =
            module.items.iter().filter(|item| ident(item).is_some_and(|ident| ident == target)).collect();
        if found.is_empty() {
            // The module itself re-exports the item, or the item is a macro.
            let again = module.items.iter().find_map(|item| match item {
                Item::Use(item) => uses(&item.tree)
                    .into_iter()
                    .find(|(_, exported)| exported == target)
                    .map(|(from, _)| (from, item.attrs.clone())),
                _ => None,
            });
            return match again.filter(|_| depth < 16) {
                Some((from, attrs)) => self.reexport(&base, &from, name, prefix, &attrs, depth + 1),
                None => self.line(attrs, format!("{prefix}{name}: use {}", from.join("::"))),
            };
        }
        found.into_iter().for_each(|item| self.item(item, prefix, Some(name)));
    }

    fn item(&mut self, item: &Item, prefix: &str, name: Option<&str>) {
        let own = ident(item).map(Ident::to_string).unwrap_or_default();
        let path = format!("{prefix}{}", name.unwrap_or(&own));
        match item {
            Item::Struct(item) if is_public(&item.vis) => {
                self.exported.insert(own, path.clone());
                let private = item.fields.iter().any(|field| !is_public(&field.vis));
                let kind = match (&item.fields, private) {
                    (Fields::Unit, _) => "struct, unit",
                    (_, true) => "struct, with private fields",
                    (Fields::Named(_), false) => "struct",
                    (Fields::Unnamed(_), false) => "struct, tuple",
                };
                self.line(&item.attrs, format!("{path}: {kind}{}", text(&item.generics)));
                for (index, field) in item.fields.iter().enumerate().filter(|(_, field)| is_public(&field.vis)) {
                    let name = field.ident.as_ref().map_or(index.to_string(), Ident::to_string);
                    self.line(&field.attrs, format!("{path}.{name}: {}", text(&field.ty)));
                }
                if self.derives(&item.attrs, &path) {
                    self.setters(item, &path);
                }
            }
            Item::Enum(item) if is_public(&item.vis) => {
                self.exported.insert(own, path.clone());
                let order: Vec<String> = item.variants.iter().map(|variant| variant.ident.to_string()).collect();
                self.line(&item.attrs, format!("{path}: enum{} of {}", text(&item.generics), order.join(", ")));
                for variant in &item.variants {
                    let mut fields = variant.fields.clone();
                    fields.iter_mut().for_each(|field| field.attrs.clear());
                    self.line(&variant.attrs, format!("{path}::{}: variant{}", variant.ident, text(&fields)));
                }
                self.derives(&item.attrs, &path);
            }
            Item::Type(item) if is_public(&item.vis) => {
                self.exported.insert(own, path.clone());
                self.line(&item.attrs, format!("{path}: type{} = {}", text(&item.generics), text(&item.ty)));
            }
            Item::Const(item) if is_public(&item.vis) => {
                self.line(&item.attrs, format!("{path}: const {} = {}", text(&item.ty), text(&item.expr)));
            }
            Item::Fn(item) if is_public(&item.vis) => {
                self.line(&item.attrs, format!("{path}: {}", signature(&item.sig)))
            }
            Item::Trait(item) if is_public(&item.vis) => {
                self.exported.insert(own, path.clone());
                let bounds =
                    if item.supertraits.is_empty() { String::new() } else { format!(": {}", text(&item.supertraits)) };
                self.line(&item.attrs, format!("{path}: trait{}{bounds}", text(&item.generics)));
                for member in &item.items {
                    match member {
                        TraitItem::Fn(member) => {
                            let provided = if member.default.is_some() { ", provided" } else { "" };
                            self.line(
                                &member.attrs,
                                format!("{path}::{}: {}{provided}", member.sig.ident, signature(&member.sig)),
                            );
                        }
                        TraitItem::Const(member) => {
                            self.line(&member.attrs, format!("{path}::{}: const {}", member.ident, text(&member.ty)));
                        }
                        TraitItem::Type(member) => {
                            self.line(
                                &member.attrs,
                                format!("{path}::{}: type: {}", member.ident, text(&member.bounds)),
                            );
                        }
                        _ => {}
                    }
                }
            }
            Item::Macro(item) if item.attrs.iter().any(|attr| attr.path().is_ident("macro_export")) => {
                self.line(&item.attrs, format!("{own}: macro at the root {}", text(&item.mac.tokens)));
            }
            Item::Static(item) if !is_public(&item.vis) => {}
            Item::Static(_) | Item::Union(_) | Item::ExternCrate(_) => {
                panic!("the listing does not support {}", text(item))
            }
            _ => {}
        }
    }

    fn implements(&mut self, path: &str, name: &str) {
        self.implemented.entry(path.to_owned()).or_default().insert(name.to_owned());
    }

    /// Lists the derived traits. Returns whether the type also derives setters.
    fn derives(&mut self, attrs: &[Attribute], path: &str) -> bool {
        let mut has_setters = false;
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("derive")) {
            let _ = attr.parse_nested_meta(|meta| {
                match ends_with(&meta.path, "Setters") {
                    true => has_setters = true,
                    false => self.implements(path, &text(&meta.path)),
                }
                Ok(())
            });
        }
        has_setters
    }

    /// Lists the methods that `derive_setters::Setters` adds, one per field.
    fn setters(&mut self, item: &syn::ItemStruct, path: &str) {
        let options = |attrs: &[Attribute]| {
            let setters = attrs.iter().filter(|attr| attr.path().is_ident("setters"));
            setters.map(|attr| text(&attr.meta)).collect::<String>()
        };
        assert_eq!(options(&item.attrs), r#"setters(prefix = "with_")"#, "{path}");
        for field in &item.fields {
            let (name, options, ty) = (text(&field.ident), options(&field.attrs), text(&field.ty));
            let inner = ty.strip_prefix("Option<").and_then(|ty| ty.strip_suffix('>'));
            let value = match (&*options, inner) {
                ("", _) => &ty,
                ("setters(strip_option)", Some(inner)) => inner,
                _ => panic!("the listing does not support {options} of {path}.{name}"),
            };
            let cfg: Vec<_> = field.attrs.iter().filter(|attr| attr.path().is_ident("cfg")).cloned().collect();
            self.line(&cfg, format!("{path}::with_{name}: fn(self, value: {value}) -> Self #[must_use]"));
        }
    }

    /// Lists an impl for a type that users can name, or for a type of another crate.
    fn implementation(&mut self, item: &Item) {
        let Item::Impl(item) = item else { return };
        if is_test(&item.attrs) {
            return;
        }
        let own = match &*item.self_ty {
            // This is not our `Map`.
            Type::Path(path) if path.path.segments.first().is_some_and(|first| first.ident == "serde_json") => {
                String::new()
            }
            Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default(),
            _ => String::new(),
        };
        let path = match self.exported.get(&own) {
            Some(path) => path.clone(),
            None if self.all.defines(&own) => return,
            None => format!("<{}>", text(&item.self_ty)),
        };
        let generics = if text(&item.generics) == "<'de>" { String::new() } else { text(&item.generics) };
        let arguments = text(&item.self_ty);
        let clause = item.generics.where_clause.as_ref().map(|clause| format!(" {}", text(clause))).unwrap_or_default();
        let of = if generics.is_empty() { String::new() } else { format!(" as impl{generics} {arguments}{clause}") };
        let Some((target, _)) = &item.trait_ else {
            for member in &item.items {
                match member {
                    ImplItem::Fn(member) if is_public(&member.vis) => {
                        self.line(
                            &member.attrs,
                            format!("{path}::{}: {}{of}", member.sig.ident, signature(&member.sig)),
                        );
                    }
                    ImplItem::Const(member) if is_public(&member.vis) => {
                        let (target, value) = (text(&member.ty), text(&member.expr));
                        self.line(&member.attrs, format!("{path}::{}: const {target} = {value}{of}", member.ident));
                    }
                    _ => {}
                }
            }
            return;
        };
        let trait_name = target.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let ours =
            self.all.defines(&trait_name) && !text(target).starts_with("::std") && !text(target).starts_with("fmt::");
        let public = self.exported.contains_key(&trait_name) || !item.items.is_empty() || !ours;
        if !public {
            return;
        }
        let written = text(target);
        let short = ["crate::__private::", "crate::", "::std::fmt::", "::std::str::", "::std::convert::", "fmt::"];
        let target =
            short.iter().fold(written.as_str(), |name, prefix| name.strip_prefix(prefix).unwrap_or(name)).to_owned();
        if of.is_empty() && marks(&item.attrs).is_empty() {
            self.implements(&path, &target);
        } else {
            self.line(&item.attrs, format!("{path}: impl {target}{of}"));
        }
        for member in &item.items {
            match member {
                ImplItem::Const(member) => {
                    let (mut kind, value) = (text(&member.ty), text(&member.expr));
                    if kind == "crate::Revision" && value.starts_with("Revision::") {
                        kind = "Revision".to_owned();
                    }
                    if value == format!("{own:?}") || value == format!("stringify!({own})") {
                        continue;
                    }
                    self.line(
                        &item.attrs,
                        format!("{path}: impl {target}: const {}: {kind} = {value}{of}", member.ident),
                    );
                }
                ImplItem::Type(member) => {
                    self.line(
                        &item.attrs,
                        format!("{path}: impl {target}: type {} = {}{of}", member.ident, text(&member.ty)),
                    );
                }
                _ => {}
            }
        }
    }
}

fn ends_with(path: &syn::Path, name: &str) -> bool {
    path.segments.last().is_some_and(|last| last.ident == name)
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_test(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| attr.path().is_ident("cfg") && text(&attr.meta) == "cfg(test)")
}

fn ident(item: &Item) -> Option<&Ident> {
    match item {
        Item::Struct(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::Const(item) => Some(&item.ident),
        Item::Fn(item) => Some(&item.sig.ident),
        Item::Macro(item) => item.ident.as_ref(),
        _ => None,
    }
}

/// Returns the paths that a `use` imports, each with the name it gets.
fn uses(tree: &UseTree) -> Vec<(Names, String)> {
    let below = |first: &Ident, tree: &UseTree| {
        let inner = uses(tree).into_iter();
        inner.map(|(path, name)| ([vec![first.to_string()], path].concat(), name)).collect()
    };
    match tree {
        UseTree::Path(path) => below(&path.ident, &path.tree),
        UseTree::Name(name) => vec![(vec![name.ident.to_string()], name.ident.to_string())],
        UseTree::Rename(rename) => vec![(vec![rename.ident.to_string()], rename.rename.to_string())],
        UseTree::Glob(_) => vec![(vec!["*".to_owned()], "*".to_owned())],
        UseTree::Group(group) => group.items.iter().flat_map(uses).collect(),
    }
}

/// Returns the attributes that matter to users.
fn marks(attrs: &[Attribute]) -> String {
    const MARKS: &[&str] = &["cfg", "non_exhaustive", "deprecated", "repr", "default", "must_use"];
    let hidden = |attr: &Attribute| attr.path().is_ident("doc") && text(&attr.meta) == "doc(hidden)";
    let kept = attrs.iter().filter(|attr| MARKS.iter().any(|mark| attr.path().is_ident(mark)) || hidden(attr));
    kept.fold(String::new(), |line, attr| format!("{line} #[{}]", text(&attr.meta)))
}

fn signature(signature: &Signature) -> String {
    let clause =
        signature.generics.where_clause.as_ref().map(|clause| format!(" {}", text(clause))).unwrap_or_default();
    let constness = if signature.constness.is_some() { "const " } else { "" };
    let asyncness = if signature.asyncness.is_some() { "async " } else { "" };
    let (generics, output) = (text(&signature.generics), text(&signature.output));
    let output = if output.is_empty() { output } else { format!(" {output}") };
    // Whether a parameter is `mut` is not part of the API.
    let inputs: Vec<String> = signature
        .inputs
        .iter()
        .map(|input| match input {
            syn::FnArg::Receiver(receiver) => text(receiver).trim_start_matches("mut ").to_owned(),
            syn::FnArg::Typed(typed) => match &*typed.pat {
                syn::Pat::Ident(name) => format!("{}: {}", name.ident, text(&typed.ty)),
                _ => text(&typed.ty),
            },
        })
        .collect();
    // Macros write paths of std in full.
    let inputs = inputs.join(", ").replace("impl::std::convert::Into<", "impl Into<");
    format!("{constness}{asyncness}fn{generics}({inputs}){output}{clause}")
}

fn text(tokens: &impl ToTokens) -> String {
    let spaced = tokens.to_token_stream().to_string();
    let mut text = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    for (wide, tight) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" ::", "::"),
        ("< ", "<"),
        (" <", "<"),
        (" >", ">"),
        ("& '", "&'"),
        ("& ", "&"),
        (" ,", ","),
        ("( ", "("),
        (" )", ")"),
        (" (", "("),
        ("[ ", "["),
        (" ]", "]"),
        (" :", ":"),
        (" ;", ";"),
        (" !", "!"),
        (",)", ")"),
        (",>", ">"),
        (",]", "]"),
        ("# [", "#["),
        ("$ ", "$"),
        ("? ", "?"),
    ] {
        text = text.replace(wide, tight);
    }
    text.replace("->", " -> ").replace("  ", " ").replace("  ", " ").trim().to_owned()
}

fn digest(snapshot: &str) -> String {
    Sha256::digest(snapshot.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Returns the listings with the names of their snapshots: of the core, and of every released revision, extension and
/// runtime crate.
fn listings() -> Vec<(String, String)> {
    let root = main_folder();
    let workspace = Workspace::open(Some(&root)).unwrap_or_else(|error| panic!("{error}"));
    let all = Crate::read(&root.join("generated/src"), BTreeMap::new());
    let is_listed =
        |name: &str| name == EXTENSIONS || workspace.revisions.iter().any(|revision| revision.module() == name);
    let mut listings = vec![("core".to_owned(), all.api(&[], &is_listed))];
    for revision in workspace.revisions.iter().filter(|revision| revision.status == Status::Released) {
        let module = revision.module();
        listings.push((module.clone(), all.api(&[module], &|_| false)));
    }
    for extension in &workspace.extensions {
        let module = extension.module.clone();
        listings.push((format!("ext_{module}"), all.api(&[EXTENSIONS.to_owned(), module], &|_| false)));
    }
    for (_, listing) in &mut listings {
        *listing = with_constructors(listing);
    }
    let mut macros = BTreeMap::new();
    for name in runtime_crates(&root) {
        let one = Crate::read(&root.join(&name).join("src"), macros);
        listings.push((name.replace('/', "_"), one.api(&[], &|_| false)));
        macros = one.macros;
    }
    listings
}

/// Expands the calls of `codec::constructed`, a macro that stands for a type in a constructor's signature.
fn with_constructors(listing: &str) -> String {
    let call = Regex::new(r"crate::codec::constructed!\(type (\w+)(?: (\w+)(?: (\d+))?)?\)").expect("a pattern");
    let line = |line: &str| {
        let expanded = call.replace_all(line, |call: &Captures<'_>| match (call.get(2), call.get(3)) {
            (Some(builder), step) => format!("{}<{}>", builder.as_str(), step.map_or("0", |step| step.as_str())),
            (None, _) if line.starts_with(&format!("{}::new:", &call[1])) => "Self".to_owned(),
            (None, _) => call[1].to_owned(),
        });
        format!("{expanded}\n")
    };
    listing.lines().map(line).collect()
}

/// Returns the folders of the runtime's libraries. The dispatcher is first, because the others use its macros.
fn runtime_crates(root: &Path) -> Vec<String> {
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap_or_else(|error| panic!("{error}"));
    let manifest: toml::Table = manifest.parse().unwrap_or_else(|error| panic!("{error}"));
    let members = manifest["workspace"]["members"].as_array().expect("a list of members");
    let members = members.iter().filter_map(|member| member.as_str()).filter(|member| member.starts_with("runtime"));
    members.filter(|member| root.join(member).join("src/lib.rs").is_file()).map(str::to_owned).collect()
}

const REMEDY: &str = "If the change is intended, run MCPGEN_BLESS=1 cargo test -p mcpgen-proof api";

#[test]
fn public_api_matches_the_snapshots() {
    let bless = std::env::var_os("MCPGEN_BLESS").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/api");
    let digests = std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap_or_default();
    let mut failures = String::new();
    let listings = listings();
    for (name, listing) in &listings {
        let path = folder.join(format!("{name}.txt"));
        let snapshot = std::fs::read_to_string(&path).unwrap_or_default();
        if snapshot != *listing && bless {
            std::fs::write(&path, listing).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        } else if snapshot != *listing {
            let diff = similar::TextDiff::from_lines(snapshot.as_str(), listing);
            let diff = diff
                .unified_diff()
                .context_radius(1)
                .header(&format!("tests/proof/tests/it/api/{name}.txt"), "generated/src")
                .to_string();
            let shown: Vec<&str> = diff.lines().take(200).collect();
            let _ = writeln!(failures, "the public API of `{name}` has changed:\n{}\n{REMEDY}\n", shown.join("\n"));
        }
        let line = format!("{}  {name}.txt", digest(listing));
        if !digests.lines().any(|known| known == line) {
            let _ = writeln!(
                failures,
                "the digest of the public API of `{name}` is outdated: describe the changes under `## Unreleased` in \
                 CHANGELOG.md, and update the line for `{name}.txt` in tests/proof/tests/it/api/SHA256SUMS to\n\n{line}\n"
            );
        }
    }
    // Reports snapshots of revisions and extensions that no longer exist.
    let known =
        |path: &Path| listings.iter().any(|(name, _)| path.file_stem().is_some_and(|stem| stem == name.as_str()));
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.extension().is_some_and(|e| e == "txt"))
    {
        if !known(&path) {
            let _ =
                writeln!(failures, "{} belongs to no released revision and no extension: delete it", path.display());
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn listing_contains_all_kinds_of_items() {
    let listings: BTreeMap<String, String> = listings().into_iter().collect();
    let expected = [
        ("core", "RequestId: enum of String, Integer"),
        ("core", "RequestId: impl Clone"),
        ("core", "codec::Decode: trait"),
        ("core", "from_str: fn"),
        ("core", "Request::METHOD: const &'static str"),
        ("core", "Revision::V2025_11_25: const Self"),
        ("core", "Value: use serde_json::Value"),
        ("v2025_11_25", "Tool: struct"),
        ("v2025_11_25", "Tool.name: String"),
        ("v2025_11_25", "Tool::new: fn("),
        ("v2025_11_25", "Tool::with_title: fn(self, title: impl Into<String>) -> Self"),
        ("v2025_11_25", "Tool: impl Clone, Debug, KnownMembers, PartialEq"),
        ("v2025_11_25", "CallToolRequest: impl Request: const METHOD: &'static str = \"tools/call\""),
        ("v2025_11_25", "CallToolRequest: impl TaskRequest: type TaskResult = CreateTaskResult"),
        ("v2025_11_25", "ClientRequestMethod::Initialize: variant"),
        ("v2026_07_28", "HEADER_MISMATCH_ERROR: const"),
        ("ext_tasks", "Tool: use v2026_07_28::Tool"),
        ("ext_tasks", "GetTaskRequest: impl Request: const METHOD: &'static str = \"tasks/get\""),
        ("ext_server_card", "ServerCard.remotes: Option<Vec<Remote>>"),
        ("runtime", "CallError::Timeout: variant"),
        ("runtime_mcp", "client::ToolFailed: struct"),
        ("runtime_sdk", "prelude::Server: use mcpgen_mcp::Server"),
    ];
    for (name, start) in expected {
        let lines = listings.get(name).unwrap_or_else(|| panic!("no listing of {name}"));
        assert!(lines.lines().any(|line| line.starts_with(start)), "{name} has no line {start:?}");
    }
    // Traits that are derived, implemented by hand, and implemented by a macro.
    for (name, path, traits) in [
        ("core", "RequestId", ["Clone", "From<i64>", "serde::Serialize", "schemars::JsonSchema"]),
        ("core", "Number", ["Copy", "From<u8>", "From<i64>", "serde::Deserialize<'de>"]),
        ("v2025_11_25", "Tool", ["Clone", "codec::Decode", "serde::Serialize", "schemars::JsonSchema"]),
    ] {
        let start = format!("{path}: impl ");
        let line = listings[name]
            .lines()
            .find(|line| line.starts_with(&start) && !line.contains(": const "))
            .unwrap_or_default();
        let found: BTreeSet<&str> = line.trim_start_matches(&start).split(", ").collect();
        assert!(traits.iter().all(|name| found.contains(name)), "{name}: {line}");
    }
}

#[test]
fn names_of_vendored_modules_are_short() {
    const MAX: usize = 45;
    let long: Vec<String> = listings()
        .into_iter()
        .filter(|(module, _)| module.starts_with('v') || module.starts_with("ext_"))
        .flat_map(|(module, listing)| {
            let names: BTreeSet<String> = listing.lines().filter_map(type_name).map(str::to_owned).collect();
            names.into_iter().filter(|name| name.len() > MAX).map(move |name| format!("{module}::{name}"))
        })
        .collect();
    assert!(long.is_empty(), "more than {MAX} characters: {long:?}");
}

/// Returns the type that a line of a listing belongs to.
fn type_name(line: &str) -> Option<&str> {
    line.split([':', '.', '<', ' ']).next()
}
