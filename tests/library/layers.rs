//! The order of the layers, and that no files use each other in a circle: read off the paths that the sources name.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs,
    path::Path,
};

/// Sources of the crate `texpool`.
const TEXPOOL: &str = "src";
/// Sources of every crate.
const CRATES: [&str; 4] = [TEXPOOL, "crates/texpool-plan/src", "crates/texpool-dataflow/src", "crates/texpool-cli/src"];

/// Layers of the crate `texpool`, lowest first: each may use those before it.
const LAYERS: [&str; 11] =
    ["graph", "tensor", "kernels", "ops", "import", "delegate", "rewrite", "schedule", "compile", "gpu", "runtime"];

/// A module by its path: `["rewrite", "rules"]` is `src/rewrite/rules.rs`, `["rewrite"]` is `src/rewrite/mod.rs`.
type Module = Vec<String>;

/// A path that a file names, from the crate's root on.
struct Import {
    path: Vec<String>,
    /// The name it gets, if it is one of `pub use`.
    exported_as: Option<String>,
}

/// Every file of a crate, with the paths that it names. Files directly in `src` of `texpool` join its layers and are left
/// out, as each crate's root is.
struct Sources {
    imports: BTreeMap<Module, Vec<Import>>,
}

impl Sources {
    fn read(folder: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut texts = BTreeMap::new();
        collect(&root.join(folder), &mut Vec::new(), &mut texts);
        if folder == TEXPOOL {
            texts.retain(|module, _| root.join(folder).join(&module[0]).is_dir());
        }
        let modules: BTreeSet<Module> = texts.keys().cloned().collect();
        let imports = texts.iter().map(|(module, text)| (module.clone(), imports(module, text, &modules))).collect();
        Self { imports }
    }

    /// The file that a path leads to, through what `mod.rs` files export.
    fn file_of(&self, path: &[String]) -> Option<&Module> {
        let prefixes = (1..=path.len()).rev();
        let (module, imports) = prefixes.filter_map(|length| self.imports.get_key_value(&path[..length])).next()?;
        let name = path.get(module.len());
        let exported = imports.iter().find(|import| name.is_some() && import.exported_as.as_ref() == name);
        match exported.filter(|import| import.path != path) {
            Some(import) => self.file_of(&import.path),
            None => Some(module),
        }
    }

    /// Returns the files that each file uses. A `mod.rs` does not use the files of its own folder that it exports.
    fn uses(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let uses = |module: &Module, imports: &[Import]| {
            let others = imports.iter().filter_map(|import| {
                let file = self.file_of(&import.path)?;
                let exported_child = import.exported_as.is_some() && file.starts_with(module);
                (file != module && !exported_child).then_some(file)
            });
            others.collect()
        };
        self.imports.iter().map(|(module, imports)| (module, uses(module, imports))).collect()
    }
}

/// Reads the files below a folder, but for the crate's root.
fn collect(folder: &Path, module: &mut Module, texts: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            module.push(name);
            collect(&path, module, texts);
            module.pop();
        } else if path.extension().is_some_and(|e| e == "rs")
            && !(module.is_empty() && ["lib", "main"].contains(&&*name))
        {
            let own = (name != "mod").then_some(name);
            texts.insert(module.iter().cloned().chain(own).collect(), fs::read_to_string(&path).unwrap());
        }
    }
}

/// The names, `::` and other signs of a text, without comments, literals and the tests at its end.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let after_quote = |from: usize| rest[from..].find('"').map_or(rest.len(), |at| from + at + 1);
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("r#\"") {
            rest.find("\"#").map_or(rest.len(), |at| at + 2)
        } else if rest.starts_with("r\"") {
            after_quote(2)
        } else if first == '"' {
            let escaped = |at: usize| rest[..at].bytes().rev().take_while(|&b| b == b'\\').count() % 2 == 1;
            let mut ends = rest.match_indices('"').map(|(at, _)| at).skip(1);
            ends.find(|&at| !escaped(at)).map_or(rest.len(), |at| at + 1)
        } else if let Some(character) = rest.strip_prefix('\'').and_then(character) {
            character + 2
        } else if is_name(first) {
            let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            tokens.push(&rest[..length]);
            length
        } else {
            let length = if rest.starts_with("::") { 2 } else { first.len_utf8() };
            if !first.is_whitespace() {
                tokens.push(&rest[..length]);
            }
            length
        };
        rest = &rest[length..];
    }
    tokens
}

