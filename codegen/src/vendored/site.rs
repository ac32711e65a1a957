//! Collects what the site and the ledger show from a clone of the repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mcpgen_model::conversions::{PATH, Rules, conversions};
use mcpgen_model::{NAMES, schema_path};
use mcpgen_schema::Error;
use mcpgen_site::{Guide, Ledger, Site, Sources, ledger};

use crate::emit::file::MARK;
use crate::vendored::workspace::Workspace;

/// The folders of the crates that the ledger counts.
const CRATES: [&str; 3] = ["generated", "runtime", "codegen"];

/// The web address of the repository's files.
const BASE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main");

/// The largest file that is read as a page or a picture, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Returns the files of the site, by their paths in its folder.
///
/// # Errors
/// The problems of all schemas together, [`Error::Usage`] if the ledger has no layer for a file, or [`Error::Io`].
pub fn files(workspace: &Workspace) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let models = workspace.models()?;
    let extension_models = workspace.extension_models(&models)?;
    let rules = Rules::read(&workspace.root)?;
    let conversions = conversions(&models, &rules)?;
    let schemas: Vec<_> = workspace.revisions.iter().map(|row| workspace.root.join(schema_path(&row.name))).collect();
    let site = Site {
        revisions: &workspace.revisions,
        models: &models,
        schemas: &schemas,
        extensions: &workspace.extensions,
        extension_models: &extension_models,
        conversions: &conversions,
        rules: &rules,
        guide: &guide(&workspace.root)?,
        ledger: &ledger_of(workspace)?,
    };
    site.files()
}

/// Returns the ledger.
///
/// # Errors
/// [`Error::Usage`] if a file belongs to no layer or a table is malformed; [`Error::Io`].
pub fn ledger_of(workspace: &Workspace) -> Result<Ledger, Error> {
    let mut sources = Sources { mark: MARK, ..Sources::default() };
    for folder in CRATES {
        visit(&workspace.root, folder, &mut |path, file| {
            // Separate files with unit tests are not part of an SDK.
            if path.contains("/src/") && path.ends_with(".rs") && !path.ends_with("/tests.rs") {
                let text = fs::read_to_string(file).map_err(Error::io("reading", file))?;
                sources.code.insert(path.to_owned(), text);
            }
            Ok(())
        })?;
    }
    let read = |path: &str| {
        let file = workspace.root.join(path);
        Error::unless_missing(fs::read_to_string(&file), &file)
    };
    for path in [PATH, NAMES] {
        sources.tables.extend(read(path)?.map(|text| (path.to_owned(), text)));
    }
    sources.requirements = read("tests/proof/requirements.toml")?.unwrap_or_default();
    ledger(&sources, &workspace.revisions)
}

fn guide(root: &Path) -> Result<Guide, Error> {
    let mut guide = Guide { base: BASE.to_owned(), ..Guide::default() };
    visit(root, "", &mut |path, file| {
        let size = fs::metadata(file).map_err(Error::io("reading", file))?.len();
        if path.ends_with(".md") && size <= MAX_BYTES {
            guide.pages.insert(path.to_owned(), fs::read_to_string(file).map_err(Error::io("reading", file))?);
        } else if [".svg", ".png"].iter().any(|end| path.ends_with(end)) && size <= MAX_BYTES {
            guide.pictures.insert(path.to_owned(), fs::read(file).map_err(Error::io("reading", file))?);
        }
        guide.files.extend(Path::new(path).ancestors().filter_map(Path::to_str).map(str::to_owned));
        Ok(())
    })?;
    Ok(guide)
}

/// Calls `found` with the path of each file below a folder, except in hidden folders, `target` and `node_modules`.
fn visit(root: &Path, folder: &str, found: &mut dyn FnMut(&str, &Path) -> Result<(), Error>) -> Result<(), Error> {
    let full = root.join(folder);
    let Some(entries) = Error::unless_missing(fs::read_dir(&full), &full)? else { return Ok(()) };
    for entry in entries {
        let entry = entry.map_err(Error::io("reading", &full))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type().map_err(Error::io("reading", entry.path()))?;
        if kind.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
            visit(root, &path, found)?;
        } else if kind.is_file() {
            found(&path, &entry.path())?;
        }
    }
    Ok(())
}
