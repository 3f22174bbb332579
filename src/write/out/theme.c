#include "write/out/theme.h"

#include <math.h>

#define HEX(v)                                                                                     \
    { (uint8_t)((v) >> 16), (uint8_t)(((v) >> 8) & 0xFF), (uint8_t)((v)&0xFF) }

ps_rgb ps_theme_kind(ps_op_kind kind) {
    static const ps_rgb COLOURS[PS_N_OP_KINDS] = {
        [PS_OP_F] = HEX(0x195283),    [PS_OP_B] = HEX(0x25B379),    [PS_OP_BI] = HEX(0xB7E0D7),
        [PS_OP_BW] = HEX(0xE1DA38),   [PS_OP_FB] = HEX(0xA33BCE),   [PS_OP_LOGITS] = HEX(0x7B4E25),
        [PS_OP_SEND] = HEX(0x8A2C4B), [PS_OP_RECV] = HEX(0xDF8C3D), [PS_OP_OTHER] = HEX(0x8C94A7),
    };
    return COLOURS[kind];
}

ps_rgb ps_theme_phase(int phase) {
    static const ps_rgb COLOURS[PS_N_PHASES] = {HEX(0xE4572E), HEX(0x8FC6F5), HEX(0xF3E4A1),
                                                HEX(0x629F70), HEX(0xF0A92B), HEX(0x8F70C8),
                                                HEX(0xC2CCD3)};
    return COLOURS[phase];
}

ps_rgb ps_theme_kind_dark(ps_op_kind kind) {
    static const ps_rgb COLOURS[PS_N_OP_KINDS] = {
        [PS_OP_F] = HEX(0x4272A6),    [PS_OP_B] = HEX(0x2AB47A),    [PS_OP_BI] = HEX(0xB0D7CE),
        [PS_OP_BW] = HEX(0xD5CF27),   [PS_OP_FB] = HEX(0xCF63F8),   [PS_OP_LOGITS] = HEX(0x9C6A40),
        [PS_OP_SEND] = HEX(0xB04F6C), [PS_OP_RECV] = HEX(0xE28F40), [PS_OP_OTHER] = HEX(0x8B92A4),
    };
    return COLOURS[kind];
}

ps_rgb ps_theme_phase_dark(int phase) {
    static const ps_rgb COLOURS[PS_N_PHASES] = {HEX(0xFF7344), HEX(0x99CFFE), HEX(0xE8DA96),
                                                HEX(0x62A073), HEX(0xFBB127), HEX(0xA88CEC),
                                                HEX(0xBDCCD4)};
    return COLOURS[phase];
}

ps_rgb ps_theme_lane(ps_lane lane, bool dark) {
    static const ps_rgb LIGHT[PS_N_LANES] = {HEX(0x2F6BD0), HEX(0xF2994A), HEX(0xC2303F),
                                             HEX(0xDDE2E8)};
    static const ps_rgb DARK[PS_N_LANES] = {HEX(0x4F8BF0), HEX(0xF7AE6B), HEX(0xE0525F),
                                            HEX(0x48525D)};
    return dark ? DARK[lane] : LIGHT[lane];
}

ps_rgb ps_theme_tint(int tint, bool dark) {
    static const ps_rgb LIGHT[PS_N_TINTS] = {
        HEX(0xB78177), HEX(0x2FA69F), HEX(0xD0A9DA), HEX(0x758D72), HEX(0x94C1FD), HEX(0xF8C4AD),
        HEX(0x45BCD9), HEX(0xB67196), HEX(0x88CDA3), HEX(0x8280BC), HEX(0xB8AF78), HEX(0x8897AB)};
    static const ps_rgb DARK[PS_N_TINTS] = {
        HEX(0xE0C1A8), HEX(0x77889A), HEX(0xAF73A0), HEX(0x69D8D0), HEX(0x7B82BE), HEX(0x96D5A6),
        HEX(0xBBC7DC), HEX(0xC59BA9), HEX(0x67D4F6), HEX(0xEAB5EB), HEX(0x93AC9E), HEX(0xA4BEFC)};
    return dark ? DARK[tint] : LIGHT[tint];
}

