//! Names of enum values, and labels of variants, which inline types are named after.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use mcpgen_schema::json::Json;
use mcpgen_schema::normal::{Kind, Note, Schema};

use crate::Value;
use crate::text::names::{Namespace, type_name};

/// Names the known values of an open enum. `Other` is reserved for any other string.
pub(super) fn open_enumeration(values: &[String]) -> Vec<Value> {
    let mut names = Namespace::default();
    names.claim("Other");
    let name = |text: &String| if text.is_empty() { "Empty".to_owned() } else { type_name(text) };
    let names = names.claim_all(values.iter().map(|text| (text.as_str(), name(text))));
    values.iter().zip(names).map(|(text, rust)| Value { json: Json::String(text.clone()), rust }).collect()
}

pub(super) fn enumeration(values: &[Json], note: &Note) -> Vec<Value> {
    let given = |json: &Json| note.value_names.iter().find(|(value, _)| value == json).map(|(_, name)| name.clone());
    let texts: Vec<String> = values.iter().map(|json| given(json).unwrap_or_else(|| json.plain())).collect();
    let wanted = values.iter().zip(&texts).map(|(json, text)| match json {
        _ if given(json).is_some() => type_name(text),
        Json::String(text) if text.is_empty() => "Empty".to_owned(),
        Json::String(text) => type_name(text),
        Json::Number(number) => {
            format!("Number{}", number.to_string().replace('-', "Minus").replace('.', "_").replace('+', ""))
        }
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::Null => "Null".to_owned(),
        Json::Array(_) => "Array".to_owned(),
        Json::Object(_) => "Object".to_owned(),
    });
    let names = Namespace::default().claim_all(texts.iter().map(String::as_str).zip(wanted));
    values.iter().zip(names).map(|(json, rust)| Value { json: json.clone(), rust }).collect()
}

/// Labels a union's variants. Inline types are named after these labels. An object is labelled with the constant that
/// distinguishes it.
pub(super) fn variant_labels(variants: &[Schema]) -> Vec<String> {
    let constants = |schema: &Schema| -> IndexMap<String, String> {
        let Kind::Object(object) = &schema.unchecked().kind else { return IndexMap::new() };
        let members = object.properties.iter().filter_map(|(name, property)| {
            let constant = constant(&property.schema)?.as_str().filter(|it| !it.is_empty())?;
            Some((name.clone(), constant.to_owned()))
        });
        members.collect()
    };
    let objects: Vec<_> = variants.iter().map(constants).collect();
    let is_distinct = |name: &str| {
        let values: Vec<&String> = objects.iter().filter_map(|object| object.get(name)).collect();
        values.iter().collect::<BTreeSet<_>>().len() == values.len()
    };
    let label = |(schema, object): (&Schema, &IndexMap<String, String>)| {
        let tag = object.iter().find(|(name, _)| is_distinct(name)).or(object.first());
        tag.map_or_else(|| variant_label(schema), |(_, tag)| type_name(tag))
    };
    variants.iter().zip(&objects).map(label).collect()
}

pub(super) fn constant(schema: &Schema) -> Option<&Json> {
    match &schema.kind {
        Kind::Values(values) if values.len() == 1 => values.first(),
        _ => None,
    }
}

fn variant_label(schema: &Schema) -> String {
    match &schema.unchecked().kind {
        Kind::Ref(name) => name.clone(),
        Kind::Object(_) => "Object".to_owned(),
        Kind::Array(_) => "Array".to_owned(),
        Kind::Values(_) => "Value".to_owned(),
        Kind::String(_) => "String".to_owned(),
        Kind::Integer(_) => "Integer".to_owned(),
        Kind::Number(_) => "Number".to_owned(),
        Kind::Boolean => "Boolean".to_owned(),
        _ => "Other".to_owned(),
    }
}

pub(super) fn readable(schema: &Schema) -> String {
    match &schema.kind {
        Kind::Ref(name) => name.clone(),
        _ => format!("the variant at {}", schema.note.pointer),
    }
}
