//! The data of the page says what the plan says.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;
use texpool_cli::page::ReportPage;
use texpool_compile::{CompileOptions, CompiledModel, Objective, compile, pareto_front};
use texpool_ops::graph::{Graph, GraphBuilder, Unary};
use texpool_plan::{SearchControl, Strategy};

use super::{
    contents::{column, data},
    expected::{self, Row},
};

fn page(compiled: &CompiledModel) -> ReportPage {
    let mut page = ReportPage::new(&compiled.graph().name);
    let schedule = page.add_plan("the plan", vec![], compiled).unwrap();
    compiled.best().into_iter().for_each(|best| page.set_solution(schedule, best));
    page
}

/// Reads the rows of a plan from the data.
fn rows(data: &Value, plan: usize) -> BTreeMap<(usize, u32), Row> {
    let plan = &data["plans"][plan];
    let textures = column(&plan["texture"]);
    let row_texels = column(&data["schedules"][plan["schedule"].as_u64().unwrap() as usize]["records"]["row_texels"]);
    let [record, first_row, count, texel, first, more] =
        ["record", "first_row", "rows", "texel", "first", "more"].map(|name| column(&plan["blocks"][name]));
    let mut rows = BTreeMap::new();
    for block in 0..record.len() {
        let of = record[block] as usize;
        for row in 0..count[block] {
            let place = Row {
                texture: textures[of] as usize,
                texel: texel[block] + row * row_texels[of],
                first: first[block] as usize,
                last: (first[block] + more[block]) as usize,
            };
            assert_eq!(rows.insert((of, (first_row[block] + row) as u32), place), None, "a row lies in two places");
        }
    }
    rows
}

#[test]
fn every_row_lies_where_the_plan_puts_it() {
    for objective in [Objective::Fastest, Objective::Smallest] {
        let compiled = expected::compiled("models/face_detection_front_2019.tflite", objective, Duration::from_secs(4));
        assert_eq!(compiled.tiled().is_some(), objective == Objective::Smallest);
        let data = data(&page(&compiled).html().unwrap());
        assert_eq!(rows(&data, 0), expected::rows(&compiled));
        assert_eq!(data["plans"][0]["bytes"], compiled.plan().bytes());
        let (records, names) = (&data["schedules"][0]["records"], expected::names(&compiled));
        let tensors = data["graphs"][0]["tensors"].as_array().unwrap();
        for (tensor, name) in column(&records["tensor"]).into_iter().zip(&names) {
            match tensor {
                0 => assert!(name.starts_with("weights of "), "{name}"),
                _ => assert_eq!(tensors[tensor as usize - 1]["name"], **name),
            }
        }
    }
}

#[test]
fn every_step_has_the_rows_that_it_touches() {
    let compiled =
        expected::compiled("models/face_detection_front_2019.tflite", Objective::Smallest, Duration::from_secs(4));
    let data = data(&page(&compiled).html().unwrap());
    let steps = &data["schedules"][0]["steps"];
    for (name, of) in [("reads", 0), ("writes", 1)] {
        let [counts, records, first, rows] =
            ["of_step", "record", "first_row", "rows"].map(|column_name| column(&steps[name][column_name]));
        let mut at = 0;
        for (step, touched) in compiled.schedule().row_steps().iter().enumerate() {
            let uses = if of == 0 { &touched.reads } else { &touched.writes };
            assert_eq!(counts[step] as usize, uses.len(), "step {step} {name}");
            for used in uses {
                let range = (records[at] as usize, first[at], first[at] + rows[at]);
                assert_eq!(range, (used.record, used.rows.start.into(), used.rows.end.into()), "step {step} {name}");
                at += 1;
            }
        }
    }
    let cascades = data["schedules"][0]["cascades"].as_array().unwrap();
    assert_eq!(cascades.len(), compiled.tiled().unwrap().cascades.len());
    assert!(data["schedules"][0]["cascade_of_node"].is_string(), "the cascades have no nodes");
}

#[test]
fn layouts_of_strategies_and_the_front_are_on_the_page() {
    let compiled = expected::compiled("tiny.tflite", Objective::Fastest, Duration::from_secs(4));
    let mut page = page(&compiled);
    let records = &compiled.schedule().records;
    let naive = Strategy::Naive.place(records).unwrap();
    page.add_layout("naive", 0, &compiled, &naive);
    let front = pareto_front(compiled.graph(), &CompileOptions::default(), &SearchControl::new()).unwrap();
    page.set_front(&front, Default::default()).unwrap();
    let data = data(&page.html().unwrap());
    assert_eq!(data["plans"][1]["bytes"], naive.total() * compiled.format().texel_bytes());
    let points = data["front"]["points"].as_array().unwrap();
    assert_eq!(points.len(), front.points().len());
    for (index, point) in points.iter().enumerate() {
        let plan = point["plan"].as_u64().expect("a small front has room") as usize;
        assert_eq!(rows(&data, plan), expected::rows(&front.compiled(index).unwrap()));
        assert_eq!(data["plans"][plan]["bytes"], point["bytes"]);
    }
}

/// A graph of two operators whose tensors have these names.
fn named(names: [&str; 3]) -> Graph {
    let mut builder = GraphBuilder::new("a </title><script>alert(1)</script> & \u{1b}[31m{{scripts}} model");
    let input = builder.input(names[0], &[1, 4, 4, 4]).unwrap();
    let middle = builder.unary(names[1], Unary::Abs, input).unwrap();
    let output = builder.unary(names[2], Unary::Neg, middle).unwrap();
    builder.finish(&[output]).unwrap()
}

#[test]
fn no_name_leaves_its_place_in_the_page() {
    let names = ["</script><script>alert(2)</script>", "{{scripts}}<!--<script>", "quotes \" ' \\ and \u{2028}"];
    let compiled = compile(&named(names), &CompileOptions::default(), &SearchControl::new()).unwrap();
    let html = page(&compiled).html().unwrap();
    assert_eq!(html.matches("<script").count(), 2, "the data and the scripts");
    assert_eq!(html.matches("</script").count(), 2);
    assert_eq!(html.matches("<!--").count(), 0);
    assert!(!html.contains("alert(1)<") && !html.contains('\u{1b}'));
    let data = data(&html);
    let names_in_page: Vec<&str> =
        data["graphs"][0]["tensors"].as_array().unwrap().iter().filter_map(|tensor| tensor["name"].as_str()).collect();
    assert!(names.iter().all(|name| names_in_page.contains(name)), "{names_in_page:?}");
}

#[test]
fn the_page_names_no_address_and_is_small_without_data() {
    let compiled = expected::compiled("tiny.tflite", Objective::Fastest, Duration::from_secs(4));
    let html = page(&compiled).html().unwrap();
    let data = html.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    assert!(html.len() - data.len() < 300_000, "{}", html.len() - data.len());
    let frame = html.replace(data, "");
    // The name of SVG's namespace is no address that anything is fetched from.
    let addresses = frame.matches("://").count() - frame.matches("http://www.w3.org/2000/svg").count();
    assert_eq!(addresses - frame.matches("chrome://tracing").count(), 0);
    assert!(html.contains("default-src 'none'"));
}
