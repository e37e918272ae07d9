#include <spawn.h>
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

/* What a thread does that waits without sleeping, for about a microsecond: where two cores share what
 * they compute with, the other one has nearly all of it meanwhile. */
static inline void gapless_relax(void) {
    for (int i = 0; i < 16; i++)
#if defined __x86_64__
        __builtin_ia32_pause();
#elif defined __aarch64__
        __asm__ volatile("isb");
#else
        __asm__ volatile("");
#endif
}

/* Declared by <string.h> only under _GNU_SOURCE. */
extern void *memmem(const void *, size_t, const void *, size_t);

/* Declared by <spawn.h> only under _GNU_SOURCE. */
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
