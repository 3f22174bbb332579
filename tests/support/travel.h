/* Partials that travel: each is written, read and put in the place of the one that was there, and then another map or reduce goes on
 * with it. A test that sends them on the way shows that nothing of them is left behind. */
#ifndef TEST_SUPPORT_TRAVEL_H
#define TEST_SUPPORT_TRAVEL_H

#include "analyze/core/analysis.h"

/* `value` of analysis->archive or analysis->archive_shared; NULL stays NULL. PS_NOMEM leaves the value as it was. */
ps_code travel(const ps_analysis *analysis, ps_archive_value *archive, void **value, ps_err *err);

#endif
