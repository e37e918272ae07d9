#include <stddef.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The wrapper of this call is declared only under _GNU_SOURCE, which comes too late in a module;
 * and its mask is made by macros. Threads and processes started later inherit the pin. */
static inline int gapless_pin(int core) {
    unsigned long mask[16] = {0};
    size_t bits = 8 * sizeof mask[0];
    if (core < 0 || (size_t)core >= 16 * bits) return -1;
    mask[core / bits] = 1ul << (core % bits);
    return (int)syscall(SYS_sched_setaffinity, 0, sizeof mask, mask);
}

/* Declared by <string.h> only under _GNU_SOURCE. */
extern void *memmem(const void *, size_t, const void *, size_t);
