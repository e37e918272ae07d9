#ifndef GAPLESS_LIMIT_LOG_H
#define GAPLESS_LIMIT_LOG_H

#include <stddef.h>
#include <stdint.h>

/* The least that it costs to keep what is sent: each message is a row, its room's head a second,
 * and each batch ends with a third and a commit that is flushed (`synchronous=FULL`): the three
 * trees that the gateway's log writes for a message, with values as large as its own. No id is
 * looked up, and nothing is derived or read. */

/* Makes the file, which must not be there; ends the process if it can't. */
void log_open(const char *path);

/* Adds a message to the batch. */
void log_append(size_t room, const uint8_t *bytes, size_t count);

/* Commits the batch, if it has a message. */
void log_commit(void);

#endif
