#ifndef GAPLESS_RING_H
#define GAPLESS_RING_H

#include <stddef.h>

/* Sends by io_uring: the same bytes to many sockets are one call of the kernel in place of one for
 * each. A ring belongs to the thread that makes it. */
struct gapless_ring;

/* Makes a ring; NULL, with the reason in errno, where the kernel has none for this process. */
struct gapless_ring *gapless_ring_open(void);

void gapless_ring_close(struct gapless_ring *ring);

/* What each socket of a send took: bytes; 0 where it is full or fails. */
enum {
    /* It may have taken bytes, and may go on: nothing more is to be written to it. */
    GAPLESS_RING_UNKNOWN = -1
};

/* Sends the bytes to each of the sockets, without waiting for any, and returns when all were tried.
 *
 * Returns how many sockets were tried: fewer than `count` if the ring failed. */
int gapless_ring_send(
    struct gapless_ring *ring, const int *descriptors, int count, const void *bytes, size_t length,
    int *taken);

/* Whether the ring has failed: it sends nothing from then on. */
int gapless_ring_failed(const struct gapless_ring *ring);

/* The call of the kernel: submits requests from `head` on, which it moves behind those that it has
 * taken, and waits for so many results. Returns how many it has taken; -1 with the reason in errno.
 * A ring begins with the kernel's own; tests put another one in front of it. */
typedef long (*gapless_ring_enter)(
    int descriptor, unsigned *head, unsigned submitted, unsigned wanted);

long gapless_ring_kernel(int descriptor, unsigned *head, unsigned submitted, unsigned wanted);

void gapless_ring_enter_by(struct gapless_ring *ring, gapless_ring_enter enter);

#endif
