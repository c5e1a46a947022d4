/* Tests misuse of the interface: each kind returns the right status code, and the process survives. */

#include "common.h"

/* `program` is the path of this program. It is a file, so paths below it do not exist. */
static void arguments(const char *program)
{
    char path[4096];
    CHECK(snprintf(path, sizeof path, "%s/model.onnx", program) < (int)sizeof path);
    texpool_session *session = (texpool_session *)&session;
    texpool_session_descriptor descriptor = described(NULL, SINE, sizeof SINE);

    FAILS(TEXPOOL_ERROR_ARGUMENT, "texpool_session_descriptor is NULL", texpool_session_create(NULL, &session, error));
    CHECK(session == NULL);
    FAILS(TEXPOOL_ERROR_ARGUMENT, "session is NULL", texpool_session_create(&descriptor, NULL, error));
    /* The error object is optional. */
    CHECK(texpool_session_create(NULL, NULL, NULL) == TEXPOOL_ERROR_ARGUMENT);

    descriptor.struct_size = 0;
    FAILS(TEXPOOL_ERROR_ARGUMENT, "struct_size is 0", texpool_session_create(&descriptor, &session, error));
    descriptor.struct_size = (size_t)-1;
    FAILS(TEXPOOL_ERROR_ARGUMENT, "struct_size is", texpool_session_create(&descriptor, &session, error));

    /* A descriptor with an additional field, as in a later version of the header. */
    struct {
        texpool_session_descriptor known;
        size_t unknown;
    } later;
    memset(&later, 0, sizeof later);
    later.known = described(NULL, SINE, sizeof SINE);
    later.known.struct_size = sizeof later;
    later.unknown = 1;
    FAILS(TEXPOOL_ERROR_ARGUMENT, "a field is set", texpool_session_create(&later.known, &session, error));

    descriptor = described(NULL, NULL, 0);
    FAILS(TEXPOOL_ERROR_ARGUMENT, "both NULL", texpool_session_create(&descriptor, &session, error));
    descriptor = described(NULL, SINE, sizeof SINE);
    descriptor.model_path = path;
    FAILS(TEXPOOL_ERROR_ARGUMENT, "both given", texpool_session_create(&descriptor, &session, error));
    descriptor = described(NULL, SINE, (size_t)-1);
    FAILS(TEXPOOL_ERROR_ARGUMENT, "no memory has", texpool_session_create(&descriptor, &session, error));

    /* NULL is accepted where the header allows it. */
    texpool_session_release(NULL);
    texpool_session_retain(NULL);
    texpool_device_release(NULL);
    texpool_error_release(NULL);
    CHECK(texpool_session_input_count(NULL) == 0 && texpool_session_output_count(NULL) == 0);
    CHECK(texpool_error_status(NULL) == TEXPOOL_OK && strcmp(texpool_error_message(NULL), "") == 0);
    CHECK(texpool_session_stopped(NULL) == TEXPOOL_STOP_NONE);
    FAILS(TEXPOOL_ERROR_ARGUMENT, "session is NULL", texpool_session_run(NULL, NULL, 0, NULL, 0, error));
    FAILS(TEXPOOL_ERROR_ARGUMENT, "session is NULL", texpool_session_trim(NULL, error));
    FAILS(TEXPOOL_ERROR_ARGUMENT, "session is NULL", texpool_session_carry(NULL, "y", "x", error));
    FAILS(TEXPOOL_ERROR_ARGUMENT, "session is NULL", texpool_session_reset(NULL, error));
    FAILS(TEXPOOL_ERROR_ARGUMENT, "device is NULL", texpool_device_check(NULL, error));
    CHECK(strcmp(texpool_status_name(TEXPOOL_ERROR_BUDGET), "TEXPOOL_ERROR_BUDGET") == 0);
    CHECK(strcmp(texpool_status_name(-1), "unknown") == 0);
}

