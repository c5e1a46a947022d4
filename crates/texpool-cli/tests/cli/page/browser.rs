//! The page in a browser: what it shows is what the plan says, it complains of nothing and asks for nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Value, json};
use texpool_cli::page::ReportPage;
use texpool_compile::{CompileOptions, CompiledModel, Objective, compile, pareto_front};
use texpool_plan::{SearchControl, Strategy};

use super::{
    chromium::Page,
    contents::data,
    expected::{self, live_at, names, rows},
};

/// A page of the plan of a compiled model, beside its naive plan.
fn page(compiled: &CompiledModel) -> ReportPage {
    let mut page = ReportPage::new(&compiled.graph().name);
    if compiled.tiled().is_some() {
        let whole = compile(compiled.graph(), &CompileOptions::default(), &SearchControl::new()).unwrap();
        let schedule = page.add_plan("whole tensors", vec![], &whole).unwrap();
        page.set_solution(schedule, whole.best().unwrap());
        let naive = Strategy::Naive.place(&whole.schedule().records).unwrap();
        page.add_layout("naive", schedule, &whole, &naive);
    }
    let schedule = page.add_plan("the plan", vec![], compiled).unwrap();
    if compiled.tiled().is_none() {
        page.set_solution(schedule, compiled.best().unwrap());
        let naive = Strategy::Naive.place(&compiled.schedule().records).unwrap();
        page.add_layout("naive", schedule, compiled, &naive);
        let plan = Strategy::OffsetsGreedyBySize.place(&compiled.schedule().records).unwrap();
        page.add_layout("offsets_greedy_by_size", schedule, compiled, &plan);
    }
    page
}

fn number(value: &Value) -> u64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number")) as u64
}

/// Goes through everything that a reader does with a page.
fn is_read(compiled: &CompiledModel, html: &str) -> Page {
    let page = Page::open(html);
    blocks_are_the_plans(&page, compiled);
    everything_live_is_named_by_a_click(&page, compiled);
    the_longest_holders_are_found(&page, compiled);
    a_tensor_is_found_and_lit_everywhere(&page, compiled);
    plans_are_checked(&page);
    zooming_takes_less_than_a_frame(&page);
    exports_are_well_formed(&page, compiled);
    every_panel_fits(&page);
    assert_eq!(*page.complaints.borrow(), Vec::<String>::new());
    page
}

fn blocks_are_the_plans(page: &Page, compiled: &CompiledModel) {
    let blocks = page.eval(
        "(() => { const p = texpool.state.plan, made = [];
           for (let i = 0; i < p.count; i++) for (let r = 0; r < p.rows[i]; r++)
             made.push([p.record[i], p.row[i] + r, p.textureOfRecord[p.record[i]],
               p.texel[i] + r * p.texels_of[i] / p.rows[i], p.first[i], p.last[i]]);
           return made; })()",
    );
    let blocks: BTreeSet<[u64; 6]> =
        blocks.as_array().unwrap().iter().map(|row| std::array::from_fn(|i| number(&row[i]))).collect();
    let plan_rows = rows(compiled).into_iter().map(|((record, row), of)| {
        [record as u64, row.into(), of.texture as u64, of.texel, of.first as u64, of.last as u64]
    });
    assert!(blocks == plan_rows.collect(), "the page's blocks are not the plan's rows");
    assert_eq!(page.eval("texpool.state.plan.bytes"), compiled.plan().bytes());
}

/// Returns the table of what is live, as it stands on the page: the names with their bytes.
fn live_table(page: &Page) -> Vec<(String, u64)> {
    let rows = page.eval(
        "(() => { [...document.querySelectorAll('#live-table tbody button')].filter(b => b.textContent.startsWith('show '))
             .forEach(b => b.click());
           return [...document.querySelectorAll('#live-table tbody tr')].map(r =>
             [r.querySelector('button').textContent, r.children[1].textContent.replace(/,/g, '')]); })()",
    );
    let row = |row: &Value| (row[0].as_str().unwrap().to_owned(), row[1].as_str().unwrap().parse().unwrap());
    rows.as_array().unwrap().iter().map(row).collect()
}

/// Returns what the table must have.
fn live_named(compiled: &CompiledModel, step: usize) -> Vec<(String, u64)> {
    let names = names(compiled);
    live_at(compiled, step).into_iter().map(|(record, bytes)| (names[record].clone(), bytes)).collect()
}

fn sorted(mut list: Vec<(String, u64)>) -> Vec<(String, u64)> {
    list.sort();
    list
}

