/* How wide a text is in a picture, whatever sans-serif font the reader has. */
#ifndef PS_WRITE_TEXT_WIDTH_H
#define PS_WRITE_TEXT_WIDTH_H

/* In the unit of the font's size; about as wide as in the widest of the usual fonts (DejaVu Sans, Verdana), so that nothing is
 * drawn over it in any of them. */
double ps_text_width(const char *text, double size);

#endif
