//! Real networks that can be imported are taken completely, and only their inputs and outputs are copied.

use texpool_cli::fetch::Catalog;
use texpool_model::{
    delegate::{MIN_OPERATIONS, NodeStanding, Offline, select},
    import::{ImportOptions, OutlineSource, open_with},
};
use texpool_ops::graph::{Graph, TensorId};

use crate::support::models;

#[test]
fn networks_that_are_imported_are_one_partition() {
    let catalog = Catalog::builtin().unwrap();
    let networks =
        catalog.files.iter().filter(|entry| [".tflite", ".onnx"].iter().any(|end| entry.file.ends_with(end)));
    let mut count = 0;
    for entry in networks {
        let (name, path) = (&entry.name, models::model(&entry.file));
        let options = ImportOptions { dims: entry.dims.clone(), ..ImportOptions::default() };
        let graph = open_with(&path, &options).unwrap();
        let bytes = |ids: &[TensorId], graph: &Graph| -> u64 {
            let of = |id: &TensorId| {
                let tensor = &graph.tensors[*id];
                tensor.dims.iter().product::<usize>() * tensor.element_type.size()
            };
            ids.iter().map(of).sum::<usize>() as u64
        };
        let copied = [&graph.inputs, &graph.outputs].map(|ids| bytes(ids, &graph));

        let source = OutlineSource::open(&path, &options).unwrap();
        let (file, selections) = select(&source, MIN_OPERATIONS, &mut Offline).unwrap();
        let selection = &selections[0];
        let is_refused =
            |standing: &&NodeStanding| matches!(standing, NodeStanding::Left(_) | NodeStanding::Unknown(_));
        assert_eq!(selection.standings.iter().find(is_refused), None, "{name}");
        assert_eq!(selection.partitions.len(), 1, "{name}");
        let part = &selection.partitions[0];
        let bytes = [&part.inputs, &part.outputs]
            .map(|tensors| tensors.iter().map(|&tensor| file.graphs[0].tensors[tensor].bytes().unwrap()).sum::<u64>());
        assert_eq!(bytes, copied, "{name}");
        count += 1;
    }
    assert!(count > 40, "{count} networks");
}
