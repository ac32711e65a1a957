//! `mcpgen diff`.

use std::io::stdout;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ColorChoice};
use jiff::civil::Date;
use mcpgen_diff::Axis;
use mcpgen_diff::report::baseline::Baseline;
use mcpgen_diff::report::compared::{Compared, Subject};
use mcpgen_diff::report::contents::Report;
use mcpgen_diff::report::formats::{Format, TextOptions};
use mcpgen_diff::report::judgement::FailOn;
use mcpgen_diff::report::policy::Policy;
use mcpgen_model::Mapping;
use mcpgen_schema::Error;

use super::answer::Answer;
use super::root::Root;

/// Compare two schemas, or two snapshots of a server's tools: who does a change break?
///
/// A schema is a vendored revision, a file, `-` for standard input, or `git:REF:PATH` for a file in a commit of the git
/// repository. With --tools, OLD and NEW are snapshots of a server's lists, given as a file, `-` or `git:REF:PATH`.
/// codegen/README.md describes reports, `mcpgen.toml` and baselines.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen diff 2025-11-25 2026-07-28
  mcpgen diff git:main:schema.json schema.json --format github --output sarif=diff.sarif
  mcpgen diff old.json new.json --axis rust-api --fail-on dangerous
  mcpgen diff --tools git:main:tools.json tools.json
  mcpgen diff --tools old.json new.json --axis trust --fail-on dangerous
  mcpgen diff 2025-11-25 2026-07-28 --format html > diff.html

Exit codes: 0 no findings at or above --fail-on, 1 findings or stale ignores, 2 invalid input or usage.")]
pub(super) struct DiffArgs {
    /// The old schema or snapshot
    #[arg(value_name = "OLD")]
    old: String,
    /// The new schema or snapshot
    #[arg(value_name = "NEW")]
    new: String,
    /// Compare snapshots of a server's lists: a `tools/list` result, a response with one, an array of tools, or an
    /// object with `tools`, `resources`, `resourceTemplates` and `prompts`
    #[arg(long)]
    tools: bool,
    /// The format of the report on standard output [default: text]
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<Format>,
    /// Write another report to a file, or to standard output if FILE is `-`; can be repeated
    #[arg(long = "output", value_name = "FORMAT=FILE")]
    outputs: Vec<Output>,
    /// The axes to check, separated by commas [default: the two message axes; those of documents for schemas
    /// without messages; `remembered-list` and `stored-workflow` with --tools, without `trust`]
    #[arg(long = "axis", value_name = "AXIS", value_delimiter = ',', value_enum)]
    axes: Vec<Axis>,
    /// Also show compatible and suppressed findings in the text report
    #[arg(long)]
    all: bool,
    /// Colour the text report on standard output
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
    /// The lowest severity for which the exit code is 1
    #[arg(long, value_name = "SEVERITY", default_value = "unknown", value_enum)]
    fail_on: FailOn,
    /// A file that lists messages with their params, results and directions, for schemas that do not list them
    #[arg(long, value_name = "FILE", conflicts_with = "tools")]
    protocol: Option<PathBuf>,
    /// The file with severities and ignores [default: mcpgen.toml in the current folder or a parent]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Suppress the findings listed in this file
    #[arg(long, value_name = "FILE", conflicts_with = "write_baseline")]
    baseline: Option<PathBuf>,
    /// Write the dangerous, unknown and breaking findings to this file, and suppress them
    #[arg(long, value_name = "FILE")]
    write_baseline: Option<PathBuf>,
    /// The current day, which determines which ignores have expired
    #[arg(long, value_name = "DATE", hide = true)]
    today: Option<Date>,
    #[command(flatten)]
    root: Root,
}

/// A report and where it goes.
#[derive(Clone, Debug)]
struct Output {
    format: Format,
    /// `None` means stdout.
    file: Option<PathBuf>,
}

