/* The kernel's interface without liburing, which is more than is needed here: one kind of request,
 * submitted and finished within one call. A send that must not wait is finished when the call that
 * submits it returns, so nothing of a ring outlives `gapless_ring_send`: no request that still
 * points to the caller's bytes, and no result that nobody has taken. */
#define _GNU_SOURCE
#include "ring.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    /* Requests of one submission. */
    ENTRIES = 256,
    /* After a call that failed, how often and for how long results are waited for that come by
     * themselves. */
    LOOKS = 100,
    LOOK_MICROSECONDS = 1000
};

struct mapping {
    void *at;
    size_t size;
};

struct gapless_ring {
    int descriptor;
    struct mapping queue, done, entries_mapping;
    struct io_uring_sqe *entries;
    struct io_uring_cqe *results;
    unsigned *queue_head, *queue_tail, *result_head, *result_tail;
    unsigned queue_mask, result_mask;
    gapless_ring_enter enter;
    int has_failed;
};

static int map(struct gapless_ring *ring, struct mapping *mapping, size_t size, off_t offset) {
    void *at = mmap(
        NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->descriptor, offset);
    if (at == MAP_FAILED) return 0;
    *mapping = (struct mapping){at, size};
    return 1;
}

static void unmap(struct mapping *mapping) {
    if (mapping->at != NULL) munmap(mapping->at, mapping->size);
}

void gapless_ring_close(struct gapless_ring *ring) {
    if (ring == NULL) return;
    unmap(&ring->queue);
    unmap(&ring->done);
    unmap(&ring->entries_mapping);
    if (ring->descriptor >= 0) close(ring->descriptor);
    free(ring);
}

static int set_up(struct io_uring_params *given, unsigned flags) {
    memset(given, 0, sizeof *given);
    given->flags = flags;
    return (int)syscall(SYS_io_uring_setup, ENTRIES, given);
}

struct gapless_ring *gapless_ring_open(void) {
    struct gapless_ring *ring = calloc(1, sizeof *ring);
    if (ring == NULL) return NULL;
    ring->enter = gapless_ring_kernel;
    struct io_uring_params given;
    ring->descriptor = set_up(&given, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN);
    /* Kernels before 6.0 know neither flag. */
    if (ring->descriptor < 0 && errno == EINVAL) ring->descriptor = set_up(&given, 0);
    size_t queue_size = given.sq_off.array + given.sq_entries * sizeof(unsigned);
    size_t done_size = given.cq_off.cqes + given.cq_entries * sizeof(struct io_uring_cqe);
    size_t entries_size = given.sq_entries * sizeof(struct io_uring_sqe);
    if (ring->descriptor < 0 || !map(ring, &ring->queue, queue_size, IORING_OFF_SQ_RING)
        || !map(ring, &ring->done, done_size, IORING_OFF_CQ_RING)
        || !map(ring, &ring->entries_mapping, entries_size, IORING_OFF_SQES)) {
        int reason = errno;
        gapless_ring_close(ring);
        errno = reason;
        return NULL;
    }
    uint8_t *queue = ring->queue.at, *done = ring->done.at;
    ring->entries = ring->entries_mapping.at;
    ring->queue_head = (void *)(queue + given.sq_off.head);
    ring->queue_tail = (void *)(queue + given.sq_off.tail);
    ring->queue_mask = given.sq_entries - 1;
    ring->result_head = (void *)(done + given.cq_off.head);
    ring->result_tail = (void *)(done + given.cq_off.tail);
    ring->results = (void *)(done + given.cq_off.cqes);
    ring->result_mask = given.cq_entries - 1;
    unsigned *order = (void *)(queue + given.sq_off.array);
    for (unsigned i = 0; i < given.sq_entries; i++) order[i] = i;
    return ring;
}

long gapless_ring_kernel(int descriptor, unsigned *head, unsigned submitted, unsigned wanted) {
    (void)head; /* The kernel knows where it is. */
    return syscall(
        SYS_io_uring_enter, descriptor, submitted, wanted, IORING_ENTER_GETEVENTS, NULL, 0);
}

void gapless_ring_enter_by(struct gapless_ring *ring, gapless_ring_enter enter) {
    ring->enter = enter;
}

int gapless_ring_failed(const struct gapless_ring *ring) { return ring->has_failed; }

/* Takes the results that are there; returns how many. */
static int take_results(struct gapless_ring *ring, int *taken) {
    int count = 0;
    unsigned head = *ring->result_head;
    unsigned tail = __atomic_load_n(ring->result_tail, __ATOMIC_ACQUIRE);
    for (; head != tail; head++, count++) {
        struct io_uring_cqe *result = &ring->results[head & ring->result_mask];
        taken[result->user_data] = result->res > 0 ? result->res : 0;
    }
    __atomic_store_n(ring->result_head, head, __ATOMIC_RELEASE);
    return count;
}

/* Submits `count` requests and takes their results. Returns how many the kernel has taken, which
 * are the first ones: all, unless the ring fails. A result that is missing then stays unknown. */
static int submit(struct gapless_ring *ring, int count, int *taken) {
    unsigned first = *ring->queue_tail;
    int submitted = 0, finished = 0;
    __atomic_store_n(ring->queue_tail, first + (unsigned)count, __ATOMIC_RELEASE);
    while (finished < count && !ring->has_failed) {
        long result = ring->enter(
            ring->descriptor, ring->queue_head, (unsigned)(count - submitted),
            (unsigned)(count - finished));
        int reason = errno;
        /* Not by what the call returns: one that fails may have taken some before. */
        submitted = (int)(__atomic_load_n(ring->queue_head, __ATOMIC_ACQUIRE) - first);
        int more = take_results(ring, taken);
        finished += more;
        if (result < 0 && reason == EINTR) continue;
        ring->has_failed = result <= 0 && more == 0;
    }
    /* What the kernel took is on its way, with our bytes; the rest never begins, since nobody calls
     * it for this ring again. */
    for (int look = 0; look < LOOKS && finished < submitted; look++) {
        usleep(LOOK_MICROSECONDS);
        finished += take_results(ring, taken);
    }
    return submitted;
}

int gapless_ring_send(
    struct gapless_ring *ring, const int *descriptors, int count, const void *bytes, size_t length,
    int *taken) {
    int tried = 0;
    while (tried < count && !ring->has_failed) {
        int part = count - tried < ENTRIES ? count - tried : ENTRIES;
        for (int i = 0; i < part; i++) {
            struct io_uring_sqe *entry =
                &ring->entries[(*ring->queue_tail + (unsigned)i) & ring->queue_mask];
            memset(entry, 0, sizeof *entry);
            entry->opcode = IORING_OP_SEND;
            entry->fd = descriptors[tried + i];
            entry->addr = (uintptr_t)bytes;
            entry->len = (unsigned)length;
            entry->msg_flags = MSG_NOSIGNAL | MSG_DONTWAIT;
            entry->user_data = (unsigned)i;
        }
        for (int i = 0; i < part; i++) taken[tried + i] = GAPLESS_RING_UNKNOWN;
        tried += submit(ring, part, taken + tried);
    }
    return tried;
}