static void options(void)
{
    static const struct {
        texpool_option options[2];
        size_t count;
        texpool_status status;
        const char *words;
    } cases[] = {
        {{{"speed", "high"}}, 1, TEXPOOL_ERROR_OPTION, "no option `speed`; there are: adapter, timeout"},
        {{{"budget", "two"}}, 1, TEXPOOL_ERROR_OPTION, "option `budget`: `two` is no size"},
        {{{"precision", "f64"}}, 1, TEXPOOL_ERROR_OPTION, "option `precision`: `f64` is none of"},
        {{{"objective", ""}}, 1, TEXPOOL_ERROR_OPTION, "option `objective`: `` is none of"},
        {{{"strategy", "offsets_greedy_by_size"}}, 1, TEXPOOL_ERROR_OPTION, "option `strategy`"},
        {{{"rules", "fastest"}}, 1, TEXPOOL_ERROR_OPTION, "option `rules`"},
        {{{"weights", "f64"}}, 1, TEXPOOL_ERROR_OPTION, "option `weights`: `f64` is none of"},
        {{{"stream", "some"}}, 1, TEXPOOL_ERROR_OPTION, "option `stream`"},
        {{{"deadline", "-1"}}, 1, TEXPOOL_ERROR_OPTION, "option `deadline`"},
        {{{"timeout", "soon"}}, 1, TEXPOOL_ERROR_OPTION, "option `timeout`"},
        {{{"dim", "batch"}}, 1, TEXPOOL_ERROR_OPTION, "option `dim`: write NAME=VALUE"},
        {{{"dim", "batch=1"}, {"dim", "batch=2"}}, 2, TEXPOOL_ERROR_OPTION, "bound already"},
        {{{"budget", "1MiB"}, {"budget", "2MiB"}}, 2, TEXPOOL_ERROR_OPTION, "option `budget` is given twice"},
        {{{"objective", "smallest"}, {"budget", "2MiB"}}, 2, TEXPOOL_ERROR_OPTION, "do not go together"},
        {{{NULL, "1"}}, 1, TEXPOOL_ERROR_ARGUMENT, "options[0].name is NULL"},
        {{{"budget", NULL}}, 1, TEXPOOL_ERROR_ARGUMENT, "options[0].value is NULL"},
        {{{"budget", "\xff"}}, 1, TEXPOOL_ERROR_ARGUMENT, "options[0].value is not UTF-8"},
        {{{"dim", "batch=1"}}, 1, TEXPOOL_ERROR_MODEL, "batch"},
        {{{"adapter", "no such adapter"}}, 1, TEXPOOL_ERROR_NO_ADAPTER, "no such adapter"},
        {{{"budget", "1KiB"}}, 1, TEXPOOL_ERROR_BUDGET, "within 1024 bytes"},
    };
    texpool_session *session = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        texpool_session_descriptor descriptor = described(NULL, SINE, sizeof SINE);
        descriptor.options = cases[i].options;
        descriptor.option_count = cases[i].count;
        FAILS(cases[i].status, cases[i].words, texpool_session_create(&descriptor, &session, error));
        CHECK(session == NULL);
    }
    texpool_device *device = NULL;
    texpool_option budget = {"budget", "1MiB"};
    FAILS(TEXPOOL_ERROR_OPTION, "says nothing of a device", texpool_device_open(&budget, 1, &device, error));
    CHECK(device == NULL);
}

/* `program` as above. */
static void models(const char *program)
{
    char path[4096];
    texpool_session *session = NULL;
    texpool_session_descriptor descriptor = described(NULL, "GIF89a is no model", 18);
    FAILS(TEXPOOL_ERROR_MODEL, "it is a picture", texpool_session_create(&descriptor, &session, error));
    descriptor = described(NULL, SINE, sizeof SINE / 2);
    FAILS(TEXPOOL_ERROR_MODEL, "", texpool_session_create(&descriptor, &session, error));
    descriptor = described(NULL, "", 0);
    FAILS(TEXPOOL_ERROR_MODEL, "", texpool_session_create(&descriptor, &session, error));
    descriptor = described(NULL, NULL, 0);
    CHECK(snprintf(path, sizeof path, "%s/model.onnx", program) < (int)sizeof path);
    descriptor.model_path = path;
    FAILS(TEXPOOL_ERROR_FILE, path, texpool_session_create(&descriptor, &session, error));
}

