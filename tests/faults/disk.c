// A disk that fails, fills up, is slow, kills its process at the n-th call, and says what of it a
// loss of power would leave. Loaded before others into a process whose files lie under a directory.
//
// ARGOSY_TEST_DISK names a file of `struct control`; ARGOSY_TEST_SYNCED a directory for what was
// synced: journal (lines "F inode generation copy", "D inode copy", "N inode") and the copies.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kWrite = 1, kSync = 2, kSyncDirectory = 4, kName = 8 };

// tests/faults/disk.py writes it.
struct control {
  int64_t calls;    // so far
  int64_t kill_at;  // 0: never; dies before this call
  int64_t torn;     // where that call writes, half of it is written first
  int64_t error;    // 0: none
  int64_t which;    // of the calls above, those that fail
  int64_t delay;    // of syncs, in microseconds
  int64_t journal;  // whether what is synced is kept
  int64_t copies;
  int64_t skip;     // so many that would fail do not
  char match[192];  // part of the path; empty: all
  char root[512];
};

static struct control* control;
static const char* synced;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void start(void) {
  const char* path = getenv("ARGOSY_TEST_DISK");
  synced = getenv("ARGOSY_TEST_SYNCED");
  const int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR) : -1;
  if (fd < 0) return;
  void* at = mmap(0, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  syscall(SYS_close, fd);
  if (at != MAP_FAILED) control = at;
}

static int below_root(const char* path) {
  const size_t n = strlen(control->root);
  return !strncmp(path, control->root, n) && (path[n] == '/' || !path[n]);
}

static int path_of(int fd, char* path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, PATH_MAX - 1);
  if (n <= 0) return 0;
  path[n] = 0;
  return path[0] == '/' && below_root(path);
}

// Of a name that a call was given. Whether it lies under the root.
static int path_at(int directory, const char* name, char* path) {
  if (name[0] == '/') {
    snprintf(path, PATH_MAX, "%s", name);
    return below_root(path);
  }
  if (directory == AT_FDCWD) {
    if (!getcwd(path, PATH_MAX)) return 0;
  } else if (!path_of(directory, path)) {
    return 0;
  }
  const size_t n = strlen(path);
  if (n + strlen(name) + 2 > PATH_MAX) return 0;
  path[n] = '/';
  strcpy(path + n + 1, name);
  return below_root(path);
}

static void die(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) pause();
}

// The error that the call must end with, or 0.
static int fate(int which, const char* path, int* torn) {
  const int64_t n = __atomic_add_fetch(&control->calls, 1, __ATOMIC_SEQ_CST);
  if (control->kill_at && n == control->kill_at) {
    if (torn && control->torn)
      *torn = 1;
    else
      die();
  }
  const int hit = !control->match[0] || strstr(path, control->match) != 0;
  if (control->delay && hit && which & (kSync | kSyncDirectory)) usleep((useconds_t)control->delay);
  if (!control->error || !hit || !(control->which & which)) return 0;
  if (__atomic_sub_fetch(&control->skip, 1, __ATOMIC_SEQ_CST) >= 0) return 0;
  return (int)control->error;
}

static void note(const char* line) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/journal", synced);
  const int fd =
      (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0 || syscall(SYS_write, fd, line, strlen(line)) < 0) abort();
  syscall(SYS_close, fd);
}

static int make_copy(int64_t* number) {
  char path[PATH_MAX];
  *number = __atomic_add_fetch(&control->copies, 1, __ATOMIC_SEQ_CST);
  snprintf(path, sizeof path, "%s/%lld", synced, (long long)*number);
  const int fd =
      (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) abort();
  return fd;
}

// What there was before the call: it is what a sync that comes back has made safe.
static void keep_file(const char* from, const struct stat* info) {
  char line[128], buffer[65536];
  int64_t number;
  const int in = (int)syscall(SYS_openat, AT_FDCWD, from, O_RDONLY | O_CLOEXEC);
  if (in < 0) return;  // it has no name any more
  const int out = make_copy(&number);
  for (;;) {
    const ssize_t n = read(in, buffer, sizeof buffer);
    if (n <= 0) break;
    if (syscall(SYS_write, out, buffer, n) != n) abort();
  }
  syscall(SYS_close, in);
  syscall(SYS_close, out);
  snprintf(line, sizeof line, "F %llu %lld\n", (unsigned long long)info->st_ino, (long long)number);
  note(line);
}

