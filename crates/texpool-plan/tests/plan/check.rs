//! The checker rejects every kind of wrong plan, and `realize` rejects regions that do not fit into a texture.

use texpool_plan::{
    InputError, Layout, LayoutError, LayoutKind, Place, Placement, Plan, PlanError, RowStep, RowTable, RowUse, StepUse,
    Strategy, TensorRows, TexelFormat, TextureLimits, TextureSpec, UnsupportedError, UsageRecord, check, check_layout,
    check_rows, realize, uses_from_records,
};

const LIMITS: TextureLimits = TextureLimits { max_extent: 8192 };

fn chain() -> (Vec<UsageRecord>, Vec<TensorRows>, Vec<StepUse>) {
    let records = vec![UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 6), UsageRecord::new(2, 3, 8)];
    let tensors = vec![
        TensorRows { rows: 2, row_texels: 4 },
        TensorRows { rows: 3, row_texels: 2 },
        TensorRows { rows: 4, row_texels: 2 },
    ];
    let uses = uses_from_records(&records).unwrap();
    (records, tensors, uses)
}

fn layout(problem: LayoutKind, regions: &[u64], places: &[(usize, u64)]) -> Layout {
    let places = places.iter().map(|&(region, offset)| Place { region, offset }).collect();
    Layout { problem, regions: regions.to_vec(), places }
}

#[test]
fn good_layouts_pass() {
    let (records, _, uses) = chain();
    for good in [
        layout(LayoutKind::SharedObjects, &[8, 6], &[(0, 0), (1, 0), (0, 0)]),
        layout(LayoutKind::Offsets, &[14], &[(0, 0), (0, 8), (0, 0)]),
        layout(LayoutKind::Banks, &[16, 6], &[(0, 0), (1, 0), (0, 8)]),
    ] {
        assert_eq!(check_layout(&records, &uses, &good), Ok(()));
    }
}

#[test]
fn bad_layouts_are_refused() {
    let (records, _, uses) = chain();
    let refused = |l: Layout| check_layout(&records, &uses, &l).unwrap_err();
    let shared = LayoutKind::SharedObjects;
    assert!(matches!(
        refused(layout(shared, &[8], &[(0, 0), (0, 0)])),
        PlanError::Input(InputError::LengthMismatch { found: 2, .. })
    ));
    assert!(matches!(
        refused(layout(shared, &[8, 6], &[(0, 0), (2, 0), (0, 0)])),
        PlanError::Layout(LayoutError::OutOfRange { record: 1, index: 2, .. })
    ));
    assert!(matches!(
        refused(layout(shared, &[8, 5], &[(0, 0), (1, 0), (0, 0)])),
        PlanError::Layout(LayoutError::OutOfRegion { record: 1, end: 6, size: 5, .. })
    ));
    assert!(matches!(
        refused(layout(LayoutKind::Banks, &[8, 6], &[(0, 0), (1, u64::MAX), (0, 0)])),
        PlanError::Layout(LayoutError::OutOfRegion { record: 1, .. })
    ));
    assert!(matches!(
        refused(layout(shared, &[8, 8], &[(0, 0), (1, 0), (1, 0)])),
        PlanError::Layout(LayoutError::Overlap { a: 1, b: 2, step: 2, region: 1 })
    ));
    assert!(matches!(
        refused(layout(shared, &[8, 7], &[(0, 0), (1, 1), (0, 0)])),
        PlanError::Layout(LayoutError::InvalidForKind { kind: "shared_objects", .. })
    ));
    assert!(matches!(
        refused(layout(LayoutKind::Offsets, &[8, 6], &[(0, 0), (1, 0), (0, 0)])),
        PlanError::Layout(LayoutError::InvalidForKind { kind: "offsets", .. })
    ));
    assert!(matches!(
        refused(layout(LayoutKind::Offsets, &[14], &[(0, 0), (0, 7), (0, 0)])),
        PlanError::Layout(LayoutError::Overlap { a: 0, b: 1, step: 1, .. })
    ));
    assert!(matches!(
        refused(layout(LayoutKind::Banks, &[14, 8], &[(0, 0), (0, 8), (1, 0)])),
        PlanError::Layout(LayoutError::ReadsAndWrites { step: 1, read: 0, write: 1, region: 0 })
    ));
}

