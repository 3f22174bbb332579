#include "transfers.h"

#include <pipescope/record.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lanes of the timeline behind that of what computes (PS_RECORD_HOST_STREAM): receives, then each thread that sends. */
enum { RECEIVE_STREAM = 2, FIRST_SEND_STREAM = 3 };

static const char *const GROUPS[] = {
    [ACTIVATIONS] = "pipeline_activations", [GRADIENTS] = "pipeline_gradients"};

const char *transfers_group(direction d) {
    return GROUPS[d];
}

static void *stream(int number) {
    return (void *)(uintptr_t)number;
}

/* The text that a framework's communication library leaves: sends and receives of the same communicator and two ranks, in
 * the order in which they happen, belong together. */
static uint64_t begin(const transfers *t, const char *call, direction d, int number, int from,
                      int to) {
    char message[256];
    (void)snprintf(
        message, sizeof message,
        "{\"opName\": \"%s\", \"groupName\": \"%s\", \"dataType\": \"fp32\", "
        "\"count\": \"%d\", \"streamId\": \"%d\", \"srcRank\": \"%d\", \"destRank\": \"%d\"}",
        call, GROUPS[d], t->n_floats, number, from, to);
    return ps_record_range_start(ps_record_domain_named("communication"), message, stream(number));
}

static void *send_all(void *context) {
    const sender *s = context;
    const transfers *t = s->transfers;
    while (links_next(t->l, s->direction, s->front_piece)) {
        uint64_t range = begin(t, "HcclSend", s->direction, s->number, t->rank, s->peer);
        links_hand_over(t->l, s->direction, s->front_piece);
        ps_record_range_end(range);
    }
    return NULL;
}

static void start_sender(transfers *t, direction d, int front_piece, int peer) {
    static const char *const WHAT[] = {[ACTIVATIONS] = "activations", [GRADIENTS] = "gradients"};
    sender *s = &t->senders[t->n_senders];
    *s = (sender){.transfers = t,
                  .direction = d,
                  .front_piece = front_piece,
                  .peer = peer,
                  .number = FIRST_SEND_STREAM + t->n_senders};
    char name[64];
    (void)snprintf(name, sizeof name, "send %s to %d", WHAT[d], peer);
    ps_record_name_stream(stream(s->number), name);
    int failed = pthread_create(&s->thread, NULL, send_all, s);
    if (failed != 0) {
        fprintf(stderr, "example-pipeline: no thread: error %d\n", failed);
        exit(1);
    }
    t->n_senders++;
}

void transfers_init(transfers *t, links *l, int rank, int n_floats) {
    *t = (transfers){.l = l, .rank = rank, .n_floats = n_floats};
    ps_record_name_stream(stream(RECEIVE_STREAM), "receive");
}

void transfers_fini(transfers *t) {
    for (int i = 0; i < t->n_senders; i++) {
        const sender *s = &t->senders[i];
        links_close_ring(t->l, s->direction, s->front_piece);
        (void)pthread_join(s->thread, NULL);
    }
}

void transfers_send(transfers *t, direction d, int front_piece, int peer, const float *floats) {
    int i = 0;
    while (i < t->n_senders &&
           (t->senders[i].direction != d || t->senders[i].front_piece != front_piece)) {
        i++;
    }
    if (i == t->n_senders) {
        start_sender(t, d, front_piece, peer);
    }
    links_queue(t->l, d, front_piece, floats);
}

void transfers_receive(transfers *t, direction d, int front_piece, int peer, float *floats) {
    uint64_t range = begin(t, "HcclRecv", d, RECEIVE_STREAM, peer, t->rank);
    links_receive(t->l, d, front_piece, floats);
    ps_record_range_end(range);
}

void transfers_settle(transfers *t) {
    for (int i = 0; i < t->n_senders; i++) {
        links_settle(t->l, t->senders[i].direction, t->senders[i].front_piece);
    }
}
