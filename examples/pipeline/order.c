#include "order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const NAMES[N_SCHEDULES] = {"gpipe", "1f1b", "interleaved", "zb-h1",
                                               "dualpipev"};

const char *schedule_name(schedule s) {
    return NAMES[s];
}

schedule schedule_named(const char *name) {
    int s = 0;
    while (s < N_SCHEDULES && strcmp(NAMES[s], name) != 0) {
        s++;
    }
    return (schedule)s;
}

const char *schedule_objection(schedule s, int devices, int microbatches) {
    if (s == SCHEDULE_INTERLEAVED && microbatches % devices != 0) {
        return "interleaved needs a number of microbatches that is a multiple of --pp";
    }
    if (s == SCHEDULE_DUALPIPEV && microbatches < 2 * devices) {
        return "dualpipev needs at least two microbatches for each device";
    }
    return NULL;
}

int schedule_chunks(schedule s) {
    return s == SCHEDULE_INTERLEAVED || s == SCHEDULE_DUALPIPEV ? 2 : 1;
}

int schedule_piece(schedule s, int devices, int device, int chunk) {
    if (chunk == 0) {
        return device;
    }
    return s == SCHEDULE_DUALPIPEV ? 2 * devices - 1 - device : devices + device;
}

int schedule_device(schedule s, int devices, int piece, int *chunk) {
    *chunk = piece / devices;
    if (*chunk == 0) {
        return piece;
    }
    return s == SCHEDULE_DUALPIPEV ? 2 * devices - 1 - piece : piece - devices;
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

static void add(order *o, op next) {
    if (o->n == o->capacity) {
        o->capacity = o->capacity == 0 ? 64 : 2 * o->capacity;
        o->ops = realloc(o->ops, o->capacity * sizeof *o->ops);
        if (o->ops == NULL) {
            fprintf(stderr, "example-pipeline: out of memory\n");
            exit(1);
        }
    }
    o->ops[o->n++] = next;
}

static void add_one(order *o, op_kind kind, int chunk, int microbatch) {
    add(o, (op){kind, chunk, microbatch, -1, -1});
}

static int smaller(int a, int b) {
    return a < b ? a : b;
}

/* All forwards, then all backwards. */
static order gpipe(int microbatches) {
    order o = {0};
    for (int k = 0; k < microbatches; k++) {
        add_one(&o, OP_FORWARD, 0, k);
    }
    for (int k = 0; k < microbatches; k++) {
        add_one(&o, OP_BACKWARD, 0, k);
    }
    return o;
}

/* One forward for every device behind, then a forward and a backward in turn, then the backwards that are left. */
static order one_f_one_b(int devices, int device, int microbatches) {
    order o = {0};
    int ahead = smaller(devices - 1 - device, microbatches);
    for (int k = 0; k < ahead; k++) {
        add_one(&o, OP_FORWARD, 0, k);
    }
    for (int k = 0; k < microbatches; k++) {
        if (ahead + k < microbatches) {
            add_one(&o, OP_FORWARD, 0, ahead + k);
        }
        add_one(&o, OP_BACKWARD, 0, k);
    }
    return o;
}

/* 1F1B with the backward cut in two: the gradient of the inputs, which the device in front waits for, and that of the
 * weights, which device d puts off by d backwards so that it fills the end of the step. */
static order zb_h1(int devices, int device, int microbatches) {
    order o = {0};
    int ahead = smaller(devices - 1 - device, microbatches);
    for (int k = 0; k < ahead; k++) {
        add_one(&o, OP_FORWARD, 0, k);
    }
    for (int k = 0; k < microbatches; k++) {
        if (ahead + k < microbatches) {
            add_one(&o, OP_FORWARD, 0, ahead + k);
        }
        add_one(&o, OP_BACKWARD_INPUT, 0, k);
        if (k >= device) {
            add_one(&o, OP_BACKWARD_WEIGHT, 0, k - device);
        }
    }
    for (int k = microbatches - smaller(device, microbatches); k < microbatches; k++) {
        add_one(&o, OP_BACKWARD_WEIGHT, 0, k);
    }
    return o;
}

/* Number k of all the forwards or backwards of a device: groups of as many microbatches as there are devices go through
 * one chunk, then through the other. */
static void add_turn(order *o, int devices, op_kind kind, int k) {
    int group = k / (2 * devices);
    int chunk = k / devices % 2;
    int microbatch = group * devices + k % devices;
    add_one(o, kind, kind == OP_FORWARD ? chunk : 1 - chunk, microbatch);
}

/* 1F1B over twice as many forwards and backwards. */
static order interleaved(int devices, int device, int microbatches) {
    order o = {0};
    int all = 2 * microbatches;
    int ahead = smaller(2 * (devices - 1 - device) + devices, all);
    for (int k = 0; k < ahead; k++) {
        add_turn(&o, devices, OP_FORWARD, k);
    }
    for (int k = 0; k < all; k++) {
        if (ahead + k < all) {
            add_turn(&o, devices, OP_FORWARD, ahead + k);
        }
        add_turn(&o, devices, OP_BACKWARD, k);
    }
    return o;
}

/* --- DualPipeV ---------------------------------------------------------------------------------------------------- */

/* Counts the microbatches of each chunk and direction up. */
typedef struct dual {
    order *o;
    int forwards[2], backwards[2];
    bool has_head; /* the output head is behind chunk 1 of this device */
} dual;

static void dual_forward(dual *d, int chunk) {
    add_one(d->o, OP_FORWARD, chunk, d->forwards[chunk]++);
}

static void dual_head(dual *d, int chunk) {
    if (d->has_head && chunk == 1) {
        add_one(d->o, OP_BACKWARD_HEAD, chunk, d->backwards[chunk]);
    }
}

static void dual_backward(dual *d, int chunk) {
    dual_head(d, chunk);
    add_one(d->o, OP_BACKWARD, chunk, d->backwards[chunk]++);
}

static void dual_split_backward(dual *d, int chunk) {
    dual_head(d, chunk);
    add_one(d->o, OP_BACKWARD_INPUT, chunk, d->backwards[chunk]);
    add_one(d->o, OP_BACKWARD_WEIGHT, chunk, d->backwards[chunk]++);
}

static void dual_pair(dual *d, int forward, int backward) {
    dual_head(d, backward);
    add(d->o, (op){OP_PAIR, forward, d->forwards[forward]++, backward, d->backwards[backward]++});
}

/* The model goes down the devices (chunk 0) and comes back (chunk 1), so that a device always has a forward of one chunk and
 * a backward of the other at hand: deepseek-ai/DualPipe, with whole backwards at the end. */
static order dualpipev(int devices, int device, int microbatches) {
    order o = {0};
    dual d = {.o = &o, .has_head = device == 0};
    int behind = devices - 1 - device;
    for (int i = 0; i < 2 * behind; i++) {
        dual_forward(&d, 0);
    }
    for (int i = 0; i < device + 1; i++) {
        dual_forward(&d, 0);
        dual_forward(&d, 1);
    }
    for (int i = 0; i < behind; i++) {
        dual_split_backward(&d, 1);
        dual_forward(&d, 1);
    }
    for (int i = 0; i < microbatches - 2 * devices + device + 1; i++) {
        if (i == 0 && behind == 0) { /* nothing came before that could be overlapped */
            dual_forward(&d, 0);
            dual_backward(&d, 1);
        } else {
            dual_pair(&d, 0, 1);
        }
        dual_pair(&d, 1, 0);
    }
    for (int i = 0; i < behind; i++) {
        dual_backward(&d, 1);
        dual_pair(&d, 1, 0);
    }
    for (int i = 0; i < device + 1; i++) {
        dual_backward(&d, 1);
        dual_backward(&d, 0);
    }
    for (int i = 0; i < behind; i++) {
        dual_backward(&d, 0);
    }
    return o;
}

order schedule_order(schedule s, int devices, int device, int microbatches) {
    switch (s) {
    case SCHEDULE_GPIPE:
        return gpipe(microbatches);
    case SCHEDULE_INTERLEAVED:
        return interleaved(devices, device, microbatches);
    case SCHEDULE_ZB_H1:
        return zb_h1(devices, device, microbatches);
    case SCHEDULE_DUALPIPEV:
        return dualpipev(devices, device, microbatches);
    default:
        return one_f_one_b(devices, device, microbatches);
    }
}
