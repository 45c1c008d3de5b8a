/* Makes fsync and fdatasync take SLOW_SYNC_MS more milliseconds. Built and preloaded by the benchmarks only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_as_asked(void) {
    const char *text = getenv("SLOW_SYNC_MS");
    long delay_ms = text ? atol(text) : 0;
    struct timespec delay = {delay_ms / 1000, (delay_ms % 1000) * 1000000L};
    nanosleep(&delay, NULL);
}

int fsync(int descriptor) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_as_asked();
    return real(descriptor);
}

int fdatasync(int descriptor) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_as_asked();
    return real(descriptor);
}
