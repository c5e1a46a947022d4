//! Plans in numbers of stripes that the caller sets.

use std::{collections::BTreeSet, ops::Range};

use super::{
    compile_for::Attempt,
    memory_limit::MemoryLimit,
    variant::{PlacedCandidate, Variant},
    whole_plans::{self, WholePlan},
};
use crate::{
    error::{CompileError, StripesError},
    lowered::{LoweredModel, UntiledSchedule},
    options::{CompileOptions, Stripes, nearest_name::nearest_name},
    parallel::parallel_map,
    schedule::{
        Schedule, Step, schedule,
        tiling::{Cascade, RowDependencies, order, select_in_place, within_stripes},
    },
};
use texpool_ops::graph::{Graph, NodeSet};
use texpool_plan::{Progress, SearchBudget, SearchControl};

/// A variant of the model, divided as the caller says.
struct Divided<'a> {
    variant: Variant<'a>,
    cascades: Vec<Cascade>,
}

impl<'a> Divided<'a> {
    /// Divides the variant that writes the parts of `in_place` in place.
    fn new(lowered: &'a LoweredModel, in_place: NodeSet, options: &'a CompileOptions) -> Result<Self, CompileError> {
        let LoweredModel { graph, views, streaming, .. } = lowered;
        let schedule = schedule(graph, &views.union(&in_place))?;
        let variant = Variant::new(graph, UntiledSchedule { schedule, in_place }, streaming, options);
        let numbers = numbers(graph, &variant.untiled, &options.stripes);
        let cascades = cascades(&variant.model, &numbers);
        if !within_stripes(&variant.model, &cascades) {
            return Err(StripesError::TooMany.into());
        }
        Ok(Self { variant, cascades })
    }

    /// Places the rows. Returns `None` if the search is stopped before a plan is found.
    fn placed(&self, control: &SearchControl<'_>) -> Result<Option<PlacedCandidate>, CompileError> {
        let control = control.stage(Progress::new("placing rows", 0, 1));
        let placed = self.variant.placed(self.cascades.clone(), SearchBudget::ROWS, &control)?;
        match placed.is_none() && !control.should_stop() {
            true => Err(StripesError::TooMany.into()),
            false => Ok(placed),
        }
    }
}

/// Compiles the model in the stripes of the options. If the search is stopped, the plan is that of whole tensors.
pub(crate) fn compiled(
    graph: &Graph,
    options: &CompileOptions,
    limit: Option<MemoryLimit>,
    control: &SearchControl<'_>,
) -> Result<Attempt, CompileError> {
    let options = &options.with_pool_format();
    let lowered = LoweredModel::new(graph, None, options, control)?;
    if let Some(rows) = lowered.too_many_rows() {
        return Err(StripesError::TooManyRows { rows }.into());
    }
    let divided = all_divided(&lowered, options, control)?;
    let whole = WholePlan::new(&lowered.graph, lowered.planned(options, control)?, options);
    let placed = parallel_map(&divided, |divided| divided.placed(control));
    let placed: Vec<Option<PlacedCandidate>> = placed.into_iter().collect::<Result<_, _>>()?;
    let (divided, placed): (Vec<_>, Vec<_>) =
        divided.into_iter().zip(placed).filter_map(|(divided, placed)| Some((divided, placed?))).unzip();
    let point = match placed.is_empty() {
        true => whole.point(),
        false => {
            let chosen = whole_plans::best(&placed, options.objective, limit);
            divided[chosen].variant.point(placed[chosen].clone())
        }
    };
    drop(divided);
    let baseline_us = whole.placed.predicted_us;
    let compiled = lowered.compiled(whole.untiled, options, control).at(point, baseline_us);
    let fits = limit.is_none_or(|limit| limit.holds_compiled(&compiled));
    Ok(Attempt { bound: compiled.device_bytes(), compiled, fits })
}

