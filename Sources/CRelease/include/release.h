/* Version and commit of this build. In C, so that a new commit compiles one small file again. */
const char *gapless_version(void);
const char *gapless_commit(void);
