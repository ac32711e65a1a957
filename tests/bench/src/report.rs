//! The results, as JSON and as Markdown tables.

use std::env;
use std::fmt::{self, Write};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Report {
    pub date: String,
    pub command: String,
    /// The versions of the compiler and of the compared crates.
    pub versions: Vec<String>,
    pub sections: Vec<Section>,
}

impl Report {
    pub fn new(sections: Vec<Section>) -> anyhow::Result<Self> {
        let rustc = Command::new("rustc").arg("--version").output().context("rustc")?;
        let rustc = String::from_utf8_lossy(&rustc.stdout).split(" (").next().unwrap_or_default().to_owned();
        let lock = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock"))?;
        let compared = ["rmcp", "rust-mcp-schema", "serde_json", "typify"];
        let locked = compared.map(|name| locked(&lock, name)).into_iter().flatten();
        Ok(Self {
            date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            command: ["tests/bench/run".to_owned()]
                .into_iter()
                .chain(env::args().skip(1))
                .collect::<Vec<_>>()
                .join(" "),
            versions: [rustc].into_iter().chain(locked).collect(),
            sections,
        })
    }

    pub fn markdown(&self) -> String {
        let sections: Vec<String> = self.sections.iter().map(Section::markdown).collect();
        format!("`{}`, {}: {}.\n\n{}", self.command, self.date, self.versions.join(", "), sections.join("\n"))
    }

    pub fn missed(&self) -> impl Iterator<Item = String> {
        self.sections.iter().flat_map(|section| {
            let missed = section.cases.iter().flat_map(|case| case.goals.iter().map(move |goal| (case, goal)));
            let missed = missed.filter(|(case, goal)| !case.meets(goal));
            missed.map(|(case, goal)| format!("{}: {}: {}", section.name, case.name, case.verdict(goal)))
        })
    }
}

fn locked(lock: &str, name: &str) -> Option<String> {
    let package = lock.split("[[package]]").find(|package| package.contains(&format!("name = \"{name}\"\n")))?;
    let version = package.lines().find_map(|line| line.strip_prefix("version = "))?;
    Some(format!("{name} {}", version.trim_matches('"')))
}

/// The contender that the goals apply to.
pub const OURS: &str = "mcpgen";

/// One table, whose cases are measured in the same way.
#[derive(Debug, Serialize)]
pub struct Section {
    /// The name of the section in report.json and in the list of missed goals.
    pub name: &'static str,
    pub title: String,
    pub cases: Vec<Case>,
    /// Explains how the figures are measured.
    pub notes: Vec<String>,
}

/// One row: several contenders that do the same work.
#[derive(Debug, Serialize)]
pub struct Case {
    pub name: String,
    /// `ns`, `s`, `MiB`, `allocations`, …
    pub unit: &'static str,
    /// The contender that the table compares all others with.
    pub base: String,
    /// The medians by contender.
    pub figures: Vec<Figure>,
    pub goals: Vec<Goal>,
}

#[derive(Debug, Serialize)]
pub struct Figure {
    pub contender: String,
    pub median: f64,
}

/// A bound on our figure, or on its ratio to the figure of another contender.
#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    /// The other contender, or `None` if the bound is on the figure itself.
    pub to: Option<String>,
    pub bound: Bound,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    pub fn at_most(ratio: f64, to: &str) -> Self {
        Self { to: Some(to.to_owned()), bound: Bound::AtMost(ratio) }
    }

    pub fn at_least(ratio: f64, to: &str) -> Self {
        Self { to: Some(to.to_owned()), bound: Bound::AtLeast(ratio) }
    }

    pub fn limit(figure: f64) -> Self {
        Self { to: None, bound: Bound::AtMost(figure) }
    }
}

impl Case {
    /// Creates a row without goals, whose base is the first contender.
    pub fn new(name: impl Into<String>, unit: &'static str, figures: Vec<(String, f64)>) -> Self {
        let base = figures.first().map(|(contender, _)| contender.clone()).unwrap_or_default();
        let figures = figures.into_iter().map(|(contender, median)| Figure { contender, median }).collect();
        Self { name: name.into(), unit, base, figures, goals: Vec::new() }
    }

