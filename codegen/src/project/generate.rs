//! Generates Rust modules from schemas, and writes or compares them.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use crate::build::{extend, model};
use crate::conversions::{Rules, conversions};
use crate::emit::module::{emit_on, threads};
use crate::emit::{Options, conversions as conversion_tables, emit, extensions, methods, revisions};
use crate::error::Error;
use crate::model::conservation::conservation;
use crate::model::{Protocol, Revision, check_name, extension_path, schema_path};
use crate::project::manifest;
use crate::project::workspace::Workspace;
use crate::project::write::{Changes, sync};
use crate::schema::document::{Document, ReadOptions};
use crate::text::names::escape;
use crate::text::visible;

/// The folder of the modules of vendored revisions, below the root.
pub(crate) const FOLDER: &str = "generated/src";

/// The folder of the modules of extensions, below [`FOLDER`].
const EXTENSIONS: &str = "ext";

/// The default path of the support core for modules of other schemas.
pub const SUPPORT: &str = "::mcpgen_types";

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The revisions and then the extensions, in the order of the workspace.
    pub revisions: Vec<Summary>,
    /// The files that were created, changed or removed.
    pub changes: Changes,
}

/// The result for one revision or extension.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The revision.
    pub revision: String,
    /// The number of types.
    pub types: usize,
    /// The number of types that belong to the revision that is extended.
    pub shared: usize,
    /// The number of methods, without embedded requests.
    pub methods: usize,
    /// The number of files.
    pub files: usize,
    /// The number of files that were created, changed or removed.
    pub changed: usize,
    /// The fixups that did not match.
    pub idle_fixups: Vec<&'static str>,
    /// The messages that nobody sends, because no union of messages lists them.
    pub unsent_messages: Vec<String>,
}

impl Summary {
    /// Describes what may be wrong with the schema, and how to correct it.
    pub fn warnings(&self) -> Vec<String> {
        let revision = &self.revision;
        let fixups = (!self.idle_fixups.is_empty())
            .then(|| format!("{revision}: fixups that did not match: {}", self.idle_fixups.join(", ")));
        let unsent = self.unsent_messages.iter().map(|name| {
            let unions = if name.ends_with("Notification") {
                "ClientNotification or ServerNotification"
            } else {
                "ClientRequest or ServerRequest"
            };
            let name = visible(name);
            format!("{revision}: nobody sends {name}; add a reference to it to `anyOf` of {unions}")
        });
        fixups.into_iter().chain(unsent).collect()
    }
}

/// Generates all vendored revisions and extensions of a workspace, or with `check` only compares them.
///
/// # Errors
///
/// The problems of all schemas together; [`Error::Usage`] if it would overwrite a file that mcpgen did not write;
/// [`Error::Io`].
pub fn vendored(workspace: &Workspace, check: bool) -> Result<Generated, Error> {
    let (models, extensions) = (workspace.models()?, workspace.extension_models()?);
    let rules = Rules::read(&workspace.root)?;
    let tables = conversion_tables::file(&workspace.revisions, &rules, &conversions(&models, &rules)?);
    let mut files = BTreeMap::from([
        ("conversions.rs".to_owned(), tables),
        ("methods.rs".to_owned(), methods::file(&workspace.revisions, &models)?),
        ("revisions.rs".to_owned(), revisions::file(&workspace.revisions, &models, !extensions.is_empty())?),
    ]);
    if !extensions.is_empty() {
        files.insert(format!("{EXTENSIONS}/mod.rs"), extensions::file(&workspace.extensions)?);
    }
    let mut summaries = Vec::new();
    let jobs = jobs(workspace, &models, &extensions);
    for (job, module) in jobs.iter().zip(modules(&jobs)) {
        let (summary, module) = module?;
        summaries.push(summary);
        files.extend(module.into_iter().map(|(path, text)| (format!("{}/{path}", job.folder), text)));
    }
    let manifest = manifest::sync(workspace, &extensions, true)?;
    let mut changes = sync(&workspace.root.join(FOLDER), &files, check)?;
    if !check {
        manifest::sync(workspace, &extensions, false)?;
    }
    changes.changes.extend(manifest);
    for (job, summary) in jobs.iter().zip(&mut summaries) {
        let folder = format!("{}/", job.folder);
        summary.changed = changes.changes.iter().filter(|change| change.path.starts_with(&folder)).count();
    }
    Ok(Generated { revisions: summaries, changes })
}

/// The summary of a revision, and the text of its files.
type Module = (Summary, BTreeMap<String, String>);

/// A module to generate.
struct Job<'p> {
    protocol: &'p Protocol,
    options: Options,
    /// The folder of the module, below [`FOLDER`].
    folder: String,
}

