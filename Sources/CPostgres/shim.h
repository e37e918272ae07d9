/* Of libpq what connects, sends without blocking, and reads results. */
#include <postgresql/libpq-fe.h>
