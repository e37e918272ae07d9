/* Of hiredis only what connects and what reads replies is used: its calls with a format are
 * variadic, which Swift does not import, and it writes without MSG_NOSIGNAL. */
#include <hiredis/hiredis.h>