/// Returns the modules of all revisions, then those of all extensions.
fn jobs<'p>(workspace: &Workspace, models: &'p [Protocol], extensions: &'p [Protocol]) -> Vec<Job<'p>> {
    let options = |source: String, module: String| Options {
        support: "crate".to_owned(),
        command: "cargo run -p mcpgen -- generate".to_owned(),
        source,
        vendored: Some(module),
    };
    let revisions = workspace.revisions.iter().zip(models).map(|(row, protocol)| Job {
        protocol,
        options: options(schema_path(&row.name), row.module()),
        folder: row.module(),
    });
    let extensions = workspace.extensions.iter().zip(extensions).map(|(row, protocol)| Job {
        protocol,
        options: options(extension_path(&row.name), Revision::module_of(&row.core)),
        folder: format!("{EXTENSIONS}/{}", row.module),
    });
    revisions.chain(extensions).collect()
}

/// Generates all modules in parallel.
fn modules(jobs: &[Job<'_>]) -> Vec<Result<Module, Error>> {
    let threads_of_each = threads().div_ceil(jobs.len().max(1));
    thread::scope(|scope| {
        let threads: Vec<_> = jobs.iter().map(|job| scope.spawn(move || module(job, threads_of_each))).collect();
        // Propagates a panic to this thread.
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|cause| resume_unwind(cause))).collect()
    })
}

fn module(job: &Job<'_>, threads: usize) -> Result<Module, Error> {
    conservation(job.protocol)?;
    let files = emit_on(threads, job.protocol, &job.options)?;
    Ok((summary(job.protocol, files.len()), files))
}

/// Generates a module from a schema.
///
/// The schema is treated as a draft, regardless of its name: fixups that do not match are not errors.
#[derive(Clone, Debug)]
pub struct Generator {
    schema: PathBuf,
    revision: String,
    support: String,
    options: ReadOptions,
    base: Option<Base>,
}

/// A revision of `mcpgen-types` that a schema extends.
#[derive(Clone, Debug)]
struct Base {
    schema: PathBuf,
    revision: String,
}

impl Generator {
    /// Creates a generator for a schema file. `revision` is the name of the revision in the generated code.
    pub fn new(schema: impl Into<PathBuf>, revision: impl Into<String>) -> Generator {
        Generator {
            schema: schema.into(),
            revision: revision.into(),
            support: SUPPORT.to_owned(),
            options: ReadOptions::default(),
            base: None,
        }
    }