fn everything_live_is_named_by_a_click(page: &Page, compiled: &CompiledModel) {
    let steps = compiled.schedule().steps.len();
    for share in [0.1, 0.5, 0.93] {
        page.eval("document.getElementById('map').scrollIntoView({block: 'center'})");
        let at = page.eval(
            "(() => { const b = document.getElementById('map').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()",
        );
        let [left, top, width, height] = std::array::from_fn(|i| at[i].as_f64().unwrap());
        page.click(left + share * width, top + 0.4 * height);
        let step = number(&page.eval("texpool.state.step")) as usize;
        assert!((step as f64 - share * steps as f64).abs() <= 1.0 + steps as f64 / width, "step {step} of {steps}");
        let live = live_named(compiled, step);
        let bytes: u64 = live.iter().map(|(_, bytes)| bytes).sum();
        let table = live_table(page);
        assert!(table.is_sorted_by(|a, b| a.1 >= b.1), "{table:?}");
        assert_eq!(sorted(table), sorted(live));
        let title = page.eval("document.getElementById('live-title').textContent.replace(/,/g, '')");
        assert!(title.as_str().unwrap().ends_with(&format!("{bytes} bytes")), "{title}");
        let named = page.eval("document.getElementById('meter').textContent.replace(/,/g, '')");
        let unused = format!("= {} unused", compiled.plan().bytes() - bytes);
        assert!(named.as_str().unwrap().contains(&unused), "{named} has not {unused}");
    }
}

/// Ten times: what is live at a step, and who holds it there longest, from the page alone.
fn the_longest_holders_are_found(page: &Page, compiled: &CompiledModel) {
    let (steps, names) = (compiled.schedule().steps.len(), names(compiled));
    let mut lives: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for ((record, _), row) in rows(compiled) {
        let life = lives.entry(record).or_insert((row.first, row.last));
        *life = (life.0.min(row.first), life.1.max(row.last));
    }
    for task in 0..10 {
        let step = steps * (2 * task + 1) / 20;
        page.eval(&format!(
            "(() => {{ const n = document.getElementById('step-number'); n.value = {step}; n.dispatchEvent(new Event('change'));
                 document.querySelector('#live-table [data-key=bytes]').click();
                 document.querySelector('#live-table [data-key=life]').click(); }})()"
        ));
        let lifetime = |record: usize| lives[&record].1 - lives[&record].0;
        let longest = live_at(compiled, step).into_keys().map(lifetime).max();
        let table = live_table(page);
        let Some(longest) = longest else {
            assert!(table.is_empty());
            continue;
        };
        let first = &table[0].0;
        let holds =
            live_at(compiled, step).into_keys().any(|record| names[record] == *first && lifetime(record) == longest);
        assert!(holds, "step {step}: {first} does not hold for {longest} steps");
    }
    page.eval("document.querySelector('#live-table [data-key=bytes]').click()");
}

fn a_tensor_is_found_and_lit_everywhere(page: &Page, compiled: &CompiledModel) {
    let schedule = compiled.schedule();
    let record = schedule.records.len() / 2;
    let name = &names(compiled)[record];
    page.eval("document.activeElement.blur(); texpool.panels.show(0)");
    page.key("/");
    assert_eq!(page.eval("document.activeElement.id"), "search");
    page.type_text(name);
    page.key("Enter");
    let selected = number(&page.eval("texpool.state.record")) as usize;
    assert_eq!(names(compiled)[selected], *name);
    assert_eq!(page.eval("document.querySelector('#detail h2').textContent"), **name);
    // Its life is lit in the table of steps: as many steps as touch it.
    let touch =
        |step: &&texpool_plan::RowStep| step.reads.iter().chain(&step.writes).any(|used| used.record == selected);
    let touched = schedule.row_steps().iter().filter(touch).count() as u64;
    assert_eq!(number(&page.eval("texpool.panels.list[0].panel.touched.size")), touched);
    assert_eq!(page.eval("!!document.querySelector('.steps-row.touched')"), true);
    // The kernels of its node, each with the reason for the choice.
    let reasons = page.eval("[...document.querySelectorAll('#detail .why')].map(why => why.textContent)");
    let kernels = number(&page.eval("document.querySelectorAll('#detail details').length"));
    assert_eq!(reasons.as_array().unwrap().len() as u64, kernels);
    assert!(
        reasons.as_array().unwrap().iter().all(|why| why.as_str().unwrap().starts_with("Chosen because ")),
        "{reasons}"
    );
    // In the map, and in the graph.
    let faint = "(() => { const picture = record => {
          texpool.selectRecord(record); texpool.draw(); return document.getElementById('map').toDataURL(); };
        return picture(-1) !== picture(RECORD); })()";
    assert_eq!(page.eval(&faint.replace("RECORD", &selected.to_string())), true, "the map does not change");
    page.eval("texpool.panels.show(1)");
    assert_eq!(number(&page.eval("document.querySelectorAll('.node.selected').length")), 1);
    page.eval("texpool.panels.show(0)");
}

