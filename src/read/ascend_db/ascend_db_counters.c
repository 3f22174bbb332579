/*   HBM(deviceId, timestampNs, bandwidth, hbmId, type -> STRING_IDS)      "HBM 0/Read", MB/s
 *
 * A table is data here: which columns make the name, which are measured, in which unit. Where the text export has the
 * same series, names and units are its own: KB and MB are 2^10 and 2^20 bytes there. Tables of network and host
 * interfaces differ between generations, so each of their columns is a series under its own name. */
#include "read/ascend_db/ascend_db_counters.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "read/ascend_db/ascend_db_columns.h"

#define KIB 1024.0
#define MIB (1024.0 * 1024.0)
#define MAX_SERIES PS_ASCEND_MAX_COLUMNS

typedef enum key_kind {
    KEY_NUMBER, /* or text that stands in the table itself */
    KEY_TEXT,   /* an id of STRING_IDS */
    KEY_TITLE,  /* the same, in capitals where the text export has them */
    KEY_MODULE  /* an id of ENUM_MODULE */
} key_kind;

typedef struct series {
    const char *column; /* NULL: the sum of all series before it */
    const char *name;   /* %1 and %2 are the keys; what stands in [] is there when the key is */
    const char *unit;
    double divisor;
} series;

typedef struct counter_table {
    const char *table, *time;
    const char *keys[2];
    key_kind key_kinds[2];
    series series[4];
    const char *every; /* instead: the name before "/column" of a series for each column */
} counter_table;

static const counter_table TABLES[] = {
    {.table = "AICORE_FREQ",
     .keys = {"dieId"},
     .series = {{"freq", "AI Core Freq[ die %1]", "MHz", 1}}},
    {.table = "HBM",
     .keys = {"hbmId", "type"},
     .key_kinds = {KEY_NUMBER, KEY_TITLE},
     .series = {{"bandwidth", "HBM %1/%2", "MiB/s", MIB}}},
    {.table = "LLC",
     .keys = {"llcId", "mode"},
     .key_kinds = {KEY_NUMBER, KEY_TITLE},
     .series = {{"hitRate", "LLC %1 %2/Hit Rate", "%", 1},
                {"throughput", "LLC %1 %2/Throughput", "MiB/s", MIB}}},
    {.table = "DDR",
     .series = {{"read", "DDR/Read", "MiB/s", MIB}, {"write", "DDR/Write", "MiB/s", MIB}}},
    {.table = "NPU_MEM",
     .keys = {"type"},
     .key_kinds = {KEY_TITLE},
     .series = {{"ddr", "%1/DDR", "KiB", KIB},
                {"hbm", "%1/HBM", "KiB", KIB},
                {NULL, "%1/Memory", "KiB", 1}}},
    {.table = "NPU_MODULE_MEM",
     .keys = {"moduleId"},
     .key_kinds = {KEY_MODULE},
     .series = {{"totalReserved", "NPU Module Mem/%1", "MiB", MIB}}},
    {.table = "ACC_PMU",
     .keys = {"accId"},
     .series = {{"readBwLevel", "Acc %1/read_bandwidth", "", 1},
                {"writeBwLevel", "Acc %1/write_band_width", "", 1},
                {"readOstLevel", "Acc %1/read_ost", "", 1},
                {"writeOstLevel", "Acc %1/write_ost", "", 1}}},
    {.table = "SOC_BANDWIDTH_LEVEL",
     .series = {{"l2BufferBwLevel", "L2 Buffer Bw Level", "", 1},
                {"mataBwLevel", "Mata Bw Level", "", 1}}},
    {.table = "QOS",
     .keys = {"eventName", "dieId"},
     .key_kinds = {KEY_TEXT, KEY_NUMBER},
     .series = {{"bandwidth", "QoS %1[ die %2]", "MiB/s", MIB}}},
    {.table = "MEMORY_RECORD",
     .time = "timestamp",
     .keys = {"component"},
     .key_kinds = {KEY_TEXT},
     .series = {{"totalAllocated", "%1/Total Allocated", "MiB", MIB},
                {"totalReserved", "%1/Total Reserved", "MiB", MIB},
                {"totalActive", "%1/Total Active", "MiB", MIB}}},
    {.table = "NIC", .keys = {"funcId"}, .every = "NIC[ %1]"},
    {.table = "ROCE", .keys = {"funcId"}, .every = "RoCE[ %1]"},
    {.table = "NETDEV_STATS", .every = "Netdev"},
    {.table = "HCCS", .every = "HCCS"},
    {.table = "PCIE", .every = "PCIe"},
    {.table = "CPU_USAGE", .keys = {"cpuId"}, .series = {{"usage", "CPU Usage/%1", "%", 1}}},
    {.table = "HOST_MEM_USAGE", .series = {{"usage", "Memory Usage", "%", 1}}},
    {.table = "HOST_DISK_USAGE", .every = "Disk Usage"},
    {.table = "HOST_NETWORK_USAGE", .every = "Network Usage"},
};