    /// Generates only what the schema adds to a revision of `mcpgen-types`, or changes. `schema` is the official schema of
    /// that revision, with or without its prose, and `revision` its name, such as `2026-07-28`.
    ///
    /// A definition that equals the definition of the same name in the revision becomes the revision's type, which the
    /// module re-exports. Definitions are equal if they accept the same documents in the same way, all definitions that
    /// they refer to are equal, and, for requests, their results are equal. Prose is not compared. The crate needs the
    /// feature of `mcpgen-types` for the revision, such as `v2026_07_28`.
    ///
    /// All messages belong to the revision: `REVISION` of new ones is the constant of `mcpgen_types::Revision` too. So
    /// routers serve them on connections of that revision.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), mcpgen::Error> {
    /// mcpgen::Generator::new("schema.json", "my-revision")
    ///     .extending("2026-07-28.json", "2026-07-28")
    ///     .build_script("protocol")?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn extending(self, schema: impl Into<PathBuf>, revision: impl Into<String>) -> Generator {
        Generator { base: Some(Base { schema: schema.into(), revision: revision.into() }), ..self }
    }

    /// Sets the path of the support core. The default is `::mcpgen_types`.
    #[must_use]
    pub fn support(self, path: impl Into<String>) -> Generator {
        Generator { support: path.into(), ..self }
    }

    /// Sets the options for reading the schema: its dialect, the name of its root type, and the mapping.
    #[must_use]
    pub fn read_options(self, options: ReadOptions) -> Generator {
        Generator { options, ..self }
    }

    /// Writes the module to the folder `out`: `mod.rs` and its files. Outdated files of an earlier run are removed.
    ///
    /// # Errors
    /// The problems of the schema; [`Error::Usage`] if a name is not valid or a file that mcpgen did not write is in
    /// the way; [`Error::Io`].
    pub fn write_to(&self, out: impl AsRef<Path>) -> Result<Generated, Error> {
        self.sync(out.as_ref(), false)
    }

    /// Writes the module below `OUT_DIR`, for build scripts. Include it with `include!(concat!(env!("OUT_DIR"),
    /// "/NAME.include.rs"));`. Cargo runs the script again when the schema changes.
    ///
    /// # Errors
    /// The errors of [`Generator::write_to`]; [`Error::Usage`] outside a build script.
    pub fn build_script(&self, name: &str) -> Result<Generated, Error> {
        let mapping = self.options.mapping.iter().map(|mapping| mapping.file.to_string());
        let base = self.base.iter().map(|base| base.schema.display().to_string());
        let inputs = [self.schema.display().to_string()].into_iter().chain(mapping).chain(base);
        let generated = include_in_build(name, inputs, |out| self.write_to(out))?;
        #[expect(clippy::print_stdout, reason = "cargo reads instructions from the output of a build script")]
        for warning in generated.revisions.iter().flat_map(Summary::warnings) {
            println!("{}", instruction("warning", &warning));
        }
        Ok(generated)
    }

    /// Returns the changes that [`Generator::write_to`] would make.
    ///
    /// # Errors
    /// The errors of [`Generator::write_to`].
    pub fn compare_with(&self, out: impl AsRef<Path>) -> Result<Generated, Error> {
        self.sync(out.as_ref(), true)
    }

    fn sync(&self, out: &Path, check: bool) -> Result<Generated, Error> {
        check_name(&self.revision)?;
        let protocol = self.model()?;
        conservation(&protocol)?;
        let files = emit(&protocol, &self.options())?;
        let changes = sync(out, &files, check)?;
        let summary = Summary { changed: changes.changes.len(), ..summary(&protocol, files.len()) };
        Ok(Generated { revisions: vec![summary], changes })
    }

    fn model(&self) -> Result<Protocol, Error> {
        let mut protocol = model(Document::read_with(&self.schema, &self.options)?, &self.revision, false)?;
        // Most schemas need none of the fixups.
        let revision = self.base.as_ref().map_or(&self.revision, |base| &base.revision);
        protocol.fixups.retain(|applied| !applied.pointers.is_empty() || applied.is_for(revision));
        if let Some(Base { schema, revision }) = &self.base {
            check_name(revision)?;
            // Fixups that do not match show that this is the schema of another revision.
            let base = model(Document::read(schema)?, revision, true)?;
            extend(&mut protocol, &base, Revision::module_of(revision), None);
        }
        Ok(protocol)
    }

    fn options(&self) -> Options {
        // The output must not depend on the path of the schema.
        let source = self.schema.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        let mut command = format!("mcpgen generate --schema {source} --revision {} --out DIR", self.revision);
        if self.support != SUPPORT {
            command.push_str(&format!(" --support {}", self.support));
        }
        if let Some(dialect) = self.options.dialect {
            command.push_str(&format!(" --dialect {dialect}"));
        }
        if let Some(name) = &self.options.root_name {
            command.push_str(&format!(" --root-name {name}"));
        }
        if let Some(mapping) = &self.options.mapping {
            command.push_str(&format!(" --protocol {}", mapping.file_name()));
        }
        if let Some(Base { schema, revision }) = &self.base {
            let file = schema.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            command.push_str(&format!(" --extends {revision}={file}"));
        }
        Options { support: self.support.clone(), command, source, vendored: None }
    }
}

/// Writes a module below `OUT_DIR`, and a file that declares it. Cargo runs the script again when an input changes.
pub(crate) fn include_in_build<T>(
    name: &str,
    inputs: impl Iterator<Item = String>,
    write: impl FnOnce(PathBuf) -> Result<T, Error>,
) -> Result<T, Error> {
    let out = std::env::var_os("OUT_DIR")
        .map(PathBuf::from)
        .ok_or_else(|| Error::Usage("OUT_DIR is not set; outside a build script, use `write_to`".to_owned()))?;
    let written = write(out.join(name))?;
    let include = out.join(format!("{name}.include.rs"));
    // A file with inner documentation cannot be included, but a declaration of the module can.
    std::fs::write(&include, format!("pub mod {};\n", escape(name))).map_err(Error::io("writing", &include))?;
    #[expect(clippy::print_stdout, reason = "cargo reads instructions from the output of a build script")]
    for input in inputs {
        println!("{}", instruction("rerun-if-changed", &input));
    }
    Ok(written)
}

/// Returns an instruction for cargo, which reads one from each line.
pub(crate) fn instruction(name: &str, value: &str) -> String {
    format!("cargo::{name}={}", visible(value))
}

fn summary(protocol: &Protocol, files: usize) -> Summary {
    let requests = protocol.requests.iter().filter(|request| !request.senders.is_empty()).count();
    let idle = protocol.fixups.iter().filter(|fixup| fixup.pointers.is_empty());
    Summary {
        revision: protocol.revision.clone(),
        types: protocol.types.len(),
        shared: protocol.extends.as_ref().map_or(0, |extends| extends.shared.len()),
        methods: requests + protocol.notifications.len(),
        files,
        changed: 0,
        idle_fixups: idle.map(|fixup| fixup.name).collect(),
        unsent_messages: protocol.unsent_messages().into_iter().map(str::to_owned).collect(),
    }
}
