//! Compares the methods of two protocols: who sends them, their params and their results.

use mcpgen_model::{MessageKind, MessageSet, Protocol, Request, Side, Type, TypeId};

use crate::models::compare::{Comparison, paired, place_of};
use crate::models::difference::{Site, place};
use crate::models::rules::Rule;
use crate::models::senders::Senders;

impl<'p> Comparison<'p> {
    pub(super) fn methods(&mut self) {
        let requests = |protocol: &'p Protocol| protocol.requests.iter().map(|it| (it.method.as_str(), it)).collect();
        for (method, was, is) in paired(requests(self.old), requests(self.new)) {
            let ids = [was, is].map(|side| side.map(|it: &Request| it.type_id));
            let callers = self.method(method, MessageKind::Request, ids);
            let (Some(old), Some(new)) = (was, is) else { continue };
            self.compare_roots(&Type::Named(old.type_id), &Type::Named(new.type_id), callers, method);
            let receivers = Senders { client: callers.server, server: callers.client };
            self.results(method, receivers, (&old.result, &new.result));
            self.task_results(method, receivers, old, new);
        }
        let notifications =
            |protocol: &'p Protocol| protocol.notifications.iter().map(|it| (it.method.as_str(), it.type_id)).collect();
        for (method, was, is) in paired(notifications(self.old), notifications(self.new)) {
            let senders = self.method(method, MessageKind::Notification, [was, is]);
            if let (Some(old), Some(new)) = (was, is) {
                self.compare_roots(&Type::Named(old), &Type::Named(new), senders, method);
            }
        }
    }

    /// Compares whether both schemas have a method, and who sends it. Returns its senders in either schema. If neither
    /// schema says who sends it, both sides may.
    fn method(&mut self, method: &str, kind: MessageKind, [old, new]: [Option<TypeId>; 2]) -> Senders {
        let sides = [(old, &self.sending[0]), (new, &self.sending[1])]
            .map(|(id, sending)| id.map(|id| sending.known(id).map(<[Side]>::to_vec)));
        let declared = sides.iter().flatten().flatten().next().cloned();
        let is_unknown = declared.is_none();
        let either = declared.unwrap_or_else(|| vec![Side::Client, Side::Server]);
        let [was, is] = sides.map(|side| side.map(|known| known.unwrap_or_else(|| either.clone())));
        let senders = [&was, &is].into_iter().flatten().fold(Senders::default(), |all, it| all.and(Senders::of(it)));
        if let Some((rule, sides, message)) = moved(method, kind, (was, is), is_unknown) {
            for side in &sides {
                self.message_rules.entry(MessageSet { sender: *side, kind }).or_default().push(rule);
            }
            let places = [old.map(|id| place(self.old, id)), new.map(|id| place(self.new, id))];
            self.find(rule, &Site::of(method, places), message, Senders::of(&sides));
        }
        senders
    }

    fn results(&mut self, method: &str, receivers: Senders, (old, new): (&'p Type, &'p Type)) {
        self.compare_roots(old, new, receivers, method);
        let (before, after) = (self.old.describe(old), self.new.describe(new));
        if before != after {
            let site = Site::of(method, [place_of(self.old, old), place_of(self.new, new)]);
            let message = format!("the result of `{method}` is {after} instead of {before}");
            self.find(Rule::ResultTypeChanged, &site, message, receivers);
        }
    }

    fn task_results(&mut self, method: &str, receivers: Senders, old: &'p Request, new: &'p Request) {
        let here = place(self.new, new.type_id);
        match (&old.task_result, &new.task_result) {
            (Some(old), Some(new)) => self.compare_roots(old, new, receivers, method),
            (None, Some(new)) => {
                let site = Site::of(method, [None, place_of(self.new, new).or(Some(here))]);
                let result = self.new.describe(new);
                let message = format!("the result of `{method}` may be {result} if the params have `task`");
                self.find(Rule::TaskResultAdded, &site, message, receivers);
            }
            (Some(old), None) => {
                let site = Site::of(method, [place_of(self.old, old), Some(here)]);
                let message = format!("the result of `{method}` is no longer {}", self.old.describe(old));
                self.find(Rule::TaskResultRemoved, &site, message, receivers);
            }
            (None, None) => {}
        }
    }
}

/// Returns the rule for a message whose senders changed, with the sides that it concerns.
fn moved(
    method: &str,
    kind: MessageKind,
    (old, new): (Option<Vec<Side>>, Option<Vec<Side>>),
    is_unknown: bool,
) -> Option<(Rule, Vec<Side>, String)> {
    let what = kind.as_str();
    let (added, removed, moved, embedded, unembedded) = match kind {
        MessageKind::Request => (
            Rule::RequestAdded,
            Rule::RequestRemoved,
            Rule::RequestMoved,
            Rule::RequestEmbedded,
            Rule::RequestUnembedded,
        ),
        // Notifications are never embedded.
        MessageKind::Notification => (
            Rule::NotificationAdded,
            Rule::NotificationRemoved,
            Rule::NotificationMoved,
            Rule::NotificationRemoved,
            Rule::NotificationAdded,
        ),
    };
    let (was, is) = (old.as_deref().unwrap_or_default(), new.as_deref().unwrap_or_default());
    let lost: Vec<Side> = was.iter().copied().filter(|side| !is.contains(side)).collect();
    let gained: Vec<Side> = is.iter().copied().filter(|side| !was.contains(side)).collect();
    let is_embedded = |there: &Option<Vec<Side>>| there.as_ref().is_some_and(Vec::is_empty);
    let (who_lost, who_gained) = (sides_in_words(&lost), sides_in_words(&gained));
    let send = |sides: &[Side]| if sides.len() == 1 { "sends" } else { "send" };
    Some(match (lost.as_slice(), gained.as_slice()) {
        ([], []) if old.is_some() && new.is_some() => return None,
        ([], []) if old.is_none() => (added, vec![], format!("the embedded {what} `{method}` is new")),
        ([], []) => (removed, vec![], format!("the embedded {what} `{method}` was removed")),
        ([], _) if is_unknown => (added, gained, format!("the {what} `{method}` is new")),
        (_, []) if is_unknown => (removed, lost, format!("the {what} `{method}` was removed")),
        ([], _) if is_embedded(&old) => {
            (unembedded, gained, format!("the {what} `{method}` is no longer embedded in other messages"))
        }
        (_, []) if is_embedded(&new) => {
            (embedded, lost, format!("the {what} `{method}` is now embedded in other messages"))
        }
        ([], sides) => {
            let message = format!("the {who_gained} now {} the {what} `{method}`", send(sides));
            (added, gained, message)
        }
        (sides, []) => {
            let message = format!("the {who_lost} no longer {} the {what} `{method}`", send(sides));
            (removed, lost, message)
        }
        _ => {
            let message =
                format!("the {what} `{method}` was sent by the {who_lost} and is now sent by the {who_gained}");
            (moved, lost.into_iter().chain(gained).collect(), message)
        }
    })
}

fn sides_in_words(sides: &[Side]) -> &'static str {
    match sides {
        [only] => only.as_str(),
        _ => "client and the server",
    }
}
