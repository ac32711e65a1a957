//! The scanner: checks a text against JSON's grammar and records its values, in one pass.
//!
//! It accepts the same texts as `serde_json::from_str::<Value>`, and reports errors with serde_json's messages and
//! positions, with two exceptions. Deep nesting is not an error, so that the ID of such a message can still be read. A
//! number that is out of range is reported at its end, but serde_json stops inside an exponent of more than 32 bits.

use crate::Error;
use crate::number::parse_double;

use super::MAX_DEPTH;
use super::index::{Kind, MAX_TEXT, Token, position};

/// Properties of the text as a whole.
pub(super) struct Scanned {
    /// Whether there is white space between two values.
    pub(super) is_spaced: bool,
    /// The first array or object that is nested too deeply.
    pub(super) too_deep: Option<u32>,
}

/// A syntax error, with serde_json's message.
#[derive(Clone, Copy, Debug)]
pub(super) struct SyntaxError {
    message: &'static str,
    /// The offset after the invalid byte.
    end: usize,
}

impl SyntaxError {
    #[cold]
    fn new(message: &'static str, end: usize) -> Self {
        Self { message, end }
    }

    /// Returns whether the error is in a value, and not in the text after it.
    pub(super) fn is_of_value(self) -> bool {
        !matches!(self.message, LIST_END | ELEMENT_END | TRAILING_COMMA)
    }

    #[cold]
    pub(super) fn error(self, text: &str) -> Error {
        Error::json(self.message).at_position(position(text, self.end))
    }
}

/// The innermost open array or object.
struct Container {
    /// The entry of the container. While it is open, the length of the entry is the index of the enclosing container.
    token: usize,
    is_object: bool,
}

/// Placeholder for "no open array or object".
const NONE: usize = MAX_TEXT - 1;

/// Records the values of a text in `tokens`, which must be empty.
#[inline(always)]
pub(super) fn scan(text: &str, tokens: &mut Vec<Token>) -> Result<Scanned, SyntaxError> {
    let bytes = text.as_bytes();
    if bytes.len() >= NONE {
        return Err(SyntaxError::new("texts of 512 MiB and more are not supported", 0));
    }
    // Most messages have one entry per six to eight bytes.
    tokens.reserve((bytes.len() / 6 + 8).min(1 << 12));
    let mut found = Scanned { is_spaced: false, too_deep: None };
    let mut open = Container { token: NONE, is_object: false };
    let (mut at, mut depth) = (0, 0);
    'value: loop {
        if tokens.len() + 4 > tokens.capacity() {
            grow(tokens, at, bytes.len());
        }
        at = skip_space(bytes, at, &mut found);
        let byte = peek(bytes, at);
        match byte {
            b'"' => at = string(bytes, at + 1, tokens)?,
            b'{' | b'[' => {
                depth += 1;
                let is_object = byte == b'{';
                let kind = if is_object { Kind::Object } else { Kind::Array };
                let token = tokens.len();
                if depth > MAX_DEPTH && found.too_deep.is_none() {
                    found.too_deep = Some(token as u32);
                }
                tokens.push(Token::new(kind, at, open.token));
                open = Container { token, is_object };
                at = skip_space(bytes, at + 1, &mut found);
                // In ASCII, a closing bracket is two code points after the opening one.
                if peek(bytes, at) != byte + 2 {
                    if at == bytes.len() {
                        return Err(no_end(bytes, at, &open));
                    }
                    if is_object {
                        at = name(bytes, at, tokens, &mut found)?;
                    }
                    continue 'value;
                }
            }
            b'-' | b'0'..=b'9' => {
                let end = number(bytes, at)?;
                tokens.push(Token::new(Kind::Number, at, end - at));
                at = end;
            }
            b't' => at = word(bytes, at, b"true", Kind::True, tokens)?,
            b'f' => at = word(bytes, at, b"false", Kind::False, tokens)?,
            b'n' => at = word(bytes, at, b"null", Kind::Null, tokens)?,
            _ => return Err(no_value(bytes, at, &open)),
        }
        // The value is complete, or is an empty array or object whose closing bracket is next.
        loop {
            if open.token == NONE {
                // White space after the root value does not count.
                let is_spaced = found.is_spaced;
                at = skip_space(bytes, at, &mut found);
                found.is_spaced = is_spaced;
                return if at == bytes.len() {
                    Ok(found)
                } else {
                    Err(SyntaxError::new("trailing characters", at + 1))
                };
            }
            at = skip_space(bytes, at, &mut found);
            match peek(bytes, at) {
                b',' => {
                    at += 1;
                    if open.is_object {
                        at = name(bytes, at, tokens, &mut found)?;
                    }
                    continue 'value;
                }
                b'}' if open.is_object => {}
                b']' if !open.is_object => {}
                _ => return Err(no_end(bytes, at, &open)),
            }
            at += 1;
            depth -= 1;
            let closed = open.token;
            open = close(closed, at, tokens);
            // Arrays and objects beyond the limit become `null`, so that no decoder exceeds the limit even if nobody
            // checks the depth.
            if depth >= MAX_DEPTH {
                let start = tokens.get(closed).map_or(at, |token| token.start());
                tokens.truncate(closed);
                tokens.push(Token::new(Kind::Null, start, 0));
            }
        }
    }
}

