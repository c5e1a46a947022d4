/* Checks that creating, running and releasing sessions leaks no memory, neither in the process nor on the device. */

#include "common.h"

enum { CYCLES = 1000 };

/* 4 KiB per session, less than its smallest texture, so that a single leaked texture per session is detected. */
static const long MOST = 4096L * CYCLES;

static long resident(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status);
    char line[256];
    long kib = -1;
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmRSS: %ld kB", &kib) == 1)
            break;
    fclose(status);
    CHECK(kib > 0);
    return kib * 1024;
}

/* Creates, runs and releases one session. Returns the device memory that was reserved while it existed. */
static uint64_t one(texpool_device *device)
{
    texpool_session *session = NULL;
    texpool_session_descriptor descriptor = described(device, SINE, sizeof SINE);
    OK(texpool_session_create(&descriptor, &session, error));
    run_sine(session, 1);
    texpool_memory memory;
    memory.struct_size = sizeof memory;
    OK(texpool_session_memory(session, &memory, error));
    texpool_session_release(session);
    return memory.reserved;
}

int main(void)
{
    texpool_device *device = NULL;
    OK(texpool_device_open(NULL, 0, &device, error));
    /* The first sessions fill the caches of the driver and the allocator. */
    for (int i = 0; i < CYCLES / 4; i++)
        one(device);
    long before = resident();
    uint64_t reserved = one(device);
    for (int i = 0; i < CYCLES; i++)
        CHECK(one(device) == reserved);
    long grown = resident() - before;
    printf("%d sessions: %ld bytes more in the process, %llu bytes of the device as before\n", CYCLES, grown,
           (unsigned long long)reserved);
    CHECK(grown <= MOST);
    texpool_device_release(device);
    return 0;
}
