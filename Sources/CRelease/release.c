#include "release.h"

/* The one place of the version. A build may say another, to try an upgrade. */
#ifndef BUILD_VERSION
#define BUILD_VERSION "0.2.0"
#endif

/* The commit that is built, if the build says it. */
#ifndef BUILD_COMMIT
#define BUILD_COMMIT "unknown"
#endif

const char *gapless_version(void) { return BUILD_VERSION; }

const char *gapless_commit(void) { return BUILD_COMMIT; }