/// Bytes of the character of a literal that begins behind its first quote; none for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let length = match rest.strip_prefix('\\') {
        Some(escape) => 2 + escape[1..].find('\'')?,
        None => rest.chars().next()?.len_utf8(),
    };
    rest[length..].starts_with('\'').then_some(length)
}

/// The paths that a file names which lead to files of this crate.
fn imports(module: &Module, text: &str, modules: &BTreeSet<Module>) -> Vec<Import> {
    let tokens = tokens(text);
    let mut imports = Vec::new();
    let mut add = |path: &[&str], exported_as: Option<&str>| {
        if let Some(path) = from_root(module, path, modules) {
            imports.push(Import { path, exported_as: exported_as.map(str::to_owned) });
        }
    };
    let mut at = 0;
    let mut public = false;
    while at < tokens.len() {
        match tokens[at] {
            "pub" => {
                public = true;
                at += 1;
                // `pub(in crate::a)` names no import.
                if tokens[at] == "(" && matches!(tokens[at + 1], "crate" | "super" | "in" | "self") {
                    at += tokens[at..].iter().position(|&token| token == ")").unwrap() + 1;
                }
                continue;
            }
            "use" if tokens.get(at + 1) != Some(&"<") => {
                let end = at + tokens[at..].iter().position(|&token| token == ";").unwrap();
                use_tree(&tokens[at + 1..end], &[], &mut |path, name| add(path, public.then_some(name)));
                at = end;
            }
            _ => {
                let mut path = vec![tokens[at]];
                while tokens.get(at + 1) == Some(&"::") && tokens.get(at + 2).is_some_and(|next| is_ident(next)) {
                    path.push(tokens[at + 2]);
                    at += 2;
                }
                if path.len() > 1 {
                    add(&path, None);
                }
            }
        }
        public = false;
        at += 1;
    }
    imports
}

fn is_ident(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Calls `found` with each path of a `use` tree, and with the name that it gets.
fn use_tree<'a>(tree: &[&'a str], prefix: &[&'a str], found: &mut dyn FnMut(&[&str], &str)) {
    let mut path = prefix.to_vec();
    let mut rest = tree;
    while let [first, after @ ..] = rest {
        match *first {
            "::" => {}
            "{" => {
                let mut depth = 0;
                let inner = &after[..after.len() - 1];
                for part in inner.split(|&token| {
                    depth += i32::from(token == "{") - i32::from(token == "}");
                    depth == 0 && token == ","
                }) {
                    use_tree(part, &path, found);
                }
                return;
            }
            "as" => return found(&path, after[0]),
            "self" if !path.is_empty() => {}
            name => path.push(name),
        }
        rest = after;
    }
    if let Some(name) = path.last().filter(|_| !tree.is_empty()) {
        found(&path, name);
    }
}

/// A path as it stands in a file, from the crate's root on; none if it leads elsewhere, or a macro completes it.
fn from_root(module: &Module, path: &[&str], modules: &BTreeSet<Module>) -> Option<Vec<String>> {
    if path.contains(&"$") {
        return None;
    }
    let supers = path.iter().take_while(|&&part| part == "super").count();
    let (base, rest): (&[String], &[&str]) = match path[0] {
        "crate" => (&[], &path[1..]),
        "self" => (module, &path[1..]),
        "super" => (&module[..module.len().checked_sub(supers)?], &path[supers..]),
        child => {
            let child = [&module[..], &[child.to_owned()]].concat();
            modules.contains(&child).then_some((&module[..], path))?
        }
    };
    Some(base.iter().cloned().chain(rest.iter().map(|&part| part.to_owned())).collect())
}