fn plans_are_checked(page: &Page) {
    let plans = number(&page.eval("texpool.data.plans.length"));
    for plan in 0..plans {
        let faults = page.eval(&format!(
            "texpool.checkPlan(texpool.planOf({plan})).filter(check => !check.ok).map(check => check.what + check.fault)"
        ));
        assert_eq!(faults, json!([]), "plan {plan}");
    }
    let proof =
        "(s => texpool.checkProof(texpool.planOf(texpool.data.plans.findIndex(p => p.schedule === s.schedule)), s))";
    assert_eq!(page.eval(&format!("{proof}(texpool.data.solution).ok")), true);
    // The checks find what is wrong.
    let more = format!("{proof}({{...texpool.data.solution, bound: texpool.data.solution.bound * 2}}).ok");
    assert_eq!(page.eval(&more), false, "a bound that is not proven passes");
    for (wrong, rule) in [
        ("p.bytes += 16", 0),
        ("p.texel[0] = 1e9", 1),
        ("p.address.fill(0)", 2),
        ("p.last.set(p.first)", 3),
        ("p.textureOfRecord.fill(0)", 4),
    ] {
        let checked = page.eval(&format!(
            "(() => {{ const p = {{...texpool.state.plan}};
                 for (const key in p) if (ArrayBuffer.isView(p[key])) p[key] = p[key].slice();
                 {wrong}; return texpool.checkPlan(p)[{rule}]; }})()"
        ));
        assert_eq!(checked["ok"], false, "{wrong} passes: {checked}");
    }
}

fn zooming_takes_less_than_a_frame(page: &Page) {
    page.eval(
        "texpool.fit(); texpool.drawn.length = 0; document.getElementById('map').scrollIntoView({block: 'center'})",
    );
    let at = page.eval(
        "(() => { const b = document.getElementById('map').getBoundingClientRect(); return [b.left + b.width / 3, b.top + b.height / 2]; })()",
    );
    let [x, y] = std::array::from_fn(|i| at[i].as_f64().unwrap());
    for turn in 0..60 {
        page.wheel(x, y, if turn < 30 { -60.0 } else { 60.0 });
    }
    page.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    let view = page.eval("[texpool.state.view.x0, texpool.state.view.x1, texpool.state.plan.steps]");
    assert!(view[1].as_f64().unwrap() <= view[2].as_f64().unwrap(), "{view}");
    let times = page.eval("texpool.drawn.slice().sort((a, b) => a - b)");
    let times: Vec<f64> = times.as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    assert!(times.len() > 5, "the wheel draws nothing");
    // The median, because other work on the machine may interrupt some of them.
    assert!(times[times.len() / 2] < 16.0, "a drawing takes {} ms", times[times.len() / 2]);
    page.eval("texpool.fit()");
}

