//! Views of values that lie otherwise than the model has them.

use proptest::prelude::*;
use texpool::{ElementType, Tensor, TensorError, TensorView};

use super::seen;

/// Values that tell where they lie.
fn counted(values: usize) -> Vec<f32> {
    (0..values).map(|i| i as f32).collect()
}

#[test]
fn dense_values_need_no_more_than_a_reference() {
    let vec = vec![1u8, 2, 3];
    for view in [TensorView::from(&vec), TensorView::from(&vec[..]), TensorView::from(&[1u8, 2, 3])] {
        assert_eq!((view.element_type(), view.dims(), view.len()), (ElementType::U8, None, 3));
        assert_eq!(seen(&view), [1.0, 2.0, 3.0]);
    }
    let tensor = Tensor::new(vec, &[3, 1]).unwrap();
    assert_eq!(TensorView::from(&tensor).dims(), Some(&[3, 1][..]));
    assert!(TensorView::dense::<f32>(&[]).is_empty());
}

/// Planes of channels, as PyTorch has pictures, seen as pixels, as TensorFlow Lite has them.
#[test]
fn planes_are_seen_as_pixels() {
    let (h, w) = (2, 3);
    let planes: Vec<f32> = (0..3).flat_map(|c| (0..h * w).map(move |p| (100 * p + c) as f32)).collect();
    let pixels = TensorView::new(&planes, &[1, 3, h, w]).unwrap().permuted(&[0, 2, 3, 1]).unwrap();
    assert_eq!(pixels.dims(), Some(&[1, h, w, 3][..]));
    let expected: Vec<f32> = (0..h * w).flat_map(|p| (0..3).map(move |c| (100 * p + c) as f32)).collect();
    assert_eq!(seen(&pixels), expected);
    let back = pixels.permuted(&[0, 3, 1, 2]).unwrap();
    assert_eq!(seen(&back), planes);
}

/// Rows as decoders and frame grabbers hand them out: each with some bytes behind it, but for the last.
#[test]
fn rows_of_a_picture_may_have_room_behind_them() {
    let row = |y: u8| [10 * y, 10 * y + 1, 10 * y + 2, 10 * y + 3, 10 * y + 4, 10 * y + 5];
    let mut bytes = Vec::new();
    for y in 0..3 {
        bytes.extend(row(y));
        bytes.extend([255; 2]);
    }
    bytes.truncate(22);
    let picture = TensorView::picture(&bytes, [3, 2, 3], 8).unwrap();
    assert_eq!((picture.dims(), picture.len()), (Some(&[1, 3, 2, 3][..]), 18));
    assert_eq!(seen(&picture), (0..3).flat_map(row).map(f32::from).collect::<Vec<f32>>());
    let dense = TensorView::picture(&bytes[..18], [3, 2, 3], 6).unwrap();
    assert_eq!(seen(&dense), bytes[..18].iter().map(|&b| f32::from(b)).collect::<Vec<f32>>());

    let error = TensorView::picture(&bytes, [3, 2, 3], 5).unwrap_err();
    assert_eq!(error, TensorError::Pitch { row: 6, pitch: 5 });
    assert_eq!(error.to_string(), "rows of 6 bytes cannot begin every 5 bytes");
    let error = TensorView::picture(&bytes[..21], [3, 2, 3], 8).unwrap_err();
    assert_eq!(error.to_string(), "[1, 3, 2, 3] with strides [0, 8, 3, 1] needs 22 elements, but there are 21");
    let error = TensorView::picture(&bytes, [1, usize::MAX, 3], 8).unwrap_err();
    assert!(matches!(error, TensorError::TooLarge { .. }), "{error}");
}

