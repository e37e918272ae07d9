#ifndef GAPLESS_RECORDER_H
#define GAPLESS_RECORDER_H

/* Writes down what SQLite is asked on this thread: connections, statements with what is bound to
 * them, how many rows they gave, and between which of them a span was measured. `gapless-plain`
 * does the same again. So the two can't drift apart: what is compared is what was asked.
 *
 * A recording is a row of entries, each a letter and its fields, numbers as this machine has them:
 *   O connection:u32 read-only:u8        a connection is opened
 *   S statement:u32 connection:u32 text  a statement that entries below name by its number
 *   R statement:u32 rows:u32 ended:u8 count:u32 values   it was run, and read to its end or not
 *   C connection:u32                     the connection is closed
 *   B, E                                 a measured span begins, ends
 * A text is length:u32 and its bytes. A value is a letter: N for null, I with a number:i64, T and X
 * with a text, which is a blob for X. */

enum { RECORDED_OPEN = 'O', RECORDED_STATEMENT = 'S', RECORDED_RUN = 'R', RECORDED_CLOSE = 'C' };
enum { RECORDED_BEGIN = 'B', RECORDED_END = 'E' };
enum { RECORDED_NULL = 'N', RECORDED_INTEGER = 'I', RECORDED_TEXT = 'T', RECORDED_BLOB = 'X' };

/* Begins to write down all that this thread does; connections that it opens from now on.
 * Returns 0, or -1 where the file can't be made. */
int recorder_begin(const char *path);

/* A span that is to be measured begins (1) or ends (0). */
void recorder_mark(int begins);

/* Ends the recording; all its connections are closed. Returns 0, or -1 where not all of it could be
 * written, or something that it has no letter for was seen. */
int recorder_end(void);

#endif
