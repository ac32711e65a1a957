//! Generates the modules of all vendored revisions and extensions.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::thread;

use mcpgen_model::conservation::conservation;
use mcpgen_model::conversions::{Rules, conversions};
use mcpgen_model::{Protocol, Revision, extension_path, schema_path};
use mcpgen_schema::{Error, evaluate};

use crate::emit::file::{COMMAND, repository_header};
use crate::emit::module::{emit_on, threads};
use crate::emit::parallel::in_parallel;
use crate::emit::{Options, conversions as conversion_tables, extensions, methods, revisions};
use crate::generator::{Generated, Summary, summary};
use crate::vendored::manifest;
use crate::vendored::workspace::Workspace;
use crate::write::sync;

/// The folder of revision modules, relative to the root.
pub const GENERATED: &str = "generated/src";

/// The folder of extension modules, below [`GENERATED`].
const EXTENSIONS: &str = "ext";

/// The folder of the evaluator, below [`GENERATED`].
const EVALUATE: &str = "codec/evaluate";

/// Generates all vendored revisions and extensions. With `check`, only compares them.
///
/// # Errors
/// Returns the problems of all schemas together, [`Error::Io`], or [`Error::Usage`] if it would overwrite a file that
/// mcpgen did not write.
pub fn generate(workspace: &Workspace, check: bool) -> Result<Generated, Error> {
    let models = workspace.models()?;
    let extensions = workspace.extension_models(&models)?;
    let mut summaries = Vec::new();
    let jobs = jobs(workspace, &models, &extensions);
    let threads_of_each = threads().div_ceil(jobs.len().max(1));
    let (files, modules) = thread::scope(|scope| {
        let modules = scope.spawn(|| in_parallel(&jobs, |job| module(job, threads_of_each)));
        let files = shared_files(workspace, &models);
        (files, modules.join().unwrap_or_else(|cause| resume_unwind(cause)))
    });
    let mut files = files?;
    for (job, module) in jobs.iter().zip(modules) {
        let (summary, module) = module?;
        summaries.push(summary);
        files.extend(module.into_iter().map(|(path, text)| (format!("{}/{path}", job.folder), text)));
    }
    let manifest = manifest::sync(workspace, &extensions, true)?;
    let mut changes = sync(&workspace.root.join(GENERATED), &files, check)?;
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

/// Returns the files that belong to no single revision or extension.
fn shared_files(workspace: &Workspace, models: &[Protocol]) -> Result<BTreeMap<String, String>, Error> {
    let has_extensions = !workspace.extensions.is_empty();
    let rules = Rules::read(&workspace.root)?;
    let tables = conversion_tables::file(&workspace.revisions, &rules, &conversions(models, &rules)?);
    let mut files = BTreeMap::from([
        ("conversions.rs".to_owned(), tables),
        ("methods.rs".to_owned(), methods::file(&workspace.revisions, models)?),
        ("revisions.rs".to_owned(), revisions::file(&workspace.revisions, models, has_extensions)?),
    ]);
    files.extend(evaluate::SHARED.map(|(path, text)| {
        let (_, name) = path.rsplit_once('/').unwrap_or_default();
        (format!("{EVALUATE}/{name}"), repository_header(&format!("codegen/schema/src/{path}")) + text)
    }));
    if has_extensions {
        files.insert(format!("{EXTENSIONS}/mod.rs"), extensions::file(&workspace.extensions)?);
    }
    Ok(files)
}

type Module = (Summary, BTreeMap<String, String>);

struct Job<'p> {
    protocol: &'p Protocol,
    options: Options,
    folder: String,
}

fn jobs<'p>(workspace: &Workspace, models: &'p [Protocol], extensions: &'p [Protocol]) -> Vec<Job<'p>> {
    let options = |source: String, module: String| Options {
        support: "crate".to_owned(),
        command: COMMAND.to_owned(),
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

fn module(job: &Job<'_>, threads: usize) -> Result<Module, Error> {
    conservation(job.protocol)?;
    let files = emit_on(threads, job.protocol, &job.options, None)?;
    Ok((summary(job.protocol, files.len()), files))
}
