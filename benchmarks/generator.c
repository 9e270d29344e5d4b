/* The load generator: many connections in one thread, each with one request or more under way. Written in C
 * because a loop in Python takes as long for a request as the faster servers do, and on two cores
 * takes from them what it needs.
 *
 * usage: generator HOST PORT http|ws loop CONNECTIONS IN_FLIGHT WARM_UP SECONDS < streams
 *        generator HOST PORT http|ws once SECONDS < streams
 *
 * Input, integers 32-bit little-endian: length and bytes of what opens a connection (nothing for
 * HTTP, the handshake for WebSocket), number of streams; of each stream the number of its frames, and
 * length and bytes of each frame.
 *
 * `loop` has one stream, which every connection repeats from a place of its own, with IN_FLIGHT requests under
 * way: each answer is followed by the next request, in a write of its own. Output: answers,
 * refusals (an error in the answer, or another status than 200), seconds, median, 99th percentile and maximum
 * of the latency in microseconds, and the answers of the warm-up, on one line. Only the last counts
 * those before WARM_UP seconds. An answer is timed from the oldest request that has none.
 *
 * `once` sends each stream in its order on a connection of its own, the next frame after the last
 * answer, until all is sent or SECONDS are over, and waits for what is under way. Output: when the
 * first was sent and the last answered (seconds of the monotonic clock), and how many frames of each
 * stream were answered, on one line; then length and bytes of each answer that is a refusal.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define READ (1 << 16)
#define PATIENCE_MS 30000
#define HEAD_END "\r\n\r\n"
#define LAST_CHUNK "0\r\n\r\n"
#define CONTENT_LENGTH "content-length:"

struct frame { char *bytes; uint32_t length; };
struct stream { struct frame *frames; uint32_t count; };
struct lane {
    int fd;
    struct stream *stream;
    uint32_t next;      /* the frame that is sent next */
    uint32_t answered;
    char *received;
    size_t length, room;
    double *sent_at;    /* a ring of the times of the requests under way */
    uint32_t in_flight, sent;
};

static int websocket;
static int poll;

static void die(const char *reason) { fprintf(stderr, "%s\n", reason); exit(1); }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static uint32_t read_number(void) {
    uint32_t number;
    if (fread(&number, 4, 1, stdin) != 1) die("input ends early");
    return number;
}

static struct frame read_frame(void) {
    struct frame f = {.length = read_number()};
    f.bytes = malloc(f.length + 1);
    if (!f.bytes || fread(f.bytes, 1, f.length, stdin) != f.length) die("input ends early");
    return f;
}

static struct stream read_stream(void) {
    struct stream s = {.count = read_number()};
    s.frames = malloc((s.count + 1) * sizeof *s.frames);
    for (uint32_t i = 0; i < s.count; i++) s.frames[i] = read_frame();
    return s;
}

static void send_bytes(int fd, const char *bytes, size_t length) {
    while (length) {
        ssize_t n = write(fd, bytes, length);
        if (n <= 0) die("the server closed the connection");
        bytes += n;
        length -= (size_t)n;
    }
}

/* The size of the first answer in the buffer; 0 until it is whole. */
static size_t http_size(const char *p, size_t length) {
    const char *end = memmem(p, length, HEAD_END, 4);
    if (!end) return 0;
    size_t size = (size_t)(end - p) + 4;
    for (const char *line = p; line < end; line++) {
        if (*line != '\n') continue;
        if (strncasecmp(line + 1, CONTENT_LENGTH, sizeof CONTENT_LENGTH - 1) == 0) {
            size += strtoul(line + sizeof CONTENT_LENGTH, NULL, 10);
            return length >= size ? size : 0;
        }
    }
    return length >= size + 5 && memcmp(p + length - 5, LAST_CHUNK, 5) == 0 ? length : 0;
}

static size_t ws_size(const unsigned char *p, size_t length) {
    if (length < 2) return 0;
    size_t size = p[1] & 127, width = size == 126 ? 2 : size == 127 ? 8 : 0;
    if (length < 2 + width) return 0;
    if (width) {
        size = 0;
        for (size_t i = 0; i < width; i++) size = size << 8 | p[2 + i];
    }
    size += 2 + width;
    return length >= size ? size : 0;
}

static size_t answer_size(const char *p, size_t length) {
    return websocket ? ws_size((const unsigned char *)p, length) : http_size(p, length);
}

/* Whether the whole answer is none: a fast refusal must not be taken for speed. */
static int is_refusal(const char *p, size_t length) {
    if (!websocket && (length < 12 || memcmp(p + 9, "200", 3) != 0)) return 1;
    return memmem(p, length, "\"error\"", 7) != NULL;
}

static void open_lane(struct lane *l, struct sockaddr_in *to, struct frame opening, uint32_t in_flight) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = l};
    int on = 1;
    char byte;
    uint32_t tail = 0;
    l->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(l->fd, (struct sockaddr *)to, sizeof *to)) die("cannot connect");
    setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    l->room = 2 * READ;
    l->received = malloc(l->room);
    l->in_flight = in_flight;
    l->sent_at = malloc(in_flight * sizeof *l->sent_at);
    epoll_ctl(poll, EPOLL_CTL_ADD, l->fd, &event);
    if (!opening.length) return;
    send_bytes(l->fd, opening.bytes, opening.length);
    while (tail != 0x0d0a0d0a) {
        if (read(l->fd, &byte, 1) != 1) die("the server refused the connection");
        tail = tail << 8 | (unsigned char)byte;
    }
}

static void send_next(struct lane *l) {
    struct frame *f = &l->stream->frames[l->next++];
    l->sent_at[l->sent++ % l->in_flight] = now();
    send_bytes(l->fd, f->bytes, f->length);
}

