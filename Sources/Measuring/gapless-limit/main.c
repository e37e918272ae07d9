/* The limit that a fan-out over loopback TCP is measured against: what comes in by one epoll batch
 * goes to each subscriber in one send(). It checks, keeps and accounts for nothing, and speaks just
 * enough WebSocket for the load generator, whose handshake is always the same. Every text frame
 * that comes in on a connection to /pub goes out to all that asked for another path, and one that
 * comes in on /pub/N to all whose path ends with the same number.
 * With `log FILE` each batch is committed to a file before it is sent (`log.h`); with a number of
 * microseconds behind it, it waits for so long after each batch before it looks for the next one, as
 * the gateway does with `fanout.gather`. */
#define _GNU_SOURCE
#include "log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHUNK = 1 << 16, EVENTS = 1024, ROOMS = 1 << 16 };

struct buffer {
    uint8_t *bytes;
    size_t count, room;
};

struct client {
    int descriptor;
    int is_open, is_publisher;
    size_t room;
    /* Where it stands among the subscribers of its room. */
    size_t place;
    /* What came and is not whole, and what the kernel would not take. */
    struct buffer input, unsent;
};

struct room {
    struct client **subscribers;
    size_t count, space;
    /* The frames of this batch, as each subscriber gets them. */
    struct buffer batch;
};

static int poll_descriptor;
/* Whether messages are kept. */
static int keeps;
static struct room rooms[ROOMS];
/* Those that have a batch. */
static size_t pending[ROOMS], pending_count;

static void append(struct buffer *to, const void *bytes, size_t count) {
    if (to->count + count > to->room) {
        to->room = 2 * (to->count + count);
        to->bytes = realloc(to->bytes, to->room);
        if (to->bytes == NULL) abort();
    }
    memcpy(to->bytes + to->count, bytes, count);
    to->count += count;
}

static void drop(struct buffer *from, size_t count) {
    from->count -= count;
    memmove(from->bytes, from->bytes + count, from->count);
}

static void watch(struct client *client, int operation, int writes) {
    struct epoll_event event = {.events = EPOLLIN | (writes ? EPOLLOUT : 0), .data.ptr = client};
    epoll_ctl(poll_descriptor, operation, client->descriptor, &event);
}

static void end(struct client *client) {
    if (client->is_open && !client->is_publisher) {
        struct room *room = &rooms[client->room];
        room->subscribers[client->place] = room->subscribers[--room->count];
        room->subscribers[client->place]->place = client->place;
    }
    close(client->descriptor);
    free(client->input.bytes);
    free(client->unsent.bytes);
    free(client);
}

/* What is left over waits. */
static void sent(struct client *client, const struct buffer *batch, ssize_t count) {
    if (count == (ssize_t)batch->count) return;
    if (count < 0) count = 0;
    if (client->unsent.count == 0) watch(client, EPOLL_CTL_MOD, 1);
    append(&client->unsent, batch->bytes + count, batch->count - (size_t)count);
}

/* One send to each subscriber, unless earlier bytes wait for it: then these wait with them. */
static void write_batch(struct room *room) {
    const struct buffer *batch = &room->batch;
    for (size_t i = 0; i < room->count; i++) {
        struct client *client = room->subscribers[i];
        ssize_t count = 0;
        if (client->unsent.count == 0)
            count = send(client->descriptor, batch->bytes, batch->count, MSG_NOSIGNAL);
        sent(client, batch, count);
    }
}

static void write_rest(struct client *client) {
    ssize_t count =
        send(client->descriptor, client->unsent.bytes, client->unsent.count, MSG_NOSIGNAL);
    if (count <= 0) return;
    drop(&client->unsent, (size_t)count);
    if (client->unsent.count == 0) watch(client, EPOLL_CTL_MOD, 0);
}

