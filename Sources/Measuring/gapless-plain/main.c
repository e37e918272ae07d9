/* What the cache could cost at the least: the statements that the gateway's own code ran, with the
 * same values on the same tables, by plain C. It decides nothing: what to do was written down while
 * the gateway's code did it (the target `Recorder`). What a statement gives is copied out, as
 * a gateway's answer must. Says how many nanoseconds each measured span took, one a line. */
#include "../Recorder/include/recorder.h"
#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CONNECTIONS = 64, STATEMENTS = 1024 };

struct value {
    char letter;
    int64_t number;
    const char *bytes;
};

struct entry {
    char letter;
    uint8_t flag; /* read-only, or read to its end */
    uint32_t place, connection, rows, count;
    const char *text;
    struct value *values;
};

static const char *path;
static struct entry *entries;
static size_t entry_count;
static sqlite3 *connections[CONNECTIONS];
static struct {
    sqlite3_stmt *handle;
    const struct entry *entry;
} statements[STATEMENTS];

static void fail(const char *what, sqlite3 *connection) {
    const char *why = connection ? sqlite3_errmsg(connection) : "";
    fprintf(stderr, "gapless-plain: %s %s: %s\n", what, path, why);
    exit(1);
}

/* MARK: the recording, as `recorder.h` says */

static const char *at, *end_of_recording;

static const char *take(size_t count) {
    if ((size_t)(end_of_recording - at) < count) {
        fprintf(stderr, "gapless-plain: the recording is not whole\n");
        exit(1);
    }
    at += count;
    return at - count;
}

static uint32_t take_number(void) {
    uint32_t number;
    memcpy(&number, take(sizeof number), sizeof number);
    return number;
}

static struct value take_value(void) {
    struct value value = {.letter = *take(1)};
    if (value.letter == RECORDED_INTEGER) {
        memcpy(&value.number, take(sizeof value.number), sizeof value.number);
    } else if (value.letter != RECORDED_NULL) {
        value.number = take_number();
        value.bytes = take((size_t)value.number);
    }
    return value;
}

static struct entry take_entry(void) {
    struct entry entry = {.letter = *take(1)};
    if (entry.letter == RECORDED_BEGIN || entry.letter == RECORDED_END) return entry;
    entry.place = take_number();
    if (entry.letter == RECORDED_OPEN) {
        entry.flag = (uint8_t)*take(1);
    } else if (entry.letter == RECORDED_STATEMENT) {
        entry.connection = take_number();
        uint32_t count = take_number();
        entry.text = strndup(take(count), count);
    } else if (entry.letter == RECORDED_RUN) {
        entry.rows = take_number();
        entry.flag = (uint8_t)*take(1);
        entry.count = take_number();
        entry.values = malloc((entry.count + 1) * sizeof *entry.values);
        for (uint32_t i = 0; i < entry.count; i++) entry.values[i] = take_value();
    }
    return entry;
}

static void read_recording(const char *name) {
    FILE *file = fopen(name, "r");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(name);
        exit(1);
    }
    size_t size = (size_t)ftell(file), room = 0;
    char *bytes = malloc(size + 1);
    rewind(file);
    if (bytes == NULL || fread(bytes, 1, size, file) != size) {
        perror(name);
        exit(1);
    }
    fclose(file);
    at = bytes;
    end_of_recording = bytes + size;
    while (at < end_of_recording) {
        if (entry_count == room) {
            room = 2 * room + 1024;
            entries = realloc(entries, room * sizeof *entries);
        }
        entries[entry_count++] = take_entry();
    }
}

/* MARK: checkpoints, as the cache has them: by a thread, after so many pages that were written */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER;
static int is_asked, pages_between, pages_before;

static void *checkpoint(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!is_asked) pthread_cond_wait(&asked, &lock);
        is_asked = 0;
        pthread_mutex_unlock(&lock);
        sqlite3 *connection;
        if (sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
            fail("opening", connection);
        sqlite3_busy_timeout(connection, 5000);
        sqlite3_exec(connection, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
        sqlite3_wal_checkpoint_v2(connection, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        sqlite3_close(connection);
    }
    return NULL;
}

static void look_at_log(sqlite3 *connection) {
    int pages = 0, unused = 0;
    sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &unused, 0);
    if (pages - pages_before < pages_between) return;
    pages_before = pages;
    pthread_mutex_lock(&lock);
    is_asked = 1;
    pthread_cond_signal(&asked);
    pthread_mutex_unlock(&lock);
}

/* MARK: doing it again */

