//! Checks that verdicts agree with `regress`, which follows ECMA-262 but has no step limit, and that matches stay
//! within their budget.

use mcpgen_pattern::{Regex, Steps, TooExpensive};
use proptest::prelude::*;

/// Compiles with the `u` flag, or without it if that fails.
fn reference(pattern: &str) -> Option<regress::Regex> {
    regress::Regex::with_flags(pattern, "u").or_else(|_| regress::Regex::new(pattern)).ok()
}

#[track_caller]
fn check(pattern: &str, texts: &[&str]) {
    let reference = reference(pattern);
    let regex = Regex::new(pattern);
    assert_eq!(regex.is_ok(), reference.is_some(), "{pattern}: {regex:?}");
    let (Ok(regex), Some(reference)) = (regex, reference) else { return };
    if refers_to_open_group(pattern) {
        return;
    }
    for text in texts {
        assert_eq!(regex.is_match(text), Ok(reference.find(text).is_some()), "/{pattern}/ on {text:?}");
    }
}

/// Returns whether a backreference is inside its own group, as in `(a\1)`, where it matches the empty text. `regress`
/// sometimes backtracks incorrectly there.
fn refers_to_open_group(pattern: &str) -> bool {
    let (mut open, mut groups, mut rest) = (Vec::new(), 0, pattern);
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        match character {
            '\\' => {
                let is_open = |digit: char| digit.to_digit(10).is_some_and(|group| open.contains(&Some(group)));
                if rest.starts_with(is_open) || rest.starts_with('k') && !open.is_empty() {
                    return true;
                }
                rest = rest.get(rest.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
            }
            '[' => rest = rest.split_once(']').map_or("", |(_, rest)| rest),
            '(' => {
                let name = rest.strip_prefix("?<").filter(|name| !name.starts_with(['=', '!']));
                let is_group = name.is_some() || !rest.starts_with('?');
                groups += u32::from(is_group);
                open.push(is_group.then_some(groups));
            }
            ')' => drop(open.pop()),
            _ => {}
        }
    }
    false
}

/// What patterns are made of.
#[rustfmt::skip]
const ATOMS: &[&str] = &[
    "a", "b", "A", ".", "ä", "🐲", "[ab]", "[^a]", "[]", "[^]", "[a-c\\d]", "[\\w-]", "[\\u{61}-b]", "[\\b]", "[a-]", "[^\\W]",
    "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\b", "\\B", "^", "$", "\\n", "\\t", "\\0", "\\x61", "\\u0061", "\\u{61}",
    "\\ud83d\\udc32", "\\cA", "\\.", "\\/", "\\p{L}", "\\P{L}", "\\p{Lu}", "\\p{Script=Greek}", "[\\p{L}_]", "\\1", "\\2", "\\k<n>",
    "\\-", "\\_", "{", "}", "]", "\\8", "\\12", "\\377", "\\c", "\\k", "\\x6", "\\u6", "\\p", "{1", "{,2}", "[\\c1]",
];

/// How patterns are composed. `%` stands for a part.
#[rustfmt::skip]
const SHAPES: &[&str] = &[
    "%", "%%", "%%%", "%|%", "%|%|", "(%)", "(?:%)", "(?<n>%)", "(?=%)", "(?!%)", "(?<=%)", "(?<!%)", "(?i:%)", "(?s:%)",
    "(?m:%)", "(?-i:%)", "(?is-m:%)", "%*", "%+", "%?", "%*?", "%+?", "%??", "%{2}", "%{0}", "%{1,2}", "%{2,}", "%{0,2}?",
    "^%$", "^(?:%)*$", "(%)*", "(%)%\\1", "(?:(%)|%)*\\1", "(?=(%))\\1", "(?<n>%)%\\k<n>", "(?<=\\1(%))", "(?:(?=(%))%)*\\1",
    "(?!(%))%\\1", "(?i:(%)\\1)", "(%)(?i:\\1|%)",
];

#[rustfmt::skip]
const TEXTS: &[&str] = &[
    "", "a", "b", "ab", "ba", "aa", "aab", "abab", "aaaa", "A", "aA", "Ab", "1", "a1", "_", "-", "a-b", ".", "/", "\\", "\\c", "c", "k",
    "kn", "\n", "a\nb", "\r", "\u{2028}", "\u{2029}", "a\u{2028}", " ", "\u{a0}", "\u{feff}", "\u{85}", "\t", "\0", "\u{1}", "\u{8}", "ä",
    "äa", "Ä", "ß", "ſ", "\u{212a}", "\u{7f1}", "π", "🐲", "🐲🐲", "a🐲", "\u{ff}", "8", "\u{a}2", "x", "x6", "u", "u6", "p", "{", "}", "]",
    "{1", "{,2}", "a{,2}", "u{61}", "<n>", "k<n>", "aaaaaaab", "abcabc",
];

#[test]
fn agrees_on_each_atom_in_each_shape() {
    for shape in SHAPES {
        for atom in ATOMS {
            check(&shape.replace('%', atom), TEXTS);
        }
    }
}

