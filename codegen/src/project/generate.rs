//! The main job: schemas in, Rust modules out, written or compared.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use crate::build::model;
use crate::emit::module::{emit_on, threads};
use crate::emit::{Options, emit, methods, revisions};
use crate::error::Error;
use crate::model::conservation::conservation;
use crate::model::{Protocol, Revision, check_name, schema_path};
use crate::project::manifest;
use crate::project::workspace::Workspace;
use crate::project::write::{Changes, sync};
use crate::schema::document::Document;
use crate::text::names::escape;

/// Where the modules of vendored revisions go, below the root.
pub(crate) const FOLDER: &str = "generated/src";

/// Where a foreign schema's module finds the support core unless told otherwise.
pub const SUPPORT: &str = "::mcpgen_types";

/// What a run generated.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The revisions, in the order of the workspace.
    pub revisions: Vec<Summary>,
    /// What differs from what was there before.
    pub changes: Changes,
}

/// What was generated for one revision.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The revision.
    pub revision: String,
    /// How many types.
    pub types: usize,
    /// How many methods that a side of the connection sends.
    pub methods: usize,
    /// How many files.
    pub files: usize,
    /// How many of the files were created, changed or removed.
    pub changed: usize,
    /// Fixups that were tried and found nothing to correct.
    pub idle_fixups: Vec<&'static str>,
}

/// Generates all vendored revisions of a workspace, or with `check` only says what differs.
///
/// # Errors
/// Whatever is wrong with the schemas of all revisions together, and what [`sync`] fails with.
pub fn vendored(workspace: &Workspace, check: bool) -> Result<Generated, Error> {
    let models = workspace.models()?;
    let mut files = BTreeMap::from([
        ("methods.rs".to_owned(), methods::file(&workspace.revisions, &models)?),
        ("revisions.rs".to_owned(), revisions::file(&workspace.revisions, &models)?),
    ]);
    let mut summaries = Vec::new();
    for (row, module) in workspace.revisions.iter().zip(modules(workspace, &models)) {
        let (summary, module) = module?;
        summaries.push(summary);
        files.extend(module.into_iter().map(|(path, text)| (format!("{}/{path}", row.module()), text)));
    }
    let manifest = manifest::sync(workspace, true)?;
    let mut changes = sync(&workspace.root.join(FOLDER), &files, check)?;
    if !check {
        manifest::sync(workspace, false)?;
    }
    changes.changes.extend(manifest);
    for (row, summary) in workspace.revisions.iter().zip(&mut summaries) {
        let folder = format!("{}/", row.module());
        summary.changed = changes.changes.iter().filter(|change| change.path.starts_with(&folder)).count();
    }
    Ok(Generated { revisions: summaries, changes })
}

/// What became of a revision, and the text of its files.
type Module = (Summary, BTreeMap<String, String>);

/// The modules of all revisions, made at the same time.
fn modules(workspace: &Workspace, models: &[Protocol]) -> Vec<Result<Module, Error>> {
    let threads_of_each = threads().div_ceil(models.len().max(1));
    thread::scope(|scope| {
        let rows = workspace.revisions.iter().zip(models);
        let threads: Vec<_> =
            rows.map(|(row, protocol)| scope.spawn(move || module(row, protocol, threads_of_each))).collect();
        // A panic is as much a defect here as in one thread.
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|cause| resume_unwind(cause))).collect()
    })
}

fn module(row: &Revision, protocol: &Protocol, threads: usize) -> Result<Module, Error> {
    let options = Options {
        support: "crate".to_owned(),
        command: "cargo run -p mcpgen -- generate".to_owned(),
        source: schema_path(&row.name),
        vendored: Some(row.module()),
    };
    conservation(protocol)?;
    let files = emit_on(threads, protocol, &options)?;
    Ok((summary(protocol, files.len()), files))
}

/// Generates one module from anybody's schema.
///
/// Whatever it is called, such a schema never counts as a released one: fixups are tried on it, and none has to find
/// its place.
#[derive(Clone, Debug)]
pub struct Generator {
    schema: PathBuf,
    revision: String,
    support: String,
}

impl Generator {
    /// Generates from this schema file, and calls the revision so.
    pub fn new(schema: impl Into<PathBuf>, revision: impl Into<String>) -> Generator {
        Generator { schema: schema.into(), revision: revision.into(), support: SUPPORT.to_owned() }
    }

    /// Where the module finds the support core, instead of [`SUPPORT`].
    #[must_use]
    pub fn support(self, path: impl Into<String>) -> Generator {
        Generator { support: path.into(), ..self }
    }

    /// Makes `out` the module: `mod.rs` and its files, without files of an earlier run that are not needed any more.
    ///
    /// # Errors
    /// Whatever is wrong with the schema or the names, and what [`sync`] fails with.
    pub fn write_to(&self, out: impl AsRef<Path>) -> Result<Generated, Error> {
        self.sync(out.as_ref(), false)
    }

    /// For build scripts: makes the module below `OUT_DIR`, to be included by
    /// `include!(concat!(env!("OUT_DIR"), "/NAME.include.rs"));`, and tells cargo to run again when the schema changes.
    ///
    /// # Errors
    /// As [`Generator::write_to`]; [`Error::Usage`] outside a build script.
    pub fn build_script(&self, name: &str) -> Result<Generated, Error> {
        let out = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| {
            Error::Usage("cargo sets OUT_DIR for build scripts alone; use `write_to` elsewhere".to_owned())
        })?;
        let generated = self.write_to(out.join(name))?;
        let include = out.join(format!("{name}.include.rs"));
        // A module's own inner documentation cannot be included, but a declaration of the module can.
        std::fs::write(&include, format!("pub mod {};\n", escape(name))).map_err(Error::io("writing", &include))?;
        #[expect(clippy::print_stdout, reason = "how a build script speaks to cargo")]
        {
            println!("cargo::rerun-if-changed={}", self.schema.display());
        }
        Ok(generated)
    }

    /// What [`Generator::write_to`] would change.
    ///
    /// # Errors
    /// As [`Generator::write_to`].
    pub fn compare_with(&self, out: impl AsRef<Path>) -> Result<Generated, Error> {
        self.sync(out.as_ref(), true)
    }

    fn sync(&self, out: &Path, check: bool) -> Result<Generated, Error> {
        check_name(&self.revision)?;
        let protocol = model(Document::read(&self.schema)?, &self.revision, false)?;
        conservation(&protocol)?;
        let files = emit(&protocol, &self.options())?;
        let changes = sync(out, &files, check)?;
        let summary = Summary { changed: changes.changes.len(), ..summary(&protocol, files.len()) };
        Ok(Generated { revisions: vec![summary], changes })
    }

    fn options(&self) -> Options {
        // Where the schema lies on this machine must not show in the output.
        let source = self.schema.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        let mut command = format!("mcpgen generate --schema {source} --revision {} --out DIR", self.revision);
        if self.support != SUPPORT {
            command.push_str(&format!(" --support {}", self.support));
        }
        Options { support: self.support.clone(), command, source, vendored: None }
    }
}

fn summary(protocol: &Protocol, files: usize) -> Summary {
    let requests = protocol.requests.iter().filter(|request| !request.senders.is_empty()).count();
    let idle = protocol.fixups.iter().filter(|fixup| fixup.pointers.is_empty());
    Summary {
        revision: protocol.revision.clone(),
        types: protocol.types.len(),
        methods: requests + protocol.notifications.len(),
        files,
        changed: 0,
        idle_fixups: idle.map(|fixup| fixup.name).collect(),
    }
}
