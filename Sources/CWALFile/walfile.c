/* SQLite writes each page of a transaction to its write-ahead log with two calls, one for the
 * frame's head and one for the page: eighteen for a message of nine pages. Here they are gathered
 * and written by one call, when the frame comes that ends the transaction.
 *
 * Nobody can read the log in between. A frame counts for other connections, and after a crash, only
 * when a frame behind it ends the transaction and SQLite has published that in the index, and it
 * does so after the write of that frame has returned. Whatever else SQLite asks of the file (a
 * read, its size, a sync, to be cut or closed) is done after what was gathered is in the file.
 *
 * An error of the disk comes to the write that ends the transaction, which SQLite then rolls back.
 * Where frames were gathered for another reason (the page cache was full) and could not be written,
 * SQLite believes that it has them: until it writes that place anew, which it does when it has
 * rolled back, everything that would rest on them fails with the same error. */
#include "walfile.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAME_HEAD = 24,
    /* Of a frame's head: how many pages the database has, where the frame ends a transaction. */
    SIZE_AFTER = 4,
    /* More than that is not gathered: SQLite's own file takes less than 128 KiB in one call. */
    MOST = 30 * 4096
};

struct wal_file {
    sqlite3_file base;
    /* SQLite's own, right behind this. */
    sqlite3_file *own;
    unsigned char *bytes;
    int count, room;
    sqlite3_int64 start;
    /* Whether the frame ends a transaction whose head came last. */
    int is_last;
    /* What could not be written, from where on; 0 where nothing is missing. */
    int error;
    sqlite3_int64 missing;
    sqlite3_int64 calls, asked;
};

static sqlite3_vfs vfs;
static sqlite3_vfs *own_vfs;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *name;

static struct wal_file *wal(sqlite3_file *file) { return (struct wal_file *)file; }

static int write_own(struct wal_file *file, const void *bytes, int count, sqlite3_int64 at) {
    file->calls++;
    return file->own->pMethods->xWrite(file->own, bytes, count, at);
}

/* Writes what was gathered. */
static int flush(struct wal_file *file) {
    if (file->count == 0) return file->error;
    int result = write_own(file, file->bytes, file->count, file->start);
    if (result != SQLITE_OK) {
        file->error = result;
        file->missing = file->start;
    }
    file->count = 0;
    return result;
}

static int has_room(struct wal_file *file, int count) {
    if (file->count + count <= file->room) return 1;
    if (file->count + count > MOST) return 0;
    int room = 2 * (file->count + count) < MOST ? 2 * (file->count + count) : MOST;
    unsigned char *bytes = realloc(file->bytes, (size_t)room);
    if (bytes == NULL) return 0;
    file->bytes = bytes;
    file->room = room;
    return 1;
}

static int write_wal(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 at) {
    struct wal_file *file = wal(base);
    file->asked++;
    if (file->error != SQLITE_OK) {
        /* A transaction that begins at the missing place, or before it, does without what lay
         * there: it begins with the head of a frame, or of the log. A page alone is one that the
         * failed transaction writes over. */
        if (at > file->missing || (count != FRAME_HEAD && at > 0)) return file->error;
        file->error = SQLITE_OK;
    }
    if (file->count > 0 && (at != file->start + file->count || !has_room(file, count))) {
        int result = flush(file);
        if (result != SQLITE_OK) return result;
    }
    int is_head = count == FRAME_HEAD;
    int was_last = file->is_last;
    file->is_last = 0;
    if (is_head) {
        static const unsigned char none[4] = {0};
        file->is_last = memcmp((const unsigned char *)bytes + SIZE_AFTER, none, 4) != 0;
    }
    if (!has_room(file, count)) return write_own(file, bytes, count, at);
    if (file->count == 0) file->start = at;
    memcpy(file->bytes + file->count, bytes, (size_t)count);
    file->count += count;
    return was_last && !is_head ? flush(file) : SQLITE_OK;
}

static int read_wal(sqlite3_file *base, void *bytes, int count, sqlite3_int64 at) {
    struct wal_file *file = wal(base);
    if (file->count > 0 && at + count > file->start) flush(file);
    if (file->error != SQLITE_OK && at + count > file->missing) return file->error;
    return file->own->pMethods->xRead(file->own, bytes, count, at);
}

