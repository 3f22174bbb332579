#include "train.h"

#include <errno.h>
#include <fcntl.h>
#include <pipescope/record.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transfers.h"

enum { MAX_CHUNKS = 2 };

typedef struct trainer {
    const options *o;
    int rank;
    links *l;
    int log; /* file descriptor, -1 none */
    compute compute;
    transfers transfers;
    piece pieces[MAX_CHUNKS]; /* by chunk */
} trainer;

int n_pieces(const options *o) {
    return o->pp * schedule_chunks(o->schedule);
}

/* --- sends and receives --------------------------------------------------------------------------------------------- */

static size_t microbatch_bytes(const trainer *t) {
    return (size_t)t->o->size.rows * (size_t)t->o->size.width * sizeof(float);
}

/* Pieces that follow each other on one device need no transfer. */
static void receive(trainer *t, direction d, int front_piece, int microbatch, float *into) {
    int from = d == ACTIVATIONS ? front_piece : front_piece + 1;
    int chunk = 0;
    int peer = schedule_device(t->o->schedule, t->o->pp, from, &chunk);
    if (peer == t->rank) {
        const piece *p = &t->pieces[chunk];
        memcpy(into,
               d == ACTIVATIONS ? piece_last(p, microbatch)->value
                                : piece_first(p, microbatch)->gradient,
               microbatch_bytes(t));
        return;
    }
    transfers_receive(&t->transfers, d, front_piece, peer, into);
}

static void send(trainer *t, direction d, int front_piece, const float *floats) {
    int to = d == ACTIVATIONS ? front_piece + 1 : front_piece;
    int chunk = 0;
    int peer = schedule_device(t->o->schedule, t->o->pp, to, &chunk);
    if (peer != t->rank) {
        transfers_send(&t->transfers, d, front_piece, peer, floats);
    }
}

static int piece_number(const trainer *t, int chunk) {
    return schedule_piece(t->o->schedule, t->o->pp, t->rank, chunk);
}

static void receive_input(trainer *t, int chunk, int microbatch) {
    int number = piece_number(t, chunk);
    float *into = piece_first(&t->pieces[chunk], microbatch)->value;
    if (number > 0) {
        receive(t, ACTIVATIONS, number - 1, microbatch, into);
    } else {
        model_make_input(t->o->size, microbatch, into); /* what a data loader does */
    }
}

static void receive_gradient(trainer *t, int chunk, int microbatch) {
    int number = piece_number(t, chunk);
    if (number < n_pieces(t->o) - 1) {
        receive(t, GRADIENTS, number, microbatch,
                piece_last(&t->pieces[chunk], microbatch)->gradient);
    }
}

static void send_output(trainer *t, int chunk, int microbatch) {
    int number = piece_number(t, chunk);
    if (number < n_pieces(t->o) - 1) {
        send(t, ACTIVATIONS, number, piece_last(&t->pieces[chunk], microbatch)->value);
    }
}

static void send_gradient(trainer *t, int chunk, int microbatch) {
    int number = piece_number(t, chunk);
    if (number > 0) {
        send(t, GRADIENTS, number - 1, piece_first(&t->pieces[chunk], microbatch)->gradient);
    }
}

/* --- operations ------------------------------------------------------------------------------------------------------- */

/* The range around an operation: named as the framework that has the schedule names it (docs/marks.md). */
static uint64_t begin_op(const trainer *t, const op *x) {
    bool dual = t->o->schedule == SCHEDULE_DUALPIPEV;
    char message[96];
    const char *name = "backward_step";
    int microbatch = -1;
    if (x->kind == OP_FORWARD) {
        name = dual ? "forward_step_with_model_graph" : "forward_step";
        microbatch = dual ? x->microbatch : -1;
    } else if (x->kind == OP_PAIR) {
        name = "forward_backward_overlaping";
        microbatch = x->microbatch;
    } else if (x->kind == OP_BACKWARD_WEIGHT) {
        name = "WeightGradStore.pop";
    } else if (x->kind != OP_BACKWARD_HEAD && dual) {
        name = "backward_step_with_model_graph";
    }
    if (microbatch >= 0) {
        (void)snprintf(message, sizeof message, "{'name': '%s', 'current_microbatch': %d}", name,
                       microbatch);
    } else {
        (void)snprintf(message, sizeof message, "{'name': '%s'}", name);
    }
    return ps_record_range_start(NULL, message, PS_RECORD_HOST_STREAM);
}

