//! Joins lines as rustfmt would with `max_width = 120`. prettyplease formats for 89 columns, and has no options.

/// The maximum length of a line.
pub(super) const WIDTH: usize = 120;

/// Joins each list, call and struct literal that fits on one line, and fills the lines of imports.
pub(super) fn widen(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let group = opens_group(line).then(|| end(&lines, at)).flatten();
        let joined = group.and_then(|end| if is_import(line) { None } else { join(&lines[at..=end]) });
        match (group, joined) {
            (Some(end), Some(joined)) => {
                out.push_str(&joined);
                at = end;
            }
            (Some(end), None) if is_import(line) => {
                out.push_str(&import(&lines[at..=end]));
                at = end;
            }
            _ => out.push_str(line),
        }
        out.push('\n');
        at += 1;
    }
    out
}

/// Returns whether the line ends with an opening bracket of a list, a call, a struct literal or an import.
fn opens_group(line: &str) -> bool {
    let bare = line.trim_start();
    if bare.starts_with("//") {
        return false;
    }
    if line.ends_with(['(', '[']) || is_import(line) {
        return true;
    }
    // A struct literal begins with the name of a type. Blocks begin with a keyword, or follow a signature.
    let Some(before) = line.strip_suffix(" {") else { return false };
    let name = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
    let is_block =
        ["pub ", "impl", "fn ", "const fn", "for ", "if ", "else", "match ", "while ", ")", "enum ", "struct "];
    name.starts_with(char::is_uppercase)
        && !before.contains("->")
        && !is_block.iter().any(|word| bare.starts_with(word))
}

fn is_import(line: &str) -> bool {
    line.trim_start().trim_start_matches("pub ").starts_with("use ") && line.ends_with('{')
}

/// Returns the index of the line that closes the group at `at`: the next one with the same indentation.
fn end(lines: &[&str], at: usize) -> Option<usize> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(lines[at]);
    let end = (at + 1..lines.len()).find(|next| indent(lines[*next]) <= own && !lines[*next].is_empty())?;
    lines[end].trim_start().starts_with([')', ']', '}']).then_some(end)
}

/// Joins a group into one line, if it fits and has no comments and no statements.
fn join(lines: &[&str]) -> Option<String> {
    let (first, rest) = lines.split_first()?;
    let mut joined = (*first).to_owned();
    for (index, line) in rest.iter().map(|line| line.trim_start()).enumerate() {
        let is_last = index + 1 == rest.len();
        if line.starts_with("//") || line.starts_with("#[") || (line.ends_with(';') && !is_last) {
            return None;
        }
        if line.starts_with([')', ']', '}']) && joined.ends_with(',') {
            joined.pop();
        }
        let continues = line.starts_with([')', ']', '.', '?']) && !line.starts_with("..");
        let is_tight = continues || joined.ends_with(['(', '[']);
        joined.push_str(if is_tight { "" } else { " " });
        joined.push_str(line);
    }
    (joined.len() <= WIDTH).then_some(joined)
}

/// Formats an import with as many names per line as fit.
fn import(lines: &[&str]) -> String {
    let (first, last) = (lines[0], lines[lines.len() - 1]);
    let names: Vec<&str> = lines[1..lines.len() - 1].iter().flat_map(|line| line.split_whitespace()).collect();
    let one = format!("{first}{}{}", names.join(" ").trim_end_matches(','), last.trim_start());
    if one.len() <= WIDTH {
        return one;
    }
    // rustfmt does not use the last column of a filled list.
    format!("{first}\n{}{last}", fill(names, WIDTH - 1, "    ", "    "))
}

/// Fills lines with words. `indent` begins the first line, and `hanging` begins the others.
pub(super) fn fill<'w>(words: impl IntoIterator<Item = &'w str>, width: usize, indent: &str, hanging: &str) -> String {
    let (mut out, mut line) = (String::new(), indent.to_owned());
    let mut is_new = true;
    for word in words {
        if !is_new && line.len() + 1 + word.len() > width {
            out.push_str(&line);
            out.push('\n');
            line = hanging.to_owned();
            is_new = true;
        }
        if !is_new {
            line.push(' ');
        }
        line.push_str(word);
        is_new = false;
    }
    out.push_str(&line);
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::widen;

    #[test]
    fn joins_what_fits() {
        let cases = [
            (
                "pub fn new(\n    a: A,\n    b: B,\n) -> Self {\n    body\n}\n",
                "pub fn new(a: A, b: B) -> Self {\n    body\n}\n",
            ),
            (
                "    Self {\n        a,\n        b: C::new(\n            1,\n        ),\n    }\n",
                "    Self { a, b: C::new(1) }\n",
            ),
            ("    Self {\n        a,\n        ..B::new()\n    }\n", "    Self { a, ..B::new() }\n"),
            ("pub struct Self_ {\n    a: A,\n}\n", "pub struct Self_ {\n    a: A,\n}\n"),
            ("use a::{\n    b, c,\n    d,\n};\n", "use a::{b, c, d};\n"),
            (
                "impl A for B {\n    const C: D = &[\n        1,\n    ];\n}\n",
                "impl A for B {\n    const C: D = &[1];\n}\n",
            ),
            ("call(\n    // a comment\n    1,\n)\n", "call(\n    // a comment\n    1,\n)\n"),
        ];
        for (before, after) in cases {
            assert_eq!(widen(before), after);
        }
    }
}
