//! Plans for TensorFlow Lite Micro: lives as its interpreter counts them, and files that carry a plan.

use crate::support::tflite::{Field, Model, Table, file, numbers};
use std::sync::Arc;
use texpool_model::import::{
    self,
    micro::{ALIGNMENT, MicroArena, MicroError},
};
use texpool_plan::ArenaPlan;

const RELU: i32 = 19;
const ADD: i32 = 0;
const RESHAPE: i32 = 22;

/// `x -> relu -> a`, `a -> reshape -> b`, `x + b -> y`, and a variable that the runtime keeps elsewhere.
fn model() -> (Model, [i32; 4]) {
    let mut model = Model::new();
    let [x, a] = ["x", "a"].map(|name| model.floats(name, &[1, 5]));
    let extents = model.ints("extents", &[5]);
    let b = model.floats("b", &[5]);
    let y = model.floats("y", &[1, 5]);
    let state = model.floats("state", &[1, 100]);
    model.tensors[state as usize].0.push((14, Field::Bool(true)));
    model.op(RELU, &[x], a, None);
    model.op(RESHAPE, &[a, extents], b, None);
    model.op(ADD, &[x, b], y, numbers(11, &[0]));
    (model, [x, a, b, y])
}

fn planned(bytes: &[u8]) -> (MicroArena<'_>, ArenaPlan) {
    let arena = MicroArena::read(bytes).unwrap();
    let plan = arena.planner().plan().unwrap();
    (arena, plan)
}

/// Returns the words of the plan in a file, by walking its tables.
fn words(bytes: &[u8]) -> Vec<i32> {
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let field = |table: usize, slot: usize| {
        let vtable = table - i32::from_le_bytes(bytes[table..table + 4].try_into().unwrap()) as usize;
        table + usize::from(u16::from_le_bytes(bytes[vtable + slot..vtable + slot + 2].try_into().unwrap()))
    };
    let follow = |at: usize| at + u32_at(at);
    let root = u32_at(0);
    let metadata = follow(field(root, 16));
    let plans = (0..u32_at(metadata)).filter_map(|i| {
        let entry = follow(metadata + 4 + 4 * i);
        let name = follow(field(entry, 4));
        (&bytes[name + 4..name + 4 + u32_at(name)] == b"OfflineMemoryAllocation").then(|| u32_at(field(entry, 6)))
    });
    let plans: Vec<usize> = plans.collect();
    assert_eq!(plans.len(), 1);
    let data = follow(field(follow(follow(field(root, 12)) + 4 + 4 * plans[0]), 4));
    assert!((data + 4).is_multiple_of(16));
    let values = &bytes[data + 4..data + 4 + u32_at(data)];
    values.as_chunks::<4>().0.iter().map(|&word| i32::from_le_bytes(word)).collect()
}

#[test]
fn tensors_live_as_the_runtime_counts_and_a_reshape_takes_no_bytes() {
    let (model, [x, _, _, y]) = model();
    let bytes = model.bytes(&[x], &[y]);
    let arena = MicroArena::read(&bytes).unwrap();
    let lives: Vec<_> = arena.buffers().iter().map(|b| (b.name.as_str(), b.live.clone(), b.size, b.align)).collect();
    // Five floats are 20 bytes, which become two multiples of the alignment.
    assert_eq!(lives, [("x", 1..5, 32, ALIGNMENT), ("a", 2..5, 32, ALIGNMENT), ("y", 4..5, 32, ALIGNMENT)]);
    assert_eq!((arena.len(), arena.naive_total()), (4, 128));
    // The runtime's planner keeps operand and result of the reshape apart.
    assert_eq!((arena.planner().plan().unwrap().total, arena.runtime_total().unwrap()), (96, 96));
}

#[test]
fn a_file_with_a_plan_holds_an_offset_for_each_tensor_and_is_the_same_model() {
    let (model, [x, a, b, y]) = model();
    let bytes = model.bytes(&[x], &[y]);
    let (arena, plan) = planned(&bytes);
    let copy = arena.write(&plan).unwrap();
    let words = words(&copy);
    assert_eq!(words[..3], [1, 1, model.tensors.len() as i32]);
    let offsets = &words[3..];
    assert_eq!(offsets[a as usize], offsets[b as usize]);
    let mut places = [x, a, y].map(|tensor| offsets[tensor as usize]);
    places.sort_unstable();
    assert_eq!(places, [0, 32, 64]);
    assert_eq!(offsets.iter().filter(|&&offset| offset == -1).count(), 2, "the constant and the variable");
    let [old, new] = [&bytes, &copy].map(|bytes| MicroArena::read(bytes).unwrap().buffers().to_vec());
    assert_eq!(old, new);
    // A second plan takes the first one's place.
    let (arena, plan) = planned(&copy);
    assert_eq!(words, self::words(&arena.write(&plan).unwrap()));
}

#[test]
fn other_metadata_and_the_graph_survive_a_plan() {
    let (mut model, [x, _, _, y]) = model();
    model.tensors.pop();
    let mut root = model.root(&[x], &[y]);
    let entry = Table(vec![(4, Field::Text("min_runtime_version".to_owned())), (6, Field::I32(0))]);
    root.0.push((16, Field::Tables(vec![entry])));
    let bytes = file(&root);
    let (arena, plan) = planned(&bytes);
    let copy = arena.write(&plan).unwrap();
    assert_eq!(words(&copy).len(), 3 + model.tensors.len());
    assert!(copy.windows(19).any(|window| window == b"min_runtime_version"));
    let [old, new] = [bytes, copy].map(|bytes| import::from_bytes(Arc::new(bytes)).unwrap());
    assert_eq!(format!("{:?}", old.nodes), format!("{:?}", new.nodes));
}

#[test]
fn a_scratch_buffer_lies_apart_from_what_its_operator_uses() {
    let (model, [x, _, _, y]) = model();
    let bytes = model.bytes(&[x], &[y]);
    let mut arena = MicroArena::read(&bytes).unwrap();
    arena.scratch(0, 100).unwrap();
    assert_eq!(arena.planner().plan().unwrap().total, 32 + 32 + 112);
    assert!(matches!(arena.scratch(3, 1), Err(MicroError::NoOperator { operator: 3, count: 3 })));
}

#[test]
fn tensors_that_the_runtime_cannot_place_are_refused_by_name() {
    let mut strings = Model::new();
    let text = strings.tensor("text", &[1], 5);
    let bytes = strings.bytes(&[text], &[text]);
    let refused = MicroArena::read(&bytes).unwrap_err().to_string();
    assert_eq!(refused, "tensor `text` is STRING, which TensorFlow Lite Micro does not place in its arena");
    let mut open = Model::new();
    let x = open.floats("x", &[-1, 4]);
    let bytes = open.bytes(&[x], &[x]);
    assert!(matches!(MicroArena::read(&bytes), Err(MicroError::Extents { .. })));
    assert!(matches!(MicroArena::read(b"\0\0\0\0TFL3"), Err(MicroError::Import(_))));
    assert!(matches!(MicroArena::read(b"TFL3, but at another place"), Err(MicroError::NotTfLite)));
}

#[test]
fn values_behind_the_tables_cannot_move_so_such_a_file_is_refused() {
    let (mut model, [x, _, _, y]) = model();
    model.buffers.push(Table(vec![(6, Field::U64(1000)), (8, Field::U64(8))]));
    let bytes = model.bytes(&[x], &[y]);
    let (arena, plan) = planned(&bytes);
    assert!(matches!(arena.write(&plan), Err(MicroError::File(_))));
}