/* One line, in one write: step, stage, kind, chunk, microbatch, and of a pair those of its backward. */
static void log_op(const trainer *t, int step, const op *x) {
    static const char *const KINDS[] = {"F", "B", "I", "W", "H", "FB"};
    if (t->log < 0) {
        return;
    }
    if (x->kind == OP_PAIR) {
        (void)dprintf(t->log, "%d %d FB %d %d %d %d\n", step, t->rank, x->chunk, x->microbatch,
                      x->chunk2, x->microbatch2);
    } else {
        (void)dprintf(t->log, "%d %d %s %d %d\n", step, t->rank, KINDS[x->kind], x->chunk,
                      x->microbatch);
    }
}

static void receive_for(trainer *t, const op *x) {
    if (x->kind == OP_FORWARD || x->kind == OP_PAIR) {
        receive_input(t, x->chunk, x->microbatch);
    }
    if (x->kind == OP_PAIR) {
        receive_gradient(t, x->chunk2, x->microbatch2);
    } else if (x->kind == OP_BACKWARD || x->kind == OP_BACKWARD_INPUT) {
        receive_gradient(t, x->chunk, x->microbatch);
    }
}

static void compute_op(trainer *t, const op *x) {
    piece *p = &t->pieces[x->chunk];
    switch (x->kind) {
    case OP_FORWARD:
        piece_forward(p, &t->compute, x->microbatch);
        break;
    case OP_PAIR:
        piece_forward(p, &t->compute, x->microbatch);
        piece_backward_input(&t->pieces[x->chunk2], &t->compute, x->microbatch2);
        piece_backward_weight(&t->pieces[x->chunk2], &t->compute, x->microbatch2);
        break;
    case OP_BACKWARD:
        piece_backward_input(p, &t->compute, x->microbatch);
        piece_backward_weight(p, &t->compute, x->microbatch);
        break;
    case OP_BACKWARD_INPUT:
        piece_backward_input(p, &t->compute, x->microbatch);
        break;
    case OP_BACKWARD_WEIGHT:
        piece_backward_weight(p, &t->compute, x->microbatch);
        break;
    case OP_BACKWARD_HEAD:
        piece_backward_head(p, &t->compute, x->microbatch);
        break;
    }
}

static void send_from(trainer *t, const op *x) {
    if (x->kind == OP_FORWARD || x->kind == OP_PAIR) {
        send_output(t, x->chunk, x->microbatch);
    }
    if (x->kind == OP_PAIR) {
        send_gradient(t, x->chunk2, x->microbatch2);
    } else if (x->kind == OP_BACKWARD || x->kind == OP_BACKWARD_INPUT) {
        send_gradient(t, x->chunk, x->microbatch);
    }
}

/* Waiting is outside of the range, so that the range is what the device had to do. */
static void run_op(trainer *t, int step, const op *x) {
    receive_for(t, x);
    uint64_t range = begin_op(t, x);
    compute_op(t, x);
    ps_record_range_end(range);
    log_op(t, step, x);
    send_from(t, x);
}

/* --- recording ---------------------------------------------------------------------------------------------------- */

static void describe_group(char *out, size_t size, const options *o, int rank) {
    int n = 0;
    char ranks[512] = "";
    for (int r = 0; r < o->pp; r++) {
        n += snprintf(ranks + n, sizeof ranks - (size_t)n, "%s%d", r > 0 ? ", " : "", r);
    }
    (void)snprintf(
        out, size,
        "{\"%s\": {\"group_name\": \"pp\", \"group_rank\": %d, \"global_ranks\": [%s]}, "
        "\"%s\": {\"group_name\": \"pp_gradients\", \"group_rank\": %d, \"global_ranks\": [%s]}}",
        transfers_group(ACTIVATIONS), rank, ranks, transfers_group(GRADIENTS), rank, ranks);
}

/* What the analyses must know of the job. */
static void add_metadata(const options *o, int rank) {
    char json[2048];
    (void)snprintf(json, sizeof json, "{\"pp_type\": \"%s\", \"microbatch_num\": %d}",
                   schedule_name(o->schedule), o->size.n_microbatches);
    ps_record_add_metadata("pp_info", json);
    (void)snprintf(json, sizeof json,
                   "{\"tensor_model_parallel_size\": 1, \"pipeline_model_parallel_size\": %d, "
                   "\"data_parallel_size\": 1, \"context_parallel_size\": 1, "
                   "\"expert_model_parallel_size\": 1, \"sequence_parallel\": false, "
                   "\"rank\": %d, \"world_size\": %d}",
                   o->pp, rank, o->pp);
    ps_record_add_metadata("distributed_args", json);
    describe_group(json, sizeof json, o, rank);
    ps_record_add_metadata("parallel_group_info", json);
    ps_record_name_stream(PS_RECORD_HOST_STREAM, "compute");
}

