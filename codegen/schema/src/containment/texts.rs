//! Solves strings and member names.

use mcpgen_pattern::{Language, Undecided};

use super::formula::{Formula, Names, Node};
use super::search::{Outcome, Search};
use super::verdict::Reason;
use crate::json::Json;
use crate::json_types::JsonTypes;
use crate::text::pattern;

/// The number of strings to try if a pattern cannot be analysed.
const TRIES: usize = 16;

impl Search<'_> {
    pub(super) fn string(&mut self, formulas: &[Formula]) -> Outcome {
        let language = self.texts_of(formulas);
        match self.words(&language, 1).map(|words| words.into_iter().next()) {
            Ok(Some(word)) => Outcome::found(Json::String(word)),
            Ok(None) => Outcome::Empty,
            Err(reason) => self.guess(formulas).map_or(Outcome::Unknown(reason), Outcome::found),
        }
    }

    /// Makes strings for the formulas that can be analysed, and tests them against all formulas.
    fn guess(&mut self, formulas: &[Formula]) -> Option<Json> {
        let is_hard = |node: &Node| matches!(node, Node::Pattern(text) if matching(text).words(1).is_err());
        let easy: Vec<Formula> = formulas.iter().copied().filter(|it| !is_hard(self.formulas.node(*it))).collect();
        let language = self.texts_of(&easy);
        let words = self.words(&language, TRIES).ok()?;
        let mut words = words.into_iter().map(Json::String);
        words.find(|word| formulas.iter().all(|it| self.holds(*it, word) == Some(true)))
    }

    pub(super) fn words(&mut self, language: &Language, count: usize) -> Result<Vec<String>, Reason> {
        self.spend(1)?;
        language.words(count).map_err(|error| match error {
            Undecided::Unsupported => Reason::Pattern,
            _ => Reason::Budget,
        })
    }

    fn texts_of(&mut self, formulas: &[Formula]) -> Language {
        Language::All(formulas.iter().map(|it| self.texts(*it)).collect())
    }

    pub(super) fn texts(&mut self, formula: Formula) -> Language {
        let everything = Language::Length { min: 0, max: None };
        let language = match self.formulas.node(formula).clone() {
            Node::Any(parts) => Language::Any(parts.into_iter().map(|part| self.texts(part)).collect()),
            Node::One(parts) => {
                let parts: Vec<Language> = parts.into_iter().map(|part| self.texts(part)).collect();
                let one = (0..parts.len()).map(|only| {
                    let part = |(index, part): (usize, &Language)| match index == only {
                        true => part.clone(),
                        false => Language::Not(Box::new(part.clone())),
                    };
                    Language::All(parts.iter().enumerate().map(part).collect())
                });
                Language::Any(one.collect())
            }
            Node::Definition(number) => {
                let target = self.formulas.definition(number);
                self.texts(target)
            }
            Node::Type(types) if !types.contains(JsonTypes::STRING) => Language::Words(Vec::new()),
            Node::Values(values) => {
                Language::Words(values.iter().filter_map(Json::as_str).map(str::to_owned).collect())
            }
            Node::Length(length) => Language::Length { min: length.min, max: length.max },
            Node::Pattern(text) => matching(&text),
            _ => everything,
        };
        if formula.is_positive() { language } else { Language::Not(Box::new(language)) }
    }

    /// Returns whether a set contains a name, or `None` if that is unknown.
    pub(super) fn has_name(&self, names: &Names, name: &str) -> Option<bool> {
        let matches = |text: &String| pattern::matches(text, name).ok();
        match names {
            Names::One(only) => Some(only == name),
            Names::Pattern(text) => matches(text),
            Names::Others(listed, patterns) => {
                let is_known = listed.iter().any(|listed| listed == name);
                patterns.iter().try_fold(!is_known, |is_other, text| Some(is_other && !matches(text)?))
            }
            Names::Where(formula) => self.holds(*formula, &Json::String(name.to_owned())),
        }
    }
}

/// Returns the language of a pattern. An invalid pattern matches nothing.
pub(super) fn matching(text: &str) -> Language {
    pattern::compile(text).map_or(Language::Words(Vec::new()), Language::Matching)
}
