//! Finds the decision for a union, from the schemas of its variants alone.

use std::collections::BTreeSet;

use mcpgen_schema::JsonTypes;
use mcpgen_schema::algebra::Algebra;
use mcpgen_schema::containment::{Budget, Scoped, Verdict, disjoint};
use mcpgen_schema::json::Json;
use mcpgen_schema::normal::{Discriminator, Kind, Object, Schema};

use crate::decision::{Condition, Decision, Guard};

/// Two variants that no guard can tell apart.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Conflict {
    pub a: usize,
    pub b: usize,
    /// A document that both variants accept, if one was found.
    pub example: Option<Json>,
}

/// Decides a union.
///
/// # Errors
/// Returns the first two variants that no guard can tell apart, unless one contains the other.
pub(super) fn decide(
    variants: &[Schema],
    discriminator: Option<&Discriminator>,
    algebra: &Algebra<'_>,
) -> Result<Decision, Conflict> {
    let mut search = Search { variants, discriminator, algebra, decision: Decision::default() };
    let all: Vec<usize> = (0..variants.len()).collect();
    search.decision.overlapping = !algebra.are_disjoint(variants);
    search.by_type(all)?;
    Ok(search.decision)
}

/// Returns a document that both schemas accept, if one is found.
pub(super) fn example_of_both(a: &Schema, b: &Schema, algebra: &Algebra<'_>) -> Option<Json> {
    let [a, b] = [a, b].map(Schema::to_check);
    let [a, b] = [&a, &b].map(|check| Scoped { check, definitions: algebra.checks() });
    match disjoint(a, b, Budget::default()) {
        Verdict::Refuted(document) => Some(document),
        _ => None,
    }
}

/// Returns the first variant that accepts everything the others accept, so that the union can be an alias of it.
///
/// Returns `None` if a key separates them: the others all require a key that this variant does not know. For example,
/// the schema of JSON-RPC notifications also accepts requests, but only requests have an `id`.
pub(super) fn absorbing(variants: &[Schema], algebra: &Algebra<'_>) -> Option<usize> {
    let search = Search { variants, discriminator: None, algebra, decision: Decision::default() };
    let (large, _) = variants.iter().enumerate().find(|(large, variant)| {
        variants.iter().enumerate().all(|(small, other)| small == *large || algebra.contains(variant, other))
    })?;
    let rest: Vec<usize> = (0..variants.len()).filter(|&variant| variant != large).collect();
    let group: Vec<usize> = [large].into_iter().chain(rest.iter().copied()).collect();
    let separable = search.split(&group, &[]).is_some_and(|split| {
        matches!(split.as_slice(), [(Some(Condition::Present(_)), with), (None, without)] if *with == rest && *without == [large])
    });
    (!separable).then_some(large)
}

/// A schema behind more nested references counts as unknown.
const MAX_DEPTH: u32 = 48;

struct Search<'a> {
    variants: &'a [Schema],
    discriminator: Option<&'a Discriminator>,
    algebra: &'a Algebra<'a>,
    decision: Decision,
}

/// A way to split a group of variants: each condition selects some of them. `None` is "otherwise".
type Split = Vec<(Option<Condition>, Vec<usize>)>;

struct Candidate<'s> {
    variant: usize,
    objects: Vec<&'s Object>,
}

impl<'a> Search<'a> {
    fn guard(&mut self, when: Vec<Condition>, variant: usize) {
        self.decision.guards.push(Guard { when, variant });
    }

    fn by_type(&mut self, group: Vec<usize>) -> Result<(), Conflict> {
        let mut groups: Vec<(JsonTypes, Vec<usize>)> = Vec::new();
        for one in JsonTypes::ALL.each() {
            let accepts = |&variant: &usize| self.types(&self.variants[variant], 0).intersects(one);
            let takers: Vec<usize> = group.iter().copied().filter(accepts).collect();
            match groups.iter_mut().find(|(_, variants)| *variants == takers) {
                _ if takers.is_empty() => {}
                Some((types, _)) => *types = types.union(one),
                None => groups.push((one, takers)),
            }
        }
        groups.sort_by_key(|(types, variants)| (variants[0], *types));
        if let [(_, only)] = groups.as_slice()
            && only.len() == group.len()
        {
            return self.by_shape(group, Vec::new(), groups[0].0);
        }
        for (types, variants) in groups {
            self.by_shape(variants, vec![Condition::Type(types)], types)?;
        }
        Ok(())
    }