/// Returns the variants: nothing in place, the parts that cost no memory at the peak, and everything.
fn all_divided<'a>(
    lowered: &'a LoweredModel,
    options: &'a CompileOptions,
    control: &SearchControl<'_>,
) -> Result<Vec<Divided<'a>>, CompileError> {
    let plain = Divided::new(lowered, NodeSet::new(), options)?;
    let Variant { untiled, model, .. } = &plain.variant;
    check(&lowered.graph, untiled, model, &options.stripes)?;
    let graph = &lowered.graph;
    let is_named = |name: &str| matches!(&options.stripes, Stripes::Named(named) if named.contains_key(name));
    let all = lowered.in_place.iter().filter(|&node| !is_named(&graph.tensors[graph.nodes[node].output].name));
    let all: NodeSet = all.collect();
    let stripes = order(model, &plain.cascades);
    let mut sets = vec![select_in_place(graph, untiled, model, &stripes, &all, control), all];
    sets.dedup();
    let in_place = sets.into_iter().filter(|set| !set.is_empty()).map(|set| Divided::new(lowered, set, options));
    std::iter::once(Ok(plain)).chain(in_place).collect()
}

/// Fails if no operator with a step has one of the names, or if an operator has fewer rows than stripes.
fn check(graph: &Graph, untiled: &Schedule, model: &RowDependencies, stripes: &Stripes) -> Result<(), StripesError> {
    let Stripes::Named(named) = stripes else { return Ok(()) };
    let operators = untiled.steps.iter().zip(&model.operators);
    let mut unknown: BTreeSet<&str> = named.keys().map(String::as_str).collect();
    for (step, operator) in operators {
        let name = layer(graph, step);
        let Some(stripes) = named.get(name) else { continue };
        unknown.remove(name);
        if stripes.get() > operator.rows {
            let (layer, stripes, rows) = (name.to_owned(), stripes.get(), operator.rows);
            return Err(StripesError::MoreThanRows { layer, stripes, rows });
        }
    }
    match unknown.first() {
        None => Ok(()),
        Some(&name) => {
            let nearest = nearest_name(name, untiled.steps.iter().map(|step| layer(graph, step)));
            Err(StripesError::UnknownLayer { layer: name.to_owned(), nearest: nearest.map(str::to_owned) })
        }
    }
}

/// Returns the number of stripes of each operator.
fn numbers(graph: &Graph, untiled: &Schedule, stripes: &Stripes) -> Vec<u32> {
    let number = |step: &Step| match stripes {
        Stripes::Searched => 1,
        Stripes::Every(number) => number.get(),
        Stripes::Named(named) => named.get(layer(graph, step)).map_or(1, |number| number.get()),
    };
    untiled.steps.iter().map(number).collect()
}

/// Returns the name of the tensor that a step's operator computes.
fn layer<'g>(graph: &'g Graph, step: &Step) -> &'g str {
    &graph.tensors[graph.nodes[step.node].output].name
}

/// Returns the cascades: the longest runs of operators with the same number of stripes, cut where no operator needs the
/// rows of one before.
fn cascades(model: &RowDependencies, numbers: &[u32]) -> Vec<Cascade> {
    let mut cascades: Vec<Cascade> = Vec::new();
    let mut end = 0;
    while end < numbers.len() {
        let begin = end;
        let stripes = numbers[begin];
        let same = numbers[begin..].iter().take_while(|&&number| number == stripes).count();
        end = if stripes == 1 { begin + 1 } else { connected(model, begin..begin + same) };
        cascades.push(Cascade { even: true, ..Cascade::new(begin..end, stripes) });
    }
    cascades
}

/// Returns the end of the first operators that run interleaved: across each border between them, a later one needs rows
/// of an earlier one.
fn connected(model: &RowDependencies, operators: Range<usize>) -> usize {
    // For each operator, the last one of the range that needs its rows.
    let mut last: Vec<usize> = operators.clone().collect();
    for reader in operators.clone() {
        let reads = &model.operators[reader].reads;
        for producer in reads.iter().flat_map(|read| &read.producers) {
            if operators.contains(&producer.operator) {
                last[producer.operator - operators.start] = reader;
            }
        }
    }
    let (mut end, mut reach) = (operators.start, operators.start);
    while end <= reach {
        reach = reach.max(last[end - operators.start]);
        end += 1;
    }
    end
}