/* Read what has come. */
static void take(struct lane *l) {
    if (l->room - l->length < READ) {
        l->room *= 2;
        l->received = realloc(l->received, l->room);
        if (!l->received) die("out of memory");
    }
    ssize_t n = read(l->fd, l->received + l->length, READ);
    if (n <= 0) die("the server closed the connection");
    l->length += (size_t)n;
}

/* Forget the first answers. */
static void drop(struct lane *l, size_t size) {
    l->length -= size;
    memmove(l->received, l->received + size, l->length);
}

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int wait_for(struct epoll_event *ready, int most) {
    int n = epoll_wait(poll, ready, most, PATIENCE_MS);
    if (n <= 0) die("no answer within 30 s");
    return n;
}

static void send_again(struct lane *l) {
    if (l->next == l->stream->count) l->next = 0;
    send_next(l);
}

static void loop(struct lane *lanes, uint32_t connections, double warm_up, double seconds) {
    struct epoll_event ready[256];
    size_t answers = 0, failed = 0, early = 0, room = 1 << 20;
    float *latencies = malloc(room * sizeof *latencies);
    double begin = now() + warm_up, end = begin + seconds, last = begin;
    for (uint32_t i = 0; i < connections; i++)
        for (uint32_t k = 0; k < lanes[i].in_flight; k++) send_again(&lanes[i]);
    while (last < end) {
        int n = wait_for(ready, 256);
        for (int i = 0; i < n; i++) {
            struct lane *l = ready[i].data.ptr;
            size_t place = 0, size;
            take(l);
            while ((size = answer_size(l->received + place, l->length - place))) {
                last = now();
                if (last >= begin) {
                    if (answers == room) {
                        room *= 2;
                        latencies = realloc(latencies, room * sizeof *latencies);
                        if (!latencies) die("out of memory");
                    }
                    /* The oldest request under way is the one whose place in the ring comes next. */
                    latencies[answers++] = (float)(last - l->sent_at[l->sent % l->in_flight]);
                    failed += (size_t)is_refusal(l->received + place, size);
                } else {
                    early++;
                }
                place += size;
                send_again(l);
            }
            drop(l, place);
        }
    }
    if (!answers) die("no answers");
    qsort(latencies, answers, sizeof *latencies, by_size);
    printf("%zu %zu %.6f %.1f %.1f %.1f %zu\n", answers, failed, last - begin,
           latencies[answers / 2] * 1e6, latencies[(size_t)((double)answers * 0.99)] * 1e6,
           latencies[answers - 1] * 1e6, early);
}

static void once(struct lane *lanes, uint32_t connections, double seconds) {
    struct epoll_event ready[256];
    struct frame *refusals = NULL;
    size_t refused = 0;
    uint32_t busy = 0;
    double begin = now(), end = begin + seconds;
    for (uint32_t i = 0; i < connections; i++) {
        if (!lanes[i].stream->count) continue;
        send_next(&lanes[i]);
        busy++;
    }
    while (busy) {
        int n = wait_for(ready, 256);
        for (int i = 0; i < n; i++) {
            struct lane *l = ready[i].data.ptr;
            take(l);
            size_t size = answer_size(l->received, l->length);
            if (!size) continue;
            l->answered++;
            if (is_refusal(l->received, l->length)) {
                refusals = realloc(refusals, (refused + 1) * sizeof *refusals);
                struct frame *f = &refusals[refused++];
                f->length = (uint32_t)l->length;
                f->bytes = malloc(l->length);
                memcpy(f->bytes, l->received, l->length);
            }
            drop(l, size);
            if (now() > end || l->next == l->stream->count) {
                epoll_ctl(poll, EPOLL_CTL_DEL, l->fd, NULL);
                busy--;
            } else {
                send_next(l);
            }
        }
    }
    printf("%.9f %.9f", begin, now());
    for (uint32_t i = 0; i < connections; i++) printf(" %u", lanes[i].answered);
    printf("\n");
    for (size_t i = 0; i < refused; i++) {
        fwrite(&refusals[i].length, 4, 1, stdout);
        fwrite(refusals[i].bytes, 1, refusals[i].length, stdout);
    }
}

int main(int argc, char **argv) {
    int repeats = argc == 9 && strcmp(argv[4], "loop") == 0;
    if (!repeats && (argc != 6 || strcmp(argv[4], "once")))
        die("usage: generator HOST PORT http|ws loop CONNECTIONS IN_FLIGHT WARM_UP SECONDS | once SECONDS");
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    inet_pton(AF_INET, argv[1], &to.sin_addr);
    websocket = strcmp(argv[3], "ws") == 0;
    poll = epoll_create1(0);

    struct frame opening = read_frame();
    uint32_t streams = read_number(), connections = repeats ? (uint32_t)atoi(argv[5]) : streams;
    struct stream *given = malloc((streams + 1) * sizeof *given);
    for (uint32_t i = 0; i < streams; i++) given[i] = read_stream();
    if (repeats && (streams != 1 || !given->count)) die("no frames");

    struct lane *lanes = calloc(connections + 1, sizeof *lanes);
    for (uint32_t i = 0; i < connections; i++) {
        open_lane(&lanes[i], &to, opening, repeats ? (uint32_t)atoi(argv[6]) : 1);
        lanes[i].stream = repeats ? given : &given[i];
        if (repeats) lanes[i].next = (uint32_t)((uint64_t)i * given->count / connections);
    }
    if (repeats)
        loop(lanes, connections, atof(argv[7]), atof(argv[8]));
    else
        once(lanes, connections, atof(argv[5]));
    return 0;
}