#[test]
fn a_use_outside_the_life_is_refused() {
    let (records, _, mut uses) = chain();
    let good = layout(LayoutKind::SharedObjects, &[8, 6], &[(0, 0), (1, 0), (0, 0)]);
    uses[3].reads.push(0);
    assert!(matches!(
        check_layout(&records, &uses, &good),
        Err(PlanError::Input(InputError::UseOutsideLife { step: 3, record: 0, first: 0, last: 1 }))
    ));
    uses[3].reads.pop();
    uses[3].reads.push(7);
    assert!(matches!(
        check_layout(&records, &uses, &good),
        Err(PlanError::Input(InputError::UseOutsideLife { record: 7, .. }))
    ));
}

fn plan() -> Plan {
    let (records, tensors, _) = chain();
    let layout = Strategy::GreedyBySize.place(&records).unwrap();
    realize(&layout, &records, &tensors, TexelFormat::Rgba32Float, LIMITS).unwrap()
}

fn refused(change: impl Fn(&mut Plan)) -> PlanError {
    let (records, tensors, uses) = chain();
    let mut plan = plan();
    assert_eq!(check(&records, &tensors, &uses, &plan, LIMITS), Ok(()));
    change(&mut plan);
    check(&records, &tensors, &uses, &plan, LIMITS).unwrap_err()
}

#[test]
fn bad_plans_are_refused() {
    assert!(matches!(
        refused(|p| p.textures[0].width = 3),
        PlanError::Layout(LayoutError::BadTexture { texture: 0, .. })
    ));
    assert!(matches!(
        refused(|p| p.textures[0].height = 0),
        PlanError::Layout(LayoutError::BadTexture { texture: 0, .. })
    ));
    assert!(matches!(
        refused(|p| p.textures[0].height = 8193),
        PlanError::Layout(LayoutError::BadTexture { texture: 0, .. })
    ));
    assert!(matches!(
        refused(|p| p.placements[1].record = 0),
        PlanError::Layout(LayoutError::WrongPlacement { placement: 1, .. })
    ));
    assert!(matches!(
        refused(|p| p.placements[1].last = 9),
        PlanError::Layout(LayoutError::WrongPlacement { placement: 1, .. })
    ));
    assert!(matches!(
        refused(|p| p.placements[1].texture = 9),
        PlanError::Layout(LayoutError::OutOfRange { index: 9, .. })
    ));
    assert!(matches!(
        refused(|p| p.placements[1].texture = 0),
        PlanError::Layout(LayoutError::Overlap { a: 0, b: 1, .. })
    ));
    assert!(matches!(
        refused(|p| p.placements[2].rows = RowTable::Whole { base: 1, rows: 4, row_texels: 2 }),
        PlanError::Layout(LayoutError::OutOfRegion { record: 2, end: 9, size: 8, .. })
    ));
    assert!(matches!(
        refused(|p| p.placements[2].rows = RowTable::Whole { base: u32::MAX, rows: 4, row_texels: 2 }),
        PlanError::Layout(LayoutError::OutOfRegion { record: 2, .. })
    ));
    assert!(matches!(
        refused(|p| p.placements[2].rows = RowTable::Whole { base: 0, rows: 2, row_texels: 4 }),
        PlanError::Layout(LayoutError::WrongPlacement { placement: 2, .. })
    ));
    assert!(matches!(
        refused(|p| p.placements[2].rows = RowTable::Ring { base: 0, rows: 4, row_texels: 2, ring: 3 }),
        PlanError::Layout(LayoutError::RowsOverlap { record: 2, .. })
    ));
    assert!(matches!(
        refused(|p| p.placements[2].rows = RowTable::Scattered { row_starts: vec![0, 2, 5, 4], row_texels: 2 }),
        PlanError::Layout(LayoutError::RowsOverlap { record: 2, .. })
    ));
    assert!(matches!(
        refused(|p| p.placements.truncate(2)),
        PlanError::Input(InputError::LengthMismatch { what: "placements", found: 2, expected: 3 })
    ));
}

