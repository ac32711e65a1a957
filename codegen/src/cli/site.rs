//! `mcpgen site`.

use std::path::PathBuf;

use clap::Args;
use mcpgen::vendored::site::files;
use mcpgen_schema::Error;
use mcpgen_schema::text::counted;

use super::answer::Answer;
use super::root::Root;

/// Write the site: revisions, types, comparisons, conversions, extensions, the guide and the ledger
///
/// The site is a folder of static pages, which need no server and request nothing from elsewhere.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mcpgen site --out target/site")]
pub(super) struct SiteArgs {
    /// The folder to write to. Other files in it stay.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    root: Root,
}

impl SiteArgs {
    pub(super) fn run(self) -> Result<Answer, Error> {
        let files = files(&self.root.open()?)?;
        let bytes: usize = files.values().map(Vec::len).sum();
        for (path, bytes) in &files {
            let path = self.out.join(path);
            let folder = path.parent().unwrap_or(&self.out);
            std::fs::create_dir_all(folder).map_err(Error::io("creating", folder))?;
            std::fs::write(&path, bytes).map_err(Error::io("writing", &path))?;
        }
        let (count, size) = (counted(files.len() as u64, "files"), bytes.div_ceil(1024));
        let first = self.out.join("index.html");
        Ok(Answer { text: format!("{count}, {size} KiB: open {}\n", first.display()), ..Answer::default() })
    }
}