    /// Splits variants of one JSON type by tags and keys.
    fn by_shape(&mut self, group: Vec<usize>, when: Vec<Condition>, types: JsonTypes) -> Result<(), Conflict> {
        if let [only] = group.as_slice() {
            self.guard(when, *only);
            return Ok(());
        }
        let split = match types {
            JsonTypes::OBJECT => self.by_discriminator(&group).or_else(|| self.split(&group, &[])),
            JsonTypes::ARRAY => self.split(&group, &["0"]),
            _ => None,
        };
        let split = match split.or_else(|| self.by_whole_value(&group)) {
            Some(split) => split,
            None => self.by_containment(&group)?,
        };
        // An empty array has no first item to look at, so it needs a separate guard.
        let has_otherwise = split.iter().any(|(condition, _)| condition.is_none());
        let takes_empty = |&variant: &usize| self.algebra.accepts(&self.variants[variant], &Json::Array(Vec::new()));
        let empty = group.iter().copied().find(takes_empty).filter(|_| types == JsonTypes::ARRAY && !has_otherwise);
        for (condition, variants) in split {
            let when = when.iter().cloned().chain(condition).collect();
            self.by_shape(variants, when, types)?;
        }
        if let Some(variant) = empty {
            let absent = Condition::Absent(vec!["0".to_owned()]);
            self.guard(when.into_iter().chain([absent]).collect(), variant);
        }
        Ok(())
    }

    /// Splits by OpenAPI's `discriminator`. Its values are the property's constants, or those in the mapping, or the
    /// names of the definitions.
    fn by_discriminator(&mut self, group: &[usize]) -> Option<Split> {
        let discriminator = self.discriminator?;
        let mut split: Split = Vec::new();
        let mut taken: Vec<Json> = Vec::new();
        let mut are_constants = true;
        for &variant in group {
            let objects = self.objects(&self.variants[variant], &[], 0)?;
            let at = at(&objects, &discriminator.property, self.algebra);
            let values = match at.values() {
                Some(values) => values,
                None => {
                    are_constants = false;
                    self.mapped(discriminator, variant, &at)?
                }
            };
            if !at.required || values.iter().any(|value| taken.contains(value)) {
                return None;
            }
            taken.extend(values.iter().cloned());
            split.push((Some(Condition::Value(vec![discriminator.property.clone()], values)), vec![variant]));
        }
        // Without constants, the schema also accepts values that select no variant.
        self.decision.overlapping |= !are_constants;
        Some(split)
    }

    /// Returns the discriminator values that select a variant whose property is not a constant.
    fn mapped(&self, discriminator: &Discriminator, variant: usize, at: &AtPath<'_>) -> Option<Vec<Json>> {
        let Kind::Ref(name) = &self.variants[variant].kind else { return None };
        let mapped = discriminator.mapping.iter().filter(|(_, target)| target == name);
        let mut values: Vec<Json> = mapped.map(|(value, _)| Json::String(value.clone())).collect();
        if values.is_empty() {
            values.push(Json::String(name.clone()));
        }
        let accepts = |value: &Json| at.schemas.iter().all(|it| it.is_some_and(|it| self.algebra.accepts(it, value)));
        values.iter().all(accepts).then_some(values)
    }

    fn split(&self, group: &[usize], base: &[&str]) -> Option<Split> {
        let candidates = group
            .iter()
            .map(|&variant| Some(Candidate { variant, objects: self.objects(&self.variants[variant], base, 0)? }))
            .collect::<Option<Vec<Candidate<'_>>>>()?;
        let base: Vec<String> = base.iter().map(|&segment| segment.to_owned()).collect();
        let paths = paths(&candidates, &base, self.algebra);
        self.by_tag(&candidates, &paths)
            .or_else(|| self.by_open_tag(&candidates, &paths, true))
            .or_else(|| self.by_key(&candidates, &paths))
            .or_else(|| self.by_open_tag(&candidates, &paths, false))
            .filter(|split| split.iter().all(|(_, variants)| variants.len() < group.len()))
    }

