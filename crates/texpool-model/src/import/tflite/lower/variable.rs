//! Lowers operators of variables. They are no nodes of the graph: a variable is an input and an output, which a session
//! carries.

use crate::import::{
    error::Problem,
    op_registry::{Quantised, Support},
    tflite::{
        op_registry::{Described::Alone, TfLiteOpEntry},
        operator_lowering::OperatorLowering,
        schema::CallOnceOptions,
    },
};

/// Row of each operator.
const SUPPORT: Support = Support::new(Quantised, "none")
    .limits("sessions keep the values; a delegate takes all variables of a graph or none");

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new(
        "CALL_ONCE",
        Alone(SUPPORT.limits("a graph that assigns constants to variables; a delegate takes it with them")),
        call_once,
    )
    .no_results(),
    TfLiteOpEntry::new("VAR_HANDLE", Alone(SUPPORT), |ctx| ctx.name_variable()),
    TfLiteOpEntry::new("READ_VARIABLE", Alone(SUPPORT), |ctx| ctx.read_variable()),
    TfLiteOpEntry::new("ASSIGN_VARIABLE", Alone(SUPPORT), |ctx| ctx.assign_variable()).no_results(),
];

fn call_once(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(0, 0)?;
    let graph = ctx.options::<CallOnceOptions<'static>>()?.init_subgraph_index();
    ctx.call_once(graph)
}