    pub fn base(mut self, contender: &str) -> Self {
        self.base = contender.to_owned();
        self
    }

    pub fn goal(mut self, goal: Goal) -> Self {
        self.goals.push(goal);
        self
    }

    pub fn figure(&self, contender: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.contender == contender).map(|figure| figure.median)
    }

    /// Returns the value that the goal bounds, which is a ratio or our figure, rounded to the two decimals that the
    /// table shows. Returns `None` if it was not measured.
    fn reached(&self, goal: &Goal) -> Option<f64> {
        let ours = self.figure(OURS)?;
        let reached = match &goal.to {
            Some(other) => ours / self.figure(other)?,
            None => ours,
        };
        Some((reached * 100.0).round() / 100.0)
    }

    fn meets(&self, goal: &Goal) -> bool {
        match (self.reached(goal), goal.bound) {
            (Some(reached), Bound::AtMost(limit)) => reached <= limit,
            (Some(reached), Bound::AtLeast(limit)) => reached >= limit,
            (None, _) => false,
        }
    }

    fn verdict(&self, goal: &Goal) -> String {
        let Some(reached) = self.reached(goal) else { return String::from("not measured") };
        let (relation, limit) = match goal.bound {
            Bound::AtMost(limit) => ("≤", limit),
            Bound::AtLeast(limit) => ("≥", limit),
        };
        let of = goal.to.as_ref().map_or_else(|| format!(" {}", self.unit), |other| format!(" of {other}"));
        let missed = if self.meets(goal) { String::new() } else { format!(" **missed: {}**", Short(reached)) };
        format!("{relation} {limit}{of}{missed}")
    }
}

impl Section {
    /// Returns a Markdown table with the figure of the base, and all figures as multiples of it.
    pub fn markdown(&self) -> String {
        let mut contenders: Vec<&str> = Vec::new();
        for figure in self.cases.iter().flat_map(|case| &case.figures) {
            if !contenders.contains(&figure.contender.as_str()) {
                contenders.push(&figure.contender);
            }
        }
        let mut out = format!("**{}**\n\n| | base | {} | goal |\n|---|---:|", self.title, contenders.join(" | "));
        out += &"---:|".repeat(contenders.len());
        out += "---|\n";
        for case in &self.cases {
            let base = case.figure(&case.base);
            let absolute = base.map_or_else(|| "-".to_owned(), |base| in_unit(base, case.unit));
            let _ = write!(out, "| {} | {absolute} |", case.name);
            for contender in &contenders {
                let ratio = case.figure(contender).zip(base).map(|(figure, base)| figure / base);
                let ours = *contender == OURS;
                let _ = match ratio {
                    Some(ratio) if ours => write!(out, " **{}** |", Short(ratio)),
                    Some(ratio) => write!(out, " {} |", Short(ratio)),
                    None => write!(out, " |"),
                };
            }
            let goals: Vec<String> = case.goals.iter().map(|goal| case.verdict(goal)).collect();
            let _ = writeln!(out, " {} |", goals.join("; "));
        }
        for note in &self.notes {
            let _ = write!(out, "\n{note}\n");
        }
        out
    }
}

/// Formats a figure with its unit. Converts nanoseconds to microseconds or milliseconds.
pub fn in_unit(figure: f64, unit: &str) -> String {
    match unit {
        "ns" if figure >= 1e6 => format!("{} ms", Short(figure / 1e6)),
        "ns" if figure >= 1e3 => format!("{} µs", Short(figure / 1e3)),
        _ => format!("{} {unit}", Short(figure)),
    }
}

/// Formats a figure with three digits. More would only show noise.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            figure if figure >= 100.0 => write!(f, "{figure:.0}"),
            figure if figure >= 10.0 => write!(f, "{figure:.1}"),
            figure => write!(f, "{figure:.2}"),
        }
    }
}