static void open_connection(const struct entry *entry) {
    int flags =
        entry->flag ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    sqlite3 **connection = &connections[entry->place];
    if (sqlite3_open_v2(path, connection, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        fail("opening", *connection);
    sqlite3_extended_result_codes(*connection, 1);
    sqlite3_busy_timeout(*connection, 5000);
}

static void close_connection(uint32_t place) {
    for (int i = 0; i < STATEMENTS; i++) {
        if (statements[i].handle == NULL || statements[i].entry->connection != place) continue;
        sqlite3_finalize(statements[i].handle);
        statements[i].handle = NULL;
    }
    sqlite3_close(connections[place]);
    connections[place] = NULL;
}

static sqlite3_stmt *prepared(uint32_t place) {
    if (statements[place].handle != NULL) return statements[place].handle;
    const struct entry *entry = statements[place].entry;
    sqlite3 *connection = connections[entry->connection];
    int result = sqlite3_prepare_v3(
        connection, entry->text, -1, SQLITE_PREPARE_PERSISTENT, &statements[place].handle, NULL);
    if (result != SQLITE_OK) fail(entry->text, connection);
    return statements[place].handle;
}

/* What the rows of a span hold. */
static char *copied;
static size_t copied_count, copied_room;

static void copy(const void *bytes, size_t count) {
    if (copied_count + count > copied_room) {
        copied_room = 2 * (copied_count + count);
        copied = realloc(copied, copied_room);
        if (copied == NULL) abort();
    }
    memcpy(copied + copied_count, bytes, count);
    copied_count += count;
}

static void copy_row(sqlite3_stmt *statement) {
    int columns = sqlite3_column_count(statement);
    for (int i = 0; i < columns; i++) {
        int type = sqlite3_column_type(statement, i);
        if (type == SQLITE_INTEGER) {
            int64_t number = sqlite3_column_int64(statement, i);
            copy(&number, sizeof number);
        } else if (type != SQLITE_NULL) {
            const void *bytes = sqlite3_column_blob(statement, i);
            copy(bytes ? bytes : "", (size_t)sqlite3_column_bytes(statement, i));
        }
    }
}

static void run(const struct entry *entry) {
    sqlite3_stmt *statement = prepared(entry->place);
    for (uint32_t i = 0; i < entry->count; i++) {
        const struct value *value = &entry->values[i];
        int place = (int)i + 1;
        switch (value->letter) {
        case RECORDED_INTEGER: sqlite3_bind_int64(statement, place, value->number); break;
        case RECORDED_TEXT:
            sqlite3_bind_text(statement, place, value->bytes, (int)value->number, SQLITE_STATIC);
            break;
        case RECORDED_BLOB:
            sqlite3_bind_blob(statement, place, value->bytes, (int)value->number, SQLITE_STATIC);
            break;
        default: sqlite3_bind_null(statement, place);
        }
    }
    int result = SQLITE_ROW;
    for (uint32_t i = 0; i < entry->rows && result == SQLITE_ROW; i++) {
        result = sqlite3_step(statement);
        if (result == SQLITE_ROW) copy_row(statement);
    }
    if (entry->flag && result == SQLITE_ROW) result = sqlite3_step(statement);
    if (result != (entry->flag ? SQLITE_DONE : SQLITE_ROW))
        fail(sqlite3_sql(statement), sqlite3_db_handle(statement));
    sqlite3_reset(statement);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

/* Statements of the spans are there before the first of them, as the gateway's are. */
static void prepare_all(size_t from) {
    for (size_t i = from; i < entry_count; i++) {
        uint32_t place = entries[i].place;
        if (entries[i].letter == RECORDED_STATEMENT) statements[place].entry = &entries[i];
        if (entries[i].letter == RECORDED_RUN
            && connections[statements[place].entry->connection] != NULL)
            prepared(place);
    }
}

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: gapless-plain RECORDING FILE PAGES-BETWEEN-CHECKPOINTS\n");
        return 2;
    }
    path = arguments[2];
    pages_between = atoi(arguments[3]);
    read_recording(arguments[1]);
    int64_t *spans = malloc((entry_count + 1) * sizeof *spans), begin = 0;
    size_t span_count = 0;
    if (pages_between > 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, checkpoint, NULL);
    }
    sqlite3 *writing = NULL;
    for (size_t i = 0; i < entry_count; i++) {
        const struct entry *entry = &entries[i];
        switch (entry->letter) {
        case RECORDED_OPEN: open_connection(entry); break;
        case RECORDED_CLOSE: close_connection(entry->place); break;
        case RECORDED_STATEMENT: statements[entry->place].entry = entry; break;
        case RECORDED_RUN:
            run(entry);
            writing = connections[statements[entry->place].entry->connection];
            break;
        case RECORDED_BEGIN:
            if (span_count == 0) prepare_all(i);
            copied_count = 0;
            begin = now();
            break;
        case RECORDED_END:
            if (pages_between > 0) look_at_log(writing);
            spans[span_count++] = now() - begin;
            break;
        default: fail("reading the recording for", NULL);
        }
    }
    for (size_t i = 0; i < span_count; i++) printf("%lld\n", (long long)spans[i]);
    return 0;
}
