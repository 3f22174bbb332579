/* A small pipeline-parallel training, recorded: --pp processes train one model together, each of them a few layers of it. They
 * send activations and gradients to each other through shared memory and really wait; products of matrices are really
 * computed.
 *
 *     example-pipeline --schedule dualpipev --output traces     records itself
 *     pipescope record -o traces -- example-pipeline            is recorded
 *     pipescope chart traces
 *
 * What of it a trainer needs to be recorded stands in train.c (steps, ranges around forwards and backwards, sends and
 * receives, metadata), model.c (calls of modules) and compute.c (operators).
 *
 * The first process only starts the others, as torchrun or mpirun would, and says the losses. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <pipescope/record.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "train.h"

#define MAX_PP 64
#define TOLERANCE 1e-4 /* of a loss: sums in another order round otherwise */

extern char **environ;

static void usage(FILE *out) {
    fputs(
        "usage: example-pipeline [options]\n"
        "\n"
        "  --schedule NAME       gpipe, 1f1b, interleaved, zb-h1 or dualpipev (1f1b)\n"
        "  --pp N                processes, the devices of the pipeline (4)\n"
        "  --microbatches N      in each step (8)\n"
        "  --steps N             (4)\n"
        "  --layers N            of the whole model (16)\n"
        "  --split N,N,...       layers of each piece of the model (as even as they can be)\n"
        "  --width N             of a layer, a multiple of 8 (256)\n"
        "  --rows N              of a microbatch, a multiple of 4 (64)\n"
        "  --learning-rate X     (0.05)\n"
        "  --slow-stage I:X      device I computes its products X times\n"
        "  --device-gflops X     of a device, which sleeps for what the processor is faster\n"
        "  --output DIR          record into this folder\n"
        "  --window A:B          record steps A to B-1 only\n"
        "  --log FILE            what was executed, a line each: step, stage, kind (F, B, I, W, H, FB),\n"
        "                        chunk, microbatch, and of a pair chunk and microbatch of its backward\n"
        "  --check               compare with the same training in one process\n",
        out);
}

static void refuse(const char *what, const char *value) {
    fprintf(stderr, "example-pipeline: %s: '%s' (--help lists the options)\n", what, value);
    exit(2);
}

/* --- options ------------------------------------------------------------------------------------------------------ */

static double number(const char *text, const char *name, double low, double high) {
    char *end = NULL;
    errno = 0;
    double value = strtod(text, &end);
    if (errno != 0 || end == text || *end != '\0' || !(value >= low && value <= high)) {
        refuse(name, text);
    }
    return value;
}

static int whole(const char *text, const char *name, int low, int high) {
    double value = number(text, name, low, high);
    if (value != floor(value)) {
        refuse(name, text);
    }
    return (int)value;
}

static void set_slow_stage(options *o, const char *text) {
    char stage[16];
    const char *colon = strchr(text, ':');
    if (colon == NULL || (size_t)(colon - text) >= sizeof stage) {
        refuse("--slow-stage", text);
        return;
    }
    memcpy(stage, text, (size_t)(colon - text));
    stage[colon - text] = '\0';
    o->slow_stage = whole(stage, "--slow-stage", 0, MAX_PP - 1);
    o->slowness = number(colon + 1, "--slow-stage", 1, 100);
}

static void set_split(options *o, const char *text) {
    static int split[2 * MAX_PP];
    const char *at = text;
    o->n_split = 0;
    o->size.n_layers = 0;
    while (*at != '\0') {
        char layers[16];
        size_t n = strcspn(at, ",");
        if (n >= sizeof layers || o->n_split == 2 * MAX_PP) {
            refuse("--split", text);
        }
        memcpy(layers, at, n);
        layers[n] = '\0';
        split[o->n_split] = whole(layers, "--split", 1, 4096);
        o->size.n_layers += split[o->n_split++];
        at += n + (at[n] == ',');
    }
    o->size.split = split;
}

