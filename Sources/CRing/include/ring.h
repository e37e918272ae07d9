#ifndef GAPLESS_RING_H
#define GAPLESS_RING_H

#include <stddef.h>

/* Sends by io_uring: the same bytes to many sockets are one call of the kernel in place of one for
 * each. A ring belongs to the thread that makes it. */
struct gapless_ring;

/* Makes a ring; NULL, with the reason in errno, where the kernel has none for this process. */
struct gapless_ring *gapless_ring_open(void);

void gapless_ring_close(struct gapless_ring *ring);

/* Sends the bytes to each of the sockets, without waiting for any, and returns when all were tried.
 * `taken` gets what each took: bytes, or 0 where the socket is full or fails.
 *
 * Returns how many sockets were tried: fewer than `count` if the ring failed, which is of no use
 * from then on. */
int gapless_ring_send(
    struct gapless_ring *ring, const int *descriptors, int count, const void *bytes, size_t length,
    int *taken);

#endif
