/* Preloaded into the workers of a test: a disk that fails one process. The file named by LINAC_TEST_DISK says how: "PID stuck" (fsync of a
   checkpoint and reads of HDF5 files never return), "PID held" (fsync of a checkpoint returns when the file says something else), "PID best"
   (the same of the best checkpoint), "PID all" (the same of all files), "PID slow" (fsync takes half a second) or "PID full" (writes to files
   fail with ENOSPC). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fails(const char* way) {
  const char* path = getenv("LINAC_TEST_DISK");
  FILE* file = path == NULL ? NULL : fopen(path, "r");
  int pid = 0;
  char found[16] = "";
  if (file == NULL) return 0;
  const int fields = fscanf(file, "%d %15s", &pid, found);
  fclose(file);
  return fields == 2 && pid == (int)getpid() && strcmp(found, way) == 0;
}

static int is_file(int descriptor) {
  struct stat about;
  return fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
}

static int has_in_its_path(int descriptor, const char* text) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size <= 0) return 0;
  path[size] = 0;
  return strstr(path, text) != NULL;
}

static void wait_for_ever(void) {
  int ends[2];
  char byte;
  if (pipe(ends) == 0) {
    ssize_t (*next)(int, void*, size_t) = dlsym(RTLD_NEXT, "read");
    for (;;) next(ends[0], &byte, 1);
  }
}

int fsync(int descriptor) {
  if (has_in_its_path(descriptor, "/checkpoints/step-") && fails("stuck")) wait_for_ever();
  while (has_in_its_path(descriptor, "/checkpoints/step-") && fails("held")) usleep(5000);
  while (has_in_its_path(descriptor, "/checkpoints/best.") && fails("best")) usleep(5000);
  while (fails("all")) usleep(5000);
  if (fails("slow")) usleep(500000);
  int (*next)(int) = dlsym(RTLD_NEXT, "fsync");
  return next(descriptor);
}

ssize_t pread64(int descriptor, void* bytes, size_t size, off_t offset) {
  if (has_in_its_path(descriptor, ".h5") && fails("stuck")) wait_for_ever();
  ssize_t (*next)(int, void*, size_t, off_t) = dlsym(RTLD_NEXT, "pread64");
  return next(descriptor, bytes, size, offset);
}

ssize_t pread(int descriptor, void* bytes, size_t size, off_t offset) {
  return pread64(descriptor, bytes, size, offset);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  if (is_file(descriptor) && fails("full")) {
    errno = ENOSPC;
    return -1;
  }
  ssize_t (*next)(int, const void*, size_t) = dlsym(RTLD_NEXT, "write");
  return next(descriptor, bytes, size);
}