    /// Splits by a member that is constant in every variant.
    fn by_tag(&self, candidates: &[Candidate<'_>], paths: &[KeyPath<'_>]) -> Option<Split> {
        let mut best: Option<(usize, bool, Split)> = None;
        for path in paths {
            let at = || candidates.iter().zip(&path.at);
            let values = at().map(|(candidate, at)| Some((candidate.variant, at.values()?)));
            let Some(values) = values.collect::<Option<Vec<_>>>() else { continue };
            let mut split = group_by_value(&path.segments, &values);
            let absent = at().filter(|(_, at)| !at.required).map(|(candidate, _)| candidate.variant);
            let absent: Vec<usize> = absent.collect();
            let distinct = split.len();
            let required = absent.is_empty();
            if !required {
                split.push((Some(Condition::Absent(path.segments.clone())), absent));
            }
            let smaller = split.iter().all(|(_, variants)| variants.len() < candidates.len());
            let better = best.as_ref().is_none_or(|(count, all, _)| (distinct, required) > (*count, *all));
            if distinct > 1 && smaller && better {
                best = Some((distinct, required, split));
            }
        }
        best.map(|(_, _, split)| split)
    }

    /// Splits by a member that is constant in some variants only.
    fn by_open_tag(&self, candidates: &[Candidate<'_>], paths: &[KeyPath<'_>], declared: bool) -> Option<Split> {
        paths.iter().find_map(|path| {
            let (mut tagged, mut rest) = (Vec::new(), Vec::new());
            for (candidate, at) in candidates.iter().zip(&path.at) {
                match at.values() {
                    Some(values) if at.required => tagged.push((candidate.variant, values)),
                    _ => rest.push((candidate.variant, at)),
                }
            }
            let usable = !tagged.is_empty()
                && !rest.is_empty()
                && rest.iter().all(|(_, at)| at.declared || (!declared && at.is_free));
            usable.then(|| {
                let mut split = group_by_value(&path.segments, &tagged);
                split.push((None, rest.into_iter().map(|(variant, _)| variant).collect()));
                split
            })
        })
    }

    /// Splits by a key that some variants require and the others do not mention. Prefers the most even split, and
    /// otherwise the first. If the key is constant where it is required, any other value selects the other variants.
    fn by_key(&self, candidates: &[Candidate<'_>], paths: &[KeyPath<'_>]) -> Option<Split> {
        let mut best: Option<(usize, Split)> = None;
        for path in paths {
            let (with, without): (Vec<_>, Vec<_>) = candidates.iter().zip(&path.at).partition(|(_, at)| at.required);
            let apart = !with.is_empty() && !without.is_empty() && without.iter().all(|(_, at)| at.is_free);
            let evenness = with.len().min(without.len());
            if apart && best.as_ref().is_none_or(|(known, _)| evenness > *known) {
                let variants = |side: Vec<(&Candidate<'_>, &AtPath<'_>)>| {
                    side.into_iter().map(|(candidate, _)| candidate.variant).collect()
                };
                let values = with.iter().map(|(_, at)| at.values()).collect::<Option<Vec<_>>>();
                let segments = path.segments.clone();
                let condition = match values {
                    Some(values) => Condition::Value(segments, distinct(values.concat())),
                    None => Condition::Present(segments),
                };
                let rest = required_only_by(candidates, paths, &without);
                best = Some((evenness, vec![(Some(condition), variants(with)), (rest, variants(without))]));
            }
        }
        best.map(|(_, split)| split)
    }

    fn by_whole_value(&self, group: &[usize]) -> Option<Split> {
        let values = group.iter().map(|&variant| match &self.algebra.follow(&self.variants[variant])?.kind {
            Kind::Values(values) => Some((variant, values.clone())),
            _ => None,
        });
        let split = group_by_value(&[], &values.collect::<Option<Vec<_>>>()?);
        split.iter().all(|(_, variants)| variants.len() < group.len()).then_some(split)
    }

