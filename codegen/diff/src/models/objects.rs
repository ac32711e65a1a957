//! Compares two objects, member by member.

use mcpgen_model::{Content, Member, MessageKind, Protocol, Type};
use mcpgen_schema::json::Json;
use mcpgen_schema::json::pointer::escape;

use crate::models::difference::{Outcome, Site};
use crate::models::evidence::{Aim, Version};
use crate::models::limits::{accepts, fixed};
use crate::models::resolved::{OtherMembers, Resolve, Resolved, ResolvedObject};
use crate::models::rules::Rule;
use crate::models::values::Values;
use crate::models::verdict::Verdict;

impl<'p> Values<'p> {
    pub(super) fn objects(
        &self,
        old: &ResolvedObject<'p>,
        new: &ResolvedObject<'p>,
        site: &Site,
        outcome: &mut Outcome,
    ) {
        let named = |members: &'p [Member], name: &str| members.iter().find(|member| member.wire == name);
        for member in new.members {
            let before = named(old.members, &member.wire);
            let site = site.member(member, before, Some(member));
            match before {
                Some(before) => self.members(before, member, &site, outcome),
                None if is_envelope(&site, member) => drop(outcome.add(&site, Rule::EnvelopeStated, "is now included")),
                None => self.only_in(Version::New, member, old, &site, outcome),
            }
        }
        for member in old.members.iter().filter(|member| named(new.members, &member.wire).is_none()) {
            let site = site.member(member, Some(member), None);
            match is_envelope(&site, member) {
                true => drop(outcome.add(&site, Rule::EnvelopeUnstated, "is no longer included")),
                false => self.only_in(Version::Old, member, new, &site, outcome),
            }
        }
        let content = |rest: OtherMembers<'p>| match rest {
            OtherMembers::Anything => Type::Any,
            OtherMembers::Of(content) => content.clone(),
            OtherMembers::Refused => Type::Never,
        };
        match (old.rest, new.rest) {
            (OtherMembers::Refused, OtherMembers::Refused) => {}
            (OtherMembers::Refused, _) => {
                outcome.add(site, Rule::ObjectOpened, "may have members that the schema does not name");
            }
            (_, OtherMembers::Refused) => {
                outcome.add(site, Rule::ObjectClosed, "may not have members that the schema does not name");
            }
            (old, new) => {
                let below = site.below(".*", "/additionalProperties");
                self.expressions(&content(old), &content(new), &below, outcome);
            }
        }
    }

    pub(super) fn patterns(
        &self,
        (old, was): (&Type, &ResolvedObject<'p>),
        (new, is): (&Type, &ResolvedObject<'p>),
        site: &Site,
        outcome: &mut Outcome,
    ) {
        match (was.pattern, is.pattern) {
            (None, None) => {}
            (Some(before), Some(after)) if before.pattern == after.pattern => {
                let pointer = format!("/patternProperties/{}", escape(&after.pattern));
                let below = site.below(&format!("./{}/", after.pattern), &pointer);
                self.expressions(&before.content, &after.content, &below, outcome);
            }
            _ => drop(self.as_a_whole(old, new, format!("the patterns of {} differ", site.subject), site, outcome)),
        }
    }

    /// Compares a member that one version names with the unnamed members of the other.
    fn only_in(
        &self,
        version: Version,
        member: &Member,
        there: &ResolvedObject<'_>,
        site: &Site,
        outcome: &mut Outcome,
    ) {
        let others = there.other(&member.wire);
        let is_open = matches!(others, OtherMembers::Anything);
        // A member without a type is usually only listed in `required`, so only that requirement has changed.
        let has_type = !matches!(member.value(), Some(Type::Any));
        let (rule, words) = match (version, member.required) {
            (Version::New, true) => (Rule::MemberAddedRequired, "is new and required"),
            (Version::New, false) => (Rule::MemberAddedOptional, "is new"),
            (Version::Old, true) if is_open && !has_type => (Rule::MemberRemovedRequired, "is no longer required"),
            (Version::Old, true) => (Rule::MemberRemovedRequired, "was removed"),
            (Version::Old, false) => (Rule::MemberRemovedOptional, "was removed"),
        };
        let found = outcome.add(site, rule, words);
        // A member without a type accepts any value, so its verdict does not depend on the convention.
        found.by_convention = (is_open && has_type).then_some(version);
        found.aim = Some(Aim::Absent(member.wire.clone()));

        let is_refused = member.content == Content::Value(Type::Never);
        let (is_read_here, is_read_there) = match others {
            // By convention, nobody sends members that an open object says nothing about.
            OtherMembers::Anything => (!is_refused, true),
            OtherMembers::Refused => (true, is_refused),
            OtherMembers::Of(rest) => self.both_fit(version, &member.content, rest),
        };
        let other = version.other();
        let lacks = if version == Version::New { "does not have" } else { "no longer has" };
        let mut refused = |reader: Version, why: String| {
            let rule = if reader == Version::Old { Rule::MemberRefusedByOld } else { Rule::MemberRefusedByNew };
            let words = format!("is rejected by the {} schema, which {why}", reader.as_str());
            outcome.add(site, rule, &words).aim = Some(Aim::Present(member.wire.clone()));
        };
        if !is_read_there {
            refused(other, format!("{lacks} the member"));
        }
        if !is_read_here {
            refused(version, format!("allows less than the {} one", other.as_str()));
        }
    }

    /// Compares the content of a named member in one version with that of unnamed members in the other. Returns whether
    /// the version with the name accepts the content of the other, and vice versa.
    fn both_fit(&self, version: Version, content: &Content, rest: &Type) -> (bool, bool) {
        let there = if version == Version::New { self.old } else { self.new };
        match content {
            Content::Constant(value) => {
                let is_only = match there.resolved(rest) {
                    Resolved::Values(values) => values.iter().all(|it| it == value),
                    Resolved::Never => true,
                    _ => false,
                };
                (is_only, takes(there, rest, value))
            }
            Content::Value(content) if version == Version::New => {
                let [forward, back] = self.worst(rest, content);
                (forward == Verdict::Compatible, back == Verdict::Compatible)
            }
            Content::Value(content) => {
                let [forward, back] = self.worst(content, rest);
                (back == Verdict::Compatible, forward == Verdict::Compatible)
            }
        }
    }

    fn members(&self, old: &'p Member, new: &'p Member, site: &Site, outcome: &mut Outcome) {
        if old.required != new.required {
            let (rule, words) = match new.required {
                true => (Rule::MemberBecameRequired, "is required"),
                false => (Rule::MemberBecameOptional, "may be absent"),
            };
            outcome.add(site, rule, words).aim = Some(Aim::Absent(new.wire.clone()));
        }
        outcome.remarks(site, (old.deprecated, new.deprecated), (old.description.as_ref(), new.description.as_ref()));
        if old.default != new.default {
            let words = |default: &Option<Json>| default.as_ref().map_or("none".to_owned(), Json::to_string);
            let (before, after) = (words(&old.default), words(&new.default));
            let message = format!("the default of {} is {after} instead of {before}", site.subject);
            outcome.say(site, Rule::DefaultChanged, message).detail = after;
        }
        outcome.rust_name(site, "", &old.rust, &new.rust);
        if let (Content::Value(before), Content::Value(after)) = (&old.content, &new.content) {
            return self.expressions(before, after, site, outcome);
        }
        if let (Resolved::Values(before), Resolved::Values(after)) =
            (self.old.resolved_member(old), self.new.resolved_member(new))
        {
            return fixed(&before, &after, site, outcome);
        }
        let words = match (&old.content, &new.content) {
            (Content::Constant(value), Content::Value(content)) => match takes(self.new, content, value) {
                true => return self.opened(std::slice::from_ref(value), content, site, outcome),
                false => format!("is {} instead of {value}", self.words(self.new, content)),
            },
            (Content::Value(content), Content::Constant(value)) => match takes(self.old, content, value) {
                true => return self.closed(content, std::slice::from_ref(value), site, outcome),
                false => format!("is {value} instead of {}", self.words(self.old, content)),
            },
            _ => return,
        };
        outcome.add(site, Rule::TypeChanged, &words);
    }
}

/// Returns whether a type accepts a value.
fn takes(protocol: &Protocol, content: &Type, value: &Json) -> bool {
    match protocol.resolved(content) {
        Resolved::Any => protocol.checks_of(content).iter().all(|check| check.accepts(value, &protocol.checks)),
        Resolved::Values(values) => values.contains(value),
        resolved => accepts(protocol, std::slice::from_ref(value), &resolved, content),
    }
}

/// Returns whether a member is the `jsonrpc` or `id` of a message. On the wire, these are present even if the schema
/// does not state them.
fn is_envelope(site: &Site, member: &Member) -> bool {
    match member.wire.as_str() {
        "jsonrpc" => site.message.is_some() && member.content == Content::Constant(Json::String("2.0".into())),
        "id" => site.message == Some(MessageKind::Request) && member.required,
        _ => false,
    }
}
