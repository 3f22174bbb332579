#include "write/chart/block_names.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "write/out/text_width.h"

/* Widths that differ by no more look alike. */
static const double ALIKE = 1.25;
/* Narrower ones have no name, and take no part. */
static const double LEAST_ROOM = 4;

static double text_width(const ps_block_text *text) {
    double first = ps_text_width(text->text, PS_NAME_SIZE);
    double second = text->second != NULL ? ps_text_width(text->second, PS_NAME_SIZE) : 0;
    return first > second ? first : second;
}

void ps_block_names_count(ps_block_names *names, const ps_block *block, const ps_op *op,
                          double room) {
    ps_block_text text;
    bool fitted = false;
    for (int level = 0; level < names->stop && room > LEAST_ROOM; level++) {
        if (ps_block_text_of(op, level, &text)) {
            double *widest = &names->widest[level][block->look];
            double width = text_width(&text);
            fitted = fitted || width <= room;
            *widest = width > *widest ? width : *widest;
        }
        names->fits[level][block->look] += fitted;
    }
}

void ps_block_names_choose(ps_block_names *names) {
    for (int look = 0; look < PS_ROW_LOOKS; look++) {
        size_t any = names->fits[names->stop - 1][look];
        int level = 0;
        while (level < names->stop - 1 && names->fits[level][look] * 5 < any * 4) {
            level++;
        }
        names->first[look] = level;
    }
}

typedef struct block_room {
    uint32_t look;
    uint32_t block;
    double px;
} block_room;

static const ps_sort_key ROOM_ORDER[] = {PS_UP(block_room, look), PS_UP(block_room, px),
                                         PS_UP(block_room, block)};

bool ps_block_names_of_row(const ps_block_names *names, const ps_blocks *row, const double *rooms,
                           uint8_t *levels) {
    block_room *all = ps_calloc(row->n + 1, sizeof *all);
    size_t n = 0;
    for (size_t i = 0; all != NULL && i < row->n; i++) {
        levels[i] = (uint8_t)names->first[row->at[i].look];
        if (rooms[i] > LEAST_ROOM) {
            all[n++] = (block_room){row->at[i].look, (uint32_t)i, rooms[i]};
        }
    }
    if (all != NULL) {
        ps_sort_by(all, n, sizeof *all, PS_KEYS(ROOM_ORDER));
    }
    double least = 0; /* of those that look as wide */
    for (size_t i = 0; all != NULL && i < n; i++) {
        bool begins = i == 0 || all[i].look != all[i - 1].look || all[i].px > least * ALIKE;
        least = begins ? all[i].px : least;
        uint8_t *level = &levels[all[i].block];
        while (*level < names->stop - 1 && names->widest[*level][all[i].look] > least) {
            (*level)++;
        }
    }
    ps_free(all);
    return all != NULL;
}

bool ps_block_name_fits(const ps_block_names *names, const ps_op *op, int level, double room,
                        ps_block_text *out) {
    for (; level < names->stop; level++) {
        if (ps_block_text_of(op, level, out) && text_width(out) <= room) {
            return true;
        }
    }
    return false;
}
