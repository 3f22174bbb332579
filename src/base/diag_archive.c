/* Oddities as bytes; apart from diag.c, which the recorder has in it, too. */
#include "base/archive.h"
#include "base/diag.h"

/* By the name of the kind, so that another list of kinds is another shape. */
void ps_diag_archive(ps_archive *a, void *diag) {
    ps_diag *d = diag;
    for (size_t k = 0; k < PS_N_ODDITIES; k++) {
        ps_archive_member(a, PS_ARCHIVE_UNSIGNED, ps_oddity_name((ps_oddity)k), &d->counts[k],
                          sizeof d->counts[k]);
        PS_ARCHIVE(a, d, repeats[k]);
        for (size_t i = 0; i < PS_DIAG_PLACES; i++) {
            PS_ARCHIVE(a, d, places[k][i]);
        }
    }
}
