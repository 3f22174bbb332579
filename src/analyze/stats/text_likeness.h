/* How alike two texts are. */
#ifndef PS_ANALYZE_TEXT_LIKENESS_H
#define PS_ANALYZE_TEXT_LIKENESS_H

/* 1 - (edits that turn one into the other) / (bytes of the longer), by Levenshtein's distance: 1 for equal texts, 0 for
 * nothing in common. What stands before the last 512 bytes of a text does not count. Two empty texts are equal. Results
 * below `least` come as 0: far pairs end early. */
double ps_text_likeness(const char *a, const char *b, double least);

#endif
