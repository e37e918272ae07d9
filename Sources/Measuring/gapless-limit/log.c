#include "log.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOMS = 1 << 16 };

static sqlite3 *file;
static sqlite3_stmt *begin, *insert, *head, *list, *commit;
static int64_t last[ROOMS];
static int64_t changes;
static int in_batch;

static void check(int result) {
    if (result == SQLITE_OK || result == SQLITE_DONE) return;
    fprintf(stderr, "gapless-limit: the log: %s\n", sqlite3_errmsg(file));
    exit(1);
}

static sqlite3_stmt *prepare(const char *text) {
    sqlite3_stmt *statement = NULL;
    check(sqlite3_prepare_v3(file, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL));
    return statement;
}

static void run(sqlite3_stmt *statement) {
    check(sqlite3_step(statement));
    sqlite3_reset(statement);
}

void log_open(const char *path) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    check(sqlite3_open_v2(
        path, &file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL));
    check(sqlite3_exec(
        file,
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384;"
        "CREATE TABLE message (cid INTEGER NOT NULL, seq INTEGER NOT NULL, rev INTEGER NOT NULL,"
        " id TEXT NOT NULL, author TEXT NOT NULL, created_at INTEGER NOT NULL,"
        " deleted INTEGER NOT NULL, sent BLOB, json BLOB NOT NULL, mark TEXT, touched INTEGER,"
        " PRIMARY KEY (cid, seq)) WITHOUT ROWID;"
        "CREATE TABLE tail (cid INTEGER PRIMARY KEY, above INTEGER NOT NULL, seq INTEGER NOT NULL,"
        " rev INTEGER NOT NULL, activity INTEGER NOT NULL, touched INTEGER NOT NULL);"
        "CREATE TABLE state (id INTEGER PRIMARY KEY, touched INTEGER, messages INTEGER);"
        "INSERT INTO state VALUES (0, 0, 0);",
        NULL, NULL, NULL));
    begin = prepare("BEGIN IMMEDIATE");
    insert = prepare(
        "INSERT INTO message (cid, seq, rev, id, author, created_at, deleted, sent, json, touched)"
        " VALUES (?1, ?2, ?2, ?3, 'publisher', 1790000000000, 0, ?4, ?5, ?6)");
    head = prepare("REPLACE INTO tail VALUES (?1, 0, ?2, ?2, 1790000000000, ?3)");
    list = prepare("UPDATE state SET touched = ?1, messages = ?1 WHERE id = 0");
    commit = prepare("COMMIT");
}

void log_append(size_t room, const uint8_t *bytes, size_t count) {
    if (!in_batch) run(begin);
    in_batch = 1;
    int64_t seq = ++last[room];
    char id[32];
    uint8_t hash[16] = {0};
    snprintf(id, sizeof id, "%022lld", (long long)++changes);
    memcpy(hash, &changes, sizeof changes);
    sqlite3_bind_int64(insert, 1, (int64_t)room);
    sqlite3_bind_int64(insert, 2, seq);
    sqlite3_bind_text(insert, 3, id, -1, SQLITE_STATIC);
    sqlite3_bind_blob(insert, 4, hash, sizeof hash, SQLITE_STATIC);
    sqlite3_bind_blob(insert, 5, bytes, (int)count, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 6, changes);
    run(insert);
    sqlite3_bind_int64(head, 1, (int64_t)room);
    sqlite3_bind_int64(head, 2, seq);
    sqlite3_bind_int64(head, 3, changes);
    run(head);
}

void log_commit(void) {
    if (!in_batch) return;
    in_batch = 0;
    sqlite3_bind_int64(list, 1, changes);
    run(list);
    run(commit);
}
