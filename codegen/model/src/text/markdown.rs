//! Finds links in Markdown, and wraps it.

/// Returns the names that a text links to, as in `` [`Name`] ``.
pub fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("[`").skip(1).filter_map(|rest| rest.split_once("`]").map(|(name, _)| name))
}

/// Wraps a text at `width` characters. Only prose is refilled; lists, tables and code stay as they are.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut is_code = false;
    for (index, block) in text.split("\n\n").enumerate() {
        if index > 0 {
            out.push(String::new());
        }
        let fences = block.lines().map(str::trim_start);
        let fences = fences.filter(|line| line.starts_with("```") || line.starts_with("~~~")).count();
        if is_code || fences > 0 || !is_prose(block) {
            is_code ^= fences % 2 == 1;
            out.extend(block.lines().map(str::to_owned));
        } else {
            out.extend(fill(block, width));
        }
    }
    out
}

/// Returns whether a paragraph can be refilled without changing its meaning.
pub fn is_prose(paragraph: &str) -> bool {
    let is_marker = |word: &str| {
        word.starts_with(['#', '>', '|', '=', '+', '~'])
            || ["```", "[^"].iter().any(|mark| word.starts_with(mark))
            || (word.starts_with('<') && !["<https://", "<http://"].iter().any(|link| word.starts_with(link)))
            || word.trim_start_matches(['*', '-', '_']).is_empty()
            || word.strip_suffix(['.', ')']).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let breaks_line = |line: &str| line.ends_with("  ") || line.ends_with('\\') || line.starts_with("    ");
    !paragraph.contains("\n\n") && !paragraph.lines().any(breaks_line) && !paragraph.split_whitespace().any(is_marker)
}

fn fill(paragraph: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        match lines.last_mut().filter(|_| used + 1 + length <= width) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
                used += 1 + length;
            }
            None => {
                lines.push(word.to_owned());
                used = length;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn fills_only_prose() {
        let cases = [
            ("one two\nthree four", "one two three\nfour"),
            ("* one\n* two\n\nsome more of it all", "* one\n* two\n\nsome more of\nit all"),
            (
                "```\na  b\n\nlong line of code\n```\n\nlong line of text",
                "```\na  b\n\nlong line of code\n```\n\nlong line of\ntext",
            ),
            ("see 1. or\n2. as it is", "see 1. or\n2. as it is"),
        ];
        for (text, wrapped) in cases {
            assert_eq!(wrap(text, 13).join("\n"), wrapped);
        }
    }
}
