/* Preloaded into the command: counts the system calls on files below FAULT_DIR, and lets one of them, or all from one on,
 * fail or be cut. With FAULT_CALL, only calls like "fsync state" (the call, the file's name) count for that; with
 * FAULT_KILL_CALL, the process is killed before the next call like this one after the fault. Calls that only read count if
 * FAULT_READS is set. Keeps what a power cut would leave in FAULT_DURABLE: the bytes of each file at its last sync, and the
 * names in each directory at its last sync, both by inode. With FAULT_HASTE, sleeping takes that part of the time. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long calls, matching;
static int is_done;

enum act { PASS, FAIL, CUT };

static int is_below(const char *path) {
    const char *dir = getenv("FAULT_DIR");
    return dir && strncmp(path, dir, strlen(dir)) == 0;
}

static int is_watched(int fd, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, PATH_MAX - 1);
    if (len < 0) return 0;
    path[len] = 0;
    return is_below(path);
}

static void die(void) { syscall(SYS_kill, getpid(), SIGKILL); pause(); }

/* Whether the name of the call and the last part of its path are these two words. */
static int is_like(const char *words, const char *call, const char *path) {
    const char *name = strrchr(path, '/');
    size_t len = strlen(call);
    return strncmp(words, call, len) == 0 && words[len] == ' ' && name && strcmp(words + len + 1, name + 1) == 0;
}

/* Counts a call, and says what happens to it. `can_cut` for calls that may do a part of their work. */
static enum act act(const char *call, const char *path, int can_cut) {
    pthread_mutex_lock(&lock);
    long number = ++calls;
    pthread_mutex_unlock(&lock);
    const char *log = getenv("FAULT_LOG"), *kind = getenv("FAULT_KIND");
    if (log) {
        char line[PATH_MAX + 64];
        int len = snprintf(line, sizeof line, "%ld %s %s\n", number, call, path);
        int fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        syscall(SYS_write, fd, line, (size_t)len);
        syscall(SYS_close, fd);
    }
    long at = atol(getenv("FAULT_AT") ? getenv("FAULT_AT") : "0");
    const char *only = getenv("FAULT_CALL"), *last = getenv("FAULT_KILL_CALL");
    if (only) number = is_like(only, call, path) ? ++matching : -1;
    if (last && is_done && is_like(last, call, path)) die();
    if (!kind || at == 0 || number < at || (number > at && !getenv("FAULT_FROM"))) return PASS;
    if (strcmp(kind, "kill") == 0) die();
    if (strcmp(kind, "cut") == 0 || strcmp(kind, "cut-kill") == 0) return can_cut ? CUT : PASS;
    is_done = 1;
    errno = strcmp(kind, "ENOSPC") == 0 ? ENOSPC : strcmp(kind, "EACCES") == 0 ? EACCES : strcmp(kind, "ENOENT") == 0 ? ENOENT : strcmp(kind, "EROFS") == 0 ? EROFS : EIO;
    return FAIL;
}

static void copy_bytes(const char *path, const char *to) {
    char bytes[65536];
    int from_fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY), fd;
    fd = syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (ssize_t len; (len = syscall(SYS_read, from_fd, bytes, sizeof bytes)) > 0;) syscall(SYS_write, fd, bytes, (size_t)len);
    syscall(SYS_close, from_fd);
    syscall(SYS_close, fd);
}

static DIR *real_opendir(const char *path) {
    DIR *(*real)(const char *) = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
    return real(path);
}

static void synced(int fd, const char *path) {
    const char *durable = getenv("FAULT_DURABLE");
    struct stat status;
    char to[PATH_MAX], names[65536] = "";
    if (!durable || fstat(fd, &status) != 0) return;
    pthread_mutex_lock(&lock);
    if (!S_ISDIR(status.st_mode)) {
        snprintf(to, sizeof to, "%s/%lu", durable, (unsigned long)status.st_ino);
        copy_bytes(path, to);
    } else {
        DIR *entries = real_opendir(path);
        for (struct dirent *entry; entries && (entry = readdir(entries));)
            if (entry->d_name[0] != '.' || entry->d_name[1] > '.')
                sprintf(names + strlen(names), "%lu %s\n", (unsigned long)entry->d_ino, entry->d_name);
        if (entries) closedir(entries);
        snprintf(to, sizeof to, "%s/names-%lu", durable, (unsigned long)status.st_ino);
        int out = syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        syscall(SYS_write, out, names, strlen(names));
        syscall(SYS_close, out);
    }
    pthread_mutex_unlock(&lock);
}

