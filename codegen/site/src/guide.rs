//! The Markdown pages of the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use mcpgen_diff::html::{Page, escape};

use crate::frame::{link, section};
use crate::links::to_root;
use crate::markdown::{self, Rendered};

/// The Markdown pages of a repository, and what they refer to.
#[derive(Clone, Debug, Default)]
pub struct Guide {
    /// The text of each page, by its path in the repository, such as `runtime/sdk/docs/server.md`.
    pub pages: BTreeMap<String, String>,
    /// The pictures that pages show, by their paths.
    pub pictures: BTreeMap<String, Vec<u8>>,
    /// The other files and folders that pages may link to, by their paths.
    pub files: BTreeSet<String>,
    /// The web address of the files, such as `https://github.com/owner/name/blob/main`.
    pub base: String,
}

/// The page with the results of the benchmarks. The site shows it at an address outside the guide.
pub(crate) const BENCHMARKS: &str = "tests/bench/RESULTS.md";

/// The groups of pages, by the folder that they are in. The last group has the rest.
const GROUPS: [(&str, &str); 5] = [
    ("runtime", "Servers and clients"),
    ("codegen", "The generator and diff"),
    ("generated", "The types"),
    ("tests", "Tests and measurements"),
    ("", "The project"),
];

impl Guide {
    /// Returns the address of a page.
    pub(crate) fn address(path: &str) -> String {
        if path == BENCHMARKS {
            return "benchmarks.html".to_owned();
        }
        let name = path.trim_end_matches(".md").replace('/', "-").to_lowercase();
        format!("guide/{}.html", crate::links::file_name(&name))
    }

    /// Returns the title of each page.
    pub(crate) fn titles(&self) -> Vec<(&str, String)> {
        self.pages
            .keys()
            .map(|path| (path.as_str(), self.rendered(path).title.unwrap_or_else(|| path.clone())))
            .collect()
    }

    /// Writes a page.
    pub(crate) fn page(&self, path: &str) -> Page {
        let Rendered { title, html, headings } = self.rendered(path);
        let title = title.unwrap_or_else(|| path.to_owned());
        Page {
            header: format!("<h1>{}</h1>\n<p class=\"quiet\">From <code>{}</code></p>\n", escape(&title), escape(path)),
            title,
            navigation: headings,
            main: format!("<div class=\"prose\">\n{html}</div>\n"),
            script: "",
        }
    }

    /// Writes the list of all pages.
    pub(crate) fn index(&self) -> Page {
        let mut groups: Vec<(&str, String)> = GROUPS.iter().map(|(_, title)| (*title, String::new())).collect();
        for (path, title) in self.titles() {
            let folder = path.split_once('/').map_or("", |(folder, _)| folder);
            let group = GROUPS.iter().position(|(name, _)| *name == folder).unwrap_or(GROUPS.len() - 1);
            let target = format!("../{}", Self::address(path));
            let item = format!("<li>{}<p>{}</p></li>\n", link(&target, &escape(&title)), escape(path));
            groups[group].1.push_str(&item);
        }
        groups.retain(|(_, items)| !items.is_empty());
        let id = |title: &str| markdown::anchor(title);
        Page {
            title: "Guide".into(),
            header: "<h1>Guide</h1>\n".into(),
            navigation: groups.iter().map(|(title, _)| (id(title), (*title).to_owned())).collect(),
            main: groups
                .iter()
                .map(|(title, items)| section(&id(title), title, &format!("<ul class=\"cards\">\n{items}</ul>\n")))
                .collect(),
            script: "",
        }
    }

    fn rendered(&self, path: &str) -> Rendered {
        let root = to_root(&Self::address(path));
        let resolve = |target: &str| {
            let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
            if file.is_empty() || file.contains("://") {
                return None;
            }
            let file = join(path, file)?;
            let anchor = anchor.map_or(String::new(), |anchor| format!("#{anchor}"));
            Some((file, anchor))
        };
        let target = |target: &str| {
            let (file, anchor) = resolve(target)?;
            if self.pages.contains_key(&file) {
                return Some(format!("{root}{}{anchor}", Self::address(&file)));
            }
            self.files.contains(&file).then(|| format!("{}/{file}{anchor}", self.base))
        };
        let picture = |target: &str| {
            let (file, _) = resolve(target)?;
            self.pictures.contains_key(&file).then(|| format!("{root}{}", picture_address(&file)))
        };
        let text = self.pages.get(path).map(String::as_str).unwrap_or_default();
        markdown::page(text, &target, &picture)
    }
}

/// Returns the address of a picture.
pub(crate) fn picture_address(path: &str) -> String {
    let (name, end) = path.rsplit_once('.').unwrap_or((path, ""));
    format!("pictures/{}.{}", crate::links::file_name(&name.replace('/', "-")), crate::links::file_name(end))
}

/// Returns the path that a link in a page leads to, or nothing if it leads out of the repository.
fn join(page: &str, target: &str) -> Option<String> {
    let mut joined = Path::new(page).parent().map(PathBuf::from).unwrap_or_default();
    for component in Path::new(target).components() {
        match component {
            Component::ParentDir if joined.pop() => {}
            Component::CurDir => {}
            Component::Normal(name) => joined.push(name),
            _ => return None,
        }
    }
    let parts: Vec<&str> = joined.iter().filter_map(|part| part.to_str()).collect();
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_links_between_pages() {
        let mut guide = Guide { base: "https://example.org/blob/main".into(), ..Guide::default() };
        let text = "# A\n\n[b](../b.md#x) [c](c.rs) [d](../../d) [e](https://example.org)\n";
        guide.pages = BTreeMap::from([("docs/a.md".into(), text.into()), ("b.md".into(), "# B".into())]);
        guide.files.insert("docs/c.rs".into());
        let main = guide.page("docs/a.md").main;
        for part in [
            "<a href=\"../guide/b.html#x\">b</a>",
            "<a href=\"https://example.org/blob/main/docs/c.rs\">c</a>",
            " d ",
            "<a href=\"https://example.org\">e</a>",
        ] {
            assert!(main.contains(part), "{part} in {main}");
        }
    }
}
