// SPDX-License-Identifier: GPL-2.0-or-later
/* Text on a screen of points: under the page tables of the boot, which map it. */
#include "screen.h"

#define GLYPH 8 /* points, square */
#define LINE 10

/* ! to ~; of the first line's points the left one is bit 63. The VGA's font, from fntcol16 by Joseph Gil, who has put
 * it into the public domain; SeaBIOS has it, too. */
static const u64 font[] = {
	0x3078783030003000, 0x6c6c6c0000000000, 0x6c6cfe6cfe6c6c00, 0x307cc0780cf83000,
	0x00c6cc183066c600, 0x386c3876dccc7600, 0x6060c00000000000, 0x1830606060301800,
	0x6030181818306000, 0x00663cff3c660000, 0x003030fc30300000, 0x0000000000303060,
	0x000000fc00000000, 0x0000000000303000, 0x060c183060c08000, 0x7cc6cedef6e67c00,
	0x307030303030fc00, 0x78cc0c3860ccfc00, 0x78cc0c380ccc7800, 0x1c3c6cccfe0c1e00,
	0xfcc0f80c0ccc7800, 0x3860c0f8cccc7800, 0xfccc0c1830303000, 0x78cccc78cccc7800,
	0x78cccc7c0c187000, 0x0030300000303000, 0x0030300000303060, 0x183060c060301800,
	0x0000fc0000fc0000, 0x6030180c18306000, 0x78cc0c1830003000, 0x7cc6dededec07800,
	0x3078ccccfccccc00, 0xfc66667c6666fc00, 0x3c66c0c0c0663c00, 0xf86c6666666cf800,
	0xfe6268786862fe00, 0xfe6268786860f000, 0x3c66c0c0ce663e00, 0xccccccfccccccc00,
	0x7830303030307800, 0x1e0c0c0ccccc7800, 0xe6666c786c66e600, 0xf06060606266fe00,
	0xc6eefefed6c6c600, 0xc6e6f6decec6c600, 0x386cc6c6c66c3800, 0xfc66667c6060f000,
	0x78ccccccdc781c00, 0xfc66667c6c66e600, 0x78cce0701ccc7800, 0xfcb4303030307800,
	0xccccccccccccfc00, 0xcccccccccc783000, 0xc6c6c6d6feeec600, 0xc6c66c38386cc600,
	0xcccccc7830307800, 0xfec68c183266fe00, 0x7860606060607800, 0xc06030180c060200,
	0x7818181818187800, 0x10386cc600000000, 0x00000000000000ff, 0x3030180000000000,
	0x0000780c7ccc7600, 0xe060607c6666dc00, 0x000078ccc0cc7800, 0x1c0c0c7ccccc7600,
	0x000078ccfcc07800, 0x386c60f06060f000, 0x000076cccc7c0cf8, 0xe0606c766666e600,
	0x3000703030307800, 0x0c000c0c0ccccc78, 0xe060666c786ce600, 0x7030303030307800,
	0x0000ccfefed6c600, 0x0000f8cccccccc00, 0x000078cccccc7800, 0x0000dc66667c60f0,
	0x000076cccc7c0c1e, 0x0000dc766660f000, 0x00007cc0780cf800, 0x10307c3030341800,
	0x0000cccccccc7600, 0x0000cccccc783000, 0x0000c6d6fefe6c00, 0x0000c66c386cc600,
	0x0000cccccc7c0cf8, 0x0000fc983064fc00, 0x1c3030e030301c00, 0x1818180018181800,
	0xe030301c3030e000, 0x76dc000000000000,
};

static void draw(const struct screen *s, char c)
{
	u64 glyph = c > ' ' && c <= '~' ? font[c - '!'] : 0;

	for (u32 i = 0; i < GLYPH * LINE; i++) {
		u32 *points = (u32 *)(s->address + (s->line * LINE + i / GLYPH) * (u64)s->pitch);

		points[s->column * GLYPH + i % GLYPH] = i < 64 && glyph << i >> 63 ? ~0u : 0;
	}
}

static void next_line(struct screen *s)
{
	s->line = (s->line + 1) % (s->height / LINE);
	for (s->column = 0; s->column < s->width / GLYPH; s->column++)
		draw(s, ' ');
	s->column = 0;
}

void screen_write(struct screen *s, const char *text, size_t n)
{
	if (s->kind != SCREEN_RGB || s->bits != 32 || s->height < LINE ||
	    s->address + (u64)s->pitch * s->height > 1ul << 32)
		return;
	for (; n; n--, text++) {
		if (*text == '\n' || s->column >= s->width / GLYPH)
			next_line(s);
		if (*text != '\n') {
			draw(s, *text);
			s->column++;
		}
	}
}