/* `pipescope record` may have begun already. With a window the steps decide. */
static void begin_recording(const options *o, int rank) {
    char text[16];
    (void)snprintf(text, sizeof text, "%d", rank);
    ps_record_set("rank", text);
    add_metadata(o, rank);
    if (o->output == NULL) {
        return;
    }
    ps_record_set("output_dir", o->output);
    ps_record_set("window", o->window);
    int code = o->window == NULL && ps_record_enabled() == 0 ? ps_record_start() : PS_RECORD_OK;
    if (code != PS_RECORD_OK) {
        fprintf(stderr, "example-pipeline: rank %d is not recorded: %s\n", rank,
                ps_record_error_text(code));
    }
}

static int end_recording(int rank) {
    if (ps_record_enabled() == 0) {
        return 0; /* not recorded, or its window ended */
    }
    int code = ps_record_stop();
    code = code == PS_RECORD_OK ? ps_record_export(NULL) : code;
    if (code != PS_RECORD_OK) {
        fprintf(stderr, "example-pipeline: rank %d: %s\n", rank, ps_record_error_text(code));
    }
    return code == PS_RECORD_OK ? 0 : 1;
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

static void init(trainer *t, const options *o, int rank, links *l) {
    *t = (trainer){.o = o, .rank = rank, .l = l, .log = -1};
    if (o->log != NULL) {
        t->log = open(o->log, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (t->log < 0) {
            fprintf(stderr, "example-pipeline: %s: %s\n", o->log, strerror(errno));
            exit(1);
        }
    }
    int larger = o->size.rows > o->size.width ? o->size.rows : o->size.width;
    compute_init(&t->compute, rank == o->slow_stage ? o->slowness : 1, o->flops_per_s,
                 larger * o->size.width);
    transfers_init(&t->transfers, l, rank, o->size.rows * o->size.width);
    for (int chunk = 0; chunk < schedule_chunks(o->schedule); chunk++) {
        piece_init(&t->pieces[chunk], o->size, piece_number(t, chunk), n_pieces(o));
    }
}

static void fini(trainer *t) {
    for (int chunk = 0; chunk < schedule_chunks(t->o->schedule); chunk++) {
        piece_fini(&t->pieces[chunk]);
    }
    compute_fini(&t->compute);
    if (t->log >= 0) {
        close(t->log);
    }
}

int train(const options *o, int rank, links *l) {
    trainer t;
    init(&t, o, rank, l);
    order list = schedule_order(o->schedule, o->pp, rank, o->size.n_microbatches);
    begin_recording(o, rank);
    links_gate(l);
    for (int step = 0; step < o->n_steps; step++) {
        ps_record_step_begin(step);
        for (size_t i = 0; i < list.n; i++) {
            run_op(&t, step, &list.ops[i]);
        }
        for (int chunk = 0; chunk < schedule_chunks(o->schedule); chunk++) {
            double loss = piece_update(&t.pieces[chunk], o->learning_rate);
            if (t.pieces[chunk].has_head) {
                links_losses(l)[step] = loss;
            }
        }
        transfers_settle(&t.transfers);
        links_gate(l); /* as everyone waits for the norm of all gradients */
        ps_record_step_end();
    }
    transfers_fini(&t.transfers);
    int status = end_recording(rank);
    free(list.ops);
    fini(&t);
    return status;
}

void train_alone(const options *o, double *losses) {
    piece p;
    compute c;
    int larger = o->size.rows > o->size.width ? o->size.rows : o->size.width;
    compute_init(&c, 1, 0, larger * o->size.width);
    piece_init(&p, o->size, 0, 1);
    for (int step = 0; step < o->n_steps; step++) {
        for (int k = 0; k < o->size.n_microbatches; k++) {
            model_make_input(o->size, k, piece_first(&p, k)->value);
            piece_forward(&p, &c, k);
            piece_backward_input(&p, &c, k);
            piece_backward_weight(&p, &c, k);
        }
        losses[step] = piece_update(&p, o->learning_rate);
    }
    piece_fini(&p);
    compute_fini(&c);
}