#[test]
fn a_stride_of_zero_repeats() {
    let channels = [1.0f32, 2.0, 3.0];
    let everywhere = TensorView::strided(&channels, &[2, 2, 3], &[0, 0, 1]).unwrap();
    assert_eq!(seen(&everywhere), [1.0, 2.0, 3.0].repeat(4));
    let each = TensorView::strided(&channels, &[3, 2], &[1, 0]).unwrap();
    assert_eq!(seen(&each), [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    assert_eq!(seen(&TensorView::strided(&channels, &[], &[]).unwrap()), [1.0], "no axes are one element");
    // More elements than memory can hold, all of them the same.
    let many = TensorView::strided(&channels, &[1 << 20, 1 << 20], &[0, 0]).unwrap();
    assert_eq!(many.len(), 1 << 40);
}

/// Guards the odometer: distances along axes without elements are not looked at, so they may be anything.
#[test]
fn a_view_may_see_nothing() {
    let none = TensorView::strided::<i32>(&[], &[3, 0, 5], &[usize::MAX; 3]).unwrap();
    assert!(none.is_empty() && seen(&none).is_empty());
    assert!(seen(&TensorView::new::<i32>(&[], &[0, 7]).unwrap().permuted(&[1, 0]).unwrap()).is_empty());
}

#[test]
fn inconsistent_views_are_errors() {
    let values = counted(6);
    let text = |view: Result<TensorView<'_>, TensorError>| view.unwrap_err().to_string();
    assert_eq!(text(TensorView::new(&values, &[2, 2])), "[2, 2] is 4 elements, but there are 6");
    assert_eq!(text(TensorView::new(&values, &[7])), "[7] is 7 elements, but there are 6");
    assert_eq!(
        text(TensorView::new(&values, &[1; 9])),
        "a view has at most 8 axes, not 9; dense values need no extents"
    );
    assert_eq!(
        text(TensorView::new(&values, &[1 << 40, 1 << 40])),
        "[1099511627776, 1099511627776] is more elements than can be counted"
    );
    assert_eq!(
        text(TensorView::strided(&values, &[2, 3], &[3])),
        "the strides [3] are not one for each axis of [2, 3]"
    );
    assert_eq!(
        text(TensorView::strided(&values, &[2, 3], &[4, 1])),
        "[2, 3] with strides [4, 1] needs 7 elements, but there are 6"
    );
    // A number of elements that overflows also exceeds the values.
    assert!(matches!(
        TensorView::strided(&values, &[3, 3], &[usize::MAX, usize::MAX]),
        Err(TensorError::Outside { needed: usize::MAX, .. })
    ));
    let view = TensorView::new(&values, &[2, 3]).unwrap();
    assert_eq!(text(view.permuted(&[0])), "[0] is no order of 2 axes");
    assert_eq!(text(view.permuted(&[1, 1])), "[1, 1] is no order of 2 axes");
    assert_eq!(
        text(TensorView::dense(&values).permuted(&[0])),
        "values without extents have no axes to be put in another order"
    );
}

#[test]
fn a_tensor_hands_its_elements_out_as_they_are() {
    let tensor = Tensor::new(vec![3i64, -4], &[1, 2]).unwrap();
    assert_eq!((tensor.dims(), tensor.element_type(), tensor.len()), (&[1, 2][..], ElementType::I64, 2));
    assert_eq!(tensor.as_slice::<i64>(), Ok(&[3, -4][..]));
    let error = tensor.as_slice::<i32>().unwrap_err();
    assert_eq!(error, TensorError::ElementType { asked: ElementType::I32, found: ElementType::I64 });
    assert_eq!(error.to_string(), "the elements are i64, not i32");
    assert_eq!(*tensor.to_f32(), [3.0, -4.0]);
    assert_eq!(tensor.clone().into_vec::<u64>().unwrap_err().to_string(), "the elements are i64, not u64");
    assert_eq!(tensor.into_vec(), Ok(vec![3i64, -4]));

    let values = counted(4);
    let place = values.as_ptr();
    let tensor = Tensor::new(values, &[4]).unwrap();
    assert_eq!(tensor.to_f32().as_ptr(), place, "32-bit floats are borrowed");
    let values = tensor.into_vec::<f32>().unwrap();
    assert_eq!(values.as_ptr(), place, "and given back where they were");
    assert_eq!(Tensor::new(vec![true], &[2]).unwrap_err().to_string(), "[2] is 2 elements, but there are 1");
    assert!(matches!(Tensor::new(vec![0u8], &[1 << 40, 1 << 40]), Err(TensorError::TooLarge { .. })));
}

/// A tensor may have more axes than a view; it is then seen without them.
#[test]
fn a_tensor_of_many_axes_is_seen_whole() {
    let tensor = Tensor::new(counted(4), &[1, 1, 1, 1, 1, 1, 1, 2, 2]).unwrap();
    assert_eq!((tensor.view().dims(), seen(&tensor.view())), (None, counted(4)));
}

/// Pictures have a million elements.
#[test]
fn few_elements_are_written_for_debugging() {
    let text = format!("{:?}", TensorView::from(&vec![7u8; 1 << 20]));
    assert!(text.len() < 200 && text.contains("7, 7, .."), "{text}");
    assert!(format!("{:?}", Tensor::new(vec![1.5f32, 2.0], &[2]).unwrap()).contains("[1.5, 2.0]"));
}

/// Extents and strides of up to five axes, and an order of them.
fn axes() -> impl Strategy<Value = (Vec<usize>, Vec<usize>, Vec<usize>)> {
    (0usize..=5).prop_flat_map(|rank| {
        let order = Just((0..rank).collect::<Vec<usize>>()).prop_shuffle();
        (prop::collection::vec(0usize..5, rank), prop::collection::vec(0usize..8, rank), order)
    })
}

/// All indices into extents, the last axis fastest.
fn indices(dims: &[usize]) -> Vec<Vec<usize>> {
    dims.iter().fold(vec![vec![]], |before, &extent| {
        before.iter().flat_map(|index| (0..extent).map(|i| [&index[..], &[i]].concat())).collect()
    })
}

/// Returns the elements of a view, by the definition.
fn naive(values: &[f32], dims: &[usize], strides: &[usize]) -> Vec<f32> {
    let place = |index: &Vec<usize>| index.iter().zip(strides).map(|(i, stride)| i * stride).sum::<usize>();
    indices(dims).iter().map(|index| values[place(index)]).collect()
}

proptest! {
    #[test]
    fn strided_views_see_what_their_strides_say((dims, strides, order) in axes()) {
        let is_empty = dims.contains(&0);
        let needed = match is_empty {
            true => 0,
            false => 1 + dims.iter().zip(&strides).map(|(extent, stride)| (extent - 1) * stride).sum::<usize>(),
        };
        let values = counted(needed);
        let view = TensorView::strided(&values, &dims, &strides).unwrap();
        prop_assert_eq!(view.len(), dims.iter().product::<usize>());
        prop_assert_eq!(seen(&view), naive(&values, &dims, &strides));
        if needed > 0 {
            let fewer = TensorView::strided(&values[1..], &dims, &strides).map(|_| ());
            let outside = TensorError::Outside {
                dims: dims.clone(), strides: strides.clone(), needed, found: needed - 1,
            };
            prop_assert_eq!(fewer, Err(outside));
        }

        let permuted = view.permuted(&order).unwrap();
        let of = |all: &[usize]| order.iter().map(|&axis| all[axis]).collect::<Vec<usize>>();
        prop_assert_eq!(permuted.dims(), Some(&of(&dims)[..]));
        prop_assert_eq!(seen(&permuted), naive(&values, &of(&dims), &of(&strides)));
    }

    #[test]
    fn dense_views_see_all_values_in_order((dims, _, order) in axes()) {
        let values = counted(dims.iter().product());
        let view = TensorView::new(&values, &dims).unwrap();
        prop_assert_eq!(seen(&view), &values[..]);
        let mut strides = vec![1; dims.len()];
        for axis in (1..dims.len()).rev() {
            strides[axis - 1] = strides[axis] * dims[axis];
        }
        let of = |all: &[usize]| order.iter().map(|&axis| all[axis]).collect::<Vec<usize>>();
        prop_assert_eq!(seen(&view.permuted(&order).unwrap()), naive(&values, &of(&dims), &of(&strides)));
    }
}