/// Reserves room for more entries, assuming that the rest of a text of `length` bytes is like the part before `at`.
/// Doubling the capacity of a large index would need up to three times its memory while it is copied.
#[cold]
fn grow(tokens: &mut Vec<Token>, at: usize, length: usize) {
    let rest = tokens.len().saturating_mul(length - at) / at.max(1);
    tokens.reserve_exact((rest + rest / 8).clamp(tokens.len() / 2 + 8, 4 * tokens.len() + 8));
}

/// Adds the end of an array or object, and completes its entry. Returns the enclosing container.
#[inline(always)]
fn close(token: usize, end: usize, tokens: &mut Vec<Token>) -> Container {
    tokens.push(Token::new(Kind::Null, end, 0));
    let entries = tokens.len() - token;
    let mut outer = NONE;
    if let Some(token) = tokens.get_mut(token) {
        outer = token.length();
        *token = Token::new(token.kind(), token.start(), entries);
    }
    Container { token: outer, is_object: tokens.get(outer).is_some_and(|outer| outer.kind() == Kind::Object) }
}

/// Adds `true`, `false` or `null`. Returns the offset after it.
#[inline(always)]
fn word<const N: usize>(
    bytes: &[u8],
    at: usize,
    word: &[u8; N],
    kind: Kind,
    tokens: &mut Vec<Token>,
) -> Result<usize, SyntaxError> {
    if bytes.get(at..).and_then(<[u8]>::first_chunk) != Some(word) {
        return Err(wrong_word(bytes, at, word));
    }
    tokens.push(Token::new(kind, at, N));
    Ok(at + N)
}

/// Adds a member's name, skipping white space before it. Returns the offset after its colon.
#[inline(always)]
fn name(bytes: &[u8], at: usize, tokens: &mut Vec<Token>, found: &mut Scanned) -> Result<usize, SyntaxError> {
    let at = skip_space(bytes, at, found);
    if peek(bytes, at) != b'"' {
        return Err(no_name(bytes, at));
    }
    let at = skip_space(bytes, string(bytes, at + 1, tokens)?, found);
    if peek(bytes, at) != b':' {
        return Err(unexpected(bytes, at, "expected `:`", OBJECT_END));
    }
    Ok(at + 1)
}

/// Adds the string whose first character is at `start`. Returns the offset after its closing quote.
#[inline(always)]
fn string(bytes: &[u8], start: usize, tokens: &mut Vec<Token>) -> Result<usize, SyntaxError> {
    let mut end = start;
    // A fast path for short strings.
    for _ in 0..4 {
        let Some(word) = word_at(bytes, end) else { break };
        let special = special(word);
        if special != 0 {
            end += first_byte(special);
            break;
        }
        end += 8;
    }
    let mut kind = Kind::Plain;
    if peek(bytes, end) != b'"' {
        (end, kind) = long_string(bytes, end)?;
    }
    tokens.push(Token::new(kind, start, end - start));
    Ok(end + 1)
}