static void set_option(options *o, int which, const char *text) {
    switch (which) {
    case 's':
        o->schedule = schedule_named(text);
        if (o->schedule == N_SCHEDULES) {
            refuse("--schedule", text);
        }
        break;
    case 'p':
        o->pp = whole(text, "--pp", 1, MAX_PP);
        break;
    case 'm':
        o->size.n_microbatches = whole(text, "--microbatches", 1, 4096);
        break;
    case 'n':
        o->n_steps = whole(text, "--steps", 1, 1000000);
        break;
    case 'L':
        o->size.n_layers = whole(text, "--layers", 1, 4096);
        break;
    case 'x':
        set_split(o, text);
        break;
    case 'w':
        o->size.width = whole(text, "--width", 8, 8192);
        break;
    case 'r':
        o->size.rows = whole(text, "--rows", 4, 8192);
        break;
    case 'a':
        o->learning_rate = number(text, "--learning-rate", 0, 100);
        break;
    case 'S':
        set_slow_stage(o, text);
        break;
    case 'g':
        o->flops_per_s = number(text, "--device-gflops", 1e-6, 1e6) * 1e9;
        break;
    case 'o':
        o->output = text;
        break;
    case 'W':
        o->window = text;
        break;
    case 'l':
        o->log = text;
        break;
    case 'c':
        o->check = true;
        break;
    default:
        usage(which == 'h' ? stdout : stderr);
        exit(which == 'h' ? 0 : 2);
    }
}

static options read_options(int argc, char **argv) {
    static const struct option NAMES[] = {{"schedule", required_argument, NULL, 's'},
                                          {"pp", required_argument, NULL, 'p'},
                                          {"microbatches", required_argument, NULL, 'm'},
                                          {"steps", required_argument, NULL, 'n'},
                                          {"layers", required_argument, NULL, 'L'},
                                          {"split", required_argument, NULL, 'x'},
                                          {"width", required_argument, NULL, 'w'},
                                          {"rows", required_argument, NULL, 'r'},
                                          {"learning-rate", required_argument, NULL, 'a'},
                                          {"slow-stage", required_argument, NULL, 'S'},
                                          {"device-gflops", required_argument, NULL, 'g'},
                                          {"output", required_argument, NULL, 'o'},
                                          {"window", required_argument, NULL, 'W'},
                                          {"log", required_argument, NULL, 'l'},
                                          {"check", no_argument, NULL, 'c'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    options o = {.schedule = SCHEDULE_1F1B,
                 .pp = 4,
                 .n_steps = 4,
                 .size = {.n_layers = 16, .width = 256, .rows = 64, .n_microbatches = 8},
                 .slow_stage = -1,
                 .slowness = 1,
                 .learning_rate = 0.05};
    for (int c; (c = getopt_long(argc, argv, "", NAMES, NULL)) != -1;) {
        set_option(&o, c, optarg);
    }
    if (optind < argc) {
        refuse("unknown argument", argv[optind]);
    }
    return o;
}

static void check_options(const options *o) {
    const char *objection = schedule_objection(o->schedule, o->pp, o->size.n_microbatches);
    if (o->size.width % 8 != 0 || o->size.rows % 4 != 0) {
        objection = "--width is a multiple of 8 and --rows of 4";
    } else if (o->size.n_layers < n_pieces(o)) {
        objection = "--layers is at least one for each piece of the model";
    } else if (o->size.split != NULL && o->n_split != n_pieces(o)) {
        objection = "--split names as many numbers as the model has pieces";
    } else if (o->slow_stage >= o->pp) {
        objection = "--slow-stage names no stage of the pipeline";
    }
    if (objection != NULL) {
        fprintf(stderr, "example-pipeline: %s\n", objection);
        exit(2);
    }
}

/* --- processes ---------------------------------------------------------------------------------------------------- */

/* How a process that was started by this program knows its place: RANK is what launchers set and the recorder reads, too. */
#define PLACE "EXAMPLE_PIPELINE_PLACE"

/* The environment with two more variables, for a process that runs this program again: a process that was only forked would
 * have no recorder. */
static pid_t start_rank(int rank, int fd, char **argv) {
    char rank_text[32];
    char told[64];
    (void)snprintf(rank_text, sizeof rank_text, "RANK=%d", rank);
    (void)snprintf(told, sizeof told, PLACE "=%d:%d:%ld", rank, fd, (long)getpid());
    size_t n = 0;
    while (environ[n] != NULL) {
        n++;
    }
    char **env = calloc(n + 3, sizeof *env);
    if (env == NULL) {
        return -1;
    }
    env[0] = rank_text;
    env[1] = told;
    size_t kept = 2;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(environ[i], "RANK=", 5) != 0) {
            env[kept++] = environ[i];
        }
    }
    pid_t pid = -1;
    errno = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, env);
    int failed = errno;
    free(env);
    errno = failed;
    return failed == 0 ? pid : -1;
}

