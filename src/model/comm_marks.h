/* Communication marks: ranges in which a framework or a program says what it communicates, for captures without
 * communication operators of their own. A message is one of
 *
 *   {"opName": "HcclSend", "groupName": "...", "dataType": "fp16", "count": "1024", "streamId": "5", ...}
 *   comm:HcclAllReduce,<group>,<dtype>,<count>
 *
 * decided for each mark by itself; sends and receives may name "srcRank" and "dstRank" or "destRank". What becomes of
 * them is the same wherever they are used: operators of a trace (read/comm_from_marks.h) and the table COMMUNICATION_OP
 * (analyze/comm/commop.h). Legal order: init, read and add each mark, number, use, fini. */
#ifndef PS_MODEL_COMM_MARKS_H
#define PS_MODEL_COMM_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/idmap.h"
#include "base/strpool.h"

/* One mark with a device side. Texts live as long as the collection. */
typedef struct ps_comm_mark {
    int64_t start_ns, end_ns; /* of the device, as the caller counts */
    int64_t tie;              /* the lower one of two that start and end together comes first */
    const char *call;         /* as the message names it: "HcclSend" */
    const char *type;         /* "hcom_send_", "HcclBroadcast_" */
    const char *group, *data_type, *count;
    int64_t sender, receiver; /* as named by the message, -1 when it does not */
    uint32_t host, device;    /* slices, of the caller */
    uint32_t sequence; /* after numbering: 0, 1, 2 ... of this type in this group, by start */
    bool is_send, is_receive;
} ps_comm_mark;

typedef enum ps_comm_said {
    PS_COMM_OTHER, /* no communication mark */
    PS_COMM_BAD,   /* one that cannot be understood */
    PS_COMM_NOMEM,
    PS_COMM_OK
} ps_comm_said;

typedef struct ps_comm_message ps_comm_message;

typedef struct ps_comm_marks {
    ps_strpool texts;
    ps_idmap by_name; /* id of a text -> row in messages: they repeat */
    ps_comm_message *messages;
    size_t n_messages, cap_messages;
    ps_comm_mark *marks;
    size_t n, cap;
} ps_comm_marks;

/* False when memory is out. */
bool ps_comm_marks_init(ps_comm_marks *m);
void ps_comm_marks_fini(ps_comm_marks *m);

/* What the text says, into `out` (times and slices 0) when PS_COMM_OK. `name` is its id: one text is parsed once. */
ps_comm_said ps_comm_marks_read(ps_comm_marks *m, ps_str name, const char *text, ps_comm_mark *out);
/* A message as JSON: some writers store its quotes escaped. *n bytes and a zero; NULL when memory is out. */
const char *ps_comm_marks_plain(ps_arena *arena, const char *text, size_t *n);
/* Whether a text can be a communication mark at all, by a look at it. */
bool ps_comm_marks_may_be(const char *text);

/* False when memory is out. */
bool ps_comm_marks_add(ps_comm_marks *m, const ps_comm_mark *mark);
/* Sorts by start and gives each its sequence. False when memory is out. */
bool ps_comm_marks_number(ps_comm_marks *m);

/* The name that the profiler gives such an operator: type, "_", the last three digits of the hash of its group (`tag`
 * takes them and a zero), "_", sequence, "_1". */
#define PS_COMM_TAG_SIZE 4
#define PS_COMM_NAME_SIZE 256
void ps_comm_mark_name(const ps_comm_mark *mark, char tag[PS_COMM_TAG_SIZE],
                       char name[PS_COMM_NAME_SIZE]);

/* Sender and receiver of a send or receive as places in its group, where this rank has place `own` (-1 unknown). Messages
 * name both, or only the peer; srcRank of a receive may be its own rank (as the profiler's tables have it) or the
 * sender's: the group tells. False when one of them stays unknown. */
bool ps_comm_mark_peers(ps_comm_mark *mark, int64_t own);

/* Id and name in ENUM_HCCL_DATA_TYPE; 65534 and the text itself for what is not in it. */
int64_t ps_comm_data_type_id(const char *name);
const char *ps_comm_data_type_name(const char *name);

/* The key of the trace's metadata that says that its communication operators were made from marks when it was read. */
#define PS_COMM_FROM_MARKS_KEY "pipescope.communication"
#define PS_COMM_FROM_MARKS_VALUE "from marks"

#endif
