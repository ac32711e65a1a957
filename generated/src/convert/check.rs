//! Checks values against the tables of types. Unlike decoding, this builds no values and needs no compiled types.

use crate::codec::{Cursor, Length, Literal, find_by};
use crate::{Error, ErrorKind, Json, Number, Revision};

use super::shape::{self, Member, Others, Shape, TypeId};

/// Checks that the result of a request is valid in a revision, even if the revision's types are not compiled in. If the
/// revision does not have the method, every result is valid.
///
/// Assertions that the types cannot express, such as `pattern`, are not checked.
///
/// ```
/// use mcpgen_types::convert::check_result;
/// use mcpgen_types::{Json, Revision};
///
/// let result = Json::parse(r#"{"content":[],"structuredContent":[1]}"#)?;
/// assert!(check_result("tools/call", Revision::V2026_07_28, &result).is_err());
/// let error = check_result("tools/call", Revision::V2025_11_25, &result).expect_err("not an object");
/// assert_eq!(error.path(), "/structuredContent");
/// # Ok::<(), mcpgen_types::Error>(())
/// ```
///
/// # Errors
///
/// Returns the first error in document order, with the path of the value.
pub fn check_result(method: &str, revision: Revision, result: &Json) -> Result<(), Error> {
    let Some([(_, id), _]) = shape::method(method, revision, revision) else { return Ok(()) };
    result.read(|json| check(json, id).map_err(|error| error.located_from(json)))?
}

fn check(json: Cursor<'_>, id: TypeId) -> Result<(), Error> {
    let located = |checked: Result<(), Error>| checked.map_err(|error| json.locate(error));
    match *Shape::of(id) {
        Shape::Any => Ok(()),
        Shape::Never => Err(json.error(ErrorKind::Uninhabited)),
        Shape::Boolean if json.type_name() == "boolean" => Ok(()),
        Shape::Boolean => Err(json.mismatch("boolean")),
        Shape::String(_) if !json.is_string() => Err(json.mismatch("string")),
        // Without a limit, the characters need not be counted.
        Shape::String(Length { min: 0, max: None }) => Ok(()),
        Shape::String(length) => located(length.check_str(&json.as_str().unwrap_or_default())),
        Shape::Integer(is_unsigned, bounds) => {
            let (minimum, maximum) = if is_unsigned { (0, u64::MAX) } else { (i64::MIN, i64::MAX.unsigned_abs()) };
            let fits =
                |number: &Number| if is_unsigned { number.as_u64().is_some() } else { number.as_i64().is_some() };
            match json.as_number().filter(fits) {
                Some(number) => located(bounds.check_number(number)),
                None => json.integer(minimum, maximum).map(drop),
            }
        }
        Shape::Number(bounds) => located(bounds.check_number(json.number()?)),
        Shape::Values(values) => check_values(json, values),
        Shape::List(item, length) => check_items(json, (&[], Some(item)), length),
        Shape::Tuple(first, rest) => {
            let least = Length::ANY.at_least(first.len() as u64);
            let length = if rest.is_some() { least } else { least.at_most(first.len() as u64) };
            check_items(json, (first, rest), length)
        }
        Shape::Object(members, others, _) => check_object(json, members, others),
        Shape::Union(guards, variants) => {
            let chosen = variants.get(json.union(guards)?);
            chosen.map_or(Ok(()), |variant| check(json, *variant))
        }
    }
}

fn check_values(json: Cursor<'_>, values: &[Literal]) -> Result<(), Error> {
    match values {
        [constant] if !constant.is(json) => {
            Err(json.error(ErrorKind::Constant { expected: constant.to_string(), found: json.describe() }))
        }
        [_] => Ok(()),
        _ if !json.is_string() && values.iter().all(|value| matches!(value, Literal::Str(_))) => {
            Err(json.mismatch("string"))
        }
        _ => json.literal(values).map(drop),
    }
}

fn check_items(json: Cursor<'_>, (first, rest): (&[TypeId], Option<TypeId>), length: Length) -> Result<(), Error> {
    let items = json.elements()?;
    length.check_length(items.clone().count(), "items").map_err(|error| json.locate(error))?;
    for (index, item) in items.enumerate() {
        if let Some(id) = first.get(index).copied().or(rest) {
            check(item, id)?;
        }
    }
    Ok(())
}

fn check_object(json: Cursor<'_>, members: &'static [Member], others: Others) -> Result<(), Error> {
    let (mut seen, mut next) = (0_u64, 0);
    for (name, value) in json.members()? {
        let text = name.as_str().unwrap_or_default();
        let index = find_by(members, next, text.as_bytes(), |member| member.name);
        match (members.get(index), others) {
            (Some(member), _) => {
                let bit = bit(index);
                if seen & bit != 0 {
                    return Err(value.error(ErrorKind::Duplicate));
                }
                seen |= bit;
                next = index + 1;
                check(value, member.content)?;
            }
            (None, Others::Typed(content)) => check(value, content)?,
            (None, Others::Closed) => return Err(value.error(ErrorKind::Unexpected)),
            (None, Others::Open) => {}
        }
    }
    let is_absent = |index, member: &Member| match bit(index) {
        0 => json.get(member.name).is_none(),
        bit => seen & bit == 0,
    };
    let mut required = members.iter().enumerate().filter(|(_, member)| member.is_required);
    match required.find(|(index, member)| is_absent(*index, member)) {
        Some((_, member)) => Err(json.missing(member.name)),
        None => Ok(()),
    }
}

/// Returns the bit of a member, or 0 beyond the first 64.
fn bit(index: usize) -> u64 {
    u32::try_from(index).ok().and_then(|index| 1_u64.checked_shl(index)).unwrap_or(0)
}
