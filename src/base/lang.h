/* The languages that people are answered in. A sentence is written in both where it is made, so that no English one is ever
 * translated by what stands in it; the compiler holds the formats of both against the same values. Columns, keys and what
 * programs read are the same in all languages. */
#ifndef PS_BASE_LANG_H
#define PS_BASE_LANG_H

typedef enum ps_lang { PS_ENGLISH, PS_CHINESE, PS_N_LANGS } ps_lang;

/* A text, or the format of one: then both take the same values in the same order. What only the English needs of them (an "s" of the
 * plural) the Chinese passes over by "%.0s". */
#define PS_SAY(lang, english, chinese) ((lang) == PS_CHINESE ? (chinese) : (english))

/* A sentence that is kept while nobody knows who will read it; {NULL, NULL} is none. */
typedef struct ps_said {
    const char *in[PS_N_LANGS];
} ps_said;

/* Of a function that takes the formats of both languages, with the same values behind them. */
#define PS_PRINTF_SAID(english, chinese, args)                                                     \
    __attribute__((format(printf, english, args), format(printf, chinese, args)))

#endif