/* Tracks of one combination of keys. */
typedef struct combination {
    int64_t device, keys[2];
    uint32_t tracks[MAX_SERIES];
} combination;

typedef struct counters {
    ps_ascend *a;
    const counter_table *table;
    ps_arena arena; /* names of columns */
    series series[MAX_SERIES];
    size_t n_series;
    const char *columns[MAX_SERIES + 4];
    ps_idmap rows; /* hash of a combination, or the next free key after it -> row */
    combination *combinations;
    size_t n, cap;
} counters;

enum { TIME, DEVICE, FIRST_KEY, SECOND_KEY, FIRST_VALUE };

/* --- names -------------------------------------------------------------------------------------------- */

static void title(char *text) {
    if (strcmp(text, "app") == 0) {
        (void)snprintf(text, 4, "APP");
    } else if (text[0] >= 'a' && text[0] <= 'z') {
        text[0] = (char)(text[0] - 'a' + 'A');
    }
}

/* Empty when the column is missing or the cell is. */
static void key_text(const counters *c, size_t k, const ps_scan_batch *b, size_t i, bool *missing,
                     char *out, size_t size) {
    const ps_scan_column *column = &b->columns[FIRST_KEY + k];
    int64_t id = ps_cell_int(column, i, PS_ASCEND_NULL);
    key_kind kind = c->table->key_kinds[k];
    out[0] = '\0';
    if (c->table->keys[k] == NULL || (id == PS_ASCEND_NULL && column->types[i] != PS_CELL_TEXT)) {
        return;
    }
    if (column->types[i] == PS_CELL_TEXT) {
        ps_scan_bytes text = column->bytes[i];
        (void)snprintf(out, size, "%.*s", (int)(text.size_bytes < size ? text.size_bytes : size),
                       text.data);
    } else if (kind == KEY_MODULE) {
        (void)snprintf(
            out, size, "%s",
            ps_builder_text(c->a->builder, ps_ascend_enum_name(c->a, PS_ASCEND_MODULE, id)));
    } else if (kind == KEY_NUMBER) {
        (void)snprintf(out, size, "%lld", (long long)id);
    } else {
        const ps_ascend_string *s = ps_ascend_raw_text(c->a, id);
        *missing = *missing || s == NULL;
        if (s != NULL) {
            (void)snprintf(out, size, "%s", s->text);
        } else {
            (void)snprintf(out, size, "<id %lld>", (long long)id);
        }
    }
    if (kind == KEY_TITLE) {
        title(out);
    }
}

static void put_counter(char *out, size_t size, size_t *n, const char *text, size_t len) {
    for (size_t i = 0; i < len && *n + 1 < size; i++) {
        out[(*n)++] = text[i];
    }
    out[*n] = '\0';
}

