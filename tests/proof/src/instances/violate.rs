//! Breaks a document in one place.

use super::ASSERTIONS;
use super::build::{Builder, Part, Site, known, open_to_anything, types};
use super::values;
use crate::judge::{DEPTH_LIMIT, escaped};
use fastrand::Rng;
use serde_json::{Value, json};

/// How a document was broken. It may still be valid, for example because of a union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The violated keyword, or `depth` for the depth limit.
    pub keyword: String,
    /// The JSON pointer of the broken value in the document.
    pub instance: String,
    /// The JSON pointer of the violated schema.
    pub schema: String,
}

const DEPTH: &str = "depth";

/// Violates one assertion in one place. Returns `None` if the document cannot be broken.
pub(super) fn violate(document: &mut Value, sites: &[Site<'_>], builder: &Builder<'_>) -> Option<Violation> {
    let rng = &mut builder.rng.clone();
    let mut candidates = candidates(document, sites, rng);
    while !candidates.is_empty() {
        // Picks the keyword first, because `type` is so frequent that others would hardly be picked.
        let keyword = pick_keyword(&candidates, rng);
        let turns: Vec<usize> = (0..candidates.len()).filter(|i| candidates[*i].keyword == keyword).collect();
        let chosen = candidates.swap_remove(turns[rng.usize(0..turns.len())]);
        let place = document.pointer_mut(&chosen.site.instance)?;
        let instance = chosen.site.instance.clone();
        if let Some(below) = chosen.apply(place, rng) {
            return Some(Violation {
                keyword: keyword.to_owned(),
                instance: instance + &below,
                schema: builder.pointer_of(chosen.part.schema),
            });
        }
    }
    None
}

struct Candidate<'c, 's> {
    site: &'c Site<'s>,
    part: &'c Part<'s>,
    keyword: &'static str,
}

fn candidates<'c, 's>(document: &Value, sites: &'c [Site<'s>], rng: &mut Rng) -> Vec<Candidate<'c, 's>> {
    let mut candidates = Vec::new();
    for site in sites {
        for part in &site.parts {
            let holds = ASSERTIONS.iter().copied().chain(["additionalProperties"]);
            let holds = holds.filter(|keyword| part.keyword(keyword).is_some());
            candidates.extend(holds.map(|keyword| Candidate { site, part, keyword }));
        }
        // Deep documents take long, so `depth` is rarely a candidate.
        let Some(part) = site.parts.first().filter(|_| rng.u16(0..2000) == 0) else {
            continue;
        };
        let object = document.pointer(&site.instance).is_some_and(Value::is_object);
        if object && open_to_anything(&site.parts) {
            candidates.push(Candidate { site, part, keyword: DEPTH });
        }
    }
    candidates
}

fn pick_keyword(candidates: &[Candidate<'_, '_>], rng: &mut Rng) -> &'static str {
    let mut keywords: Vec<&str> = candidates.iter().map(|c| c.keyword).collect();
    keywords.sort_unstable();
    keywords.dedup();
    if keywords.contains(&"type") && rng.u8(0..3) == 0 {
        return "type";
    }
    keywords[rng.usize(0..keywords.len())]
}

impl Candidate<'_, '_> {
    /// Breaks the value. Returns the pointer from the place to the broken value, or `None` if it cannot be broken.
    fn apply(&self, place: &mut Value, rng: &mut Rng) -> Option<String> {
        if self.keyword == DEPTH {
            return self.too_deep(place, rng);
        }
        let keyword = self.part.keyword(self.keyword)?;
        match self.keyword {
            "required" => return remove_required(place, keyword, rng),
            "additionalProperties" => return self.add_unknown(place, keyword, rng),
            "type" => *place = wrong_type(&self.site.parts, rng)?,
            "const" => *place = other_than(std::slice::from_ref(keyword), place, rng),
            "enum" => *place = other_than(keyword.as_array()?, place, rng),
            "maximum" | "exclusiveMaximum" | "minimum" | "exclusiveMinimum" => {
                *place = out_of_bound(self.keyword, keyword, place, rng)?;
            }
            "maxItems" | "minItems" => resize_array(self.keyword, keyword, place)?,
            "maxLength" | "minLength" => resize_string(self.keyword, keyword, place)?,
            _ => return None,
        }
        Some(String::new())
    }

    fn too_deep(&self, place: &mut Value, rng: &mut Rng) -> Option<String> {
        let members = place.as_object_mut()?;
        let name = values::unknown_name(rng, &[]);
        if known(&self.site.parts).contains(name.as_str()) {
            return None;
        }
        let more = [1, 2, 20][rng.usize(0..3)];
        let below = format!("/{}", escaped(&name));
        // The object may already be too deep if its schema has no finite instance.
        let levels = (DEPTH_LIMIT + more).checked_sub(self.site.depth + 1)?;
        members.insert(name, values::chain(rng, levels));
        Some(below)
    }