/// Returns the offset of the closing quote, and the kind of the string. There must be no special bytes before `at`.
#[inline(never)]
fn long_string(bytes: &[u8], mut at: usize) -> Result<(usize, Kind), SyntaxError> {
    let mut kind = Kind::Plain;
    let mut words = 0;
    loop {
        // A string of more than 8 words is usually long, so this switches to blocks.
        if words >= 8 {
            words = 0;
            at = match kind {
                Kind::Plain => skip_plain_blocks(bytes, at),
                _ => skip_escaped_blocks(bytes, at),
            };
        }
        words += 1;
        let Some(word) = word_at(bytes, at) else { return last_bytes(bytes, at, kind) };
        let special = special(word);
        if special == 0 {
            at += 8;
            continue;
        }
        at += first_byte(special);
        if peek(bytes, at) == b'"' {
            return Ok((at, kind));
        }
        kind = Kind::Escaped;
        at = after_escape(bytes, at)?;
    }
}

/// Like [`long_string`], for the last eight bytes of the text.
fn last_bytes(bytes: &[u8], mut at: usize, mut kind: Kind) -> Result<(usize, Kind), SyntaxError> {
    loop {
        match peek(bytes, at) {
            b'"' => return Ok((at, kind)),
            b'\\' | 0..0x20 => {
                at = after_escape(bytes, at)?;
                kind = Kind::Escaped;
            }
            _ => at += 1,
        }
    }
}

/// Returns the offset after an escape. Returns an error at a control character and at the end of the text.
#[inline(always)]
fn after_escape(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    match (peek(bytes, at), bytes.get(at + 1)) {
        (b'\\', Some(b'n' | b'"' | b'\\' | b'/' | b't' | b'r' | b'b' | b'f')) => Ok(at + 2),
        (b'\\', _) => unescape(bytes, at).map(|(_, end)| end),
        _ if at < bytes.len() => Err(SyntaxError::new(CONTROL_CHARACTER, at + 1)),
        _ => Err(SyntaxError::new(STRING_END, bytes.len())),
    }
}

const BLOCK: usize = 64;

/// Skips blocks without special bytes. The compiler vectorizes this form of the comparison.
#[inline(never)]
fn skip_plain_blocks(bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        if is_any(std::array::from_fn(|index| {
            let byte = block[index];
            is(byte == b'"') | is(byte == b'\\') | is(byte < b' ')
        })) {
            break;
        }
        at += BLOCK;
    }
    at
}

/// Skips blocks in which the string does not end and all escapes are `\n` or `\"`, as in prose.
#[inline(never)]
fn skip_escaped_blocks(bytes: &[u8], mut at: usize) -> usize {
    // A backslash before `at` ends the escape `\\`. The loop below would take it for the start of an escape.
    if at == 0 || peek(bytes, at - 1) == b'\\' {
        return at;
    }
    // Each byte is compared together with its neighbours, so that all comparisons are independent.
    while let Some(window) = bytes.get(at - 1..).and_then(<[u8]>::first_chunk::<{ BLOCK + 2 }>) {
        if is_any(std::array::from_fn(|index| {
            let [before, byte, after] = [window[index], window[index + 1], window[index + 2]];
            let ends = is(byte == b'"') & is(before != b'\\');
            let is_other_escape = is(byte == b'\\') & is(after != b'n') & is(after != b'"');
            ends | is_other_escape | is(byte < b' ')
        })) {
            break;
        }
        at += BLOCK;
    }
    // The last block may end inside an escape.
    at + usize::from(peek(bytes, at - 1) == b'\\')
}

/// Converts a condition to a byte, so that many fit into a register.
#[inline(always)]
fn is(condition: bool) -> u8 {
    if condition { u8::MAX } else { 0 }
}

#[inline(always)]
fn is_any(conditions: [u8; BLOCK]) -> bool {
    conditions.iter().fold(0, |any, condition| any | condition) != 0
}