static int open_file(const char *path, int flags, mode_t mode) {
    char real[PATH_MAX];
    if (path[0] == '/' ? is_below(path) : realpath(path, real) && is_below(real))
        if (act("open", path, 0) == FAIL) return -1;
    return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

#define MODE(flags, mode) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }

int open(const char *path, int flags, ...) { MODE(flags, mode) return open_file(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags, mode) return open_file(path, flags | O_LARGEFILE, mode); }

ssize_t write(int fd, const void *bytes, size_t len) {
    char path[PATH_MAX];
    if (!is_watched(fd, path)) return syscall(SYS_write, fd, bytes, len);
    switch (act("write", path, len > 1)) {
    case FAIL: return -1;
    case PASS: return syscall(SYS_write, fd, bytes, len);
    default: break;
    }
    ssize_t done = syscall(SYS_write, fd, bytes, len / 2);
    if (strcmp(getenv("FAULT_KIND"), "cut-kill") == 0) die();
    return done;
}

static int on_fd(const char *call, int fd, long number, long argument) {
    char path[PATH_MAX];
    int is_sync = number == SYS_fsync || number == SYS_fdatasync;
    if (!is_watched(fd, path)) return syscall(number, fd, argument);
    if (act(call, path, 0) == FAIL) {
        if (number == SYS_close) syscall(number, fd);
        return -1;
    }
    int result = syscall(number, fd, argument);
    if (is_sync && result == 0) synced(fd, path);
    return result;
}

int fsync(int fd) { return on_fd("fsync", fd, SYS_fsync, 0); }
int fdatasync(int fd) { return on_fd("fdatasync", fd, SYS_fdatasync, 0); }
int close(int fd) { return on_fd("close", fd, SYS_close, 0); }
int ftruncate64(int fd, off64_t len) { return on_fd("ftruncate", fd, SYS_ftruncate, len); }
int ftruncate(int fd, off_t len) { return on_fd("ftruncate", fd, SYS_ftruncate, len); }
int fchmod(int fd, mode_t mode) { return on_fd("fchmod", fd, SYS_fchmod, mode); }

int rename(const char *from, const char *to) {
    if (is_below(to) && act("rename", to, 0) == FAIL) return -1;
    return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path) {
    if (is_below(path) && act("unlink", path, 0) == FAIL) return -1;
    return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

DIR *opendir(const char *path) {
    if (getenv("FAULT_READS") && is_below(path) && act("opendir", path, 0) == FAIL) return NULL;
    return real_opendir(path);
}

static int fails_to_read(const char *call, int fd) {
    char path[PATH_MAX];
    return getenv("FAULT_READS") && is_watched(fd, path) && act(call, path, 0) == FAIL;
}

ssize_t read(int fd, void *bytes, size_t len) {
    return fails_to_read("read", fd) ? -1 : syscall(SYS_read, fd, bytes, len);
}

ssize_t pread64(int fd, void *bytes, size_t len, off64_t at) {
    return fails_to_read("pread", fd) ? -1 : syscall(SYS_pread64, fd, bytes, len, at);
}

off64_t lseek64(int fd, off64_t at, int whence) {
    return fails_to_read("lseek", fd) ? -1 : syscall(SYS_lseek, fd, at, whence);
}

int statx(int fd, const char *path, int flags, unsigned mask, struct statx *status) {
    const char *volatile name = path; /* Programs ask with none whether there is this call. */
    int has_name = name && *name;
    int fails = has_name ? getenv("FAULT_READS") && is_below(path) && act("statx", path, 0) == FAIL : fails_to_read("statx", fd);
    return fails ? -1 : syscall(SYS_statx, fd, path, flags, mask, status);
}

static struct timespec in_haste(const struct timespec *wanted) {
    long haste = getenv("FAULT_HASTE") ? atol(getenv("FAULT_HASTE")) : 1;
    long nanos = (wanted->tv_sec * 1000000000L + wanted->tv_nsec) / haste;
    return (struct timespec){nanos / 1000000000L, nanos % 1000000000L};
}

int nanosleep(const struct timespec *wanted, struct timespec *left) {
    struct timespec shorter = in_haste(wanted);
    return syscall(SYS_nanosleep, &shorter, left);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left) {
    struct timespec shorter = flags & TIMER_ABSTIME ? *wanted : in_haste(wanted);
    return syscall(SYS_clock_nanosleep, clock, flags, &shorter, left) == 0 ? 0 : errno;
}