/* Fills in the keys. A part in brackets with an empty key goes. */
static size_t fill_in(const char *pattern, char keys[2][64], char *out, size_t size) {
    size_t n = 0;
    size_t bracket = 0;
    bool drop = false;
    out[0] = '\0';
    for (const char *p = pattern; *p != '\0'; p++) {
        if (*p == '[') {
            bracket = n;
            drop = false;
        } else if (*p == ']') {
            n = drop ? bracket : n;
            out[n] = '\0';
        } else if (*p == '%' && (p[1] == '1' || p[1] == '2')) {
            const char *key = keys[*++p - '1'];
            drop = drop || key[0] == '\0';
            put_counter(out, size, &n, key, strlen(key));
        } else {
            put_counter(out, size, &n, p, 1);
        }
    }
    return n;
}

static bool name_tracks(const counters *c, combination *k, const ps_scan_batch *b, size_t i) {
    ps_builder *builder = c->a->builder;
    char keys[2][64];
    bool missing = false;
    for (size_t j = 0; j < 2; j++) {
        key_text(c, j, b, i, &missing, keys[j], sizeof keys[j]);
    }
    ps_ascend_count_missing(c->a, missing, c->table->table, b->rowids[i]);
    for (size_t s = 0; s < c->n_series; s++) {
        char name[256];
        size_t n = fill_in(c->series[s].name, keys, name, sizeof name);
        const char *unit = c->series[s].unit;
        k->tracks[s] =
            ps_builder_track(builder, (ps_track){.kind = PS_TRACK_COUNTER,
                                                 .pid = -1,
                                                 .tid = -1,
                                                 .device = k->device,
                                                 .name = ps_builder_str(builder, name, n)});
        if (unit[0] != '\0') {
            ps_builder_track_unit(builder, k->tracks[s],
                                  ps_builder_str(builder, unit, strlen(unit)));
        }
    }
    return !ps_builder_failed(builder);
}

/* --- values ------------------------------------------------------------------------------------------- */

static int64_t key_value(const counters *c, const ps_scan_batch *b, size_t k, size_t i) {
    const ps_scan_column *column = &b->columns[FIRST_KEY + k];
    if (c->table->keys[k] == NULL) {
        return 0;
    }
    if (column->types[i] == PS_CELL_TEXT) {
        return (int64_t)ps_hash64(column->bytes[i].data, column->bytes[i].size_bytes);
    }
    return ps_cell_int(column, i, PS_ASCEND_NULL);
}

static const combination *find_counter(counters *c, const ps_scan_batch *b, size_t i) {
    combination k = {.device = ps_cell_int(&b->columns[DEVICE], i, -1),
                     .keys = {key_value(c, b, 0, i), key_value(c, b, 1, i)}};
    const int64_t fields[] = {k.device, k.keys[0], k.keys[1]};
    uint64_t key = ps_hash64_seeded(fields, sizeof fields);
    for (uint32_t row; (row = ps_idmap_get(&c->rows, key)) != PS_IDMAP_NONE; key++) {
        const combination *known = &c->combinations[row];
        if (known->device == k.device && known->keys[0] == k.keys[0] &&
            known->keys[1] == k.keys[1]) {
            return known;
        }
    }
    if (!name_tracks(c, &k, b, i) ||
        !ps_grow(&c->combinations, &c->cap, c->n + 1, UINT32_MAX - 1, sizeof *c->combinations) ||
        !ps_idmap_put(&c->rows, key, (uint32_t)c->n)) {
        return NULL;
    }
    c->combinations[c->n] = k;
    return &c->combinations[c->n++];
}

static void add_values(const counters *c, const combination *k, const ps_scan_batch *b, size_t i,
                       int64_t time_ns) {
    double sum = 0;
    for (size_t s = 0; s < c->n_series; s++) {
        double value = sum;
        if (c->series[s].column != NULL) {
            const ps_scan_column *column = &b->columns[FIRST_VALUE + s];
            if (column->types[i] != PS_CELL_INT && column->types[i] != PS_CELL_REAL) {
                continue;
            }
            value = ps_cell_real(column, i, 0) / c->series[s].divisor;
            sum += value;
        }
        if (!ps_builder_counter(c->a->builder, k->tracks[s], time_ns, value) &&
            !ps_builder_failed(c->a->builder)) {
            ps_diag_add(c->a->diag, PS_ODD_TIME, "%s rowid %lld", c->table->table,
                        (long long)b->rowids[i]);
            return;
        }
    }
}

