//! No two files of a crate use each other, not even through other files. Cargo keeps the order of the crates.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs,
    path::Path,
};

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    UseTree,
    visit::{self, Visit},
};

use crate::support::source_folders;

/// A module by its path from the crate's root: `[]` is `lib.rs`, `["page"]` is `page.rs` or `page/mod.rs`.
type Module = Vec<String>;

/// A path from the crate's root that a file names.
struct Import {
    path: Vec<String>,
    /// The name that `pub use` gives it.
    exported_as: Option<String>,
}

/// The files of a crate, with the paths that each names.
struct Sources {
    imports: BTreeMap<Module, Vec<Import>>,
}

impl Sources {
    fn read(folder: &Path) -> Self {
        let mut texts = BTreeMap::new();
        collect(folder, &mut Vec::new(), &mut texts);
        let modules: BTreeSet<Module> = texts.keys().cloned().collect();
        let read = |(module, text): (Module, String)| {
            let file = syn::parse_file(&text).unwrap();
            let mut reader = Reader { module: &module, modules: &modules, imports: Vec::new() };
            reader.visit_file(&file);
            let imports = reader.imports;
            (module, imports)
        };
        Self { imports: texts.into_iter().map(read).collect() }
    }

    /// Returns the file that a path leads to, through the exports of other files.
    fn file_of(&self, path: &[String]) -> &Module {
        let mut prefixes = (0..=path.len()).rev();
        let (module, imports) = prefixes.find_map(|length| self.imports.get_key_value(&path[..length])).unwrap();
        let name = path.get(module.len());
        let exported = imports.iter().find(|import| name.is_some() && import.exported_as.as_ref() == name);
        match exported.filter(|import| import.path != path) {
            Some(import) => self.file_of(&import.path),
            None => module,
        }
    }

    /// Returns the files that each file uses. A file does not use those in its own folder that it exports.
    fn uses(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let uses = |module: &Module, imports: &[Import]| {
            let others = imports.iter().filter_map(|import| {
                let file = self.file_of(&import.path);
                let exported_child = import.exported_as.is_some() && file.starts_with(module);
                (file != module && !exported_child).then_some(file)
            });
            others.collect()
        };
        self.imports.iter().map(|(module, imports)| (module, uses(module, imports))).collect()
    }
}

fn collect(folder: &Path, module: &mut Module, texts: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            module.push(name);
            collect(&path, module, texts);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "main" {
            let own = (!["mod", "lib"].contains(&&*name)).then_some(name);
            texts.insert(module.iter().cloned().chain(own).collect(), fs::read_to_string(&path).unwrap());
        }
    }
}

/// Collects the paths of a file that lead to files of its crate.
struct Reader<'a> {
    module: &'a Module,
    modules: &'a BTreeSet<Module>,
    imports: Vec<Import>,
}

impl Reader<'_> {
    fn add(&mut self, path: &[String], exported_as: Option<&str>) {
        let supers = path.iter().take_while(|part| *part == "super").count();
        let (base, rest): (&[String], &[String]) = match path[0].as_str() {
            "crate" => (&[], &path[1..]),
            "self" => (self.module, &path[1..]),
            "super" => (&self.module[..self.module.len() - supers], &path[supers..]),
            child if self.modules.contains(&[&self.module[..], &[child.to_owned()]].concat()) => (self.module, path),
            _ => return,
        };
        let path = [base, rest].concat();
        self.imports.push(Import { path, exported_as: exported_as.map(str::to_owned) });
    }

    fn add_tree(&mut self, tree: &UseTree, prefix: &mut Vec<String>, public: bool) {
        let parent = prefix.clone();
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.add_tree(&path.tree, prefix, public);
                prefix.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_tree(tree, prefix, public)),
            UseTree::Glob(_) => self.add(&parent, None),
            UseTree::Name(name) if name.ident == "self" => self.add(&parent, None),
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.add(&[parent, vec![name.clone()]].concat(), public.then_some(&*name));
            }
            UseTree::Rename(rename) => {
                let (name, new) = (rename.ident.to_string(), rename.rename.to_string());
                self.add(&[parent, vec![name]].concat(), public.then_some(&*new));
            }
        }
    }

    /// Adds the paths in the tokens of a macro. A macro's `$crate` is this crate.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is_colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Group(group) => self.add_tokens(group.stream()),
                TokenTree::Ident(ident) => {
                    let mut path = vec![ident.to_string()];
                    while let (true, true, Some(TokenTree::Ident(next))) =
                        (is_colon(at), is_colon(at + 1), tokens.get(at + 2))
                    {
                        path.push(next.to_string());
                        at += 3;
                    }
                    if path.len() > 1 {
                        self.add(&path, None);
                    }
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {
        // Modules within files are tests, whose use of other files makes no circle.
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let public = !matches!(item.vis, syn::Visibility::Inherited);
        self.add_tree(&item.tree, &mut Vec::new(), public);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 && path.leading_colon.is_none() {
            let path: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.add(&path, None);
        }
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {
        // `pub(in crate::a)` uses nothing.
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.add_tokens(call.tokens.clone());
    }
}

/// Returns the shortest way from a file over others back to itself.
fn circle<'a>(from: &'a Module, uses: &BTreeMap<&'a Module, BTreeSet<&'a Module>>) -> Option<Vec<&'a Module>> {
    let mut before: BTreeMap<&Module, &Module> = BTreeMap::new();
    let mut open = VecDeque::from([from]);
    while let Some(module) = open.pop_front() {
        for &next in &uses[module] {
            if next == from {
                let mut way = vec![from, module];
                while way[way.len() - 1] != from {
                    way.push(before[way[way.len() - 1]]);
                }
                way.reverse();
                return Some(way);
            }
            before.entry(next).or_insert_with(|| {
                open.push_back(next);
                module
            });
        }
    }
    None
}

/// Guards the reader of sources: without imports there would be no circles to find.
#[test]
fn imports_are_followed_to_the_files_that_have_the_names() {
    let sources = Sources::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/texpool-model/src"));
    let uses = sources.uses();
    let module = |path: &str| path.split("::").map(str::to_owned).collect::<Module>();
    let used = |from: &str, to: &str| uses[&module(from)].contains(&module(to));
    assert!(used("rewrite::rules", "rewrite::mask"), "a child of `super`, in braces");
    assert!(used("rewrite", "rewrite::rule"), "a child by its own name");
    assert!(used("delegate::reading", "import::outline"), "a name that a `mod.rs` exports");
    assert!(!used("rewrite", "rewrite::report"), "`pub use` of a child");
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for folder in source_folders() {
        let sources = Sources::read(&folder);
        let uses = sources.uses();
        assert!(uses.len() > 4, "{}", folder.display());
        let mut seen = BTreeSet::new();
        for &module in uses.keys() {
            let Some(circle) = circle(module, &uses) else { continue };
            if !circle.iter().any(|module| seen.contains(module)) {
                let names = circle.iter().map(|module| format!("crate::{}", module.join("::")));
                circles.push(format!("{}: {}", folder.display(), names.collect::<Vec<_>>().join(" -> ")));
            }
            seen.extend(circle);
        }
    }
    assert!(circles.is_empty(), "files that use each other:\n{}", circles.join("\n"));
}