/// Two tensors alive at the same time in one bank. Their scattered rows interleave without touching; then one row is
/// moved.
#[test]
fn scattered_rows_are_checked_row_by_row() {
    let records = vec![UsageRecord::new(0, 2, 4), UsageRecord::new(1, 2, 4), UsageRecord::new(2, 2, 1)];
    let rows = TensorRows { rows: 2, row_texels: 2 };
    let tensors = vec![rows, rows, TensorRows { rows: 1, row_texels: 1 }];
    let mut uses = vec![StepUse::default(); 3];
    (uses[0].writes, uses[1].writes, uses[2].writes) = (vec![0], vec![1], vec![2]);
    uses[2].reads = vec![0, 1];
    let scattered = |row_starts: Vec<u32>| RowTable::Scattered { row_starts, row_texels: 2 };
    let place = |record: usize, texture, rows| {
        let UsageRecord { first, last, .. } = records[record];
        Placement { record, texture, rows, first, last }
    };
    let texture = |width, height| TextureSpec { width, height, format: TexelFormat::Rgba16Float };
    let plan = |second: Vec<u32>| Plan {
        strategy: "by hand".into(),
        problem: LayoutKind::Banks,
        textures: vec![texture(4, 2), texture(1, 1)],
        placements: vec![
            place(0, 0, scattered(vec![4, 0])),
            place(1, 0, scattered(second)),
            place(2, 1, RowTable::Ring { base: 0, rows: 1, row_texels: 1, ring: 1 }),
        ],
    };
    assert_eq!(check(&records, &tensors, &uses, &plan(vec![2, 6]), LIMITS), Ok(()));
    assert!(matches!(
        check(&records, &tensors, &uses, &plan(vec![2, 5]), LIMITS),
        Err(PlanError::Layout(LayoutError::Overlap { a: 0, b: 1, step: 1, region: 0 }))
    ));
}

#[test]
fn a_region_no_texture_can_hold_is_named() {
    let records = [UsageRecord::new(0, 0, 65 * 100)];
    let tensors = [TensorRows { rows: 65, row_texels: 100 }];
    let layout = Strategy::Naive.place(&records).unwrap();
    let cut = |max_extent| realize(&layout, &records, &tensors, TexelFormat::Rgba32Float, TextureLimits { max_extent });
    assert!(matches!(
        cut(80),
        Err(PlanError::Unsupported(UnsupportedError::RegionTooLarge {
            region: 0,
            texels: 6500,
            max_extent: 80,
            limit: 5120
        }))
    ));
    assert!(matches!(cut(0), Err(PlanError::Unsupported(UnsupportedError::RegionTooLarge { limit: 0, .. }))));
    let texture = cut(102).unwrap().textures[0];
    assert_eq!((texture.width, texture.height), (64, 102));
}

#[test]
fn extents_above_the_device_limit_are_laid_out_linearly() {
    let records = [UsageRecord::new(0, 0, 20_000 * 100)];
    let tensors = [TensorRows { rows: 100, row_texels: 20_000 }];
    let layout = Strategy::Naive.place(&records).unwrap();
    let plan = realize(&layout, &records, &tensors, TexelFormat::Rgba32Float, LIMITS).unwrap();
    assert_eq!((plan.textures[0].width, plan.textures[0].height), (256, 7813));
    assert!(matches!(
        realize(&layout, &records, &[TensorRows { rows: 99, row_texels: 20_000 }], TexelFormat::Rgba32Float, LIMITS),
        Err(PlanError::Input(InputError::SizeMismatch { record: 0, size: 2_000_000, rows: 99, .. }))
    ));
}

