//! The package that carries the tests: fetched once into the cache folder, pinned, and read where it lies.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{BufReader, Read},
};

use texpool_cli::fetch::{Catalog, Fetcher, Quiet};

/// Folders of cases inside the package.
const ROOT: &str = "onnx/backend/test/data/";
pub(crate) const FOLDERS: [&str; 4] = ["node", "simple", "pytorch-converted", "pytorch-operator"];

/// A case's files by their names, as `model.onnx` and `test_data_set_0/input_0.pb`.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// All cases by `folder/name`, each with its files.
pub(crate) fn cases() -> BTreeMap<String, Files> {
    let catalog = Catalog::from_json(include_str!("package.json")).unwrap();
    let fetcher = Fetcher { catalog, ..Fetcher::new(&Quiet).unwrap() };
    let path = fetcher.get("onnx_node_tests").unwrap_or_else(|e| panic!("{e}"));
    let mut zip = zip::ZipArchive::new(BufReader::new(File::open(path).unwrap())).unwrap();
    let mut cases: BTreeMap<String, Files> = BTreeMap::new();
    for index in 0..zip.len() {
        let mut member = zip.by_index(index).unwrap();
        let name = member.name().unwrap().into_owned();
        let Some(inside) = name.strip_prefix(ROOT) else { continue };
        let mut parts = inside.splitn(3, '/');
        let [Some(folder), Some(case), Some(file)] = [parts.next(), parts.next(), parts.next()] else { continue };
        if FOLDERS.contains(&folder) && member.is_file() {
            let mut bytes = Vec::new();
            member.read_to_end(&mut bytes).unwrap();
            cases.entry(format!("{folder}/{case}")).or_default().insert(file.to_owned(), bytes);
        }
    }
    cases.retain(|_, files| files.contains_key("model.onnx"));
    let folders: BTreeSet<&str> = cases.keys().filter_map(|name| name.split('/').next()).collect();
    assert_eq!(folders.len(), FOLDERS.len(), "{folders:?}");
    cases
}
