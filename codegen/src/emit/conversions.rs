//! Writes `generated/src/conversions.rs`: the types of all revisions as dense tables.

use mcpgen_model::conversions::{Action, Conversions, MemberNode, Node, ObjectNode, Others, PATH, Rules, RustType};
use mcpgen_model::text::names::escape;
use mcpgen_model::{Bound, Bounds, Condition, Guard, Length, Revision};
use mcpgen_schema::json::Json;

use crate::emit::declarations::fill;
use crate::emit::file::repository_header;

/// Marks where a row may be broken into lines. Rows contain no other tabs.
const BREAK: &str = ",\t";

/// The beginning of the file. Names are short, because the tables repeat them many times.
const IMPORTS: &str = "\
//! The types of all revisions, as tables for conversions. Types that are equal in several revisions have one row.

#![allow(unused_imports, reason = \"not every set of schemas uses all of them\")]

use crate::codec::Condition::{Absent, Present, Type as Is, Value};
use crate::codec::Literal::{Bool, Float, Integer as Int, Json, Null, Str, Unsigned};
use crate::codec::{Bounds as B, JsonTypes as J, Length as L};
use crate::convert::shape::Others::{Closed, Open, Typed};
use crate::convert::shape::Shape::{
    self, Any, Boolean, Integer, List, Never, Number, Object, String, Tuple, Union, Values,
};
use crate::convert::shape::{
    Member, NO_TYPE as __, OtherValues, Respelled, Rule, TypeId, guard as g, optional as o, required as r,
};
";

pub(crate) fn file(revisions: &[Revision], rules: &Rules, conversions: &Conversions) -> String {
    let count = revisions.len();
    let header = repository_header(&format!("the schemas and {PATH}")) + IMPORTS;
    let definitions = conversions.definitions.iter().map(|(name, row)| {
        let row: Vec<String> = row.iter().map(|id| id.map_or("__".to_owned(), |id| id.to_string())).collect();
        format!("({name:?}, [{}])", row.join(","))
    });
    let methods = conversions.methods.iter().map(|(name, row)| {
        let pair = |pair: &Option<(usize, usize)>| match pair {
            None => "(__,__)".to_owned(),
            Some((params, result)) => format!("({params},{result})"),
        };
        format!("({name:?}, [{}])", row.iter().map(pair).collect::<Vec<_>>().join(","))
    });
    let renamed = rules.renamed.iter().map(|rule| format!("({:?}, {:?})", rule.from, rule.to));
    let respelled = rules.respelled.iter().map(|rule| {
        let columns: Vec<String> = rule.columns.iter().map(|(from, to)| format!("({from:?},{to:?})")).collect();
        format!("Respelled {{ member: {:?}, columns: &[{}] }}", rule.member, columns.join(","))
    });
    let tables = [
        table("Every type, by its number.", "SHAPES: &[Shape]", conversions.classes.iter().map(shape)),
        table("The rules for members.", "RULES: &[Rule]", rules.members.iter().map(|rule| action(&rule.action))),
        table("The types that have another form.", "RESPELLED: &[Respelled]", respelled),
        table("The definitions that have another name in later revisions.", "RENAMED: &[(&str, &str)]", renamed),
        table(
            "The type of each definition in each revision.",
            &format!("DEFINITIONS: &[(&str, [TypeId; {count}])]"),
            definitions,
        ),
        table(
            "The types of the params and the result of each method in each revision.",
            &format!("METHODS: &[(&str, [(TypeId, TypeId); {count}])]"),
            methods,
        ),
    ];
    let types = revisions.iter().zip(&conversions.types).map(|(revision, types)| {
        let module = revision.module();
        let row = |name: &str| conversions.definitions.keys().position(|known| known == name).unwrap_or(usize::MAX);
        let entry = |ty: &RustType| format!("{} {} {},", escape(&ty.name), ty.class, row(&ty.definition));
        let types: Vec<String> = types.iter().map(entry).collect();
        let types = fill(types.iter().map(String::as_str), "    ");
        let constant = module.to_uppercase();
        format!("#[cfg(feature = {module:?})]\ncrate::convert::convertible! {{ {constant} {module};\n{types}}}\n")
    });
    format!("{header}\n{}\n{}", tables.join("\n"), types.collect::<Vec<_>>().join("\n"))
}

