/* Preloaded: the file of memory that does not fit (base/spill.h) is cut off as soon as it has grown, so that its pages cannot be had: what a disk
 * with an error does. */
#include <fcntl.h>
#include <unistd.h>

int posix_fallocate(int fd, off_t offset, off_t length) {
    (void)offset;
    (void)length;
    return ftruncate(fd, 0) == 0 ? 0 : 5;
}