static void plans(texpool_device *device)
{
    texpool_session *session = NULL, *loaded = NULL;
    texpool_session_descriptor descriptor = described(device, SINE, sizeof SINE);
    OK(texpool_session_create(&descriptor, &session, error));
    size_t bytes = 0;
    OK(texpool_session_save_plan(session, NULL, 0, &bytes, error));
    CHECK(bytes > 0);
    unsigned char *plan = malloc(bytes);
    CHECK(plan);
    FAILS(TEXPOOL_ERROR_ARGUMENT, "capacity is 1", texpool_session_save_plan(session, plan, 1, &bytes, error));
    FAILS(TEXPOOL_ERROR_ARGUMENT, "buffer is NULL", texpool_session_save_plan(session, NULL, bytes, &bytes, error));
    FAILS(TEXPOOL_ERROR_ARGUMENT, "bytes is NULL", texpool_session_save_plan(session, plan, bytes, NULL, error));
    OK(texpool_session_save_plan(session, plan, bytes, &bytes, error));
    texpool_session_release(session);

    descriptor.plan_data = plan;
    descriptor.plan_bytes = bytes;
    OK(texpool_session_create(&descriptor, &loaded, error));
    run_sine(loaded, 1);
    texpool_session_release(loaded);

    texpool_option option = {"budget", "1MiB"};
    descriptor.options = &option;
    descriptor.option_count = 1;
    FAILS(TEXPOOL_ERROR_OPTION, "and one is given", texpool_session_create(&descriptor, &session, error));
    option.name = "adapter";
    FAILS(TEXPOOL_ERROR_OPTION, "is for opening a device", texpool_session_create(&descriptor, &session, error));
    descriptor.option_count = 0;
    descriptor.model_data = INTEGERS;
    descriptor.model_bytes = sizeof INTEGERS;
    FAILS(TEXPOOL_ERROR_SAVED_PLAN, "another model", texpool_session_create(&descriptor, &session, error));
    plan[bytes / 2] ^= 0xff;
    descriptor.model_data = SINE;
    descriptor.model_bytes = sizeof SINE;
    FAILS(TEXPOOL_ERROR_SAVED_PLAN, "", texpool_session_create(&descriptor, &session, error));
    descriptor.plan_bytes = 0;
    FAILS(TEXPOOL_ERROR_SAVED_PLAN, "", texpool_session_create(&descriptor, &session, error));
    free(plan);
}

