/* Tests concurrent calls in all ways that the documentation allows. */

#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "common.h"

enum { RUNS = 20 };

static void *with_own_session(void *device)
{
    texpool_session *session = NULL;
    texpool_session_descriptor descriptor = described(device, SINE, sizeof SINE);
    OK(texpool_session_create(&descriptor, &session, error));
    for (unsigned i = 0; i < RUNS; i++)
        run_sine(session, i);
    texpool_session_release(session);
    return NULL;
}

/* Runs a session and then releases the reference that it was given. */
static void *with_given_session(void *session)
{
    for (unsigned i = 0; i < RUNS; i++) {
        run_sine(session, i);
        texpool_memory memory;
        memory.struct_size = sizeof memory;
        OK(texpool_session_memory(session, &memory, error));
        if (i % 8 == 7)
            OK(texpool_session_trim(session, error));
    }
    texpool_session_release(session);
    return NULL;
}

/* Shared by two threads: one runs the session, while the other releases its reference. */
struct release_in_run {
    texpool_session *session;
    pthread_barrier_t begun;
};

static void *in_a_run(void *shared)
{
    struct release_in_run *both = shared;
    float values[SINE_ELEMENTS] = {0}, sines[SINE_ELEMENTS];
    texpool_input input = input_of(values, SINE_ELEMENTS);
    texpool_output output = output_of(sines, SINE_ELEMENTS);
    /* This thread holds a reference. The other thread releases its own reference during these runs. */
    pthread_barrier_wait(&both->begun);
    for (unsigned i = 0; i < RUNS; i++)
        OK(texpool_session_run(both->session, &input, 1, &output, 1, error));
    texpool_session_release(both->session);
    return NULL;
}

static void two(void *(*work)(void *), void *a, void *b)
{
    pthread_t threads[2];
    CHECK(pthread_create(&threads[0], NULL, work, a) == 0);
    CHECK(pthread_create(&threads[1], NULL, work, b) == 0);
    CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
}

int main(void)
{
    texpool_device *device = NULL;
    OK(texpool_device_open(NULL, 0, &device, error));
    /* Two threads with separate sessions, on one device and on two. */
    two(with_own_session, device, device);
    two(with_own_session, NULL, NULL);

    /* Two threads with two sessions of the same model. */
    texpool_session *session = NULL, *another = NULL;
    texpool_session_descriptor descriptor = described(device, SINE, sizeof SINE);
    OK(texpool_session_create(&descriptor, &session, error));
    OK(texpool_session_another(session, &another, error));
    two(with_given_session, session, another);

    /* Two threads that share a session. */
    OK(texpool_session_create(&descriptor, &session, error));
    texpool_session_retain(session);
    two(with_given_session, session, session);

    /* One thread releases the session while the other runs it. */
    struct release_in_run both;
    CHECK(pthread_barrier_init(&both.begun, NULL, 2) == 0);
    OK(texpool_session_create(&descriptor, &both.session, error));
    texpool_session_retain(both.session);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, in_a_run, &both) == 0);
    pthread_barrier_wait(&both.begun);
    texpool_session_release(both.session);
    /* Release the device before its last session. */
    texpool_device_release(device);
    CHECK(pthread_join(thread, NULL) == 0);
    pthread_barrier_destroy(&both.begun);
    return 0;
}
