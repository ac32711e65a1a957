//! Writes the folder of pages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use mcpgen_diff::html::Page;
use mcpgen_schema::Error;

use crate::comparisons::{self, Comparison, Side};
use crate::contents::Site;
use crate::conversion_pages::ConversionPages;
use crate::frame::{REPORT_SCRIPT, SCRIPTS, framed, style};
use crate::guide::{Guide, picture_address};
use crate::links::{model, pair, type_page};
use crate::search::Hit;
use crate::type_pages::{TypePages, types_by_name};
use crate::{first_page, ledger_page, model_page, programs, search};

/// The files of the site, by their addresses.
type Files = BTreeMap<String, Vec<u8>>;

impl Site<'_> {
    /// Writes all files, by their paths in the folder of the site.
    ///
    /// # Errors
    /// [`Error::Io`] if the file of a schema cannot be read.
    pub fn files(&self) -> Result<Files, Error> {
        let sides: Vec<Side<'_>> = self.models.iter().zip(self.schemas.iter().map(PathBuf::as_path)).collect();
        let comparisons = comparisons::comparisons(&sides)?;
        let mut files = Files::from([
            ("style.css".to_owned(), style().into_bytes()),
            ("ledger.json".to_owned(), self.ledger.to_json().into_bytes()),
        ]);
        files.extend(SCRIPTS.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())));
        files.extend(self.guide.pictures.iter().map(|(path, bytes)| (picture_address(path), bytes.clone())));
        for (address, page) in self.pages(&sides, &comparisons) {
            let html = framed(&address, &page, &|address| self.has(address));
            files.insert(address, html.into_bytes());
        }
        if let Some(comparison) = comparisons.first() {
            files.insert(REPORT_SCRIPT.to_owned(), comparison.page.script.as_bytes().to_vec());
        }
        Ok(files)
    }

    fn pages(&self, sides: &[Side<'_>], comparisons: &[Comparison<'_>]) -> Vec<(String, Page)> {
        let models = self.models;
        let mut pages = vec![
            ("index.html".to_owned(), first_page::page(self)),
            ("revisions/index.html".to_owned(), first_page::revisions(self)),
            ("extensions/index.html".to_owned(), first_page::extensions(self)),
            ("compare/index.html".to_owned(), comparisons::index(sides, comparisons)),
            ("quickstarts/index.html".to_owned(), programs::index(models)),
            ("ledger.html".to_owned(), ledger_page::page(self.ledger)),
            ("guide/index.html".to_owned(), self.guide.index()),
            ("search.html".to_owned(), search::page(&self.hits())),
        ];
        for protocol in models {
            pages.push((model("revisions", &protocol.revision), model_page::page(protocol, models, true)));
            pages.push((model("quickstarts", &protocol.revision), programs::page(protocol)));
        }
        for (row, protocol) in self.extensions.iter().zip(self.extension_models) {
            pages.push((model("extensions", &row.name), model_page::page(protocol, &[], false)));
        }
        let types = types_by_name(models);
        let users = models.iter().map(|protocol| protocol.types.users()).collect();
        let type_pages = TypePages { models, types: &types, comparisons, users };
        pages.extend(types.iter().map(|(name, places)| (type_page(name), type_pages.page(name, places))));
        pages.extend(comparisons.iter().map(|comparison| (comparison.address(), comparison.as_page())));
        let conversions = ConversionPages { models, conversions: self.conversions, rules: self.rules };
        pages.push(("conversions/index.html".to_owned(), conversions.index()));
        for (from, old) in models.iter().enumerate() {
            for (to, new) in models.iter().enumerate().filter(|(to, _)| *to != from) {
                pages.push((pair("conversions", &old.revision, &new.revision), conversions.page(from, to)));
            }
        }
        pages.extend(self.guide.pages.keys().map(|path| (Guide::address(path), self.guide.page(path))));
        pages.retain(|(address, _)| self.has(address));
        pages
    }

    /// Lists what the search finds: types, methods (in the newest revision with them), extensions, pages and revisions.
    fn hits(&self) -> Vec<Hit> {
        let mut hits: Vec<Hit> = types_by_name(self.models)
            .keys()
            .map(|name| Hit { name: (*name).to_owned(), kind: "type".into(), address: type_page(name) })
            .collect();
        let mut methods: BTreeSet<&str> = BTreeSet::new();
        for protocol in self.models.iter().rev() {
            for message in protocol.messages().filter(|message| methods.insert(message.method)) {
                hits.push(Hit {
                    name: message.method.to_owned(),
                    kind: format!("{} in {}", message.kind().as_str(), protocol.revision),
                    address: format!("{}#m-{}", model("revisions", &protocol.revision), message.method),
                });
            }
        }
        for (row, protocol) in self.extensions.iter().zip(self.extension_models) {
            let address = model("extensions", &row.name);
            let own = protocol.types.iter().enumerate().filter(|(id, _)| !protocol.is_shared(*id));
            hits.push(Hit { name: row.name.clone(), kind: "extension".into(), address: address.clone() });
            hits.extend(own.map(|(_, def)| Hit {
                name: def.name.clone(),
                kind: format!("type of the extension {}", row.name),
                address: format!("{address}#t-{}", def.rust),
            }));
        }
        hits.extend(self.guide.titles().into_iter().map(|(path, title)| Hit {
            name: title,
            kind: format!("page {path}"),
            address: Guide::address(path),
        }));
        for protocol in self.models {
            let name = protocol.revision.clone();
            hits.push(Hit { address: model("revisions", &name), kind: "revision".into(), name });
        }
        hits
    }
}