#[test]
fn agrees_on_patterns_in_use() {
    let texts = [
        "io.github.user/server",
        "a/b",
        "2026-07-28",
        "2026/07-28",
        "user@example.org",
        "v1.2.3",
        "a_b",
        "aa",
        "ab",
        "AB1",
        "$x",
    ];
    for pattern in [
        r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$",
        r"^\d{4}([-/])\d{2}\1\d{2}$",
        r"^[\w\-]+$",
        r"^(?!.*--)[a-z](?:[a-z-]*[a-z])?$",
        r"^(?=.*[A-Z])(?=.*\d).{3,}$",
        r"(?<=\$)x|(?<!a)b$",
        r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
        r"^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)))?$",
        r"^(?:([a-z])\1)+$",
        r"^[\p{L}\p{M}' \-_.]{1,50}$",
    ] {
        check(pattern, &texts);
    }
}

/// `\377` is invalid with the `u` flag, and without it, `ſ` is not a word character.
#[test]
fn agrees_on_boundaries_without_unicode() {
    check(r"(?i:\B(?:|\377))", &["aäA\u{2028}ſ"]);
}

fn pattern() -> impl Strategy<Value = String> {
    let atom = prop::sample::select(ATOMS).prop_map(str::to_owned);
    atom.prop_recursive(3, 12, 3, |inner| {
        (prop::sample::select(SHAPES), prop::collection::vec(inner, 3)).prop_map(|(shape, parts)| {
            let mut parts = parts.into_iter().cycle();
            shape.split('%').enumerate().fold(String::new(), |text, (index, piece)| match index {
                0 => piece.to_owned(),
                _ => text + &parts.next().unwrap_or_default() + piece,
            })
        })
    })
}

fn text() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &["a", "b", "A", "1", "-", "\n", "\u{2028}", " ", "ä", "🐲", "ſ", "c", "k", "{", "\\"];
    prop::collection::vec(prop::sample::select(PIECES), 0..7).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_on_random_patterns(pattern in pattern(), texts in prop::collection::vec(text(), 4)) {
        check(&pattern, &texts.iter().map(String::as_str).collect::<Vec<_>>());
    }

    #[test]
    fn any_text_is_a_pattern_or_an_error(pattern in r"[\\()\[\]{}|?*+^$<>=!:,a-c1-9uxpkb🐲-]{0,12}", text in text()) {
        if let Ok(regex) = Regex::new(&pattern) {
            let _ = regex.is_match(&text);
        }
    }
}

/// Backtracking would take more than 2^40 steps for most of these.
#[test]
fn nested_repetitions_take_linear_time() {
    for (pattern, end, expected) in [
        ("^(a+)+$", "!", false),
        ("^(a|a)*$", "!", false),
        ("^(a|aa)+$", "!", false),
        ("(a+a+)+y", "!", false),
        ("^(?=(a+)+$)", "!", false),
        ("(?<!^(a+)+)!$", "!", false),
        ("(?<=^(a+)+)$", "!", false),
        ("^(?:a?){50}a{50}$", "!", false),
        ("^(a+)+$", "", true),
    ] {
        let regex = Regex::new(pattern).expect("a pattern");
        for length in [60, 10_000] {
            assert_eq!(regex.is_match(&("a".repeat(length) + end)), Ok(expected), "{pattern} on {length}");
        }
    }
}

#[test]
fn steps_are_limited() {
    let text = "a".repeat(60) + "!";
    // Backreferences need backtracking.
    let hard = Regex::new(r"^(a+)+\1$").expect("a pattern");
    assert_eq!(hard.is_match(&text), Err(TooExpensive));
    assert_eq!(TooExpensive.to_string(), "pattern too expensive");
    // Several matches share one budget.
    let easy = Regex::new("^a+$").expect("a pattern");
    let steps = Steps::for_text(0);
    let matches = (0..10_000).map(|_| easy.is_match_within(&text[..60], &steps));
    let (within, beyond): (Vec<_>, Vec<_>) = matches.partition(Result::is_ok);
    assert!(within.len() > 1000 && within.iter().all(|it| *it == Ok(true)), "{}", within.len());
    assert!(!beyond.is_empty(), "the steps are shared");
    assert_eq!(easy.is_match_within("a", &steps), Err(TooExpensive), "no steps are left");
}

#[test]
fn memory_is_limited() {
    for pattern in
        [r"(((a{100}){100}){100}){10}", "(?=a{1,9999999999})", "(?:a|b?){0,4000000000}", r"(a?){9999}\1{9999}"]
    {
        let error = Regex::new(pattern).expect_err(pattern);
        assert_eq!(error.to_string(), "the pattern has more than 32768 states; use fewer or smaller repetitions");
    }
    let error = Regex::new(&"a".repeat(100_000)).expect_err("too long");
    assert_eq!(error.to_string(), "the pattern is longer than 65536 bytes");
    for pattern in ["(?:){1000000000}", "((?:){1000000000}){1000000000}"] {
        assert_eq!(Regex::new(pattern).map(|regex| regex.is_match("a")), Ok(Ok(true)), "{pattern}");
    }
    // Undo information for each iteration and each group adds up.
    let text = "a".repeat(2_000_000);
    assert_eq!(Regex::new(r"^(?:(a)|b)*\1$").expect("a pattern").is_match(&text), Err(TooExpensive));
}

#[test]
fn invalid_patterns_are_errors() {
    for (pattern, reason) in [("(", "Unbalanced parenthesis"), ("a**", "Invalid atom character")] {
        assert_eq!(Regex::new(pattern).expect_err(pattern).to_string(), reason);
    }
}
