//! Verifies skills and their files against their entries.

use std::collections::BTreeSet;

use mcpgen_types::Value;
use mcpgen_types::ext::skills::{Skill, SkillResource, SkillResources};

use super::error::SkillError;
use super::limits::SkillLimits;
use super::yaml::Mapping;
use super::{digest, frontmatter, uri};

/// Checks an entry: the skill's name, the URIs of its files, and the limits.
pub(crate) fn check_entry(skill: &Skill, limits: SkillLimits) -> Result<(), SkillError> {
    let invalid = |reason: String| Err(SkillError::Entry { uri: skill.uri.clone(), reason });
    let (Some(root), Some(name)) = (uri::root(&skill.uri), uri::name(&skill.uri)) else {
        return invalid("its URI does not end in `/SKILL.md`".to_owned());
    };
    if name != skill.frontmatter.name {
        return invalid(format!("its name is {:?}, but its URI has {name:?}", skill.frontmatter.name));
    }
    let Some(resources) = resources(skill) else {
        return if limits.allow_dynamic { Ok(()) } else { Err(SkillError::Dynamic(skill.uri.clone())) };
    };
    let mut uris = BTreeSet::new();
    for resource in resources {
        let path = resource.uri.strip_prefix(root).and_then(|path| path.strip_prefix('/'));
        if !path.is_some_and(uri::is_inside) {
            return invalid(format!("the file {} is outside the skill", resource.uri));
        }
        if !uris.insert(&resource.uri) {
            return invalid(format!("the file {} is listed twice", resource.uri));
        }
    }
    if !uris.contains(&skill.uri) {
        return invalid("its `SKILL.md` is not listed".to_owned());
    }
    let exceeds = |limit, unit| Err(SkillError::Limit { uri: skill.uri.clone(), limit, unit });
    if resources.len() > limits.files {
        return exceeds(limits.files as u64, "files");
    }
    let bytes = resources.iter().try_fold(0_u64, |bytes, resource| bytes.checked_add(resource.size));
    match bytes {
        Some(bytes) if bytes <= limits.bytes => Ok(()),
        _ => exceeds(limits.bytes, "bytes"),
    }
}

/// `None` if the skill's content is generated.
pub(crate) fn resources(skill: &Skill) -> Option<&[SkillResource]> {
    match &skill.resources {
        SkillResources::SkillResourceArray(resources) => Some(resources),
        SkillResources::Value(_) => None,
    }
}

pub(crate) fn check_content(resource: &SkillResource, content: &[u8]) -> Result<(), SkillError> {
    let uri = || resource.uri.clone();
    let found = content.len() as u64;
    if found != resource.size {
        return Err(SkillError::Size { uri: uri(), expected: resource.size, found });
    }
    let found = digest::of(content);
    if found != resource.digest {
        return Err(SkillError::Digest { uri: uri(), expected: resource.digest.clone(), found });
    }
    Ok(())
}

/// Checks that a `SKILL.md`'s front matter equals that in the entry.
pub(crate) fn check_frontmatter(skill: &Skill, text: &str) -> Result<(), SkillError> {
    let uri = || skill.uri.clone();
    let found = frontmatter::parse(text).map_err(|source| SkillError::Frontmatter { uri: uri(), source })?;
    let expected = match mcpgen_types::to_value(&skill.frontmatter) {
        Ok(Value::Object(expected)) => expected,
        _ => Mapping::new(),
    };
    match frontmatter::first_difference(&expected, &found) {
        None => Ok(()),
        Some(field) => Err(SkillError::FrontmatterDiffers { uri: uri(), field: field.to_owned() }),
    }
}

/// Returns whether two entries of a skill have the same files with the same digests. If not, an approval of one does
/// not apply to the other. Generated content never counts as the same.
///
/// ```
/// use mcpgen_sdk::skills::{Skills, is_same_content};
///
/// let greet = |text: &str| {
///     let skill = format!("---\nname: greet\ndescription: Greets people.\n---\n{text}\n");
///     Skills::from_files([("greet/SKILL.md", skill)])
/// };
/// let (before, after) = (greet("Say hello.")?, greet("Say goodbye.")?);
/// let [before, after] = [&before, &after].map(|skills| skills.entries().next().expect("one skill"));
/// assert!(is_same_content(before, before));
/// assert!(!is_same_content(before, after));
/// # Ok::<(), mcpgen_sdk::skills::FolderError>(())
/// ```
#[must_use]
pub fn is_same_content(a: &Skill, b: &Skill) -> bool {
    fn files(skill: &Skill) -> Option<BTreeSet<(&str, &str)>> {
        Some(resources(skill)?.iter().map(|resource| (&*resource.uri, &*resource.digest)).collect())
    }
    a.uri == b.uri && files(a).is_some() && files(a) == files(b)
}