/// Returns a static slice, with as many rows per line as fit.
fn table(docs: &str, name: &str, rows: impl Iterator<Item = String>) -> String {
    let rows: Vec<String> = rows.map(|row| row + ",").collect();
    let words = rows.iter().flat_map(|row| row.split('\t'));
    let rows = fill(words, "    ");
    format!("/// {docs}\n#[rustfmt::skip]\npub(crate) static {name} = &[\n{rows}];\n")
}

fn shape(node: &Node) -> String {
    match node {
        Node::Any | Node::Never | Node::Boolean => format!("{node:?}"),
        Node::String(limits) => format!("String({})", length(limits)),
        Node::Integer { unsigned, bounds: limits } => format!("Integer({unsigned},{})", bounds(limits)),
        Node::Number(limits) => format!("Number({})", bounds(limits)),
        Node::Values(values) => format!("Values(&[{}])", list(values, literal)),
        Node::List(items, limits) => format!("List({items},{})", length(limits)),
        Node::Tuple(first, rest) => format!("Tuple(&[{}],{rest:?})", list(first, usize::to_string)),
        Node::Object(object) => object_shape(object),
        Node::Union(guards, variants) => {
            let guards: Vec<String> = guards.iter().map(guard).collect();
            format!("Union(&[{}],\t&[{}])", guards.join(BREAK), list(variants, usize::to_string))
        }
    }
}

fn object_shape(ObjectNode { members, pattern, others, respelled }: &ObjectNode) -> String {
    let members: Vec<String> = members.iter().map(member).collect();
    // Tables have no patterns: the target type's decoder checks members whose names match a pattern, and all others.
    let others = if pattern.is_some() { &Others::Open } else { others };
    format!("Object(&[{}],{others:?},{respelled:?})", members.join(BREAK))
}

fn member(MemberNode { name, required, content, rule }: &MemberNode) -> String {
    let function = if *required { "r" } else { "o" };
    let rule = rule.map_or(String::new(), |rule| format!(".by({rule})"));
    format!("{function}({name:?},{content}){rule}")
}

fn guard(Guard { when, variant }: &Guard) -> String {
    format!("g(&[{}],{variant})", list(when, condition))
}

fn condition(condition: &Condition) -> String {
    let path = |path: &[String]| list(path, |step| format!("{step:?}"));
    match condition {
        Condition::Type(types) => {
            let types: Vec<String> = types.names().map(|name| format!("J::{}", name.to_uppercase())).collect();
            let all = types.into_iter().reduce(|all, next| format!("{all}.union({next})"));
            format!("Is({})", all.unwrap_or_else(|| "J::NONE".to_owned()))
        }
        Condition::Value(at, values) => format!("Value(&[{}],&[{}])", path(at), list(values, literal)),
        Condition::Present(at) => format!("Present(&[{}])", path(at)),
        Condition::Absent(at) => format!("Absent(&[{}])", path(at)),
    }
}

fn action(action: &Action) -> String {
    match action {
        Action::Default { value, others } => format!("Rule::Default({}, OtherValues::{others:?})", literal(value)),
        unit => format!("Rule::{unit:?}"),
    }
}

fn literal(value: &Json) -> String {
    match value {
        Json::Null => "Null".to_owned(),
        Json::Bool(value) => format!("Bool({value})"),
        Json::Number(value) => number(value),
        Json::String(text) => format!("Str({text:?})"),
        other => format!("Json({:?})", other.to_string()),
    }
}

fn number(number: &serde_json::Number) -> String {
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(value), ..) => format!("Int({value})"),
        (None, Some(value), _) => format!("Unsigned({value})"),
        (None, None, value) => format!("Float({:?})", value.unwrap_or_default()),
    }
}

fn length(Length { min, max }: &Length) -> String {
    let min = if *min == 0 { String::new() } else { format!(".at_least({min})") };
    format!("L::ANY{min}{}", max.map_or(String::new(), |max| format!(".at_most({max})")))
}

fn bounds(Bounds { min, max }: &Bounds) -> String {
    let end = |bound: &Option<Bound>, inclusive: &str, exclusive: &str| {
        let bound = bound.as_ref();
        bound.map_or(String::new(), |Bound { value, exclusive: is_exclusive }| {
            format!(".{}({})", if *is_exclusive { exclusive } else { inclusive }, number(value))
        })
    };
    format!("B::ANY{}{}", end(min, "at_least", "more_than"), end(max, "at_most", "less_than"))
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(",")
}