/// Returns the offset of the next backslash, or of the end.
#[inline(always)]
pub(super) fn next_backslash(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = word_at(bytes, at) {
        let marks = equal(word, b'\\') & !word & (EACH * 0x80);
        if marks != 0 {
            return at + first_byte(marks);
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|byte| *byte != b'\\') {
        at += 1;
    }
    at
}

/// 1 in every byte.
pub(super) const EACH: u64 = u64::MAX / 0xff;

/// Marks quotes, backslashes and control characters among eight bytes, in the highest bit of each byte. Only the first
/// mark is reliable.
#[inline(always)]
pub(super) fn special(word: u64) -> u64 {
    // The XOR swaps `"` and the space, so that `"` and the control characters are exactly the bytes below `!`.
    let quote_or_control = (word ^ (EACH * 2)).wrapping_sub(EACH * 0x21);
    (quote_or_control | equal(word, b'\\')) & !word & (EACH * 0x80)
}

/// Marks the bytes that equal `byte`, as [`special`] does. May also mark bytes above 0x7f.
#[inline(always)]
fn equal(word: u64, byte: u8) -> u64 {
    (word ^ (EACH * byte as u64)).wrapping_sub(EACH)
}

/// Returns the index of the first marked byte.
#[inline(always)]
pub(super) fn first_byte(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Returns the byte at `at`, or 0 at the end of the text. 0 is invalid everywhere in JSON.
#[inline(always)]
fn peek(bytes: &[u8], at: usize) -> u8 {
    match bytes.get(at) {
        Some(byte) => *byte,
        None => 0,
    }
}

#[inline(always)]
fn skip_space(bytes: &[u8], at: usize, found: &mut Scanned) -> usize {
    if peek(bytes, at) > b' ' { at } else { skip_much_space(bytes, at, found) }
}

#[inline(never)]
fn skip_much_space(bytes: &[u8], mut at: usize, found: &mut Scanned) -> usize {
    loop {
        match peek(bytes, at) {
            b' ' | b'\t' | b'\n' | b'\r' => found.is_spaced = true,
            _ => return at,
        }
        at += 1;
    }
}

/// A number without an exponent whose integral part has at most this many bytes is within the range of doubles.
const SURELY_FINITE: usize = 300;

/// Returns the offset after a number: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`
#[inline(always)]
fn number(bytes: &[u8], start: usize) -> Result<usize, SyntaxError> {
    let first = start + usize::from(peek(bytes, start) == b'-');
    let end = digits(bytes, first)?;
    if peek(bytes, first) == b'0' && end > first + 1 {
        return Err(SyntaxError::new(INVALID_NUMBER, first + 2));
    }
    if matches!(peek(bytes, end), b'.' | b'e' | b'E') || end - start > SURELY_FINITE {
        return real_number(bytes, start, end);
    }
    Ok(end)
}

/// Returns the offset after one or more digits.
#[inline(always)]
fn digits(bytes: &[u8], first: usize) -> Result<usize, SyntaxError> {
    let mut at = first;
    while peek(bytes, at).is_ascii_digit() {
        at += 1;
    }
    if at > first { Ok(at) } else { Err(unexpected(bytes, at, INVALID_NUMBER, VALUE_END)) }
}

/// Returns the offset after a number with a fraction or exponent, or a very long integer. Its integral part ends at
/// `at`.
#[inline(never)]
fn real_number(bytes: &[u8], start: usize, mut at: usize) -> Result<usize, SyntaxError> {
    let mut is_finite = at - start <= SURELY_FINITE;
    if peek(bytes, at) == b'.' {
        at = digits(bytes, at + 1)?;
    }
    if matches!(peek(bytes, at), b'e' | b'E') {
        at = digits(bytes, at + 1 + usize::from(matches!(peek(bytes, at + 1), b'+' | b'-')))?;
        is_finite = false;
    }
    let parse = || parse_double(std::str::from_utf8(bytes.get(start..at)?).ok()?);
    if is_finite || parse().is_some_and(f64::is_finite) {
        Ok(at)
    } else {
        Err(SyntaxError::new("number out of range", at))
    }
}

/// Returns the character that an escape stands for, and the offset after it.
#[inline(never)]
pub(super) fn unescape(bytes: &[u8], at: usize) -> Result<(char, usize), SyntaxError> {
    let Some(escape) = bytes.get(at + 1) else { return Err(SyntaxError::new(STRING_END, bytes.len())) };
    let character = match escape {
        b'"' | b'\\' | b'/' => char::from(*escape),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode_escape(bytes, at),
        _ => return Err(SyntaxError::new(INVALID_ESCAPE, at + 2)),
    };
    Ok((character, at + 2))
}

fn unicode_escape(bytes: &[u8], at: usize) -> Result<(char, usize), SyntaxError> {
    let high = four_digits(bytes, at + 2)?;
    if let Some(character) = char::from_u32(high) {
        return Ok((character, at + 6));
    }
    if high >= 0xdc00 {
        return Err(SyntaxError::new(LONE_SURROGATE, at + 6));
    }
    for (offset, expected) in [(at + 6, b'\\'), (at + 7, b'u')] {
        match bytes.get(offset) {
            None => return Err(SyntaxError::new(STRING_END, bytes.len())),
            Some(byte) if *byte != expected => {
                return Err(SyntaxError::new("unexpected end of hex escape", offset + 1));
            }
            Some(_) => {}
        }
    }
    let low = four_digits(bytes, at + 8)?;
    let pair = match low {
        0xdc00..0xe000 => char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)),
        _ => None,
    };
    pair.map(|character| (character, at + 12)).ok_or(SyntaxError::new(LONE_SURROGATE, at + 12))
}

