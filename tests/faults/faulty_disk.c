/* Makes calls that write, sync, open or punch fail as a plan says. Built and preloaded by tests only.
 *
 * FAULTY_DISK names the plan, a text that is read at each call and may be absent: one fault a line, of five words
 *
 *     CALL NAME ERROR SKIP COUNT
 *
 * CALL is write, sync, open or punch; NAME a part of the file's path; ERROR a number of errno, or 0 for a write that
 * takes only half of what it is given. The first SKIP calls that fit go well, the COUNT after them fail (-1: all).
 * What was counted is forgotten when the text changes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define MOST_FAULTS 8
#define REAL(name) ((__typeof__(&name))find_real(#name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char known[1024];
static long counted[MOST_FAULTS];

static void *find_real(const char *name) { return dlsym(RTLD_NEXT, name); }

/* By system calls, which nothing here gets in the way of. */
static int read_plan(char *text, size_t room) {
    const char *path = getenv("FAULTY_DISK");
    if (!path) return 0;
    long descriptor = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (descriptor < 0) return 0;
    long length = syscall(SYS_read, (int)descriptor, text, room - 1);
    syscall(SYS_close, (int)descriptor);
    if (length <= 0) return 0;
    text[length] = 0;
    return 1;
}

/* The error that a call on a path is to have, 0 for half a write, -1 for none. */
static int find_fault(const char *call, const char *path) {
    char text[sizeof known], *rest = NULL;
    int found = -1, before = errno;
    if (!read_plan(text, sizeof text)) {
        errno = before;
        return -1;
    }
    pthread_mutex_lock(&lock);
    if (strcmp(text, known) != 0) {
        strcpy(known, text);
        memset(counted, 0, sizeof counted);
    }
    int number = 0;
    for (char *line = strtok_r(text, "\n", &rest); line && number < MOST_FAULTS; line = strtok_r(NULL, "\n", &rest)) {
        char wanted[16], name[256];
        int error;
        long skip, count;
        if (sscanf(line, "%15s %255s %d %ld %ld", wanted, name, &error, &skip, &count) != 5) continue;
        long *calls = &counted[number++];
        if (strcmp(wanted, call) != 0 || !strstr(path, name)) continue;
        long turn = (*calls)++;
        if (found < 0 && turn >= skip && (count < 0 || turn < skip + count)) found = error;
    }
    pthread_mutex_unlock(&lock);
    errno = before;
    return found;
}

static int find_fault_of(const char *call, int descriptor) {
    char link[64], path[4096];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length <= 0 || path[0] != '/') return -1;
    path[length] = 0;
    return find_fault(call, path);
}

#define FAIL(fault) do { errno = (fault); return -1; } while (0)

ssize_t write(int descriptor, const void *data, size_t length) {
    int fault = find_fault_of("write", descriptor);
    if (fault > 0) FAIL(fault);
    return REAL(write)(descriptor, data, fault == 0 && length > 1 ? length / 2 : length);
}

ssize_t pwrite(int descriptor, const void *data, size_t length, off_t at) {
    int fault = find_fault_of("write", descriptor);
    if (fault > 0) FAIL(fault);
    return REAL(pwrite)(descriptor, data, fault == 0 && length > 1 ? length / 2 : length, at);
}

ssize_t pwrite64(int descriptor, const void *data, size_t length, off64_t at) {
    int fault = find_fault_of("write", descriptor);
    if (fault > 0) FAIL(fault);
    return REAL(pwrite64)(descriptor, data, fault == 0 && length > 1 ? length / 2 : length, at);
}

int fsync(int descriptor) {
    int fault = find_fault_of("sync", descriptor);
    if (fault > 0) FAIL(fault);
    return REAL(fsync)(descriptor);
}

int fdatasync(int descriptor) {
    int fault = find_fault_of("sync", descriptor);
    if (fault > 0) FAIL(fault);
    return REAL(fdatasync)(descriptor);
}

int fallocate(int descriptor, int mode, off_t from, off_t length) {
    int fault = find_fault_of("punch", descriptor);
    if (fault > 0) FAIL(fault);
    return REAL(fallocate)(descriptor, mode, from, length);
}

int fallocate64(int descriptor, int mode, off64_t from, off64_t length) {
    int fault = find_fault_of("punch", descriptor);
    if (fault > 0) FAIL(fault);
    return REAL(fallocate64)(descriptor, mode, from, length);
}

static mode_t take_mode(int flags, va_list more) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}

#define OPENING(name)                                       \
    int name(const char *path, int flags, ...) {            \
        va_list more;                                       \
        va_start(more, flags);                              \
        mode_t mode = take_mode(flags, more);               \
        va_end(more);                                       \
        int fault = find_fault("open", path);               \
        if (fault > 0) FAIL(fault);                         \
        return REAL(name)(path, flags, mode);               \
    }

OPENING(open)
OPENING(open64)
