/* Tests forks. In a child, using the parent's sessions and devices fails at once, but new sessions and devices work. */

#define _POSIX_C_SOURCE 200809L
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

static texpool_device *device;
static texpool_session *session;

static texpool_session *created(texpool_device *on)
{
    texpool_session *made = NULL;
    texpool_session_descriptor descriptor = described(on, SINE, sizeof SINE);
    OK(texpool_session_create(&descriptor, &made, error));
    return made;
}

static void with_the_parents(void)
{
    float values[SINE_ELEMENTS] = {0}, sines[SINE_ELEMENTS];
    texpool_input input = input_of(values, SINE_ELEMENTS);
    texpool_output output = output_of(sines, SINE_ELEMENTS);
    texpool_session *another = NULL;
    texpool_session_descriptor descriptor = described(device, SINE, sizeof SINE);
    texpool_memory memory;
    memory.struct_size = sizeof memory;
    const char *words = "before this process was forked";
    FAILS(TEXPOOL_ERROR_FORKED, words, texpool_session_run(session, &input, 1, &output, 1, error));
    FAILS(TEXPOOL_ERROR_FORKED, words, texpool_session_memory(session, &memory, error));
    FAILS(TEXPOOL_ERROR_FORKED, words, texpool_session_trim(session, error));
    FAILS(TEXPOOL_ERROR_FORKED, words, texpool_session_another(session, &another, error));
    FAILS(TEXPOOL_ERROR_FORKED, words, texpool_session_create(&descriptor, &another, error));
    FAILS(TEXPOOL_ERROR_FORKED, words, texpool_device_check(device, error));
    /* Releasing them in the child does nothing. */
    texpool_session_release(session);
    texpool_device_release(device);
}

static void with_its_own(void)
{
    texpool_session *own = created(NULL);
    run_sine(own, 1);
    texpool_session_release(own);
    texpool_device *another = NULL;
    OK(texpool_device_open(NULL, 0, &another, error));
    own = created(another);
    run_sine(own, 2);
    /* Leave the device open: a process may exit without releasing it. */
}

static void in_child(void (*work)(void))
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        /* End the child if it hangs. */
        alarm(120);
        work();
        exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

int main(void)
{
    OK(texpool_device_open(NULL, 0, &device, error));
    session = created(device);
    in_child(with_the_parents);
    run_sine(session, 1);
    in_child(with_the_parents);
    in_child(with_its_own);
    run_sine(session, 2);
    texpool_session_release(session);
    texpool_device_release(device);
    return 0;
}
