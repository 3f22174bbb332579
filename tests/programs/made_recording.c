/* Leaves the raw files of two ranks below the folder named, as if both had been killed right after their work: a pipeline of two
 * stages with four microbatches (1F1B), one unit of time 1 ms, a backward twice as long as a forward; a module with two
 * operators in each forward. */
#include <stdio.h>
#include <string.h>

#include "../support/record_slots.c"

enum { UNIT = 1000000 };

typedef struct work {
    char what; /* F or B */
    unsigned start;
} work;

/*   time     0 1 2 3 4 5 6 7 8 9 . . . . . .
 *   stage 0  F F . . B B F B B F B B . B B        warm-up of one more forward
 *   stage 1  . F B B F B B F B B F B B            */
static const work STAGES[2][8] = {
    {{'F', 0}, {'F', 1}, {'B', 4}, {'F', 6}, {'B', 7}, {'F', 9}, {'B', 10}, {'B', 13}},
    {{'F', 1}, {'B', 2}, {'F', 4}, {'B', 5}, {'F', 7}, {'B', 8}, {'F', 10}, {'B', 11}}};

static uint64_t at(unsigned units) {
    return 10000 + (uint64_t)units * UNIT;
}

static void put_op(made_recording *r, uint64_t id, uint64_t start, uint64_t end, uint32_t name) {
    ps_slot shapes = {.text = 5};
    ps_slot begin = {.kind = PS_REC_OP_BEGIN, .ticks = start, .id = id, .aux = 1, .text = name};
    put_slot(r, 1, begin, &shapes, sizeof shapes);
    put_event(r, 1, PS_REC_RANGE_END, end, id, 0, 0, PS_DOMAIN_ANY);
}

/* A module over a forward's first half, with two operators in it. */
static void put_module(made_recording *r, uint64_t id, uint64_t start) {
    put_event(r, 1, PS_REC_PUSH, start + 1000, id, 0, 3, 1);
    put_op(r, id + 1, start + 2000, start + 102000, 4);
    put_op(r, id + 2, start + 110000, start + 160000, 6);
    put_event(r, 1, PS_REC_RANGE_END, start + 200000, id, 0, 0, 1);
}

static void make_rank(const char *dir, int rank) {
    made_recording r;
    char path[4096];
    recording_begin(&r, rank);
    put_pair(&r, PS_REC_META, 0, "pp_info", "{\"pp_type\": \"1f1b\", \"microbatch_num\": 4}");
    put_pair(&r, PS_REC_META, 0, "distributed_args",
             "{\"tensor_model_parallel_size\": 1, \"pipeline_model_parallel_size\": 2, "
             "\"data_parallel_size\": 1, \"world_size\": 2}");
    put_named(&r, PS_REC_DOMAIN, 1, "Module");
    put_thread(&r, 1, 7, "python");
    put_text(&r, 1, 1, "{'name': 'forward_step'}");
    put_text(&r, 1, 2, "{'name': 'backward_step'}");
    put_text(&r, 1, 3, "Linear");
    put_text(&r, 1, 4, "aten::mm");
    put_text(&r, 1, 5, "64,128;128,32");
    put_text(&r, 1, 6, "aten::add");
    put_event(&r, 1, PS_REC_STEP_BEGIN, 5000, 1, 0, 0, 0);
    for (unsigned i = 0; i < 8; i++) {
        const work *w = &STAGES[rank][i];
        uint64_t id = PS_RANGE_ON_DEVICE | (10 * (i + 1));
        put_event(&r, 1, PS_REC_RANGE_START, at(w->start), id, 1, w->what == 'F' ? 1 : 2, 0);
        if (w->what == 'F') {
            put_module(&r, 10 * (i + 1) + 1, at(w->start));
        }
        put_event(&r, 1, PS_REC_RANGE_END, at(w->start + (w->what == 'F' ? 1 : 2)), id, 0, 0, 0);
        if (i == 3) {
            spool_all(&r);
        }
    }
    put_event(&r, 1, PS_REC_STEP_END, at(16), 1, 0, 0, 0);
    (void)snprintf(path, sizeof path, "%s/host_%d_20260101000000000_ascend_pt", dir, rank);
    write_recording(&r, path);
    recording_end(&r);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        (void)fprintf(stderr, "usage: made_recording DIR\n");
        return 2;
    }
    make_rank(argv[1], 0);
    make_rank(argv[1], 1);
    return 0;
}