static void tensors(texpool_device *device)
{
    texpool_session *session = NULL;
    texpool_session_descriptor descriptor = described(device, SINE, sizeof SINE);
    OK(texpool_session_create(&descriptor, &session, error));

    texpool_tensor_info info;
    memset(&info, 0, sizeof info);
    FAILS(TEXPOOL_ERROR_ARGUMENT, "struct_size is 0", texpool_session_input(session, 0, &info, error));
    info.struct_size = sizeof info;
    FAILS(TEXPOOL_ERROR_NO_SUCH_TENSOR, "no input 1", texpool_session_input(session, 1, &info, error));
    FAILS(TEXPOOL_ERROR_ARGUMENT, "texpool_tensor_info is NULL", texpool_session_output(session, 0, NULL, error));
    OK(texpool_session_input(session, 0, &info, error));
    CHECK(strcmp(info.name, "x") == 0 && info.rank == 4 && info.dims[3] == 7 && info.elements == SINE_ELEMENTS);
    CHECK(info.element_type == TEXPOOL_F32 && info.bytes == 4 * SINE_ELEMENTS && !info.quantized);
    size_t index = 7;
    OK(texpool_session_find_output(session, "y", &index, error));
    CHECK(index == 0);
    FAILS(TEXPOOL_ERROR_NO_SUCH_TENSOR, "no output `z`", texpool_session_find_output(session, "z", &index, error));

    float values[SINE_ELEMENTS] = {0}, room[2 * SINE_ELEMENTS];
    size_t other[4] = {1, 3, 7, 5}, dims[4] = {1, 3, 5, 7}, strides[4] = {105, 35, 7, 1}, wide[4] = {105, 35, 7, 2};
    texpool_input input = input_of(values, SINE_ELEMENTS);
    texpool_output output = output_of(room, SINE_ELEMENTS);
#define RUN texpool_session_run(session, &input, 1, &output, 1, error)
    FAILS(TEXPOOL_ERROR_INPUTS, "`x` has no values", texpool_session_run(session, NULL, 0, &output, 1, error));
    OK(RUN);
    /* Without inputs, the run uses the values of the previous one. */
    OK(texpool_session_run(session, NULL, 0, &output, 1, error));

    input.dims = other, input.rank = 4;
    FAILS(TEXPOOL_ERROR_SHAPE, "expected [1, 3, 5, 7], found [1, 3, 7, 5]", RUN);
    input.dims = dims, input.strides = strides;
    OK(RUN);
    input.strides = wide;
    FAILS(TEXPOOL_ERROR_SHAPE, "needs", RUN);
    input.dims = NULL;
    FAILS(TEXPOOL_ERROR_ARGUMENT, "without dims", RUN);
    input = input_of(values, SINE_ELEMENTS - 1);
    FAILS(TEXPOOL_ERROR_SHAPE, "105 elements, found 104", RUN);
    input.bytes = 4 * SINE_ELEMENTS + 1;
    FAILS(TEXPOOL_ERROR_SHAPE, "no whole number of elements", RUN);
    input.bytes = (size_t)-4;
    FAILS(TEXPOOL_ERROR_ARGUMENT, "no memory has", RUN);
    input = input_of(values, SINE_ELEMENTS);
    input.data = NULL;
    FAILS(TEXPOOL_ERROR_ARGUMENT, "inputs[0].data is NULL", RUN);
    input.data = (char *)values + 1;
    FAILS(TEXPOOL_ERROR_ARGUMENT, "not aligned", RUN);
    input = input_of(values, SINE_ELEMENTS);
    input.element_type = 99;
    FAILS(TEXPOOL_ERROR_ARGUMENT, "99 is no texpool_element_type", RUN);
    input.element_type = TEXPOOL_I32;
    FAILS(TEXPOOL_ERROR_ELEMENT_TYPE, "expected elements of type f32, found i32", RUN);
    input = input_of(values, SINE_ELEMENTS);
    input.name = "y";
    FAILS(TEXPOOL_ERROR_NO_SUCH_TENSOR, "no input `y`", RUN);
    input.name = "x";
    OK(RUN);
    input.name = NULL, input.index = 1;
    FAILS(TEXPOOL_ERROR_NO_SUCH_TENSOR, "no input 1", RUN);
    texpool_input twice[2] = {input_of(values, SINE_ELEMENTS), input_of(values, SINE_ELEMENTS)};
    FAILS(TEXPOOL_ERROR_INPUTS, "twice", texpool_session_run(session, twice, 2, &output, 1, error));

    input = input_of(values, SINE_ELEMENTS);
    output = output_of(room, SINE_ELEMENTS + 1);
    FAILS(TEXPOOL_ERROR_SHAPE, "output `y`", RUN);
    output = output_of(room, SINE_ELEMENTS);
    output.element_type = TEXPOOL_I32;
    FAILS(TEXPOOL_ERROR_ELEMENT_TYPE, "output `y`", RUN);
    output = output_of(values, SINE_ELEMENTS);
    FAILS(TEXPOOL_ERROR_ARGUMENT, "outputs[0].data overlaps with inputs[0].data", RUN);
    texpool_output both[2] = {output_of(room, SINE_ELEMENTS), output_of(room + 1, SINE_ELEMENTS)};
    FAILS(TEXPOOL_ERROR_ARGUMENT, "overlaps with outputs[0]", texpool_session_run(session, &input, 1, both, 2, error));
    both[1] = output_of(room + SINE_ELEMENTS, SINE_ELEMENTS);
    FAILS(TEXPOOL_ERROR_INPUTS, "output `y` twice", texpool_session_run(session, &input, 1, both, 2, error));

    /* A state: the sine of the sine, and of its own start after a reset. */
    FAILS(TEXPOOL_ERROR_NO_SUCH_TENSOR, "no output `z`", texpool_session_carry(session, "z", "x", error));
    FAILS(TEXPOOL_ERROR_ARGUMENT, "input is NULL", texpool_session_carry(session, "y", NULL, error));
    texpool_session *stateful = NULL;
    OK(texpool_session_another(session, &stateful, error));
    OK(texpool_session_carry(stateful, "y", "x", error));
    FAILS(TEXPOOL_ERROR_INPUTS, "already carries", texpool_session_carry(stateful, "y", "x", error));
    output = output_of(room, SINE_ELEMENTS);
    OK(texpool_session_run(stateful, &input, 1, &output, 1, error));
    texpool_input once = input_of(room, SINE_ELEMENTS);
    float sine_of_sine[SINE_ELEMENTS];
    texpool_output of_twice = output_of(sine_of_sine, SINE_ELEMENTS);
    OK(texpool_session_run(session, &once, 1, &of_twice, 1, error));
    OK(texpool_session_run(stateful, NULL, 0, &output, 1, error));
    CHECK(memcmp(room, sine_of_sine, sizeof sine_of_sine) == 0);
    OK(texpool_session_reset(stateful, error));
    OK(texpool_session_run(stateful, NULL, 0, &output, 1, error));
    CHECK(room[0] == 0 && room[SINE_ELEMENTS - 1] == 0);
    texpool_session_release(stateful);

    /* The session is still usable. */
    run_sine(session, 2);
    OK(texpool_session_trim(session, error));
    run_sine(session, 3);
    texpool_memory memory;
    memory.struct_size = sizeof memory;
    OK(texpool_session_memory(session, &memory, error));
    /* The input and the output are stored in the pool. */
    CHECK(memory.planned.sum > 0 && memory.planned.io == 0 && memory.planned.pool >= 8 * SINE_ELEMENTS);
    texpool_session_release(session);
}

