#include <ev.h>
#include <libwebsockets.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

/* LWS_PRE is a macro of a macro, which Swift does not import. */
static const int gapless_lws_pre = LWS_PRE;
