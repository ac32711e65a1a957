//! `mcpgen contains`.

use std::path::{Path, PathBuf};

use clap::Args;
use indexmap::IndexMap;
use mcpgen_schema::check::Check;
use mcpgen_schema::containment::{Budget, Verdict, contains};
use mcpgen_schema::{Checks, Document, Error, Json, ReadOptions, checks};

use super::answer::Answer;
use super::schema_args::{ReadArgs, hint};

/// Prove that a schema accepts every document that another one accepts, or show one that it refuses
///
/// `format` and other annotations are ignored. If mcpgen finds neither a proof nor such a document, the answer is
/// `unknown`, with the reason.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen contains new.json old.json
  mcpgen contains new.json old.json --type Tool --json

Exit codes: 0 contained, 1 not contained or unknown, 2 invalid input or usage.")]
pub(super) struct ContainsArgs {
    /// The schema that should accept more documents
    #[arg(value_name = "SUPER")]
    large: PathBuf,
    /// The schema that should accept fewer documents
    #[arg(value_name = "SUB")]
    small: PathBuf,
    /// Compare this definition of both schemas, instead of the root
    #[arg(long = "type", value_name = "NAME")]
    type_name: Option<String>,
    /// Print an object with the members `verdict` (`contained`, `not-contained` or `unknown`), `witness`, `refused` and
    /// `reason`
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: ReadArgs,
}

impl ContainsArgs {
    pub(super) fn run(self) -> Result<Answer, Error> {
        let [large, small] = [&self.large, &self.small].map(|path| self.read(path));
        let (large, small) = (large?, small?);
        let text = |text: &str| Json::String(text.to_owned());
        let (verdict, details) = match contains((&large).into(), (&small).into(), Budget::default()) {
            Verdict::Proved => ("contained", Vec::new()),
            Verdict::Refuted(witness) => {
                let failure = large.root.check(&witness, &large.definitions).err();
                let refused = failure.map(|failure| ("refused", text(&failure.to_string())));
                ("not-contained", [("witness", witness)].into_iter().chain(refused).collect())
            }
            Verdict::Unknown(reason) => ("unknown", vec![("reason", text(&reason.to_string()))]),
        };
        let differs = verdict != "contained";
        let text = if self.json {
            let members = [("verdict", text(verdict))].into_iter().chain(details);
            Json::Object(members.map(|(name, value)| (name.to_owned(), value)).collect::<IndexMap<_, _>>()).to_pretty()
        } else {
            let lines = details.iter().map(|(name, value)| match *name {
                "witness" => format!("witness: {value}\n"),
                name => format!("{name}: {}\n", value.plain()),
            });
            format!("{}\n{}", verdict.replace('-', " "), lines.collect::<String>())
        };
        Ok(Answer { text, differs, ..Answer::default() })
    }

    fn read(&self, path: &Path) -> Result<Checks, Error> {
        let options = ReadOptions { is_schema: true, ..self.options.options() };
        let mut checks = checks(&Document::read_with(path, &options)?)?;
        let file = path.display();
        match &self.type_name {
            Some(name) if checks.definitions.contains_key(name) => checks.root = Check::Definition(name.clone()),
            Some(name) => {
                let hint = hint(name, checks.definitions.keys().map(String::as_str));
                return Err(Error::Usage(format!("there is no definition `{name}` in {file}{hint}")));
            }
            None if checks.root == Check::Anything && !checks.definitions.is_empty() => {
                let why = format!("the root of {file} accepts every document; name a definition with `--type`");
                return Err(Error::Usage(why));
            }
            None => {}
        }
        Ok(checks)
    }
}
