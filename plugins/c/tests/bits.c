/* Runs a model on reproducible numbers, and writes the inputs as .npy files and the outputs as raw bytes, for comparison
 * with the results of the command. `bits MODEL FOLDER [OPTION=VALUE]...` */

#include "common.h"

static FILE *opened(const char *folder, const char *kind, size_t index, const char *ending)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s%zu.%s", folder, kind, index, ending);
    CHECK(length > 0 && (size_t)length < sizeof path);
    FILE *file = fopen(path, "wb");
    CHECK(file);
    return file;
}

static void write_npy(const char *folder, size_t index, const texpool_tensor_info *info, const void *values)
{
    char header[1024];
    int length = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                          info->element_type == TEXPOOL_F32 ? "<f4" : info->element_type == TEXPOOL_I64 ? "<i8" : "<i4");
    for (size_t axis = 0; axis < info->rank; axis++)
        length += snprintf(header + length, sizeof header - (size_t)length, "%zu, ", info->dims[axis]);
    length += snprintf(header + length, sizeof header - (size_t)length, "), }");
    while ((length + 11) % 64 != 0)
        header[length++] = ' ';
    header[length++] = '\n';
    FILE *file = opened(folder, "in", index, "npy");
    CHECK(fwrite("\x93NUMPY\1\0", 1, 8, file) == 8);
    CHECK(fputc(length & 255, file) != EOF && fputc(length >> 8, file) != EOF);
    CHECK(fwrite(header, 1, (size_t)length, file) == (size_t)length);
    CHECK(fwrite(values, 1, info->bytes, file) == info->bytes);
    CHECK(fclose(file) == 0);
}

static void *allocated(size_t bytes)
{
    void *memory = malloc(bytes);
    CHECK(memory);
    return memory;
}

/* Returns values that are valid for every model: floats from -1 to 1, word identifiers, and ones for masks. */
static void *numbers(const texpool_tensor_info *info)
{
    void *values = allocated(info->bytes);
    uint32_t state = 12345;
    for (size_t i = 0; i < info->elements; i++) {
        state = state * 1664525u + 1013904223u;
        if (info->element_type == TEXPOOL_F32)
            ((float *)values)[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
        else {
            int64_t number = strcmp(info->name, "input_ids") == 0 ? (state >> 8) % 30000 : strstr(info->name, "mask") != NULL;
            if (info->element_type == TEXPOOL_I64)
                ((int64_t *)values)[i] = number;
            else {
                CHECK(info->element_type == TEXPOOL_I32);
                ((int32_t *)values)[i] = (int32_t)number;
            }
        }
    }
    return values;
}

int main(int argc, char **argv)
{
    CHECK(argc >= 3);
    texpool_option options[8];
    size_t option_count = 0;
    for (int i = 3; i < argc && option_count < 8; i++) {
        char *value = strchr(argv[i], '=');
        CHECK(value);
        *value = '\0';
        texpool_option option = {argv[i], value + 1};
        options[option_count++] = option;
    }
    texpool_session_descriptor descriptor = described(NULL, NULL, 0);
    descriptor.model_path = argv[1];
    descriptor.options = options;
    descriptor.option_count = option_count;
    texpool_session *session = NULL;
    OK(texpool_session_create(&descriptor, &session, error));

    size_t input_count = texpool_session_input_count(session), output_count = texpool_session_output_count(session);
    texpool_input *inputs = calloc(input_count, sizeof *inputs);
    texpool_output *outputs = calloc(output_count, sizeof *outputs);
    CHECK(inputs && outputs);
    texpool_tensor_info info;
    info.struct_size = sizeof info;
    for (size_t i = 0; i < input_count; i++) {
        OK(texpool_session_input(session, i, &info, error));
        inputs[i].index = i;
        inputs[i].data = numbers(&info);
        inputs[i].bytes = info.bytes;
        inputs[i].element_type = info.element_type;
        inputs[i].dims = info.dims;
        inputs[i].rank = info.rank;
        write_npy(argv[2], i, &info, inputs[i].data);
    }
    for (size_t i = 0; i < output_count; i++) {
        OK(texpool_session_output(session, i, &info, error));
        outputs[i].name = info.name;
        outputs[i].bytes = info.bytes;
        outputs[i].data = allocated(outputs[i].bytes);
        outputs[i].element_type = info.element_type;
    }
    OK(texpool_session_run(session, inputs, input_count, outputs, output_count, error));
    for (size_t i = 0; i < output_count; i++) {
        FILE *file = opened(argv[2], "out", i, "raw");
        CHECK(fwrite(outputs[i].data, 1, outputs[i].bytes, file) == outputs[i].bytes && fclose(file) == 0);
        free(outputs[i].data);
    }
    for (size_t i = 0; i < input_count; i++)
        free((void *)inputs[i].data);
    free(inputs);
    free(outputs);
    texpool_session_release(session);
    return 0;
}
