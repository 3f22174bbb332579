/* A program that controls its recording, told by its words what to do, one after the other; prints the code of each call that
 * has one, or how many ranges were recorded and lost:
 *
 *   start | stop | export | discard | warmup    the functions of that name
 *   exportto FOLDER                             export into that one
 *   range N                                     that many
 *   slowly N                                    the same, with a pause now and then
 *   set OPTION VALUE | step N | sleep MS | stats
 *
 * link: pipescope-record */
#include <pipescope/record.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void ranges(int n, int every) {
    for (int i = 0; i < n; i++) {
        ps_record_range_end(ps_record_range_start(NULL, "work", PS_RECORD_HOST_STREAM));
        if (every > 0 && i % every == 0) {
            (void)usleep(1000);
        }
    }
}

static int control(const char *word) {
    static const struct {
        const char *word;
        int (*function)(void);
    } CALLS[] = {{"start", ps_record_start},
                 {"stop", ps_record_stop},
                 {"discard", ps_record_discard},
                 {"warmup", ps_record_warmup}};
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++) {
        if (strcmp(word, CALLS[i].word) == 0) {
            printf("%s %d\n", word, CALLS[i].function());
            return 1;
        }
    }
    return 0;
}

static void stats(void) {
    ps_record_stats s = {.size = sizeof s};
    (void)ps_record_get_stats(&s);
    printf("ranges %llu lost %llu safe %u\n", (unsigned long long)s.n_ranges,
           (unsigned long long)s.n_dropped, s.crash_safe);
}

/* A word with a number behind it. */
static int numbered(const char *word, const char *number) {
    int n = atoi(number);
    if (strcmp(word, "range") == 0) {
        ranges(n, 0);
    } else if (strcmp(word, "slowly") == 0) {
        ranges(n, 1000);
    } else if (strcmp(word, "sleep") == 0) {
        (void)usleep((unsigned)n * 1000);
    } else if (strcmp(word, "step") == 0) {
        printf("step %d\n", ps_record_step_begin(n));
    } else {
        return 0;
    }
    return 1;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        const char *next = i + 1 < argc ? argv[i + 1] : "0";
        if (control(word)) {
            continue;
        }
        if (strcmp(word, "export") == 0) {
            printf("export %d\n", ps_record_export(NULL));
        } else if (strcmp(word, "exportto") == 0) {
            printf("export %d\n", ps_record_export(next));
            i++;
        } else if (strcmp(word, "stats") == 0) {
            stats();
        } else if (strcmp(word, "set") == 0 && i + 2 < argc) {
            printf("set %d\n", ps_record_set(next, argv[i + 2]));
            i += 2;
        } else if (numbered(word, next)) {
            i++;
        } else {
            fprintf(stderr, "no word %s\n", word);
            return 2;
        }
        (void)fflush(stdout);
    }
    return 0;
}
