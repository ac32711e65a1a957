//! Members of which a schema requires one or the other, such as `anyOf` of `required`.

use mcpgen_model::{Check, Protocol, Type};

use crate::models::resolved::{Resolve as _, Resolved};

/// Returns the members that an object requires, of those in the alternatives of these checks.
pub(super) fn required_among(protocol: &Protocol, content: &Type, checks: &[&Check]) -> Option<String> {
    let Resolved::Object(object) = protocol.resolved(content) else { return None };
    let alternatives = alternatives(checks)?;
    let is_one = |name: &str| alternatives.iter().any(|names| names.split(" and ").any(|one| one == name));
    let required = object.members.iter().filter(|member| member.required && is_one(&member.wire));
    let required: Vec<&str> = required.map(|member| member.wire.as_str()).collect();
    (!required.is_empty()).then(|| required.join(" and "))
}

/// Returns the members of which checks require one or the other.
pub(super) fn alternatives(checks: &[&Check]) -> Option<Vec<String>> {
    fn required<'c>(check: &'c Check, names: &mut Vec<&'c str>) {
        match check {
            Check::Required(more) => names.extend(more.iter().map(String::as_str)),
            Check::All(checks) => checks.iter().for_each(|check| required(check, names)),
            _ => {}
        }
    }
    checks.iter().find_map(|check| match check {
        Check::All(checks) => alternatives(&checks.iter().collect::<Vec<_>>()),
        Check::Any(any) => {
            let all: Vec<Vec<&str>> = any
                .iter()
                .map(|check| {
                    let mut names = Vec::new();
                    required(check, &mut names);
                    names
                })
                .collect();
            let own = |names: &Vec<&str>| {
                let is_own = |name: &&&str| !all.iter().all(|other| other.contains(*name));
                names.iter().filter(is_own).copied().collect::<Vec<_>>().join(" and ")
            };
            let own: Vec<String> = all.iter().map(own).collect();
            (!own.iter().any(String::is_empty)).then_some(own)
        }
        _ => None,
    })
}
