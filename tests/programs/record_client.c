/* A program that records, told by its words what to do, one after the other:
 *
 *   range N | mark N | push N | op N    that many, on the host stream
 *   host N                              ranges without a stream
 *   forwards N                          as many forwards and backwards without a stream
 *   step N                              steps of two ranges each
 *   open N                              ranges that never end
 *   meta KEY JSON                       metadata
 *   touch FILE | wait FILE              makes a file; waits until there is one, at most 20 s
 *   copy                                standard input to standard output
 *   die N | exit N | exec FILE          ends by that signal, with that status, or as another program
 *   started                             1 when it is being recorded
 *
 * link: pipescope-record */
#include <pipescope/record.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void ranges(int n, const char *message, void *stream) {
    for (int i = 0; i < n; i++) {
        ps_record_range_end(ps_record_range_start(NULL, message, stream));
    }
}

static void pushes(int n) {
    for (int i = 0; i < n; i++) {
        (void)ps_record_range_push(NULL, "pushed", PS_RECORD_HOST_STREAM);
    }
    for (int i = 0; i < n; i++) {
        (void)ps_record_range_pop(NULL);
    }
}

static void steps(int n) {
    for (int i = 0; i < n; i++) {
        (void)ps_record_step_begin(i);
        ranges(1, "{'name': 'forward_step'}", PS_RECORD_HOST_STREAM);
        ranges(1, "{'name': 'backward_step'}", PS_RECORD_HOST_STREAM);
        (void)ps_record_step_end();
    }
}

static void repeat(const char *word, int n) {
    if (strcmp(word, "range") == 0) {
        ranges(n, "work", PS_RECORD_HOST_STREAM);
    } else if (strcmp(word, "host") == 0) {
        ranges(n, "host work", NULL);
    } else if (strcmp(word, "forwards") == 0) {
        for (int i = 0; i < n; i++) {
            ranges(1, "{'name': 'forward_step'}", NULL);
            ranges(1, "{'name': 'backward_step'}", NULL);
        }
    } else if (strcmp(word, "push") == 0) {
        pushes(n);
    } else if (strcmp(word, "step") == 0) {
        steps(n);
    }
    for (int i = 0; i < n; i++) {
        if (strcmp(word, "mark") == 0) {
            ps_record_mark(NULL, "here", PS_RECORD_HOST_STREAM);
        } else if (strcmp(word, "op") == 0) {
            ps_record_op_end(ps_record_op_begin("matmul", "2,3;3,2", PS_RECORD_HOST_STREAM));
        } else if (strcmp(word, "open") == 0) {
            (void)ps_record_range_start(NULL, "open", PS_RECORD_HOST_STREAM);
        }
    }
}

static int wait_for(const char *path) {
    struct timespec pause = {.tv_nsec = 10000000};
    for (int i = 0; i < 2000; i++) {
        if (access(path, F_OK) == 0) {
            return 0;
        }
        (void)nanosleep(&pause, NULL);
    }
    return 1;
}

static void copy(void) {
    char bytes[4096];
    ssize_t n = 0;
    while ((n = read(0, bytes, sizeof bytes)) > 0) {
        (void)fwrite(bytes, 1, (size_t)n, stdout);
    }
    (void)fflush(stdout);
}

static int act(const char *word, const char *value) {
    if (strcmp(word, "touch") == 0) {
        int fd = open(value, O_CREAT | O_WRONLY, 0644);
        return fd < 0 || close(fd) != 0 ? 1 : 0;
    }
    if (strcmp(word, "wait") == 0) {
        return wait_for(value);
    }
    if (strcmp(word, "exec") == 0) {
        (void)execl(value, value, (char *)NULL);
        return 1;
    }
    int n = (int)strtol(value, NULL, 10);
    if (strcmp(word, "die") == 0) {
        (void)signal(n, SIG_DFL);
        (void)raise(n);
    } else if (strcmp(word, "exit") == 0) {
        exit(n);
    }
    repeat(word, n);
    return 0;
}

int main(int argc, char **argv) {
    int status = 0;
    for (int i = 1; i < argc && status == 0; i++) {
        if (strcmp(argv[i], "copy") == 0) {
            copy();
        } else if (strcmp(argv[i], "started") == 0) {
            printf("%d\n", ps_record_enabled());
        } else if (strcmp(argv[i], "meta") == 0 && i + 2 < argc) {
            status = ps_record_add_metadata(argv[i + 1], argv[i + 2]) == 0 ? 0 : 1;
            i += 2;
        } else if (i + 1 < argc) {
            status = act(argv[i], argv[i + 1]);
            i++;
        }
    }
    return status;
}
