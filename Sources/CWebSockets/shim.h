#include <ev.h>
#include <libwebsockets.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* LWS_PRE is a macro of a macro, which Swift does not import. */
static const int gapless_lws_pre = LWS_PRE;

/* The initialisers of libev are macros. `data` is what the callback gets back. */
static inline void gapless_ev_io_init(
    ev_io *w, void (*cb)(struct ev_loop *, ev_io *, int), int fd, void *data) {
    ev_io_init(w, cb, fd, EV_READ);
    w->data = data;
}
static inline void gapless_ev_timer_init(
    ev_timer *w, void (*cb)(struct ev_loop *, ev_timer *, int), double repeat, void *data) {
    ev_timer_init(w, cb, repeat, repeat);
    w->data = data;
}
static inline void gapless_ev_signal_init(
    ev_signal *w, void (*cb)(struct ev_loop *, ev_signal *, int), int number, void *data) {
    ev_signal_init(w, cb, number);
    w->data = data;
}
static inline void gapless_ev_async_init(
    ev_async *w, void (*cb)(struct ev_loop *, ev_async *, int), void *data) {
    ev_async_init(w, cb);
    w->data = data;
}

/* A timer with a descriptor. The header would make <time.h> a part of this module. */
static inline int gapless_timer(int clock, int flags) {
    return (int)syscall(SYS_timerfd_create, clock, flags);
}
/* Once, after that time; 0 and 0 cancels it. */
static inline int gapless_set_timer(int timer, long seconds, long nanoseconds) {
    long setting[4] = {0, 0, seconds, nanoseconds};
    return (int)syscall(SYS_timerfd_settime, timer, 0, setting, NULL);
}

/* Declared by <sys/socket.h> only under _GNU_SOURCE, which comes too late in a module. */
extern int accept4(int, struct sockaddr *, socklen_t *, int);
static inline int gapless_accept(int fd) {
    return accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* How many bytes the peer's kernel has acknowledged since the connection began. glibc's
 * `struct tcp_info` ends before `tcpi_bytes_acked` (Linux 4.1), and <linux/tcp.h> can't be included
 * beside <netinet/tcp.h>, so the field is read at its place in the kernel's ABI. */
static inline unsigned long long gapless_tcp_bytes_acked(int fd) {
    unsigned char info[192];
    unsigned long long acked = 0;
    socklen_t length = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &length) == 0 && length >= 128)
        memcpy(&acked, info + 120, sizeof acked);
    return acked;
}