#[cfg(test)]
mod tests {
    use mcpgen_model::conversions::{Rules, conversions};
    use mcpgen_model::{Era, Protocol, Revision, Status, model};
    use mcpgen_schema::Document;

    use super::*;
    use crate::ledger::{Sources, ledger};

    const EVIL: &str = "<img src=x onerror=alert(1)>\"'&";

    /// Whatever a schema contains, it stays text.
    #[test]
    fn escapes_what_is_foreign() {
        let name = serde_json::to_string(EVIL).expect("JSON");
        let schema = |limit: u64| {
            format!(
                r##"{{"$defs": {{{name}: {{"type": "object", "description": {name}, "properties": {{{name}: {{"const": {name}}},
                "b": {{"enum": [{name}, "b"]}}, "c": {{"type": "integer", "maximum": {limit}}}}}, "required": [{name}]}},
                "Other": {{"anyOf": [{{"type": "string", "pattern": {name}}}, {{"$ref": "#/$defs/Other2"}}]}},
                "Other2": {{"type": "object"}}}}}}"##
            )
        };
        let folder = std::env::temp_dir().join(format!("mcpgen-site-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut models = Vec::new();
        let mut schemas = Vec::new();
        for (revision, limit) in [("2025-01-01", 5), ("2025-01-02", 3)] {
            let text = schema(limit);
            let path = folder.join(format!("{revision}.json"));
            std::fs::write(&path, &text).expect("written");
            schemas.push(path);
            models.push(
                model(Document::parse("s.json", text.as_bytes()).expect("JSON"), revision, false).expect("a model"),
            );
        }
        let row = |protocol: &Protocol| Revision {
            name: protocol.revision.clone(),
            status: Status::Draft,
            era: Era::Legacy,
            rules: Vec::new(),
            upstream: EVIL.into(),
            sha256: String::new(),
        };
        let revisions: Vec<Revision> = models.iter().map(row).collect();
        let rules = Rules::default();
        let guide = Guide { pages: [("a.md".into(), format!("# {EVIL}\n\n{EVIL}"))].into(), ..Guide::default() };
        let site = Site {
            revisions: &revisions,
            models: &models,
            schemas: &schemas,
            extensions: &[],
            extension_models: &[],
            conversions: &conversions(&models, &rules).expect("conversions"),
            rules: &rules,
            guide: &guide,
            ledger: &ledger(&Sources::default(), &revisions).expect("a ledger"),
        };
        let files = site.files().expect("a site");
        std::fs::remove_dir_all(&folder).expect("removed");
        assert!(files.len() > 15, "{:?}", files.keys());
        for (path, bytes) in &files {
            let text = String::from_utf8_lossy(bytes);
            assert!(!text.contains("<img src=x"), "{path}");
            assert!(path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte)), "{path}");
        }
        let page = files.keys().find(|path| path.starts_with("types/~3c~img")).expect("the page of the type");
        assert!(String::from_utf8_lossy(&files[page]).contains("&lt;img src=x onerror=alert(1)&gt;"));
    }
}