static void keep_directory(const char* path, const struct stat* info) {
  char line[128], entry[PATH_MAX + 32];
  int64_t number;
  DIR* directory = opendir(path);
  if (!directory) return;
  const int out = make_copy(&number);
  for (struct dirent* d; (d = readdir(directory));) {
    struct stat at;
    if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..")) continue;
    if (fstatat(dirfd(directory), d->d_name, &at, AT_SYMLINK_NOFOLLOW)) continue;
    const int n = snprintf(entry, sizeof entry, "%llu %c %s\n", (unsigned long long)at.st_ino,
                           S_ISDIR(at.st_mode) ? 'd' : 'f', d->d_name);
    if (syscall(SYS_write, out, entry, n) != n) abort();
  }
  closedir(directory);
  syscall(SYS_close, out);
  snprintf(line, sizeof line, "D %llu %lld\n", (unsigned long long)info->st_ino, (long long)number);
  note(line);
}

// A number of a file that was removed may come again.
static void keep_new(const struct stat* info) {
  char line[64];
  snprintf(line, sizeof line, "N %llu\n", (unsigned long long)info->st_ino);
  note(line);
}

static int sync_call(int fd, long number) {
  char path[PATH_MAX];
  struct stat info;
  if (!control || !path_of(fd, path) || fstat(fd, &info)) return (int)syscall(number, fd);
  const int error = fate(S_ISDIR(info.st_mode) ? kSyncDirectory : kSync, path, 0);
  if (error) {
    errno = error;
    return -1;
  }
  const int keep = control->journal && synced;
  if (keep) {
    pthread_mutex_lock(&lock);
    S_ISDIR(info.st_mode) ? keep_directory(path, &info) : keep_file(path, &info);
    pthread_mutex_unlock(&lock);
  }
  return (int)syscall(number, fd);
}

int fsync(int fd) {
  return sync_call(fd, SYS_fsync);
}
int fdatasync(int fd) {
  return sync_call(fd, SYS_fdatasync);
}
int syncfs(int fd) {
  return sync_call(fd, SYS_syncfs);
}

// --- writes ---

static ssize_t total(const struct iovec* parts, int count) {
  ssize_t sum = 0;
  for (int i = 0; i < count; ++i) sum += (ssize_t)parts[i].iov_len;
  return sum;
}

#define WRITE(fd, whole, half)                     \
  do {                                             \
    char path[PATH_MAX];                           \
    int torn = 0;                                  \
    if (control && path_of(fd, path)) {            \
      const int error = fate(kWrite, path, &torn); \
      if (torn) {                                  \
        (void)(half);                              \
        die();                                     \
      }                                            \
      if (error) {                                 \
        errno = error;                             \
        return -1;                                 \
      }                                            \
    }                                              \
    return whole;                                  \
  } while (0)

ssize_t write(int fd, const void* from, size_t n) {
  WRITE(fd, syscall(SYS_write, fd, from, n), syscall(SYS_write, fd, from, n / 2));
}
ssize_t pwrite(int fd, const void* from, size_t n, off_t at) {
  WRITE(fd, syscall(SYS_pwrite64, fd, from, n, at), syscall(SYS_pwrite64, fd, from, n / 2, at));
}
ssize_t pwrite64(int fd, const void* from, size_t n, off64_t at) {
  return pwrite(fd, from, n, at);
}
ssize_t writev(int fd, const struct iovec* parts, int count) {
  WRITE(fd, syscall(SYS_writev, fd, parts, count),
        syscall(SYS_write, fd, parts[0].iov_base, (size_t)total(parts, 1) / 2));
}
ssize_t pwritev(int fd, const struct iovec* parts, int count, off_t at) {
  WRITE(fd, syscall(SYS_pwritev, fd, parts, count, at, 0),
        syscall(SYS_pwrite64, fd, parts[0].iov_base, (size_t)total(parts, 1) / 2, at));
}
ssize_t pwritev64(int fd, const struct iovec* parts, int count, off64_t at) {
  return pwritev(fd, parts, count, at);
}
int ftruncate(int fd, off_t size) {
  WRITE(fd, (int)syscall(SYS_ftruncate, fd, size), 0);
}
int ftruncate64(int fd, off64_t size) {
  return ftruncate(fd, size);
}
int fallocate(int fd, int mode, off_t at, off_t size) {
  WRITE(fd, (int)syscall(SYS_fallocate, fd, mode, at, size), 0);
}
int fallocate64(int fd, int mode, off64_t at, off64_t size) {
  return fallocate(fd, mode, at, size);
}

