//! Lowers the keywords of objects.

use indexmap::IndexMap;

use super::types::Typed;
use super::{Keywords, Lower, Lowered, and, below};
use crate::check::{Check, MemberChecks};
use crate::failure::describe;
use crate::json::Json;
use crate::json_types::JsonTypes;
use crate::normal::{Kind, Object, PatternProperty, Property, Schema};
use crate::text::pattern;

/// The maximum number of named members of an object.
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
        // A type has one pattern at most, and members match it. Next to a reference, it becomes a check, so that the
        // reference is kept.
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
        let required = self.required(of);
        for name in &required {
            if let Some(property) = object.properties.get_mut(name) {
                property.required = true;
            } else {
                // `patternProperties` or `additionalProperties` describes it.
                let schema = object.schema_of_other(name).clone();
                object.properties.insert(name.clone(), Property { required: true, schema });
            }
        }

        let required = (!required.is_empty()).then_some(Check::Required(required));
        let members = (members != MemberChecks::default()).then(|| Check::Members(Box::new(members)));
        let (mut expressed, mut others) = (Vec::from_iter(required), Vec::new());
        if is_expressed { &mut expressed } else { &mut others }.extend(members);
        others.extend(Check::of_length(&self.length(of, "minProperties", "maxProperties"), Check::MemberCount));
        others.extend(self.names(of));
        self.dependencies(of, &mut others);
        let shaping = ["properties", "required", "additionalProperties"];
        let is_free = object.pattern.is_none() && !shaping.iter().any(|keyword| of.get(keyword).is_some());
        Typed { kind: Kind::Object(Box::new(object)), is_free, expressed, others }
    }

    fn properties(&mut self, of: Keywords<'_>, object: &mut Object, checks: &mut Vec<(String, Check)>) {
        let properties = match of.get("properties") {
            None => return,
            Some(Json::Object(members)) if members.len() > MAX_PROPERTIES => {
                let why = format!("{} members are more than the limit of {MAX_PROPERTIES}", members.len());
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
        let members = self.members(of, "patternProperties");
        let lowered = members.map(|(pattern, json)| {
            self.pattern(pattern, of, "patternProperties");
            let Lowered { schema, check } = self.schema(json, &below(&of.at("patternProperties"), pattern));
            (PatternProperty { pattern: pattern.clone(), schema }, (pattern.clone(), check))
        });
        lowered.unzip()
    }

    /// Lowers `propertyNames`.
    fn names(&mut self, of: Keywords<'_>) -> Option<Check> {
        let check = self.subschema(of, "propertyNames")?.check;
        // Names are strings.
        let is_free = match &check {
            Check::Anything => true,
            Check::Type(types) => types.contains(JsonTypes::STRING),
            _ => false,
        };
        (!is_free).then(|| Check::Names(Box::new(check)))
    }

    /// Lowers `dependentRequired`, `dependentSchemas`, and `dependencies`, which combines them.
    fn dependencies(&mut self, of: Keywords<'_>, checks: &mut Vec<Check>) {
        for keyword in ["dependentRequired", "dependencies", "dependentSchemas"] {
            for (name, json) in self.members(of, keyword) {
                let here = below(&of.at(keyword), name);
                let check = match json {
                    Json::Array(names) if keyword != "dependentSchemas" => {
                        Check::Required(self.member_names(names, keyword, &here))
                    }
                    other if keyword == "dependentRequired" => {
                        let why = format!("expected an array of names, found {}", other.type_name());
                        self.problem_at(&here, keyword, why, "write an array of member names");
                        continue;
                    }
                    json => self.schema(json, &here).check,
                };
                checks.push(Check::IfPresent(name.clone(), Box::new(check)));
            }
        }
    }

    fn required(&mut self, of: Keywords<'_>) -> Vec<String> {
        let (why, remedy) = match of.get("required") {
            None => return Vec::new(),
            Some(Json::Array(names)) if names.len() <= MAX_PROPERTIES => {
                return self.member_names(names, "required", &of.at("required"));
            }
            Some(Json::Array(names)) => {
                let why = format!("{} names are more than the limit of {MAX_PROPERTIES}", names.len());
                (why, "use additionalProperties")
            }
            Some(other) => {
                let why = format!("expected an array of names, found {}", other.type_name());
                (why, "write an array of member names")
            }
        };
        self.problem(of, "required", why, remedy);
        Vec::new()
    }

    fn member_names(&mut self, names: &[Json], keyword: &str, pointer: &str) -> Vec<String> {
        let mut found = Vec::new();
        for name in names {
            match name.as_str() {
                Some(name) => found.push(name.to_owned()),
                None => {
                    let why = format!("{name} is not the name of a member");
                    self.problem_at(pointer, keyword, why, "write an array of member names");
                }
            }
        }
        found
    }

    /// Returns the members of an object that a keyword has as its value.
    fn members<'k>(
        &mut self,
        of: Keywords<'k>,
        keyword: &str,
    ) -> impl Iterator<Item = (&'k String, &'k Json)> + use<'k> {
        let value = of.get(keyword);
        let members = value.and_then(Json::as_object);
        if let Some(other) = value.filter(|_| members.is_none()) {
            self.expected(of, keyword, "an object", describe(other));
        }
        members.into_iter().flatten()
    }
}