/* Takes the text of a frame into its room's batch; returns its length, 0 where it is not whole. */
static size_t take_frame(size_t number, const uint8_t *bytes, size_t count) {
    struct buffer *batch = &rooms[number].batch;
    if (count < 6) return 0;
    size_t length = bytes[1] & 0x7F, head = 2;
    if (length == 126) {
        length = (size_t)bytes[2] << 8 | bytes[3];
        head = 4;
    } else if (length == 127) {
        abort(); /* no message of the generator is that long */
    }
    if (count < head + 4 + length) return 0;
    if ((bytes[0] & 0x0F) == 1) {
        uint8_t out[4] = {0x81, (uint8_t)length, 0, 0};
        if (length > 125) {
            out[1] = 126;
            out[2] = (uint8_t)(length >> 8);
            out[3] = (uint8_t)length;
        }
        if (batch->count == 0) pending[pending_count++] = number;
        append(batch, out, length > 125 ? 4 : 2);
        size_t start = batch->count;
        append(batch, bytes + head + 4, length);
        const uint8_t *mask = bytes + head;
        for (size_t i = 0; i < length; i++) batch->bytes[start + i] ^= mask[i & 3];
        if (keeps) log_append(number, batch->bytes + start, length);
    }
    return head + 4 + length;
}

/* The answer to the one key that the generator sends. */
static const char ANSWER[] =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: V36js2PIJCzeJ1RPU07ydq55U4w=\r\n\r\n";

static void greet(struct client *client) {
    struct buffer *input = &client->input;
    uint8_t *last = memmem(input->bytes, input->count, "\r\n\r\n", 4);
    if (last == NULL) return;
    client->is_open = 1;
    client->is_publisher =
        memcmp(input->bytes, "GET /pub ", 9) == 0 || memcmp(input->bytes, "GET /pub/", 9) == 0;
    size_t at = 4;
    while (input->bytes[at] != ' ' && (input->bytes[at] < '0' || input->bytes[at] > '9')) at++;
    client->room = strtoul((char *)input->bytes + at, NULL, 10) % ROOMS;
    drop(input, (size_t)(last + 4 - input->bytes));
    if (!client->is_publisher) {
        struct room *room = &rooms[client->room];
        if (room->count == room->space) {
            room->space = 2 * room->space + 16;
            room->subscribers = realloc(room->subscribers, room->space * sizeof(struct client *));
            if (room->subscribers == NULL) abort();
        }
        client->place = room->count;
        room->subscribers[room->count++] = client;
    }
    if (send(client->descriptor, ANSWER, sizeof ANSWER - 1, MSG_NOSIGNAL) < 0) perror("send");
}

static void read_client(struct client *client) {
    static uint8_t chunk[CHUNK];
    ssize_t count = recv(client->descriptor, chunk, sizeof chunk, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
        end(client);
        return;
    }
    append(&client->input, chunk, (size_t)count);
    if (!client->is_open) greet(client);
    size_t taken = 0, length;
    while (client->is_open
           && (length = take_frame(
                  client->room, client->input.bytes + taken, client->input.count - taken)) > 0)
        taken += length;
    drop(&client->input, taken);
}

static void accept_all(int listener) {
    int descriptor;
    while ((descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        int on = 1;
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct client *client = calloc(1, sizeof *client);
        if (client == NULL) abort();
        client->descriptor = descriptor;
        watch(client, EPOLL_CTL_ADD, 0);
    }
}

static int listen_on(int port) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0
        || listen(listener, 4096) != 0) {
        perror("listening");
        exit(1);
    }
    return listener;
}

int main(int count, char **arguments) {
    keeps = count > 3 && strcmp(arguments[2], "log") == 0;
    int next = keeps ? 4 : 2;
    int gather = keeps && count > next ? atoi(arguments[next++]) : 0;
    if (count != next || atoi(arguments[1]) <= 0) {
        fprintf(stderr, "usage: gapless-limit PORT [log FILE [MICROSECONDS]]\n");
        return 2;
    }
    if (keeps) log_open(arguments[3]);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    int listener = listen_on(atoi(arguments[1]));
    poll_descriptor = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(poll_descriptor, EPOLL_CTL_ADD, listener, &event);
    static struct epoll_event events[EVENTS];
    for (;;) {
        int ready = epoll_wait(poll_descriptor, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            struct client *client = events[i].data.ptr;
            if (client == NULL) {
                accept_all(listener);
                continue;
            }
            if (events[i].events & EPOLLOUT) write_rest(client);
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_client(client);
        }
        int had_batch = pending_count > 0;
        if (keeps) log_commit();
        for (size_t i = 0; i < pending_count; i++) {
            write_batch(&rooms[pending[i]]);
            rooms[pending[i]].batch.count = 0;
        }
        pending_count = 0;
        if (had_batch && gather > 0) usleep((useconds_t)gather);
    }
}