static int sync_wal(sqlite3_file *base, int flags) {
    int result = flush(wal(base));
    if (result != SQLITE_OK) return result;
    return wal(base)->own->pMethods->xSync(wal(base)->own, flags);
}

static int truncate_wal(sqlite3_file *base, sqlite3_int64 size) {
    struct wal_file *file = wal(base);
    flush(file);
    if (file->error != SQLITE_OK && size <= file->missing) file->error = SQLITE_OK;
    if (file->error != SQLITE_OK) return file->error;
    return file->own->pMethods->xTruncate(file->own, size);
}

static int size_wal(sqlite3_file *base, sqlite3_int64 *size) {
    flush(wal(base));
    return wal(base)->own->pMethods->xFileSize(wal(base)->own, size);
}

static int control_wal(sqlite3_file *base, int operation, void *argument) {
    flush(wal(base));
    return wal(base)->own->pMethods->xFileControl(wal(base)->own, operation, argument);
}

static int close_wal(sqlite3_file *base) {
    flush(wal(base));
    free(wal(base)->bytes);
    return wal(base)->own->pMethods->xClose(wal(base)->own);
}

/* A write-ahead log is never locked: the database is. */
static int lock_wal(sqlite3_file *base, int lock) {
    return wal(base)->own->pMethods->xLock(wal(base)->own, lock);
}

static int unlock_wal(sqlite3_file *base, int lock) {
    return wal(base)->own->pMethods->xUnlock(wal(base)->own, lock);
}

static int check_wal(sqlite3_file *base, int *is_reserved) {
    return wal(base)->own->pMethods->xCheckReservedLock(wal(base)->own, is_reserved);
}

static int sector_wal(sqlite3_file *base) {
    return wal(base)->own->pMethods->xSectorSize(wal(base)->own);
}

static int device_wal(sqlite3_file *base) {
    return wal(base)->own->pMethods->xDeviceCharacteristics(wal(base)->own);
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = close_wal,
    .xRead = read_wal,
    .xWrite = write_wal,
    .xTruncate = truncate_wal,
    .xSync = sync_wal,
    .xFileSize = size_wal,
    .xLock = lock_wal,
    .xUnlock = unlock_wal,
    .xCheckReservedLock = check_wal,
    .xFileControl = control_wal,
    .xSectorSize = sector_wal,
    .xDeviceCharacteristics = device_wal};

/* All but write-ahead logs are SQLite's own files, with nothing in between. */
static int open_file(
    sqlite3_vfs *unused, const char *path, sqlite3_file *base, int flags, int *given) {
    (void)unused;
    if ((flags & SQLITE_OPEN_WAL) == 0) return own_vfs->xOpen(own_vfs, path, base, flags, given);
    struct wal_file *file = wal(base);
    memset(file, 0, sizeof *file);
    file->own = (sqlite3_file *)(file + 1);
    int result = own_vfs->xOpen(own_vfs, path, file->own, flags, given);
    /* SQLite closes what has methods, even where it could not be opened. */
    if (file->own->pMethods != NULL) file->base.pMethods = &methods;
    return result;
}

static void make(void) {
    own_vfs = sqlite3_vfs_find(NULL);
    if (own_vfs == NULL) return;
    vfs = *own_vfs;
    vfs.pNext = NULL;
    vfs.zName = "gapless";
    vfs.szOsFile = (int)sizeof(struct wal_file) + own_vfs->szOsFile;
    vfs.xOpen = open_file;
    if (sqlite3_vfs_register(&vfs, 0) == SQLITE_OK) name = vfs.zName;
}

const char *gapless_walfile_vfs(void) {
    pthread_once(&once, make);
    return name;
}

void gapless_walfile_counts(sqlite3 *database, long long *calls, long long *asked) {
    sqlite3_file *file = NULL;
    *calls = *asked = 0;
    int result = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (result != SQLITE_OK || file == NULL || file->pMethods != &methods) return;
    *calls = wal(file)->calls;
    *asked = wal(file)->asked;
}