    fn add_unknown(&self, place: &mut Value, keyword: &Value, rng: &mut Rng) -> Option<String> {
        let name = values::unknown_name(rng, &[]);
        if keyword != &json!(false) || known(&self.site.parts).contains(name.as_str()) {
            return None;
        }
        let below = format!("/{}", escaped(&name));
        place.as_object_mut()?.insert(name, values::any(rng, 1));
        Some(below)
    }
}

fn remove_required(place: &mut Value, names: &Value, rng: &mut Rng) -> Option<String> {
    let members = place.as_object_mut()?;
    let names = names.as_array()?.iter().filter_map(Value::as_str);
    let present: Vec<&str> = names.filter(|name| members.contains_key(*name)).collect();
    members.remove(*rng.choice(&present)?);
    Some(String::new())
}

/// Returns a value whose type is not allowed. Some look similar to allowed values.
fn wrong_type(parts: &[Part<'_>], rng: &mut Rng) -> Option<Value> {
    let types = types(parts)?;
    let number = types.contains(&"number");
    let mut wrong = vec![];
    let mut offer = |name: &str, values: &[Value]| {
        if !types.contains(&name) {
            wrong.extend_from_slice(values);
        }
    };
    offer("null", &[Value::Null, Value::Null, Value::Null]);
    offer("boolean", &[json!(true), json!(false)]);
    offer("string", &[json!(""), json!("1"), json!("text")]);
    offer("array", &[json!([]), json!([null]), json!([{}])]);
    offer("object", &[json!({}), json!({ "": 0 })]);
    if types.contains(&"integer") && !number {
        let near = [json!(1.5), json!(-0.5), json!(1e19), json!(-1e19), json!(1e300)];
        wrong.extend(near);
        let past = [json!(9_223_372_036_854_775_808_u64), json!(9_223_372_036_854_775_808.0)];
        wrong.extend(past);
        wrong.extend([json!(u64::MAX), json!(18_446_744_073_709_551_616.0), json!(5e-324)]);
    } else if !number {
        wrong.extend([json!(0), json!(1), json!(1.5)]);
    }
    rng.choice(wrong)
}

/// Returns a value that differs from all of these. If the present value is a string or a number, the result may be
/// similar to it.
fn other_than(these: &[Value], now: &Value, rng: &mut Rng) -> Value {
    let near: Vec<Value> = match now {
        Value::String(text) => {
            let shorter: String = text.chars().skip(1).collect();
            let near = [text.to_uppercase(), format!("{text} "), format!("{text}\0"), shorter, String::new()];
            near.into_iter().map(Value::from).collect()
        }
        Value::Number(number) => {
            let near = values::around(number).into_iter();
            near.map(Value::Number).chain([number.to_string().into()]).collect()
        }
        _ => vec![json!("other")],
    };
    let far = [Value::Null, json!(0), json!(false), json!([]), json!({}), json!("other")];
    let others = near.into_iter().chain(far);
    let others: Vec<Value> = others.filter(|value| !these.iter().any(|one| crate::json_equal(one, value))).collect();
    rng.choice(others).unwrap_or(Value::Null)
}

fn out_of_bound(keyword: &str, bound: &Value, now: &Value, rng: &mut Rng) -> Option<Value> {
    let (Value::Number(bound), Value::Number(_)) = (bound, now) else {
        return None;
    };
    let outside = |number: &serde_json::Number| {
        let order = crate::compare(number, bound);
        match keyword {
            "maximum" => order.is_gt(),
            "minimum" => order.is_lt(),
            "exclusiveMaximum" => order.is_ge(),
            _ => order.is_le(),
        }
    };
    let far = [json!(-1e300), json!(1e300), json!(i64::MIN), json!(u64::MAX)];
    let far = far.into_iter().filter_map(|value| value.as_number().cloned());
    let numbers = values::around(bound).into_iter().chain(far).filter(outside);
    rng.choice(numbers.collect::<Vec<_>>()).map(Value::Number)
}

fn resize_array(keyword: &str, bound: &Value, place: &mut Value) -> Option<()> {
    let bound = usize::try_from(bound.as_u64()?).ok()?;
    let items = place.as_array_mut()?;
    match keyword {
        "minItems" => items.truncate(bound.checked_sub(1)?),
        _ => {
            let filler = items.last()?.clone();
            items.resize(more_than(bound)?, filler);
        }
    }
    Some(())
}

/// Returns the next length, or `None` if a test document cannot be that long.
fn more_than(bound: usize) -> Option<usize> {
    bound.checked_add(1).filter(|length| *length < 1_000_000)
}

fn resize_string(keyword: &str, bound: &Value, place: &mut Value) -> Option<()> {
    let bound = usize::try_from(bound.as_u64()?).ok()?;
    let length = match keyword {
        "minLength" => bound.checked_sub(1)?,
        _ => more_than(bound)?,
    };
    let padded = place.as_str()?.chars().chain(std::iter::repeat('x'));
    let resized: String = padded.take(length).collect();
    *place = resized.into();
    Some(())
}
