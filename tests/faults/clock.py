"""A wall clock that jumps: a library that processes load before others, and a file with the offset."""

import os
import shutil
import subprocess

__all__ = ["build", "jump"]

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long* offset;
static int (*real)(clockid_t, struct timespec*);

__attribute__((constructor)) static void start(void) {
  real = dlsym(RTLD_NEXT, "clock_gettime");
  const char* path = getenv("ARGOSY_TEST_CLOCK");
  int fd = path ? open(path, O_RDONLY) : -1;
  void* at = fd < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ, MAP_SHARED, fd, 0);
  if (fd >= 0) close(fd);
  if (at != MAP_FAILED) offset = at;
}

int clock_gettime(clockid_t id, struct timespec* to) {
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, to);
  if (!result && id == CLOCK_REALTIME && offset) to->tv_sec += *offset;
  return result;
}

int gettimeofday(struct timeval* to, void* zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  to->tv_sec = now.tv_sec;
  to->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to) *to = now.tv_sec;
  return now.tv_sec;
}
"""


def build(directory):
    """The library's path; None where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        return None
    library = os.path.join(directory, "clock.so")
    command = [compiler, "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", library, "-ldl"]
    subprocess.run(command, input=_SOURCE, text=True, check=True)
    return library


def jump(path, seconds):
    """Sets how far the clock is off."""
    with open(path, "r+b" if os.path.exists(path) else "wb") as file:
        file.write(seconds.to_bytes(8, "little", signed=True))