/* Waits for all; when one fails the others would wait for it for ever, so they are ended. */
static int wait_for_ranks(pid_t *ranks, int n) {
    int worst = 0;
    for (int left = n; left > 0;) {
        int status = 0;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0 && errno == EINTR) {
            continue;
        }
        int rank = 0;
        while (rank < n && ranks[rank] != pid) {
            rank++;
        }
        if (pid < 0 || rank == n) {
            return 1;
        }
        ranks[rank] = 0;
        left--;
        if (status == 0) {
            continue;
        }
        if (worst == 0) {
            fprintf(stderr, "example-pipeline: rank %d ended with %s %d\n", rank,
                    WIFSIGNALED(status) ? "signal" : "status",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        }
        worst = 1;
        for (int r = 0; r < n; r++) {
            if (ranks[r] > 0) {
                kill(ranks[r], SIGTERM);
            }
        }
    }
    return worst;
}

static int run_ranks(const options *o, int fd, char **argv) {
    pid_t ranks[MAX_PP] = {0};
    for (int r = 0; r < o->pp; r++) {
        ranks[r] = start_rank(r, fd, argv);
        if (ranks[r] < 0) {
            fprintf(stderr, "example-pipeline: starting rank %d: %s\n", r, strerror(errno));
            for (int i = 0; i < r; i++) {
                kill(ranks[i], SIGTERM);
            }
            (void)wait_for_ranks(ranks, r);
            return 1;
        }
    }
    return wait_for_ranks(ranks, o->pp);
}

/* A rank that was started by this program: its number, or -1. Ends with the process that started it. */
static int own_rank(int *fd) {
    const char *told = getenv(PLACE);
    int rank = -1;
    long parent = 0;
    if (told == NULL || sscanf(told, "%d:%d:%ld", &rank, fd, &parent) != 3) {
        return -1;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if ((long)getppid() != parent) {
        exit(1);
    }
    return rank;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static int report(const options *o, const double *losses) {
    double *alone = o->check ? calloc((size_t)o->n_steps, sizeof *alone) : NULL;
    double worst = 0;
    if (alone != NULL) {
        train_alone(o, alone);
    }
    for (int step = 0; step < o->n_steps; step++) {
        printf("step %d  loss %.6f", step, losses[step]);
        if (alone != NULL) {
            double difference = fabs(losses[step] - alone[step]) / alone[step];
            worst = difference <= worst ? worst : difference; /* also when it is no number */
            printf("  in one process %.6f", alone[step]);
        }
        printf("\n");
    }
    free(alone);
    if (!o->check) {
        return 0;
    }
    if (!(worst < TOLERANCE)) {
        fprintf(stderr, "example-pipeline: the losses differ by %g of their size\n", worst);
        return 1;
    }
    if (o->n_steps > 1 && !(losses[o->n_steps - 1] < losses[0])) {
        fprintf(stderr, "example-pipeline: the loss does not go down\n");
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    options o = read_options(argc, argv);
    check_options(&o);
    int fd = -1;
    int rank = own_rank(&fd);
    if (rank >= 0) {
        links *l = links_open(fd);
        int status = train(&o, rank, l);
        links_close(l);
        return status;
    }
    (void)
        ps_record_discard(); /* `pipescope record` also means the ranks: this process does nothing of interest */
    if (o.log != NULL) {
        int log = open(o.log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (log < 0) {
            fprintf(stderr, "example-pipeline: %s: %s\n", o.log, strerror(errno));
            return 1;
        }
        close(log);
    }
    links *l = links_create(o.pp, n_pieces(&o), o.size.n_microbatches, o.size.rows * o.size.width,
                            o.n_steps, &fd);
    int status = run_ranks(&o, fd, argv);
    status = status == 0 ? report(&o, links_losses(l)) : status;
    links_close(l);
    return status;
}