/* Values that 16 bits cannot hold are counted and named; a run without any clears the counts. */
static void clamped(texpool_device *device)
{
    texpool_session *session = NULL;
    texpool_session_descriptor descriptor = described(device, SINE, sizeof SINE);
    texpool_option option = {"precision", "f16"};
    descriptor.options = &option, descriptor.option_count = 1;
    OK(texpool_session_create(&descriptor, &session, error));
    texpool_warnings warnings;
    warnings.struct_size = sizeof warnings;
    OK(texpool_session_warnings(session, &warnings, error));
    CHECK(warnings.not_finite + warnings.saturated + warnings.index_outside == 0);

    float values[SINE_ELEMENTS] = {0}, room[SINE_ELEMENTS];
    values[0] = 1e6f, values[3] = -7e4f, values[5] = NAN;
    texpool_input input = input_of(values, SINE_ELEMENTS);
    texpool_output output = output_of(room, SINE_ELEMENTS);
    OK(RUN);
    OK(texpool_session_warnings(session, &warnings, error));
    CHECK(warnings.not_finite == 1 && warnings.saturated == 2 && warnings.index_outside == 0);
    char text[512];
    size_t bytes = 0, again = 0;
    OK(texpool_session_warnings_text(session, NULL, 0, &bytes, error));
    FAILS(TEXPOOL_ERROR_ARGUMENT, "capacity is 1", texpool_session_warnings_text(session, text, 1, &again, error));
    CHECK(bytes <= sizeof text);
    OK(texpool_session_warnings_text(session, text, sizeof text, &again, error));
    CHECK(bytes == again && strlen(text) + 1 == bytes && strstr(text, "2 values are beyond the range of the precision"));
    CHECK(strstr(text, "output `y`"));

    values[0] = values[3] = values[5] = 0;
    OK(RUN);
    OK(texpool_session_warnings(session, &warnings, error));
    CHECK(warnings.not_finite + warnings.saturated + warnings.index_outside == 0);
    warnings.struct_size = 1;
    FAILS(TEXPOOL_ERROR_ARGUMENT, "texpool_warnings: struct_size is 1", texpool_session_warnings(session, &warnings, error));
    texpool_session_release(session);
}