fn four_digits(bytes: &[u8], at: usize) -> Result<u32, SyntaxError> {
    let Some(digits) = bytes.get(at..at + 4) else { return Err(SyntaxError::new(STRING_END, bytes.len())) };
    let digit = |number: Option<u32>, byte: &u8| Some(number? << 4 | char::from(*byte).to_digit(16)?);
    digits.iter().fold(Some(0), digit).ok_or(SyntaxError::new(INVALID_ESCAPE, at + 4))
}

const CONTROL_CHARACTER: &str = "control character (\\u0000-\\u001F) found while parsing a string";
const ELEMENT_END: &str = "expected `,` or `]`";
const INVALID_ESCAPE: &str = "invalid escape";
const INVALID_NUMBER: &str = "invalid number";
const LIST_END: &str = "EOF while parsing a list";
const LONE_SURROGATE: &str = "lone leading surrogate in hex escape";
const OBJECT_END: &str = "EOF while parsing an object";
const STRING_END: &str = "EOF while parsing a string";
const TRAILING_COMMA: &str = "trailing comma";
const VALUE_END: &str = "EOF while parsing a value";

#[cold]
fn no_value(bytes: &[u8], at: usize, open: &Container) -> SyntaxError {
    // This is not an empty array, which is handled earlier.
    let is_end_of_array = peek(bytes, at) == b']' && open.token != NONE && !open.is_object;
    unexpected(bytes, at, if is_end_of_array { TRAILING_COMMA } else { "expected value" }, VALUE_END)
}

#[cold]
fn wrong_word(bytes: &[u8], at: usize, word: &[u8]) -> SyntaxError {
    let common = bytes.iter().skip(at).zip(word).take_while(|(byte, expected)| byte == expected).count();
    unexpected(bytes, at + common, "expected ident", VALUE_END)
}

#[cold]
fn no_name(bytes: &[u8], at: usize) -> SyntaxError {
    let message = if peek(bytes, at) == b'}' { TRAILING_COMMA } else { "key must be a string" };
    unexpected(bytes, at, message, VALUE_END)
}

#[cold]
fn no_end(bytes: &[u8], at: usize, open: &Container) -> SyntaxError {
    match open.is_object {
        true => unexpected(bytes, at, "expected `,` or `}`", OBJECT_END),
        false => unexpected(bytes, at, ELEMENT_END, LIST_END),
    }
}

#[cold]
fn unexpected(bytes: &[u8], at: usize, message: &'static str, message_at_end: &'static str) -> SyntaxError {
    if at < bytes.len() { SyntaxError::new(message, at + 1) } else { SyntaxError::new(message_at_end, at) }
}