    /// Splits off a variant that is contained in another, by a key that only the contained one knows. Without such a
    /// key, the larger variant absorbs it.
    fn by_containment(&mut self, group: &[usize]) -> Result<Split, Conflict> {
        for &inner in group {
            let Some(&outer) = group
                .iter()
                .find(|&&outer| outer != inner && self.algebra.contains(&self.variants[outer], &self.variants[inner]))
            else {
                continue;
            };
            let rest: Vec<usize> = group.iter().copied().filter(|&variant| variant != inner).collect();
            if let Some(key) = self.own_key(inner, &rest) {
                return Ok(vec![(Some(Condition::Present(vec![key])), vec![inner]), (None, rest)]);
            }
            self.decision.absorbed.push((inner, outer));
            return Ok(vec![(None, rest)]);
        }
        let (a, b) = (group[0], group[1]);
        let example = example_of_both(&self.variants[a], &self.variants[b], self.algebra);
        Err(Conflict { a, b, example })
    }

    fn own_key(&self, variant: usize, others: &[usize]) -> Option<String> {
        let own = self.objects(&self.variants[variant], &[], 0)?;
        let others: Vec<&Object> = others
            .iter()
            .map(|&other| self.objects(&self.variants[other], &[], 0))
            .collect::<Option<Vec<_>>>()?
            .concat();
        own.first()?.properties.keys().find(|key| others.iter().all(|other| is_free(other, key))).cloned()
    }

    /// Returns the objects that a schema allows at `base`, or `None` if it also allows other values.
    fn objects(&self, schema: &'a Schema, base: &[&str], depth: u32) -> Option<Vec<&'a Object>> {
        if depth > MAX_DEPTH {
            return None;
        }
        match (&schema.kind, base) {
            (Kind::Object(object), []) => Some(vec![&**object]),
            (Kind::Array(array), [_, rest @ ..]) => self.objects(array.schema_of(0), rest, depth + 1),
            (Kind::Ref(name), _) => self.objects(self.algebra.target(name), base, depth + 1),
            (Kind::Checked(inner, _), _) => self.objects(inner, base, depth + 1),
            (Kind::Union(variants), _) => {
                let wanted = if base.is_empty() { JsonTypes::OBJECT } else { JsonTypes::ARRAY };
                let of_type = variants.iter().filter(|variant| self.types(variant, depth).intersects(wanted));
                let found: Option<Vec<Vec<&Object>>> = of_type.map(|m| self.objects(m, base, depth + 1)).collect();
                Some(found?.concat())
            }
            _ => None,
        }
    }

    /// Returns the JSON types that a schema accepts, or all types if they are unknown.
    fn types(&self, schema: &Schema, depth: u32) -> JsonTypes {
        match &schema.kind {
            _ if depth > MAX_DEPTH => JsonTypes::ALL,
            Kind::Any | Kind::All(_) => JsonTypes::ALL,
            Kind::Never => JsonTypes::NONE,
            Kind::Null => JsonTypes::NULL,
            Kind::Boolean => JsonTypes::BOOLEAN,
            Kind::Integer(_) => JsonTypes::INTEGER,
            Kind::Number(_) => JsonTypes::NUMBER,
            Kind::String(_) => JsonTypes::STRING,
            Kind::Array(_) => JsonTypes::ARRAY,
            Kind::Object(_) => JsonTypes::OBJECT,
            Kind::Values(values) => values.iter().map(JsonTypes::of).collect(),
            Kind::Union(variants) => variants.iter().map(|variant| self.types(variant, depth + 1)).collect(),
            Kind::Ref(name) => self.types(self.algebra.target(name), depth + 1),
            Kind::Checked(inner, _) => self.types(inner, depth + 1),
        }
    }
}

struct KeyPath<'s> {
    segments: Vec<String>,
    at: Vec<AtPath<'s>>,
}

struct AtPath<'s> {
    required: bool,
    /// Whether the schema names the value in at least one object.
    declared: bool,
    /// Whether no object says anything about the value, other than that it is forbidden.
    is_free: bool,
    /// The schema of the value in each object.
    schemas: Vec<Option<&'s Schema>>,
}

impl AtPath<'_> {
    fn values(&self) -> Option<Vec<Json>> {
        let mut all = Vec::new();
        for schema in &self.schemas {
            match &(*schema)?.kind {
                Kind::Values(values) => all.extend(values.iter().cloned()),
                _ => return None,
            }
        }
        let scalar = all.iter().all(|value| !matches!(value, Json::Array(_) | Json::Object(_)));
        (scalar && !all.is_empty()).then_some(all)
    }
}