static void integers(texpool_device *device)
{
    texpool_session *session = NULL;
    texpool_session_descriptor descriptor = described(device, INTEGERS, sizeof INTEGERS);
    OK(texpool_session_create(&descriptor, &session, error));
    int64_t a[6] = {1, -2, 3, 4000, 5, 6}, b[6] = {6, 5, 4, 3, 2, 1}, sum[6];
    unsigned char more[6];
    float reals[6];
    texpool_input inputs[2];
    texpool_output outputs[2];
    memset(inputs, 0, sizeof inputs);
    memset(outputs, 0, sizeof outputs);
    inputs[0].name = "a", inputs[0].data = a, inputs[0].bytes = sizeof a, inputs[0].element_type = TEXPOOL_I64;
    inputs[1].name = "b", inputs[1].data = b, inputs[1].bytes = sizeof b, inputs[1].element_type = TEXPOOL_I64;
    outputs[0].name = "more", outputs[0].data = more, outputs[0].bytes = sizeof more;
    outputs[0].element_type = TEXPOOL_BOOL;
    outputs[1].name = "sum", outputs[1].data = sum, outputs[1].bytes = sizeof sum;
    outputs[1].element_type = TEXPOOL_I64;
    memset(more, 0xee, sizeof more);
    OK(texpool_session_run(session, inputs, 2, outputs, 2, error));
    for (int i = 0; i < 6; i++)
        CHECK(sum[i] == a[i] + b[i] && more[i] == (a[i] > b[i]));
    /* Read the same output as real numbers. */
    outputs[1].data = reals, outputs[1].bytes = sizeof reals, outputs[1].element_type = TEXPOOL_F32;
    OK(texpool_session_run(session, inputs, 2, outputs + 1, 1, error));
    for (int i = 0; i < 6; i++)
        CHECK(reals[i] == (float)sum[i]);
    a[4] = 16777217;
    FAILS(TEXPOOL_ERROR_VALUE, "element 4 is 16777217", texpool_session_run(session, inputs, 2, outputs, 2, error));
    texpool_session_release(session);
}

static int told(const texpool_progress *progress, void *user_data)
{
    int *calls = user_data;
    CHECK(progress->stage[0] != '\0');
    return ++*calls >= 3;
}

