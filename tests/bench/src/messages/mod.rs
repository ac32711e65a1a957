//! Measures decoding from bytes to types, and encoding.

mod contenders;
mod corpus;
mod hand;

use crate::report::{Case, Goal, OURS, Section};
use crate::sample::{Contender, alternate};

use contenders::{Work, contenders, scan_and_copy};
use corpus::{Kind, corpus, of_size};

/// Messages so small that finding out their kind takes a large part of the time.
const SMALL: [&str; 3] = ["tools/list", "ping", "progress"];

pub(crate) fn run(quick: bool) -> Vec<Section> {
    let turns = if quick { 5 } else { 61 };
    vec![decoding(turns), encoding(turns), growth(turns.min(21))]
}

fn decoding(turns: usize) -> Section {
    let case = |message: &corpus::Message| {
        let bytes = message.text.as_bytes();
        let mut work: Vec<Contender<'_>> = contenders(message.kind)
            .into_iter()
            .map(|Work { name, decode, .. }| Contender::new(name, move || decode(bytes)))
            .collect();
        if message.bulky {
            work.push(Contender::new("scan and copy", || scan_and_copy(bytes)));
        }
        let case = Case::new(format!("{} ({} B)", message.name, bytes.len()), "ns", alternate(work, turns))
            .base("Value")
            .goal(Goal::at_most(message.goal, "Value"))
            .goal(Goal::at_most(if SMALL.contains(&message.name) { 1.6 } else { 1.15 }, "by hand"));
        if message.bulky { case.goal(Goal::at_most(1.0, "scan and copy")) } else { case }
    };
    Section {
        name: "decode",
        title: "Decode: from bytes to types, the wire envelope included, as multiples of `serde_json::Value`".into(),
        cases: corpus().iter().map(case).collect(),
        notes: vec![
            "mcpgen decodes a message whose kind is not known beforehand; if it is a response, its result has the type \
             of its request. By hand: serde's derive, directly into the one expected type, dropping unknown \
             members. `IgnoredAny` is the lower bound of serde_json's scan. sonic-rs \
             and simd-json create their own trees; simd-json also copies the text, because it overwrites it."
                .into(),
        ],
    }
}

fn encoding(turns: usize) -> Section {
    let case = |message: &corpus::Message| {
        let work = contenders(message.kind)
            .into_iter()
            .filter_map(|Work { name, encode, .. }| Some(Contender { name: name.into(), work: encode(&message.text)? }))
            .collect();
        Case::new(message.name, "ns", alternate(work, turns)).base("by hand").goal(Goal::at_most(1.05, "by hand"))
    };
    Section {
        name: "encode",
        title: "Encode: from types to bytes, as multiples of hand-written structs".into(),
        cases: corpus().iter().map(case).collect(),
        notes: Vec::new(),
    }
}

/// Measures the time per KiB for messages of growing size.
fn growth(turns: usize) -> Section {
    let sizes = [1 << 10, 16 << 10, 256 << 10, 1 << 20, 16 << 20];
    let mut cases = Vec::new();
    for (name, blocks) in [("one string", false), ("blocks of 256 B", true)] {
        let texts: Vec<String> = sizes.iter().map(|size| of_size(*size, blocks)).collect();
        let decode =
            contenders(Kind::CallToolResult).into_iter().find(|work| work.name == OURS).map(|work| work.decode);
        let Some(decode) = decode else { continue };
        let work =
            texts.iter().map(|text| Contender::new(&size(text.len()), move || decode(text.as_bytes()))).collect();
        let mut figures = alternate(work, turns);
        for ((_, time), text) in figures.iter_mut().zip(&texts) {
            *time /= text.len() as f64 / 1024.0;
        }
        cases.push(Case::new(format!("{name}, per KiB"), "ns", figures));
    }
    Section {
        name: "decode-growth",
        title: "Decode: time per KiB of a tool result, by its size, as multiples of the smallest".into(),
        cases,
        notes: Vec::new(),
    }
}

fn size(bytes: usize) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
}

pub(crate) fn names() -> Vec<String> {
    corpus().into_iter().map(|message| message.name.to_owned()).collect()
}

/// Repeats the work of one contender, so that its instructions can be counted.
pub(crate) fn repeat(what: &str, message: usize, contender: &str, repeats: usize) {
    let Some(message) = corpus().into_iter().nth(message) else { return };
    let Some(work) = contenders(message.kind).into_iter().find(|work| work.name == contender) else { return };
    let encode = if what == "encode" { (work.encode)(&message.text) } else { None };
    let mut work = encode.unwrap_or_else(|| Box::new(move || (work.decode)(message.text.as_bytes())));
    (0..repeats).for_each(|_| work());
}
