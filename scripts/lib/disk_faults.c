/* Injects errors of a disk into one process; scripts/disk-faults loads it with LD_PRELOAD. Only operations on files
   whose path begins with DISK_FAULTS_PREFIX fail or are counted. Variables:

   DISK_FAULTS_PREFIX   beginning of the paths, absolute
   DISK_FAULTS_KIND     write, short (half of the bytes are written, then the error), sync, truncate, or name (rename,
                        link, unlink)
   DISK_FAULTS_AT       number of the operation of this kind that fails, from 1
   DISK_FAULTS_ERROR    EIO or ENOSPC
   DISK_FAULTS_MODE     once, or always: from this operation on
   DISK_FAULTS_SWITCH   operations fail and are counted only while this file exists; default: always
   DISK_FAULTS_LOG      file to which each injected error is appended
   DISK_FAULTS_DURABLE  folder with the content that would survive a power failure. Each sync copies the pages written
                        since the last one to it. A sync that fails drops them, as Linux does: it marks them as clean,
                        so that no later sync writes them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096
#define MAX_FILES 64

/* A file, and its pages written since the last sync. */
struct file {
  dev_t device;
  ino_t inode;
  unsigned char *dirty;
  size_t pages;
};

static struct file files[MAX_FILES];
static size_t file_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long count;
static int half_written;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static const char *setting(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

static int is_ours(const char *path) {
  const char *prefix = setting("DISK_FAULTS_PREFIX");
  return *prefix && !strncmp(path, prefix, strlen(prefix));
}

/* Writes the path of a descriptor to `path`. Returns 0 if the file is not ours. */
static int path_of(int fd, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_ours(path);
}

/* Writes the absolute path of a name to `path`. Returns 0 if it is not ours. */
static int path_at(int directory, const char *name, char *path) {
  char folder[PATH_MAX] = "";
  if (*name == '/') {
    snprintf(path, PATH_MAX, "%s", name);
    return is_ours(path);
  }
  if (directory == AT_FDCWD) {
    if (!getcwd(folder, sizeof folder)) return 0;
  } else {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    ssize_t length = readlink(link, folder, sizeof folder - 1);
    if (length < 0) return 0;
    folder[length] = 0;
  }
  if (strlen(folder) + strlen(name) + 2 > PATH_MAX) return 0;
  memcpy(stpcpy(stpcpy(path, folder), "/"), name, strlen(name) + 1);
  return is_ours(path);
}

static void report(const char *operation, const char *path) {
  char line[PATH_MAX + 64];
  int length = snprintf(line, sizeof line, "%s %s\n", operation, path);
  int out = REAL(open)(setting("DISK_FAULTS_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (out < 0) return;
  if (REAL(write)(out, line, length) < 0) perror("disk_faults");
  REAL(close)(out);
}

/* Returns 1 if this operation must fail, with errno set. */
static int fails(const char *kind, const char *path) {
  const char *wanted = setting("DISK_FAULTS_KIND"), *on = setting("DISK_FAULTS_SWITCH");
  int is_short = !strcmp(wanted, "short");
  int saved = errno;
  if (strcmp(kind, is_short ? "write" : wanted) || (*on && access(on, F_OK))) {
    errno = saved;
    return 0;
  }
  pthread_mutex_lock(&lock);
  count++;
  long at = atol(setting("DISK_FAULTS_AT"));
  int now = at > 0 && (count == at || (count > at && !strcmp(setting("DISK_FAULTS_MODE"), "always")));
  pthread_mutex_unlock(&lock);
  if (now) report(wanted, path);
  errno = !now ? saved : !strcmp(setting("DISK_FAULTS_ERROR"), "ENOSPC") ? ENOSPC : EIO;
  return now;
}

/* Returns 1 if this write must fail. Sets `length` to the number of bytes that a short write still writes: the next
   write is that of the rest, and fails. */
static int write_fails(const char *path, size_t *length) {
  if (half_written) {
    half_written = 0;
    errno = !strcmp(setting("DISK_FAULTS_ERROR"), "ENOSPC") ? ENOSPC : EIO;
    return 1;
  }
  if (!fails("write", path)) return 0;
  if (strcmp(setting("DISK_FAULTS_KIND"), "short") || *length < 2) return 1;
  *length /= 2;
  half_written = 1;
  return 0;
}

/* The durable file of a path, or 0 for files that a power failure removes or makes worthless. */
static int durable_path(const char *path, char *durable) {
  const char *folder = setting("DISK_FAULTS_DURABLE"), *name = path + strlen(setting("DISK_FAULTS_PREFIX"));
  size_t length = strlen(name);
  if (!*folder || strchr(name, '/') || strlen(folder) + length + 2 > PATH_MAX) return 0;
  if (length >= 4 && !strcmp(name + length - 4, "-shm")) return 0;
  memcpy(stpcpy(stpcpy(durable, folder), "/"), name, length + 1);
  return 1;
}

static struct file *file_of(int fd) {
  struct stat status;
  if (fstat(fd, &status) || !S_ISREG(status.st_mode)) return NULL;
  for (size_t i = 0; i < file_count; i++)
    if (files[i].device == status.st_dev && files[i].inode == status.st_ino) return &files[i];
  if (file_count == MAX_FILES) abort();
  files[file_count].device = status.st_dev;
  files[file_count].inode = status.st_ino;
  return &files[file_count++];
}

static void mark_dirty(int fd, const char *path, off_t offset, ssize_t length) {
  char durable[PATH_MAX];
  if (length <= 0 || !durable_path(path, durable)) return;
  pthread_mutex_lock(&lock);
  struct file *file = file_of(fd);
  size_t first = offset / PAGE, end = (offset + length - 1) / PAGE + 1;
  if (file && file->pages < end) {
    file->dirty = realloc(file->dirty, end);
    if (!file->dirty) abort();
    memset(file->dirty + file->pages, 0, end - file->pages);
    file->pages = end;
  }
  if (file) memset(file->dirty + first, 1, end - first);
  pthread_mutex_unlock(&lock);
}

/* Copies the dirty pages to the durable file, or drops them. */
static void end_sync(int fd, const char *path, int is_written) {
  char durable[PATH_MAX], page[PAGE];
  struct stat status;
  if (!durable_path(path, durable)) return;
  pthread_mutex_lock(&lock);
  struct file *file = file_of(fd);
  int out = file && is_written ? REAL(open)(durable, O_WRONLY | O_CREAT, 0600) : -1;
  /* The descriptor may be of a file that has been opened for writing only. */
  int in = out < 0 ? -1 : REAL(open)(path, O_RDONLY);
  for (size_t i = 0; in >= 0 && i < file->pages; i++) {
    if (!file->dirty[i]) continue;
    ssize_t length = pread(in, page, PAGE, (off_t)i * PAGE);
    if (length > 0 && REAL(pwrite64)(out, page, length, (off_t)i * PAGE) != length) abort();
  }
  if (in >= 0 && !fstat(in, &status) && REAL(ftruncate)(out, status.st_size)) abort();
  if (file && file->dirty) memset(file->dirty, 0, file->pages);
  if (in >= 0) REAL(close)(in);
  if (out >= 0) REAL(close)(out);
  pthread_mutex_unlock(&lock);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  char path[PATH_MAX];
  if (!path_of(fd, path)) return REAL(write)(fd, bytes, length);
  if (write_fails(path, &length)) return -1;
  ssize_t written = REAL(write)(fd, bytes, length);
  mark_dirty(fd, path, lseek(fd, 0, SEEK_CUR) - written, written);
  return written;
}

ssize_t writev(int fd, const struct iovec *parts, int part_count) {
  char path[PATH_MAX];
  size_t length = 0;
  if (!path_of(fd, path)) return REAL(writev)(fd, parts, part_count);
  if (write_fails(path, &length)) return -1;
  ssize_t written = REAL(writev)(fd, parts, part_count);
  mark_dirty(fd, path, lseek(fd, 0, SEEK_CUR) - written, written);
  return written;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
  char path[PATH_MAX];
  if (!path_of(fd, path)) return REAL(pwrite64)(fd, bytes, length, offset);
  if (write_fails(path, &length)) return -1;
  ssize_t written = REAL(pwrite64)(fd, bytes, length, offset);
  mark_dirty(fd, path, offset, written);
  return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return pwrite64(fd, bytes, length, offset); }

ssize_t pwritev(int fd, const struct iovec *parts, int part_count, off_t offset) {
  char path[PATH_MAX];
  size_t length = 0;
  if (!path_of(fd, path)) return REAL(pwritev)(fd, parts, part_count, offset);
  if (write_fails(path, &length)) return -1;
  ssize_t written = REAL(pwritev)(fd, parts, part_count, offset);
  mark_dirty(fd, path, offset, written);
  return written;
}

static int sync_file(int fd, int (*real)(int)) {
  char path[PATH_MAX];
  if (!path_of(fd, path)) return real(fd);
  if (fails("sync", path)) {
    int error = errno;
    end_sync(fd, path, 0);
    errno = error;
    return -1;
  }
  int result = real(fd);
  end_sync(fd, path, result == 0);
  return result;
}

int fsync(int fd) { return sync_file(fd, REAL(fsync)); }

int fdatasync(int fd) { return sync_file(fd, REAL(fdatasync)); }

int ftruncate64(int fd, off64_t length) {
  char path[PATH_MAX], durable[PATH_MAX];
  if (!path_of(fd, path)) return REAL(ftruncate64)(fd, length);
  if (fails("truncate", path)) return -1;
  if (durable_path(path, durable) && truncate64(durable, length) && errno != ENOENT) abort();
  return REAL(ftruncate64)(fd, length);
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
  char path[PATH_MAX];
  if (path_of(fd, path) && fails("truncate", path)) return -1;
  return REAL(fallocate64)(fd, mode, offset, length);
}

int fallocate(int fd, int mode, off_t offset, off_t length) { return fallocate64(fd, mode, offset, length); }

int posix_fallocate64(int fd, off64_t offset, off64_t length) {
  char path[PATH_MAX];
  if (path_of(fd, path) && fails("truncate", path)) return errno;
  return REAL(posix_fallocate64)(fd, offset, length);
}

int posix_fallocate(int fd, off_t offset, off_t length) { return posix_fallocate64(fd, offset, length); }

int rename(const char *from, const char *to) {
  char path[PATH_MAX];
  if (path_at(AT_FDCWD, from, path) && fails("name", path)) return -1;
  return REAL(rename)(from, to);
}

int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) {
  char path[PATH_MAX];
  if (path_at(from_directory, from, path) && fails("name", path)) return -1;
  return REAL(linkat)(from_directory, from, to_directory, to, flags);
}

int unlinkat(int directory, const char *name, int flags) {
  char path[PATH_MAX], durable[PATH_MAX];
  int ours = path_at(directory, name, path);
  if (ours && fails("name", path)) return -1;
  if (ours && durable_path(path, durable)) REAL(unlinkat)(AT_FDCWD, durable, 0);
  return REAL(unlinkat)(directory, name, flags);
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