fn named(module: &Module) -> String {
    module.join("::")
}

/// The shortest way from a file over others back to itself.
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

/// The layer of a file: its folder, but in `src/ops`, where the definition of an operator belongs to the graph. Only its
/// `reference`, `execution` or `weights` and files that end in `kernel` stand above the kernels.
fn layer_of<'a>(module: &'a Module, sources: &Sources) -> &'a str {
    let [folder, below @ ..] = &module[..] else { unreachable!("{module:?} is below src") };
    if folder != "ops" {
        return folder;
    }
    let has =
        |name: &str, part: &str| sources.imports.contains_key(&[folder.as_str(), name, part].map(str::to_owned)[..]);
    let is_operator = |name: &str| has(name, "reference") || has(name, "execution");
    let runs = |part: &str| matches!(part, "reference" | "execution" | "weights") || part.ends_with("kernel");
    match below {
        [file] if file == "op" => "graph",
        [file, ..] if file == "schema" => "graph",
        [operator, part] if is_operator(operator) && runs(part) => "ops",
        [operator, ..] if is_operator(operator) => "graph",
        _ => "ops",
    }
}

/// Guards the reader of sources: without imports there would be no circles to find.
#[test]
fn imports_are_followed_to_the_files_that_have_the_names() {
    let sources = Sources::read(TEXPOOL);
    let uses = sources.uses();
    let module = |path: &str| path.split("::").map(str::to_owned).collect::<Module>();
    let used = |from: &str, to: &str| uses[&module(from)].contains(&module(to));
    assert!(used("rewrite::rules", "rewrite::mask"), "a child of `super`, in braces");
    assert!(used("rewrite", "rewrite::rule"), "a child by its own name");
    assert!(used("runtime::compile_builder", "compile::options"), "a name that a `mod.rs` exports");
    assert!(!used("rewrite", "rewrite::report"), "`pub use` of a child");
    assert!(tokens("let a = '\"'; // b\n c(\"d\\\"\", 'e) r\"\\\" f").ends_with(&["e", ")", "f"]));
}

#[test]
fn no_layer_uses_one_above_it() {
    let sources = Sources::read(TEXPOOL);
    let layer = |module: &Module| {
        let name = layer_of(module, &sources);
        let place = LAYERS.iter().position(|layer| *layer == name);
        place.unwrap_or_else(|| panic!("src/{} stands in no layer", module[0]))
    };
    let upward = |(from, uses): (&Module, BTreeSet<&Module>)| {
        let above = uses.into_iter().filter(|to| layer(to) > layer(from));
        above.map(|to| format!("{} uses {}", named(from), named(to))).collect::<Vec<_>>()
    };
    let found: Vec<String> = sources.uses().into_iter().flat_map(upward).collect();
    assert!(found.is_empty(), "layers used from below:\n{}", found.join("\n"));
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut found = Vec::new();
    for folder in CRATES {
        let sources = Sources::read(folder);
        let uses = sources.uses();
        assert!(uses.len() > 10, "{folder}");
        let mut seen = BTreeSet::new();
        for &module in uses.keys() {
            let Some(circle) = circle(module, &uses) else { continue };
            if !circle.iter().any(|module| seen.contains(module)) {
                found.push(circle.iter().map(|module| named(module)).collect::<Vec<_>>().join(" -> "));
            }
            seen.extend(circle);
        }
    }
    assert!(found.is_empty(), "files that use each other:\n{}", found.join("\n"));
}

/// Guards the one table of layers that people read.
#[test]
fn the_architecture_states_the_same_order() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `src/")?.split_once("/`"));
    let mut stated: Vec<&str> = rows.map(|(layer, _)| layer).collect();
    stated.reverse();
    assert_eq!(stated, LAYERS);
}
