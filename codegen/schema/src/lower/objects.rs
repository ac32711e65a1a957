//! Lowers object keywords.

use indexmap::IndexMap;

use super::{Keywords, Lower, Lowered, Typed, and, below};
use crate::check::{Check, MemberChecks};
use crate::json::Json;
use crate::json_types::JsonTypes;
use crate::normal::{Kind, Object, PatternProperty, Property, Schema};
use crate::text::pattern;

const MAX_PROPERTIES: usize = 20_000;

impl Lower<'_> {
    pub(super) fn object(&mut self, of: Keywords<'_>) -> Typed {
        let any = Schema::at(of.pointer, Kind::Any);
        let mut object = Object { properties: IndexMap::new(), pattern: None, additional: any.clone() };
        let mut members = MemberChecks::default();
        if let Some(Lowered { schema, check }) = self.subschema(of, "additionalProperties") {
            object.additional = schema;
            members.others = Some(check);
        }
        let (mut patterns, checks) = self.pattern_properties(of);
        members.patterns = checks;
        // A Rust type supports only one pattern. Beside a reference, the pattern becomes a check, so that the reference
        // survives.
        let is_expressed = match patterns.as_slice() {
            [] => true,
            [only] => only.schema.kind != Kind::Never && !of.is_refinement(),
            _ => false,
        };
        if is_expressed {
            object.pattern = patterns.pop();
        } else {
            object.additional = any;
        }
        self.properties(of, &mut object, &mut members.named);
        let required = of.get("required").map(|json| self.names(json, "required", &of.at("required")));
        let required = required.unwrap_or_default();
        for name in &required {
            if let Some(property) = object.properties.get_mut(name) {
                property.required = true;
            } else {
                let schema = object.schema_of_other(name).clone();
                object.properties.insert(name.clone(), Property { required: true, schema });
            }
        }

        let required = (!required.is_empty()).then_some(Check::Required(required));
        let members = (members != MemberChecks::default()).then(|| Check::Members(Box::new(members)));
        let (mut expressed, mut others) = (Vec::from_iter(required), Vec::new());
        if is_expressed { &mut expressed } else { &mut others }.extend(members);
        others.extend(Check::of_length(&self.length(of, "minProperties", "maxProperties"), Check::MemberCount));
        others.extend(self.property_names(of));
        self.dependencies(of, &mut others);
        let shaping = ["properties", "required", "additionalProperties"];
        let is_free = object.pattern.is_none() && !shaping.iter().any(|keyword| of.get(keyword).is_some());
        Typed { kind: Kind::Object(Box::new(object)), is_free, expressed, others }
    }

    fn properties(&mut self, of: Keywords<'_>, object: &mut Object, checks: &mut Vec<(String, Check)>) {
        let properties = match of.get("properties") {
            None => return,
            Some(Json::Object(members)) if members.len() > MAX_PROPERTIES => {
                let why = format!("{} members exceed the limit of {MAX_PROPERTIES}", members.len());
                return self.problem(of, "properties", why, "use additionalProperties");
            }
            Some(Json::Object(members)) => members,
            Some(other) => {
                let why = format!("expected an object of schemas, found {}", other.type_name());
                return self.problem(of, "properties", why, "write an object of schemas by name");
            }
        };
        for (name, json) in properties {
            let Lowered { mut schema, check } = self.schema(json, &below(&of.at("properties"), name));
            checks.push((name.clone(), check));
            if let Some(it) = &object.pattern {
                match pattern::matches(&it.pattern, name) {
                    Ok(false) => {}
                    Ok(true) => {
                        let note = schema.note.clone();
                        schema = Schema { note, ..and(schema, it.schema.clone(), of.pointer) };
                    }
                    Err(error) => {
                        let why = format!("{error}: {} on the member {name:?}", Json::String(it.pattern.clone()));
                        self.problem_at(of.pointer, "patternProperties", why, "simplify the pattern");
                    }
                }
            }
            object.properties.insert(name.clone(), Property { required: false, schema });
        }
    }

    fn pattern_properties(&mut self, of: Keywords<'_>) -> (Vec<PatternProperty>, Vec<(String, Check)>) {
        let members = self.read(of, "patternProperties", "an object", Json::as_object);
        let lowered = members.into_iter().flatten().map(|(pattern, json)| {
            self.pattern(pattern, of, "patternProperties");
            let Lowered { schema, check } = self.schema(json, &below(&of.at("patternProperties"), pattern));
            (PatternProperty { pattern: pattern.clone(), schema }, (pattern.clone(), check))
        });
        lowered.unzip()
    }

    fn property_names(&mut self, of: Keywords<'_>) -> Option<Check> {
        let check = self.subschema(of, "propertyNames")?.check;
        // Names are always strings.
        let is_free = match &check {
            Check::Anything => true,
            Check::Type(types) => types.contains(JsonTypes::STRING),
            _ => false,
        };
        (!is_free).then(|| Check::Names(Box::new(check)))
    }

    /// Lowers `dependentRequired`, `dependentSchemas`, and their older combination `dependencies`.
    fn dependencies(&mut self, of: Keywords<'_>, checks: &mut Vec<Check>) {
        for keyword in ["dependentRequired", "dependencies", "dependentSchemas"] {
            let members = self.read(of, keyword, "an object", Json::as_object);
            for (name, json) in members.into_iter().flatten() {
                let here = below(&of.at(keyword), name);
                let is_names =
                    keyword == "dependentRequired" || (keyword == "dependencies" && matches!(json, Json::Array(_)));
                let check = if is_names {
                    Check::Required(self.names(json, keyword, &here))
                } else {
                    self.schema(json, &here).check
                };
                checks.push(Check::IfPresent(name.clone(), Box::new(check)));
            }
        }
    }

    fn names(&mut self, json: &Json, keyword: &str, pointer: &str) -> Vec<String> {
        let (why, remedy) = match json {
            Json::Array(names) if names.len() > MAX_PROPERTIES => {
                (format!("{} names exceed the limit of {MAX_PROPERTIES}", names.len()), "use additionalProperties")
            }
            Json::Array(names) => match names.iter().find(|name| name.as_str().is_none()) {
                None => return names.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
                Some(name) => (format!("{name} is not the name of a member"), "write an array of member names"),
            },
            other => {
                (format!("expected an array of names, found {}", other.type_name()), "write an array of member names")
            }
        };
        self.problem_at(pointer, keyword, why, remedy);
        Vec::new()
    }
}