fn exports_are_well_formed(page: &Page, compiled: &CompiledModel) {
    let trace = page.eval("texpool.traceJson(texpool.state.plan)");
    let trace: Value = serde_json::from_str(trace.as_str().unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let slices: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(slices.len(), compiled.schedule().steps.len());
    // Perfetto nests slices of one track that begin at one time, so transfers, which have no times, have a track of their own.
    for (slice, step) in slices.iter().zip(&compiled.schedule().steps) {
        assert_eq!(slice["tid"], if step.kind.is_transfer() { 2 } else { 1 }, "{slice}");
    }
    assert!(
        events.last().is_some_and(|event| event["ph"] == "C" && event["args"]["live"] == 0),
        "no end of the counter"
    );
    let svg = page.eval("texpool.mapSvg(texpool.state.plan)");
    let document = roxmltree::Document::parse(svg.as_str().unwrap()).unwrap();
    let paths =
        document.descendants().filter(|node| node.has_tag_name("path") && node.children().any(|c| c.is_element()));
    let touched: BTreeSet<usize> = rows(compiled).into_keys().map(|(record, _)| record).collect();
    assert_eq!(paths.count(), touched.len(), "a path for each tensor");
    let nodes = page.eval("texpool.nodeDataJson(texpool.state.plan)");
    let nodes: Value = serde_json::from_str(nodes.as_str().unwrap()).unwrap();
    assert!(nodes["results"].as_object().is_some_and(|results| !results.is_empty()));
}

/// Shows every panel at the width of a phone and of a desk, light and dark, by the keyboard.
fn every_panel_fits(page: &Page) {
    let tabs = number(&page.eval("texpool.panels.list.length"));
    for (width, height) in [(360, 740), (1280, 900)] {
        page.resize(width, height);
        for scheme in ["dark", "light"] {
            page.scheme(scheme);
            page.eval("texpool.panels.show(0); texpool.panels.list[0].tab.focus()");
            for tab in 0..tabs {
                assert_eq!(number(&page.eval("texpool.panels.shown")), tab);
                let wide = number(&page.eval("document.documentElement.scrollWidth"));
                assert!(wide <= width.into(), "tab {tab} is {wide} pixels wide of {width}");
                page.key("ArrowRight");
            }
            let light = page.eval(
                "(() => { texpool.draw(); const sum = c => c.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0);
                   const s = getComputedStyle(document.body); return sum(s.backgroundColor) > sum(s.color); })()",
            );
            assert_eq!(light, scheme == "light", "{scheme}");
        }
    }
    page.key("?");
    assert_eq!(page.eval("document.getElementById('help').open"), true);
    page.eval("document.getElementById('help').close()");
}

#[test]
fn blazeface_in_tiles_is_read_and_moved_along_its_front() {
    let compiled =
        expected::compiled("models/face_detection_front_2019.tflite", Objective::Smallest, Duration::from_secs(8));
    let mut report = page(&compiled);
    let control = SearchControl::new().timeout(Duration::from_secs(8));
    let front = pareto_front(compiled.graph(), &CompileOptions::default(), &control).unwrap();
    report.set_front(&front, Default::default()).unwrap();
    let page = is_read(&compiled, &report.html().unwrap());
    let points = number(&page.eval("texpool.data.front.points.length"));
    assert!(points > 2, "{points}");
    page.eval("document.getElementById('front-slider').focus()");
    page.key("Home");
    let mut seen = BTreeSet::new();
    for point in 0..points {
        page.eval(&format!(
            "(() => {{ const s = document.getElementById('front-slider'); s.value = {point}; s.dispatchEvent(new Event('input')); }})()"
        ));
        let of = &front.points()[point as usize];
        assert_eq!(page.eval("texpool.state.plan.bytes"), of.bytes, "point {point}");
        let text = page.eval("document.getElementById('front-text').textContent");
        assert!(text.as_str().unwrap().starts_with(&format!("{} of {points}", point + 1)), "{text}");
        seen.insert(
            page.eval("document.getElementById('map').toDataURL().length + '/' + texpool.state.plan.count").to_string(),
        );
    }
    assert!(seen.len() as u64 > points / 2, "the map does not follow the slider");
    assert_eq!(*page.complaints.borrow(), Vec::<String>::new());
}

#[test]
fn mobilenet_v2_in_tiles_is_read() {
    let compiled = expected::compiled("mobilenet_v2", Objective::Smallest, Duration::from_secs(8));
    let page = is_read(&compiled, &page(&compiled).html().unwrap());
    // The same tensors in buffers of their own, on the same scale.
    page.eval("document.getElementById('scale').click(); document.querySelector('#quick button').click()");
    assert_eq!(page.eval("texpool.state.plan.name"), "naive");
    let height = number(&page.eval("texpool.state.view.y1"));
    page.eval("texpool.showPlan(texpool.data.shown)");
    assert_eq!(number(&page.eval("texpool.state.view.y1")), height);
    page.eval("document.getElementById('device').click()");
    assert!(number(&page.eval("texpool.state.view.y1")) >= height);
}

#[test]
fn densenet_121_is_read() {
    let compiled = expected::compiled("light_densenet121", Objective::Fastest, Duration::from_secs(20));
    is_read(&compiled, &page(&compiled).html().unwrap());
}

#[test]
fn u2_net_p_of_very_many_steps_is_read() {
    let compiled = expected::compiled("u2netp", Objective::Smallest, Duration::from_secs(20));
    assert!(compiled.schedule().steps.len() > 10_000, "{}", compiled.schedule().steps.len());
    let html = page(&compiled).html().unwrap();
    assert!(!data(&html)["kernels"]["sources"].as_array().unwrap().is_empty());
    let page = is_read(&compiled, &html);
    assert!(page.eval("texpool.ready").as_f64().unwrap() < 5_000.0, "the page is slow to open");
}