#[test]
fn reversed_intervals_are_refused_everywhere() {
    let records = [UsageRecord::new(3, 2, 1)];
    for &strategy in Strategy::ALL {
        assert_eq!(
            strategy.place(&records),
            Err(PlanError::Input(InputError::ReversedInterval { record: 0, first: 3, last: 2 }))
        );
    }
    let one = layout(LayoutKind::SharedObjects, &[1], &[(0, 0)]);
    assert!(matches!(check_layout(&records, &[], &one), Err(PlanError::Input(InputError::ReversedInterval { .. }))));
}

#[test]
fn steps_may_be_as_far_apart_as_a_number_allows() {
    let records = [UsageRecord::new(0, usize::MAX, 5), UsageRecord::new(usize::MAX, usize::MAX, 3)];
    for &strategy in Strategy::ALL {
        assert_eq!(strategy.place(&records).unwrap().total(), 8, "{strategy}");
    }
    assert!(matches!(uses_from_records(&records), Err(PlanError::Input(InputError::TooManySteps { record: 0, .. }))));
}

#[test]
fn strategies_parse_by_name() {
    for &strategy in Strategy::ALL {
        assert_eq!(strategy.name().parse(), Ok(strategy));
    }
    let error = "greedy".parse::<Strategy>().unwrap_err().to_string();
    assert!(error.contains("`greedy`") && error.contains("greedy_by_breadth"), "{error}");
}

/// Guards the checkers against 32-bit overflow: row 65536 of rows of 65536 texels starts at texel 2^32, which is
/// outside the texture, and must not wrap to texel 0. A texture with more than 2^32 - 1 texels is rejected before its
/// rows are checked.
#[test]
fn an_address_that_wraps_is_refused() {
    let tensor = TensorRows { rows: (1 << 16) + 1, row_texels: 1 << 16 };
    let write = |row: u32| RowStep {
        writes: vec![RowUse { record: 0, rows: row..row + 1, texels: 0..tensor.row_texels }],
        ..RowStep::default()
    };
    let plan = |rows, width| Plan {
        strategy: "by hand".into(),
        problem: LayoutKind::Rows,
        textures: vec![TextureSpec { width, height: width, format: TexelFormat::Rgba16Float }],
        placements: vec![Placement { record: 0, texture: 0, rows, first: 0, last: 1 }],
    };
    let (rows, row_texels) = (tensor.rows, tensor.row_texels);
    let limits = TextureLimits { max_extent: 1 << 17 };
    let checked = |steps: &[RowStep], plan: &Plan| check_rows(&[tensor], &[false], steps, plan, limits);
    let whole = plan(RowTable::Whole { base: 0, rows, row_texels }, 1 << 16);
    let ring = plan(RowTable::Ring { base: 0, rows, row_texels, ring: rows }, 1 << 16);
    assert_eq!(checked(&[write(0), write(65535)], &whole), Ok(()));
    for wrapped in [&whole, &ring] {
        assert!(matches!(
            checked(&[write(0), write(65536)], wrapped),
            Err(PlanError::Layout(LayoutError::OutOfRegion { record: 0, end: 0x1_0001_0000, .. }))
        ));
    }
    let wide = plan(RowTable::Whole { base: 0, rows, row_texels }, 1 << 17);
    assert!(matches!(
        checked(&[write(0), write(65536)], &wide),
        Err(PlanError::Layout(LayoutError::BadTexture { texture: 0, .. }))
    ));
    let records = [UsageRecord::new(0, 1, tensor.texels())];
    let refused = check(&records, &[tensor], &[], &whole, limits);
    assert!(
        matches!(refused, Err(PlanError::Layout(LayoutError::OutOfRegion { record: 0, end: 0x1_0001_0000, .. }))),
        "{refused:?}"
    );
}
