#ifndef GAPLESS_WALFILE_H
#define GAPLESS_WALFILE_H

#include <sqlite3.h>

/* The name of SQLite's own VFS with one difference: what a transaction adds to the write-ahead log
 * is written in one call. It is made at the first call; NULL where it can't be, and SQLite's own is
 * to be used. Thread-safe. */
const char *gapless_walfile_vfs(void);

/* Calls by which a connection wrote to its write-ahead log, and writes that SQLite asked for. */
void gapless_walfile_counts(sqlite3 *database, long long *calls, long long *asked);

#endif