const ps_surfaces *ps_theme_surfaces(bool dark) {
    static const ps_surfaces LIGHT = {
        .page = HEX(0xFFFFFF),
        .panel = HEX(0xF6F7F9),
        .line = HEX(0xE3E7EB),
        .ink = HEX(0x14181D),
        .quiet = HEX(0x5C6670),
        .hatch = HEX(0xCBD2D9),
        .accent = HEX(0x2F6BD0),
    };
    static const ps_surfaces DARK = {
        .page = HEX(0x14181D),
        .panel = HEX(0x1C2127),
        .line = HEX(0x2B323A),
        .ink = HEX(0xE8EBEE),
        .quiet = HEX(0x9AA4AE),
        .hatch = HEX(0x3D4650),
        .accent = HEX(0x6FA2F5),
    };
    return dark ? &DARK : &LIGHT;
}

const char *ps_phase_name(int phase) {
    static const char *const NAMES[PS_N_PHASES] = {
        "warm-up",      "interleaved forward",  "1B1W1F",   "overlapped pair",
        "1B + overlap", "interleaved backward", "cool-down"};
    return NAMES[phase];
}

const char *ps_kind_text(ps_op_kind kind) {
    static const char *const TEXTS[] = {
#define X(kind, name, text) text,
        PS_OP_KINDS(X)
#undef X
    };
    return TEXTS[kind];
}

const char *ps_phase_word(ps_lang lang, int phase) {
    static const char *const CHINESE[PS_N_PHASES] = {"预热",      "交错前向", "1B1W1F", "重叠对",
                                                     "1B + 重叠", "交错反向", "收尾"};
    return lang == PS_CHINESE ? CHINESE[phase] : ps_phase_name(phase);
}

const char *ps_kind_word(ps_lang lang, ps_op_kind kind) {
    static const char *const CHINESE[PS_N_OP_KINDS] = {
        [PS_OP_F] = "前向",
        [PS_OP_B] = "完整反向",
        [PS_OP_BI] = "反向，输入梯度",
        [PS_OP_BW] = "反向，权重梯度",
        [PS_OP_FB] = "前向与反向重叠",
        [PS_OP_LOGITS] = "输出头反向",
        [PS_OP_SEND] = "发送到其他阶段",
        [PS_OP_RECV] = "从其他阶段接收",
        [PS_OP_OTHER] = "其他",
    };
    return lang == PS_CHINESE ? CHINESE[kind] : ps_kind_text(kind);
}

/* Relative luminance of WCAG. */
static double luminance(ps_rgb c) {
    const double parts[3] = {c.r / 255.0, c.g / 255.0, c.b / 255.0};
    static const double WEIGHTS[3] = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += WEIGHTS[i] *
               (parts[i] <= 0.04045 ? parts[i] / 12.92 : pow((parts[i] + 0.055) / 1.055, 2.4));
    }
    return sum;
}

ps_rgb ps_theme_text_on(ps_rgb background) {
    static const ps_rgb INK = HEX(0x14181D);
    static const ps_rgb WHITE = HEX(0xFFFFFF);
    double ground = luminance(background) + 0.05;
    return (luminance(WHITE) + 0.05) / ground >= ground / (luminance(INK) + 0.05) ? WHITE : INK;
}

static int theme_distance(ps_rgb a, ps_rgb b) {
    int r = a.r - b.r;
    int g = a.g - b.g;
    int l = a.b - b.b;
    return 3 * r * r + 6 * g * g + l * l; /* roughly as eyes weigh them */
}

uint8_t ps_rgb_to_256(ps_rgb colour) {
    static const uint8_t STEPS[6] = {0, 95, 135, 175, 215, 255};
    int best = 16;
    int nearest = INT32_MAX;
    for (int i = 16; i < 256; i++) {
        int cube = i - 16;
        uint8_t grey = (uint8_t)(8 + 10 * (i - 232));
        ps_rgb c = i < 232 ? (ps_rgb){STEPS[cube / 36], STEPS[cube / 6 % 6], STEPS[cube % 6]}
                           : (ps_rgb){grey, grey, grey};
        if (theme_distance(c, colour) < nearest) {
            nearest = theme_distance(c, colour);
            best = i;
        }
    }
    return (uint8_t)best;
}
