/* Helpers for the test programs. A failed check prints its location and exits. */
#ifndef COMMON_H
#define COMMON_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <texpool.h>

#include "models.h"

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);   \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

/* The call must succeed. */
#define OK(call)                                                                      \
    do {                                                                              \
        texpool_error *error_ = NULL;                                                 \
        texpool_error **error = &error_;                                              \
        if ((call) != TEXPOOL_OK) {                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, texpool_error_message(error_)); \
            exit(1);                                                                  \
        }                                                                             \
        CHECK(error_ == NULL);                                                        \
    } while (0)

/* The call must fail with this status, and its message must contain these words. */
#define FAILS(expected, words, call)                                                  \
    do {                                                                              \
        texpool_error *error_ = NULL;                                                 \
        texpool_error **error = &error_;                                              \
        texpool_status status_ = (call);                                              \
        const char *message_ = texpool_error_message(error_);                         \
        if (status_ != (expected) || texpool_error_status(error_) != (expected) || !strstr(message_, (words))) { \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, texpool_status_name(status_), message_); \
            exit(1);                                                                  \
        }                                                                             \
        texpool_error_release(error_);                                                \
    } while (0)

enum { SINE_ELEMENTS = 1 * 3 * 5 * 7 };

/* Returns a descriptor for a session of a model in memory; device may be NULL. */
static inline texpool_session_descriptor described(const texpool_device *device, const void *model, size_t bytes)
{
    texpool_session_descriptor descriptor;
    memset(&descriptor, 0, sizeof descriptor);
    descriptor.struct_size = sizeof descriptor;
    descriptor.device = device;
    descriptor.model_data = model;
    descriptor.model_bytes = bytes;
    return descriptor;
}

/* Describes the input with index 0, in 32-bit floats; output_of does the same for an output. */
static inline texpool_input input_of(const float *values, size_t count)
{
    texpool_input input;
    memset(&input, 0, sizeof input);
    input.data = values;
    input.bytes = count * sizeof *values;
    input.element_type = TEXPOOL_F32;
    return input;
}

static inline texpool_output output_of(float *values, size_t count)
{
    texpool_output output;
    memset(&output, 0, sizeof output);
    output.data = values;
    output.bytes = count * sizeof *values;
    output.element_type = TEXPOOL_F32;
    return output;
}

/* Runs the sine model on numbers derived from `seed`, and checks the results. */
static inline void run_sine(texpool_session *session, unsigned seed)
{
    float values[SINE_ELEMENTS], sines[SINE_ELEMENTS];
    for (unsigned i = 0; i < SINE_ELEMENTS; i++)
        values[i] = (float)((i * 7 + seed * 13) % 61) / 20.0f - 1.5f;
    texpool_input input = input_of(values, SINE_ELEMENTS);
    texpool_output output = output_of(sines, SINE_ELEMENTS);
    OK(texpool_session_run(session, &input, 1, &output, 1, error));
    for (unsigned i = 0; i < SINE_ELEMENTS; i++)
        CHECK(fabsf(sines[i] - sinf(values[i])) < 1e-3f);
}

#endif
