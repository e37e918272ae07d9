#include "recorder.h"
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More connections, statements, statements under way, and values of one than a recording has. */
enum { CONNECTIONS = 64, STATEMENTS = 1024, UNDER_WAY = 64, VALUES = 64 };

/* Its address alone says nothing: another one may get it. */
struct known {
    sqlite3_stmt *handle;
    uint32_t connection;
    char *text;
};

/* A statement that has begun and has not ended. */
struct run {
    sqlite3_stmt *handle;
    char *expanded;
    uint32_t rows;
};

/* Of the recording on this thread, NULL where there is none: several may go on at a time. */
static _Thread_local FILE *file;
static _Thread_local int has_failed;
static _Thread_local sqlite3 *connections[CONNECTIONS];
static _Thread_local uint32_t connection_count;
static _Thread_local struct known statements[STATEMENTS];
static _Thread_local uint32_t statement_count;
static _Thread_local struct run runs[UNDER_WAY];

static void put(const void *bytes, size_t count) {
    if (fwrite(bytes, 1, count, file) != count) has_failed = 1;
}

static void put_letter(char letter) { put(&letter, 1); }

static void put_number(uint32_t number) { put(&number, sizeof number); }

static void put_text(const char *bytes, size_t count) {
    put_number((uint32_t)count);
    put(bytes, count);
}

/* MARK: values, as sqlite3_expanded_sql() writes them */

static int nibble(char digit) { return digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10; }

/* What is behind the value that stands here. */
static const char *behind_value(const char *at) {
    if (*at == 'x') at++;
    if (*at == '\'') {
        for (at++; *at != '\'' || at[1] == '\''; at++)
            if (*at == '\'') at++;
        return at + 1;
    }
    while (*at == '-' || (*at >= '0' && *at <= '9') || (*at >= 'A' && *at <= 'Z')) at++;
    return at;
}

static void put_integer(const char *at) {
    char *end;
    int64_t number = strtoll(at, &end, 10);
    if (end == at || *end == '.' || *end == 'e') has_failed = 1;
    put_letter(RECORDED_INTEGER);
    put(&number, sizeof number);
}

/* Writes the value that stands here. */
static void put_value(const char *at) {
    int is_blob = *at == 'x';
    if (strncmp(at, "NULL", 4) == 0) return put_letter(RECORDED_NULL);
    if (!is_blob && *at != '\'') return put_integer(at);
    at += is_blob ? 2 : 1;
    char *bytes = malloc(strlen(at) + 1);
    if (bytes == NULL) abort();
    size_t count = 0;
    if (is_blob) {
        for (; *at != '\''; at += 2) bytes[count++] = (char)(nibble(at[0]) << 4 | nibble(at[1]));
    } else {
        for (; *at != '\'' || at[1] == '\''; at++) {
            if (*at == '\'') at++;
            bytes[count++] = *at;
        }
    }
    put_letter(is_blob ? RECORDED_BLOB : RECORDED_TEXT);
    put_text(bytes, count);
    free(bytes);
}

/* Where a value belongs: its place in the list of what is bound, from 1 on. */
static int parameter(const char **text, int last) {
    const char *at = *text + 1;
    char *end;
    long named = strtol(at, &end, 10);
    *text = end;
    return end == at ? last + 1 : (int)named;
}

/* Goes along the statement and what SQLite made of it, which differ in the values alone. A value
 * may stand there twice, and the values in any order. */
static void put_values(const char *text, const char *expanded, int count) {
    const char *values[VALUES] = {0};
    int last = 0;
    if (count >= VALUES) abort();
    while (*text != 0) {
        if (*text == '\'') {
            do { text++, expanded++; } while (*text != '\'');
        }
        if (*text != '?') {
            if (*text++ != *expanded++) has_failed = 1;
            continue;
        }
        int place = parameter(&text, last);
        if (place > count) abort();
        values[place] = expanded;
        expanded = behind_value(expanded);
        if (place > last) last = place;
    }
    put_number((uint32_t)count);
    for (int place = 1; place <= count; place++) {
        if (values[place] == NULL) abort();
        put_value(values[place]);
    }
}

/* MARK: what SQLite tells */