static ps_code take_values(void *context, const ps_scan_batch *b, ps_err *err) {
    counters *c = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t time_ns = ps_ascend_cell_time(&b->columns[TIME], i);
        if (time_ns == 0) {
            ps_diag_add(c->a->diag, PS_ODD_TIME_ZERO, "%s rowid %lld", c->table->table,
                        (long long)b->rowids[i]);
            continue;
        }
        const combination *k = find_counter(c, b, i);
        if (k == NULL) {
            return ps_fail_nomem(err);
        }
        add_values(c, k, b, i, time_ns);
    }
    return ps_builder_failed(c->a->builder) ? ps_fail_nomem(err) : PS_OK;
}

/* --- one table ---------------------------------------------------------------------------------------- */

static const char *unit_of(const char *column) {
    return strstr(column, "Latency") != NULL ? "ns"
           : strstr(column, "usage") != NULL ? "%"
           : strstr(column, "andwidth") != NULL || strstr(column, "hroughput") != NULL ||
                   strstr(column, "ByteRate") != NULL
               ? "B/s"
               : "";
}

static bool is_counter_key(const counter_table *t, const char *column) {
    return strcmp(column, "deviceId") == 0 || strcmp(column, "timestampNs") == 0 ||
           (t->keys[0] != NULL && strcmp(column, t->keys[0]) == 0);
}

/* A series for each column that is no key. */
static ps_code every_column(counters *c, ps_err *err) {
    ps_ascend_column columns[PS_ASCEND_MAX_COLUMNS];
    size_t n = 0;
    ps_code code = ps_ascend_columns_of(c->a->db, c->table->table, &c->arena, columns, &n, err);
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        char name[192];
        if (is_counter_key(c->table, columns[i].name)) {
            continue;
        }
        int len = snprintf(name, sizeof name, "%s/%s", c->table->every, columns[i].name);
        size_t used = (size_t)len < sizeof name ? (size_t)len : sizeof name - 1;
        const char *copy = ps_arena_strndup(&c->arena, name, used);
        if (copy == NULL) {
            return ps_fail_nomem(err);
        }
        c->series[c->n_series++] = (series){columns[i].name, copy, unit_of(columns[i].name), 1};
    }
    return code;
}

static ps_code read_table(counters *c, ps_err *err) {
    const counter_table *t = c->table;
    ps_code code = PS_OK;
    if (t->every != NULL) {
        code = every_column(c, err);
    } else {
        for (; c->n_series < 4 && t->series[c->n_series].name != NULL; c->n_series++) {
            c->series[c->n_series] = t->series[c->n_series];
        }
    }
    if (code == PS_OK && t->key_kinds[0] == KEY_MODULE) {
        code = ps_ascend_enum_read(c->a, PS_ASCEND_MODULE, err);
    }
    c->columns[TIME] = t->time != NULL ? t->time : "timestampNs";
    c->columns[DEVICE] = "deviceId";
    c->columns[FIRST_KEY] = t->keys[0] != NULL ? t->keys[0] : "deviceId";
    c->columns[SECOND_KEY] = t->keys[1] != NULL ? t->keys[1] : "deviceId";
    for (size_t s = 0; s < c->n_series; s++) {
        c->columns[FIRST_VALUE + s] =
            c->series[s].column != NULL ? c->series[s].column : "deviceId";
    }
    return code == PS_OK ? ps_scan(c->a->db, t->table, c->columns, FIRST_VALUE + c->n_series,
                                   take_values, c, err)
                         : code;
}

ps_code ps_ascend_counters_read(ps_ascend *a, ps_err *err) {
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < sizeof TABLES / sizeof *TABLES; i++) {
        if (!ps_db_has_table(a->db, TABLES[i].table)) {
            continue;
        }
        counters c = {.a = a, .table = &TABLES[i]};
        code = read_table(&c, err);
        ps_idmap_fini(&c.rows);
        ps_free(c.combinations);
        ps_arena_fini(&c.arena);
    }
    return code;
}