impl DiffArgs {
    /// Runs the comparison. Reads every input before it writes anything, and writes all files before stdout.
    pub(super) fn run(self) -> Result<Answer, Error> {
        let outputs = self.outputs()?;
        let subject = if self.tools { Subject::Lists } else { Subject::Schemas };
        let policy = Policy::find(self.config.as_deref(), subject)?;
        let baseline = self.baseline.as_deref().map(Baseline::read).transpose()?;
        // Reject unknown axes before reading the schemas. Which axes apply is known only afterwards.
        self.axes(if self.tools { Subject::Lists } else { Subject::Documents })?;
        let mapping = self.protocol.as_deref().map(Mapping::read).transpose()?;
        let compared = Compared::read(subject, (&self.old, &self.new), mapping.as_ref(), |revision, documented| {
            self.root.source(revision, documented)
        })?;
        let axes = self.axes(compared.subject())?;
        let today = self.today.unwrap_or_else(today);

        let diff = compared.diff();
        let mut judgement = policy.judge(diff.findings, &axes, today);
        let baseline = match &self.write_baseline {
            Some(path) => {
                let written = Baseline::of(path, &judgement.findings);
                write(path, &written.to_text())?;
                Some(written)
            }
            None => baseline,
        };
        if let Some(baseline) = baseline {
            baseline.suppress(&mut judgement, &axes);
        }
        judgement.notes.extend(diff.notes);
        let report = Report::new(compared, &axes, self.fail_on, diff.types, judgement);

        let mut answer = Answer { differs: report.fails(), ..Answer::default() };
        for Output { format, file } in outputs {
            match file {
                Some(file) => write(&file, &format.render(&report, TextOptions { all: self.all, color: false }))?,
                None => {
                    answer.text = format.render(&report, TextOptions { all: self.all, color: self.colors() });
                    // Other formats are for programs, so people see stale ignores on stderr.
                    if format != Format::Text {
                        answer.notes.extend(report.stale.iter().map(|stale| format!("error: {stale}")));
                    }
                }
            }
        }
        Ok(answer)
    }

    /// Returns the chosen axes, in canonical order.
    fn axes(&self, subject: Subject) -> Result<Vec<Axis>, Error> {
        let mut known = subject.axes().to_vec();
        // Several schemas may share a configuration, so it may name message axes.
        if subject == Subject::Documents {
            known.splice(0..0, Axis::WIRE);
        }
        if let Some(other) = self.axes.iter().find(|axis| !known.contains(axis)) {
            let known = known.iter().map(|axis| axis.as_str()).collect::<Vec<_>>().join(", ");
            let help = if self.tools { "with --tools" } else { "without --tools" };
            return Err(Error::Usage(format!("there is no axis `{other}` {help}; use one of {known}")));
        }
        let chosen = if self.axes.is_empty() { subject.default_axes() } else { &self.axes };
        Ok(known.into_iter().filter(|axis| chosen.contains(axis)).collect())
    }

    fn outputs(&self) -> Result<Vec<Output>, Error> {
        let mut outputs = self.outputs.clone();
        let to_stdout = outputs.iter().any(|output| output.file.is_none());
        if self.format.is_some() || !to_stdout {
            outputs.push(Output { format: self.format.unwrap_or(Format::Text), file: None });
        }
        let written = outputs.iter().map(|output| output.file.as_ref()).chain(self.write_baseline.iter().map(Some));
        let written: Vec<Option<&PathBuf>> = written.collect();
        let twice = written.iter().enumerate().find(|(at, file)| written[..*at].contains(file));
        match twice {
            None => Ok(outputs),
            Some((_, Some(file))) => Err(Error::Usage(format!("two files would be written to {}", file.display()))),
            Some((_, None)) => Err(Error::Usage(
                "two reports would be written to standard output; use either --format or one --output FORMAT=-".into(),
            )),
        }
    }

    fn colors(&self) -> bool {
        match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            // `choice` respects terminals, NO_COLOR, CLICOLOR_FORCE and other conventions.
            ColorChoice::Auto => anstream::AutoStream::choice(&stdout()) != anstream::ColorChoice::Never,
        }
    }
}

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Output, String> {
        let (format, file) = text.split_once('=').ok_or("expected FORMAT=FILE, such as sarif=diff.sarif")?;
        let known = Format::ALL.into_iter().find(|known| known.as_str() == format).ok_or_else(|| {
            let known = Format::ALL.map(Format::as_str).join(", ");
            format!("{format:?} is not a format; use one of {known}")
        })?;
        match file {
            "" => Err("the name of the file is empty".into()),
            "-" => Ok(Output { format: known, file: None }),
            file => Ok(Output { format: known, file: Some(file.into()) }),
        }
    }
}

/// Returns the day in UTC, so that ignores expire everywhere at the same time.
fn today() -> Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(Error::io("writing", path))
}
