/* Which measurements may be compared with one another, and how far one is from its like. Rules that say "slower than its like"
 * ask here, so that they all mean the same.
 *
 * Alike are those of one kind, one group and one size. What is not known equals nothing: where the group or the size of both is
 * unknown the comparison is unsure, and whoever makes it says so and promises no gain; where it is known of one only, they are
 * not compared.
 *
 * Even alike measurements may form several modes: one name, several sizes, algorithms or places in the step. Modes are
 * found by single-linkage clustering in one dimension (Sibson, "SLINK", The Computer Journal 16, 1973): sorted by length, a
 * cluster ends where the next one takes over 1.5 times, and a microsecond, longer. A cluster that holds at least five and a
 * twentieth of all is a mode. An outlier is beyond the limit of the mode that it is in, or in no mode and beyond the limit of the
 * next shorter one. */
#ifndef PS_ANALYZE_ALIKE_H
#define PS_ANALYZE_ALIKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ps_alike { PS_ALIKE_NOT, PS_ALIKE_UNSURE, PS_ALIKE_SURE } ps_alike;

/* Kind and group are ids of one pool, 0 unknown; a size of -1 is unknown. */
typedef struct ps_alike_facts {
    uint32_t kind, group;
    int64_t size;
} ps_alike_facts;

ps_alike ps_alike_of(ps_alike_facts a, ps_alike_facts b);

#define PS_LEAST_ALIKE 5 /* fewer have no median worth the name */

/* Of n lengths sorted upwards like_ns[i] becomes the median of the mode that length i is an outlier of, or 0. Returns how many
 * are: longer than `times` that median. */
size_t ps_outliers_find(const int64_t *lengths_ns, size_t n, double times, int64_t *like_ns);

#endif
