#include "record/ring/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/json_write.h"

/* The clock that the kernel counts by: "tsc", "arch_sys_counter", "hpet" ...; "" when it cannot be read. */
static void kernel_source(char *out, size_t size) {
    out[0] = '\0';
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    ssize_t n = read(fd, out, size - 1);
    (void)close(fd);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

#if defined(__x86_64__)
static bool tsc_is_invariant(void) {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & 1u << 8) != 0;
}
#endif

int ps_clock_choose(int wanted) {
    if (wanted == PS_CLOCK_MONOTONIC) {
        return PS_CLOCK_MONOTONIC;
    }
    char source[64];
    kernel_source(source, sizeof source);
#if defined(__x86_64__)
    /* The kernel watches the TSCs of all processors against one another; where it does not use them, neither do we. */
    if (strcmp(source, "tsc") == 0 && tsc_is_invariant()) {
        return PS_CLOCK_TSC;
    }
#elif defined(__aarch64__)
    if (strcmp(source, "arch_sys_counter") == 0) {
        return PS_CLOCK_ARM;
    }
#endif
    return PS_CLOCK_MONOTONIC;
}

static int64_t real_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

ps_anchor ps_clock_anchor(int clock) {
    ps_anchor best = {.half_width_ns = UINT64_MAX};
    for (int i = 0; i < 5; i++) {
        uint64_t before = ps_mono_ns();
        uint64_t ticks = ps_clock_ticks(clock);
        int64_t real = real_ns();
        uint64_t after = ps_mono_ns();
        uint64_t half = (after - before) / 2;
        if (half < best.half_width_ns) {
            uint64_t middle = before + half;
            best = (ps_anchor){.ticks = clock == PS_CLOCK_MONOTONIC ? middle : ticks,
                               .real_ns = real,
                               .mono_ns = (int64_t)middle,
                               .half_width_ns = half};
        }
    }
    return best;
}

static bool has_ptp_device(void) {
    DIR *dir = opendir("/dev");
    if (dir == NULL) {
        return false;
    }
    bool found = false;
    for (struct dirent *e = readdir(dir); e != NULL && !found; e = readdir(dir)) {
        found = strncmp(e->d_name, "ptp", 3) == 0;
    }
    (void)closedir(dir);
    return found;
}

static const char *clock_name(int clock) {
    return clock == PS_CLOCK_TSC ? "tsc" : clock == PS_CLOCK_ARM ? "arm" : "monotonic";
}

void ps_clock_describe(int clock, ps_buf *out) {
    char source[64];
    kernel_source(source, sizeof source);
    ps_anchor anchor = ps_clock_anchor(clock);
    struct timex t = {.modes = 0};
    int state = adjtimex(&t);
    ps_json j = ps_json_to(out);
    ps_json_object(&j);
    ps_json_key_str(&j, "ticks", clock_name(clock));
    ps_json_key_str(&j, "kernel", source);
    ps_json_key_uint(&j, "anchor_half_width_ns", anchor.half_width_ns);
    ps_json_key_bool(&j, "ptp", has_ptp_device());
    if (state >= 0) {
        /* The kernel's discipline of the wall clock; errors are in microseconds, whatever the unit of the offset. */
        int64_t offset_ns = (t.status & STA_NANO) != 0 ? t.offset : (int64_t)t.offset * 1000;
        bool unsync = state == TIME_ERROR || (t.status & STA_UNSYNC) != 0;
        ps_json_key_bool(&j, "synchronised", !unsync);
        ps_json_key_int(&j, "kernel_offset_ns", offset_ns);
        ps_json_key_int(&j, "max_error_us", t.maxerror);
        ps_json_key_int(&j, "estimated_error_us", t.esterror);
        ps_json_key(&j, "frequency_ppm");
        ps_json_value(&j);
        ps_buf_add_fixed(out, (double)t.freq / 65536.0, 3);
    }
    ps_json_close(&j);
}
