#ifndef GAPLESS_COUNTING_H
#define GAPLESS_COUNTING_H
#include <stdint.h>

/* The calls of malloc() and its like in this process so far, by any thread. In a program that this
 * is linked into; who watches from outside finds the number in the file that the environment names
 * as COUNTED_ALLOCATIONS, 8 bytes as this machine has them. */
uint64_t gapless_allocations(void);

#endif