// --- names ---

static int open_call(int directory, const char* name, int flags, mode_t mode) {
  char path[PATH_MAX];
  struct stat info;
  if (!control || !(flags & O_CREAT) || !path_at(directory, name, path))
    return (int)syscall(SYS_openat, directory, name, flags, mode);
  const int fresh = syscall(SYS_newfstatat, directory, name, &info, 0) != 0;
  const int error = fresh ? fate(kName, path, 0) : 0;
  if (error) {
    errno = error;
    return -1;
  }
  const int fd = (int)syscall(SYS_openat, directory, name, flags, mode);
  if (fd >= 0 && fresh && control->journal && synced && !fstat(fd, &info)) keep_new(&info);
  return fd;
}

#define OPEN(directory, name, flags)                \
  do {                                              \
    mode_t mode = 0;                                \
    if ((flags) & (O_CREAT | O_TMPFILE)) {          \
      va_list list;                                 \
      va_start(list, flags);                        \
      mode = va_arg(list, mode_t);                  \
      va_end(list);                                 \
    }                                               \
    return open_call(directory, name, flags, mode); \
  } while (0)

int open(const char* name, int flags, ...) {
  OPEN(AT_FDCWD, name, flags);
}
int open64(const char* name, int flags, ...) {
  OPEN(AT_FDCWD, name, flags);
}
int openat(int directory, const char* name, int flags, ...) {
  OPEN(directory, name, flags);
}
int openat64(int directory, const char* name, int flags, ...) {
  OPEN(directory, name, flags);
}
int creat(const char* name, mode_t mode) {
  return open_call(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

#define NAME(directory, name, call)                  \
  do {                                               \
    char path[PATH_MAX];                             \
    if (control && path_at(directory, name, path)) { \
      const int error = fate(kName, path, 0);        \
      if (error) {                                   \
        errno = error;                               \
        return -1;                                   \
      }                                              \
    }                                                \
    return (int)(call);                              \
  } while (0)

int renameat(int a, const char* from, int b, const char* to) {
  NAME(b, to, syscall(SYS_renameat, a, from, b, to));
}
int rename(const char* from, const char* to) {
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}
int unlinkat(int directory, const char* name, int flags) {
  NAME(directory, name, syscall(SYS_unlinkat, directory, name, flags));
}
int unlink(const char* name) {
  return unlinkat(AT_FDCWD, name, 0);
}
int rmdir(const char* name) {
  return unlinkat(AT_FDCWD, name, AT_REMOVEDIR);
}
int mkdirat(int directory, const char* name, mode_t mode) {
  char path[PATH_MAX];
  struct stat info;
  if (!control || !path_at(directory, name, path))
    return (int)syscall(SYS_mkdirat, directory, name, mode);
  const int error = fate(kName, path, 0);
  if (error) {
    errno = error;
    return -1;
  }
  const int result = (int)syscall(SYS_mkdirat, directory, name, mode);
  if (!result && control->journal && synced && !syscall(SYS_newfstatat, directory, name, &info, 0))
    keep_new(&info);
  return result;
}
int mkdir(const char* name, mode_t mode) {
  return mkdirat(AT_FDCWD, name, mode);
}
