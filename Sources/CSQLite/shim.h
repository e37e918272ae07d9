#include <sqlite3.h>

/* SQLITE_TRANSIENT is a cast of -1 to a function pointer, which Swift does not import. */
static inline int gapless_sqlite_bind_text(sqlite3_stmt *s, int i, const char *p, int n) {
    return sqlite3_bind_text(s, i, p, n, SQLITE_TRANSIENT);
}
/* Variadic, which Swift does not import: this one and the next. */
static inline int gapless_sqlite_keep_memory_statistics(int keeps) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, keeps);
}
static inline int gapless_sqlite_leave_log_when_closed(sqlite3 *d) {
    return sqlite3_db_config(d, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
static inline int gapless_sqlite_bind_blob(sqlite3_stmt *s, int i, const void *p, int n) {
    return sqlite3_bind_blob(s, i, p ? p : "", n, SQLITE_TRANSIENT);
}
/* SQLITE_STATIC: SQLite reads the value where it lies. */
static inline int gapless_sqlite_lend_text(sqlite3_stmt *s, int i, const char *p, int n) {
    return sqlite3_bind_text(s, i, p ? p : "", n, SQLITE_STATIC);
}
static inline int gapless_sqlite_lend_blob(sqlite3_stmt *s, int i, const void *p, int n) {
    return sqlite3_bind_blob(s, i, p ? p : "", n, SQLITE_STATIC);
}
