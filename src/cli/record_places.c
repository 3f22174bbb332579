#include "cli/record_places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/publish.h"
#include "record/ring/format.h"

ps_code ps_record_places_open(ps_record_places *p, ps_err *err) {
    const char *outer = getenv(PS_RECORD_PLACES_VARIABLE);
    const char *tmp = getenv("TMPDIR");
    tmp = tmp != NULL && tmp[0] == '/' ? tmp : "/tmp";
    *p = (ps_record_places){.is_ours = false};
    if (outer != NULL && strlen(outer) < sizeof p->dir && ps_is_dir(outer)) {
        (void)snprintf(p->dir, sizeof p->dir, "%s", outer);
        return PS_OK;
    }
    int n = snprintf(p->dir, sizeof p->dir, "%s/pipescope-XXXXXX", tmp);
    if (n < 0 || (size_t)n >= sizeof p->dir || mkdtemp(p->dir) == NULL) {
        p->dir[0] = '\0';
        (void)unsetenv(PS_RECORD_PLACES_VARIABLE);
        return ps_fail_file(err, PS_IO, tmp, "cannot make a folder here");
    }
    p->is_ours = true;
    (void)setenv(PS_RECORD_PLACES_VARIABLE, p->dir, 1);
    return PS_OK;
}

/* Where the links lead: those of lost recordings, or of those that have a folder. */
static ps_code links_of(const ps_record_places *p, bool lost, ps_arena *arena, const char ***list,
                        size_t *n, ps_err *err) {
    const char **names = NULL;
    size_t n_names = 0;
    *list = NULL;
    *n = 0;
    ps_code code = p->dir[0] != '\0' ? ps_list_dir(p->dir, arena, &names, &n_names, err) : PS_OK;
    if (code != PS_OK) {
        return code;
    }
    for (size_t i = 0; i < n_names; i++) {
        char target[PATH_MAX];
        bool is_lost = strncmp(names[i], PS_RECORD_PLACES_LOST, strlen(PS_RECORD_PLACES_LOST)) == 0;
        if (strcmp(names[i], PS_RECORD_PLACES_FORKED) == 0 || is_lost != lost) {
            continue;
        }
        const char *link = ps_path_join(arena, p->dir, names[i]);
        ssize_t length = link != NULL ? readlink(link, target, sizeof target) : -1;
        const char *kept = length > 0 && (size_t)length < sizeof target
                               ? ps_arena_strndup(arena, target, (size_t)length)
                               : NULL;
        if (kept != NULL) {
            names[(*n)++] = kept;
        }
    }
    *list = names;
    return PS_OK;
}

ps_code ps_record_places_list(const ps_record_places *p, ps_arena *arena, const char ***list,
                              size_t *n, ps_err *err) {
    return links_of(p, false, arena, list, n, err);
}

ps_code ps_record_places_lost(const ps_record_places *p, ps_arena *arena, const char ***list,
                              size_t *n, ps_err *err) {
    return links_of(p, true, arena, list, n, err);
}

bool ps_record_places_any_fork(const ps_record_places *p) {
    char link[PATH_MAX + sizeof PS_RECORD_PLACES_FORKED];
    char target[2];
    (void)snprintf(link, sizeof link, "%s/" PS_RECORD_PLACES_FORKED, p->dir);
    return p->dir[0] != '\0' && readlink(link, target, sizeof target) > 0;
}

ps_code ps_record_places_close(const ps_record_places *p, ps_err *err) {
    return p->is_ours ? ps_remove_tree(p->dir, err) : PS_OK;
}
