//! Finds the shortest members of sets of texts.

use std::sync::Arc;

use mcpgen_pattern::{Language, Regex, Undecided};
use proptest::prelude::*;

fn matching(pattern: &str) -> Language {
    Language::Matching(Arc::new(Regex::new(pattern).expect("a pattern")))
}

fn not(language: Language) -> Language {
    Language::Not(Box::new(language))
}

#[test]
fn finds_the_shortest_texts() {
    let words = |list: &[&str]| Language::Words(list.iter().map(|word| (*word).to_owned()).collect());
    let length = |min, max| Language::Length { min, max };
    let all = |list: Vec<Language>| Language::All(list);
    for (name, language, count, expected) in [
        ("any", length(0, None), 1, vec![""]),
        ("one letter", matching("^[b-d]$"), 9, vec!["b", "c", "d"]),
        ("a part", all(vec![matching("x"), matching("y")]), 1, vec!["xy"]),
        ("a complement", all(vec![matching("^a*$"), not(matching("^(aa)*$"))]), 2, vec!["a", "aaa"]),
        ("none", all(vec![matching("^a+$"), matching("^b")]), 3, vec![]),
        ("contained", all(vec![matching("^ab*$"), not(matching("^a"))]), 1, vec![]),
        ("lengths", all(vec![matching("^(ab)*$"), length(3, Some(7))]), 5, vec!["abab", "ababab"]),
        ("odd lengths", all(vec![matching("^(ab)*$"), length(3, Some(3))]), 1, vec![]),
        ("words", all(vec![words(&["foo", "bar", ""]), not(words(&["foo"]))]), 5, vec!["", "bar"]),
        ("choice", Language::Any(vec![words(&["b"]), matching("^a$")]), 5, vec!["a", "b"]),
        ("boundary", all(vec![matching(r"\bb\b"), not(matching("^b"))]), 1, vec!["!b"]),
        ("lines", all(vec![matching("(?m:^b)"), not(matching("^b"))]), 1, vec!["\nb"]),
        ("dot", not(matching("^.*$")), 1, vec!["\n"]),
        ("digits", all(vec![matching(r"^\d+$"), not(matching("^[0-9]*$"))]), 1, vec![]),
        ("no letters", all(vec![matching(r"^\W$"), length(1, None)]), 1, vec!["!"]),
        ("escapes", all(vec![matching(r"^[\u00e1\u{1F432}]$"), not(matching("á"))]), 2, vec!["🐲"]),
        ("surrogates", matching(r"^\ud83d\udc32$"), 2, vec!["🐲"]),
        ("properties", all(vec![matching(r"^\p{Lu}$"), not(matching("^[A-Z]$"))]), 1, vec!["À"]),
        ("spaces", all(vec![matching(r"^\s$"), not(matching(r"^[\x00-\x7f]$"))]), 1, vec!["\u{a0}"]),
        ("ignored case", all(vec![matching("^(?i:k)$"), not(matching("^[kK]$"))]), 2, vec!["\u{212a}"]),
        (
            "beyond",
            all(vec![matching("^[^\u{0}-\u{fffe}]$"), not(matching("^[\u{10000}-\u{10ffff}]$"))]),
            2,
            vec!["\u{ffff}"],
        ),
    ] {
        assert_eq!(
            language.words(count).as_deref(),
            Ok(expected.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>().as_slice()),
            "{name}"
        );
    }
    assert_eq!(length(70_000, Some(80_000)).words(1).expect("a text")[0].len(), 70_000);
}

#[test]
fn gives_up() {
    assert_eq!(matching("^(?!a)").words(1), Err(Undecided::Unsupported));
    assert_eq!(matching(r"(a)\1").words(1), Err(Undecided::Unsupported));
    assert_eq!(Language::Length { min: 1 << 40, max: None }.words(1), Err(Undecided::TooExpensive));
    assert_eq!(matching("^(a|b)*a(a|b){30}$").words(100).map(|_| ()), Err(Undecided::TooExpensive));
}

fn pattern() -> impl Strategy<Value = String> {
    let atom = prop::sample::select(vec!["a", "b", "[ab]", "[^a]", ".", r"\w", r"\b", "^", "$", "(?i:a)", r"\d"]);
    let leaf = prop::collection::vec(atom, 1..4).prop_map(|atoms| atoms.concat());
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), prop::sample::select(vec!["*", "+", "?", "{2}", "{0,3}"]))
                .prop_map(|(it, quantifier)| format!("(?:{it}){quantifier}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a}|{b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("{a}{b}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Found texts match, and no shorter one is missing.
    #[test]
    fn agrees_with_the_matcher(a in pattern(), b in pattern()) {
        let (with, without) = (Regex::new(&a).expect("a pattern"), Regex::new(&b).expect("a pattern"));
        let holds = |text: &str| with.is_match(text) == Ok(true) && without.is_match(text) == Ok(false);
        let language = Language::All(vec![matching(&a), not(matching(&b))]);
        let words = language.words(4).expect("no lookaround");
        for word in &words {
            prop_assert!(holds(word), "{word:?}");
        }
        let end = if words.len() == 4 { words.last().map_or(0, |word| word.chars().count()) } else { 4 };
        let mut texts = vec![String::new()];
        for _ in 0..end.min(4) {
            for text in &texts {
                prop_assert!(!holds(text) || words.contains(text), "{text:?} is missing from {words:?}");
            }
            texts = texts.iter().flat_map(|text| ['a', 'A', 'b', '1', '!', '\n', 'é'].map(|it| format!("{text}{it}"))).collect();
        }
    }
}