/// Returns the keys that any variant names, and the keys inside members that all of them require.
fn paths<'s>(candidates: &'s [Candidate<'_>], base: &[String], algebra: &'s Algebra<'_>) -> Vec<KeyPath<'s>> {
    let mut found = Vec::new();
    for key in keys(candidates.iter().flat_map(|candidate| &candidate.objects).copied()) {
        let at: Vec<AtPath<'_>> = candidates.iter().map(|candidate| at(&candidate.objects, &key, algebra)).collect();
        let segments: Vec<String> = base.iter().cloned().chain([key]).collect();
        let inner: Option<Vec<Vec<&Object>>> =
            at.iter().map(|at| if at.required { objects_of(&at.schemas) } else { None }).collect();
        found.push(KeyPath { segments: segments.clone(), at });
        for inner in inner.into_iter().take(1) {
            for key in keys(inner.iter().flatten().copied()) {
                let at = inner.iter().map(|objects| self::at(objects, &key, algebra)).collect();
                found.push(KeyPath { segments: segments.iter().cloned().chain([key]).collect(), at });
            }
        }
    }
    // Shorter paths come first. Otherwise, the order is that of the schema.
    found.sort_by_key(|path| path.segments.len());
    found
}

/// Returns a key that only the single remaining variant requires. Decoding gives the same result without this
/// condition, but with it, errors can list the keys of all variants. Skips array items, because the array may be empty.
fn required_only_by(
    candidates: &[Candidate<'_>],
    paths: &[KeyPath<'_>],
    rest: &[(&Candidate<'_>, &AtPath<'_>)],
) -> Option<Condition> {
    let [(only, _)] = rest else { return None };
    let own = paths.iter().find(|path| {
        let mut pairs = candidates.iter().zip(&path.at);
        pairs.all(|(candidate, at)| if candidate.variant == only.variant { at.required } else { !at.declared })
    })?;
    (own.segments.first()? != "0").then(|| Condition::Present(own.segments.clone()))
}

fn keys<'s>(objects: impl Iterator<Item = &'s Object>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    objects.flat_map(|object| object.properties.keys()).filter(|key| seen.insert((*key).clone())).cloned().collect()
}

fn at<'s>(objects: &[&'s Object], key: &str, algebra: &'s Algebra<'_>) -> AtPath<'s> {
    let known = |object: &&'s Object| object.properties.get(key).and_then(|property| algebra.follow(&property.schema));
    AtPath {
        required: !objects.is_empty() && objects.iter().all(|object| object.requires(key)),
        declared: objects.iter().any(|object| object.properties.contains_key(key)),
        is_free: objects.iter().all(|object| is_free(object, key)),
        schemas: objects.iter().map(known).collect(),
    }
}

/// Returns whether an object says nothing about a member, other than that it is forbidden.
fn is_free(object: &Object, key: &str) -> bool {
    !object.properties.contains_key(key) && matches!(object.schema_of_other(key).kind, Kind::Any | Kind::Never)
}

fn objects_of<'s>(schemas: &[Option<&'s Schema>]) -> Option<Vec<&'s Object>> {
    schemas
        .iter()
        .map(|schema| match &(*schema)?.kind {
            Kind::Object(object) => Some(&**object),
            _ => None,
        })
        .collect()
}

fn distinct(values: Vec<Json>) -> Vec<Json> {
    let mut distinct: Vec<Json> = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

/// Splits by the value at a path. Values that lead to the same variants share a condition.
fn group_by_value(path: &[String], known: &[(usize, Vec<Json>)]) -> Split {
    let mut groups: Vec<(Vec<Json>, Vec<usize>)> = Vec::new();
    for value in distinct(known.iter().flat_map(|(_, values)| values).cloned().collect()) {
        let takers = known.iter().filter(|(_, values)| values.contains(&value)).map(|(variant, _)| *variant);
        let takers: Vec<usize> = takers.collect();
        match groups.iter_mut().find(|(_, variants)| *variants == takers) {
            Some((values, _)) => values.push(value),
            None => groups.push((vec![value], takers)),
        }
    }
    groups.into_iter().map(|(values, variants)| (Some(Condition::Value(path.to_vec(), values)), variants)).collect()
}