static void planner(void)
{
    texpool_plan_buffer buffers[3] = {{0, 1, 3, 0, 3, TEXPOOL_PLACEMENT_FIXED}, {0, 0, 4, 0, 0, 0}, {1, 1, 3, 0, 0, 0}};
    texpool_plan_descriptor descriptor;
    memset(&descriptor, 0, sizeof descriptor);
    descriptor.struct_size = sizeof descriptor;
    descriptor.buffers = buffers;
    descriptor.buffer_count = 3;
    uint64_t offsets[3];
    texpool_plan_result result;
    result.struct_size = sizeof result;
    OK(texpool_plan(&descriptor, offsets, 3, &result, error));
    CHECK(offsets[0] == 3 && offsets[1] == 6 && offsets[2] == 0 && result.peak == 10);
    CHECK(result.lower_bound == 10 && result.proof == TEXPOOL_PROOF_SEARCH && result.fit == TEXPOOL_FIT_UNDECIDED);
    CHECK(result.stopped == TEXPOOL_STOP_NONE);
    descriptor.capacity = 9;
    OK(texpool_plan(&descriptor, offsets, 3, &result, error));
    CHECK(result.fit == TEXPOOL_FIT_NO);
    descriptor.capacity = 16;
    OK(texpool_plan(&descriptor, offsets, 3, &result, error));
    CHECK(result.fit == TEXPOOL_FIT_YES);

    FAILS(TEXPOOL_ERROR_ARGUMENT, "offset_count is 2", texpool_plan(&descriptor, offsets, 2, &result, error));
    FAILS(TEXPOOL_ERROR_ARGUMENT, "offsets is NULL", texpool_plan(&descriptor, NULL, 3, &result, error));
    FAILS(TEXPOOL_ERROR_ARGUMENT, "texpool_plan_result is NULL", texpool_plan(&descriptor, offsets, 3, NULL, error));
    descriptor.deadline = -1;
    FAILS(TEXPOOL_ERROR_ARGUMENT, "deadline is -1", texpool_plan(&descriptor, offsets, 3, &result, error));
    descriptor.deadline = 0;
    buffers[1].first = 1, buffers[1].last = 0;
    FAILS(TEXPOOL_ERROR_BUFFERS, "buffers[1]", texpool_plan(&descriptor, offsets, 3, &result, error));
    buffers[1].first = 0, buffers[1].placement = 7;
    FAILS(TEXPOOL_ERROR_ARGUMENT, "7 is no texpool_placement", texpool_plan(&descriptor, offsets, 3, &result, error));
    buffers[1].placement = 0, buffers[1].last = UINT64_MAX;
    FAILS(TEXPOOL_ERROR_BUFFERS, "no step", texpool_plan(&descriptor, offsets, 3, &result, error));
    buffers[1].last = 0, buffers[1].bytes = UINT64_MAX;
    FAILS(TEXPOOL_ERROR_BUFFERS, "2^62", texpool_plan(&descriptor, offsets, 3, &result, error));
    buffers[1].bytes = 4;
    texpool_plan_gap gap = {9, 0, 0, 0, 0};
    descriptor.gaps = &gap, descriptor.gap_count = 1;
    FAILS(TEXPOOL_ERROR_BUFFERS, "no buffer 9", texpool_plan(&descriptor, offsets, 3, &result, error));
    gap.buffer = 0, gap.last = 5;
    FAILS(TEXPOOL_ERROR_BUFFERS, "not within the life", texpool_plan(&descriptor, offsets, 3, &result, error));
    descriptor.gap_count = 0;
    texpool_plan_pair pair = {0, 1};
    descriptor.in_place = &pair, descriptor.in_place_count = 1;
    FAILS(TEXPOOL_ERROR_BUFFERS, "in the place of", texpool_plan(&descriptor, offsets, 3, &result, error));

    /* A search is ended by the callback, and another by a deadline that passes before the search can end by itself. */
    enum { MANY = 200 };
    static texpool_plan_buffer many[MANY];
    static uint64_t places[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        texpool_plan_buffer buffer = {i * 37 % 97, i * 37 % 97 + i * 11 % 29, 100 + i * 7919 % 4001, 64, 0, 0};
        many[i] = buffer;
    }
    int calls = 0;
    memset(&descriptor, 0, sizeof descriptor);
    descriptor.struct_size = sizeof descriptor;
    descriptor.buffers = many;
    descriptor.buffer_count = MANY;
    descriptor.effort = (uint64_t)1 << 40;
    descriptor.progress = told;
    descriptor.user_data = &calls;
    OK(texpool_plan(&descriptor, places, MANY, &result, error));
    CHECK(calls == 3 && result.stopped == TEXPOOL_STOP_CANCELLED && result.proof == TEXPOOL_PROOF_NONE);
    descriptor.progress = NULL;
    descriptor.deadline = 1e-6;
    OK(texpool_plan(&descriptor, places, MANY, &result, error));
    CHECK(result.stopped == TEXPOOL_STOP_DEADLINE && result.peak >= result.lower_bound);
    for (unsigned i = 0; i < MANY; i++)
        CHECK(places[i] % 64 == 0 && places[i] + many[i].bytes <= result.peak);
}

int main(int argc, char **argv)
{
    CHECK(texpool_abi_version() == TEXPOOL_ABI_VERSION);
    planner();
    models(argv[0]);
    if (argc > 1 && strcmp(argv[1], "no-adapter") == 0) {
        texpool_device *device = NULL;
        texpool_session *session = NULL;
        texpool_session_descriptor descriptor = described(NULL, SINE, sizeof SINE);
        FAILS(TEXPOOL_ERROR_NO_ADAPTER, "no GPU adapter", texpool_device_open(NULL, 0, &device, error));
        FAILS(TEXPOOL_ERROR_NO_ADAPTER, "no GPU adapter", texpool_session_create(&descriptor, &session, error));
        return 0;
    }
    arguments(argv[0]);
    options();
    texpool_device *device = NULL;
    OK(texpool_device_open(NULL, 0, &device, error));
    OK(texpool_device_check(device, error));
    plans(device);
    tensors(device);
    clamped(device);
    integers(device);
    texpool_device_release(device);
    return 0;
}
