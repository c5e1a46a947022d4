//! Checks that links between documents lead somewhere, and that the documentation's pages form a site.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
};

/// Folders that hold documents, and folders in them that hold other people's or built ones.
const FOLDERS: [&str; 9] = [".", "crates", "docs", "examples", "fuzz", "models", "plugins", "src", "tests"];
const BUILT: [&str; 4] = ["target", "node_modules", "build", "pip-cache"];

/// Every relative link of a document names a file of the repository, and every fragment a heading in it.
#[test]
fn links_lead_to_files_and_headings() {
    let documents = documents();
    assert!(documents.len() > 30, "{:?}", documents.keys());
    for (path, text) in &documents {
        for link in links(text) {
            let (file, fragment) = link.split_once('#').map_or((link, None), |(file, part)| (file, Some(part)));
            let target = if file.is_empty() { path.clone() } else { resolved(path, file) };
            assert!(root().join(&target).exists(), "{}: nothing is at {link}", path.display());
            let Some(fragment) = fragment else { continue };
            let text = documents.get(&target).unwrap_or_else(|| panic!("{}: {link} is no document", path.display()));
            let anchors: Vec<String> = headings(text).collect();
            assert!(
                anchors.iter().any(|h| h == fragment),
                "{}: no heading for {link} among {anchors:?}",
                path.display()
            );
        }
    }
}

/// `docs/` becomes a site of its own, so its pages link to one another only, and the table of contents has them all.
#[test]
fn the_site_has_every_page_and_no_link_out_of_it() {
    let documents = documents();
    let contents: Vec<PathBuf> =
        links(&documents[Path::new("docs/SUMMARY.md")]).map(|l| Path::new("docs").join(l)).collect();
    for (path, text) in documents.iter().filter(|(path, _)| path.starts_with("docs")) {
        assert!(path.ends_with("SUMMARY.md") || contents.contains(path), "SUMMARY.md lacks {}", path.display());
        let out = links(text).find(|link| !link.starts_with('#') && !resolved(path, link).starts_with("docs"));
        assert_eq!(out, None, "{}", path.display());
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the text of every document, by its path in the repository.
fn documents() -> BTreeMap<PathBuf, String> {
    let mut documents = BTreeMap::new();
    for folder in FOLDERS {
        collect(Path::new(folder), folder != ".", &mut documents);
    }
    documents
}

fn collect(folder: &Path, below: bool, documents: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let (name, kind) = (entry.file_name(), entry.file_type().unwrap());
        let path = resolved(&folder.join("x"), name.to_str().unwrap());
        if kind.is_dir() && below && !BUILT.iter().any(|&built| name == built) {
            collect(&path, below, documents);
        } else if kind.is_file() && path.extension().is_some_and(|e| e == "md") {
            documents.insert(path, fs::read_to_string(entry.path()).unwrap());
        }
    }
}

/// Returns the relative links of a document, without those in code.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("```").enumerate().filter(|(i, _)| i % 2 == 0).map(|(_, part)| part);
    let targets = code.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split_once(')'));
    targets.map(|(link, _)| link).filter(|link| !link.contains("://") && !link.contains("::") && !link.contains('('))
}

/// Returns the fragment of each heading, formed as web sites of repositories form it.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let titles = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let is_kept = |c: char| c.is_alphanumeric() || "-_ ".contains(c);
    titles.map(move |title| {
        title.to_lowercase().chars().filter(|&c| is_kept(c)).map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// Resolves a link in the document `from` to a path in the repository.
fn resolved(from: &Path, link: &str) -> PathBuf {
    let mut path = from.parent().unwrap().to_path_buf();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => assert!(path.pop(), "{}: {link} leaves the repository", from.display()),
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path.components().filter(|part| *part != Component::CurDir).collect()
}