/* The number of a connection; as many as there are for one that an earlier recording left open. */
static uint32_t place_of(const sqlite3 *connection) {
    uint32_t place = 0;
    while (place < connection_count && connections[place] != connection) place++;
    return place;
}

static uint32_t number_of(sqlite3_stmt *handle) {
    const char *text = sqlite3_sql(handle);
    uint32_t connection = place_of(sqlite3_db_handle(handle));
    for (uint32_t i = statement_count; i-- > 0;)
        if (statements[i].handle == handle && statements[i].connection == connection
            && strcmp(statements[i].text, text) == 0)
            return i;
    if (statement_count == STATEMENTS) abort();
    statements[statement_count] = (struct known){handle, connection, strdup(text)};
    put_letter(RECORDED_STATEMENT);
    put_number(statement_count);
    put_number(connection);
    put_text(text, strlen(text));
    return statement_count++;
}

static void finish(struct run *run) {
    sqlite3_stmt *handle = run->handle;
    uint32_t number = number_of(handle);
    put_letter(RECORDED_RUN);
    put_number(number);
    put_number(run->rows);
    put_letter(!sqlite3_stmt_busy(handle));
    put_values(sqlite3_sql(handle), run->expanded, sqlite3_bind_parameter_count(handle));
    sqlite3_free(run->expanded);
    *run = (struct run){0};
}

static int traced(unsigned event, void *context, void *subject, void *detail) {
    (void)context;
    if (file == NULL) return 0;
    int closes = event == SQLITE_TRACE_CLOSE;
    uint32_t connection = place_of(closes ? subject : sqlite3_db_handle(subject));
    if (connection == connection_count) return 0;
    if (closes) {
        put_letter(RECORDED_CLOSE);
        put_number(connection);
        /* Another one may get its address. */
        connections[connection] = NULL;
        return 0;
    }
    struct run *run = NULL, *unused = NULL;
    for (int i = 0; i < UNDER_WAY; i++) {
        if (runs[i].handle == subject) run = &runs[i];
        if (runs[i].handle == NULL) unused = &runs[i];
    }
    if (event == SQLITE_TRACE_STMT) {
        /* What SQLite does for itself within a statement. */
        if (strncmp(detail, "--", 2) == 0) return 0;
        if (run == NULL) run = unused;
        if (run == NULL) abort();
        sqlite3_free(run->expanded);
        *run = (struct run){subject, sqlite3_expanded_sql(subject), 0};
        if (run->expanded == NULL) abort();
    } else if (run != NULL && event == SQLITE_TRACE_ROW) {
        run->rows++;
    } else if (run != NULL && event == SQLITE_TRACE_PROFILE) {
        finish(run);
    }
    return 0;
}

static int opened(sqlite3 *handle, const char **error, const void *routines) {
    (void)error, (void)routines;
    if (file == NULL) return SQLITE_OK;
    if (connection_count == CONNECTIONS) abort();
    connections[connection_count] = handle;
    sqlite3_trace_v2(
        handle,
        SQLITE_TRACE_STMT | SQLITE_TRACE_ROW | SQLITE_TRACE_PROFILE | SQLITE_TRACE_CLOSE, traced,
        NULL);
    put_letter(RECORDED_OPEN);
    put_number(connection_count++);
    put_letter(sqlite3_db_readonly(handle, "main") == 1);
    return SQLITE_OK;
}

/* MARK: the recording */

int recorder_begin(const char *path) {
    file = fopen(path, "w");
    if (file == NULL) return -1;
    has_failed = 0;
    /* It stays: registered twice it is there once, and it minds recordings alone. */
    return sqlite3_auto_extension((void (*)(void))opened) == SQLITE_OK ? 0 : -1;
}

void recorder_mark(int begins) {
    if (file != NULL) put_letter(begins ? RECORDED_BEGIN : RECORDED_END);
}

int recorder_end(void) {
    for (uint32_t i = 0; i < statement_count; i++) free(statements[i].text);
    for (int i = 0; i < UNDER_WAY; i++) {
        sqlite3_free(runs[i].expanded);
        runs[i] = (struct run){0};
    }
    connection_count = statement_count = 0;
    if (fclose(file) != 0) has_failed = 1;
    file = NULL;
    return has_failed ? -1 : 0;
}
