/* Makes fsync and fdatasync take SLOW_SYNC_MS more milliseconds, and while the file SLOW_SYNC_WHILE exists wait for its
 * end; that somebody waits, the file SLOW_SYNC_WHILE.waiting tells. Preloaded by the benchmarks and tests only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(long delay_ms) {
    struct timespec delay = {delay_ms / 1000, (delay_ms % 1000) * 1000000L};
    nanosleep(&delay, NULL);
}

static void wait_as_asked(void) {
    const char *text = getenv("SLOW_SYNC_MS"), *gate = getenv("SLOW_SYNC_WHILE");
    char told[4096];
    sleep_ms(text ? atol(text) : 0);
    for (int tries = 0; gate && access(gate, F_OK) == 0 && tries < 60000; tries++) {
        if (tries == 0 && snprintf(told, sizeof told, "%s.waiting", gate) < (int)sizeof told)
            close(open(told, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        sleep_ms(1);
    }
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
