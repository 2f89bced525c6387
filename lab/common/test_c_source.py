# SPDX-License-Identifier: GPL-2.0-or-later
"""unit tests of c_source.py: tokens and definitions."""

import tempfile
from pathlib import Path

from lab.common.c_source import Definition, sources, tokens, words

EXAMPLE = """\
/* int in_a_comment(void) { return 1; } */
#include "lwp.h"
#define LIMIT 10
#define TWICE(x) \\
    ((x) * 2) /* of two lines */

struct point {
    int x, y;
};

enum colour { RED, GREEN };

int declared(int a);
extern const int numbers[3];
static DEFINE_MUTEX(lock);
EXPORT_SYMBOL_GPL(declared);

static const struct point origin = { .x = 1, .y = 2 };
static const struct {
    int a;
} unnamed[] = { { 1 }, { 2 } };
static int (*const calls[])(int) = { declared, NULL };

static __attribute__((noreturn)) void stop(void)
{
#ifdef DEBUG
    puts("}");
#endif
    abort();
}

type_init(stop)

int *lwp_find(struct point *p, int (*want)(int))
{
    return p->x >= LIMIT ? &p->x : NULL;
}
"""


def definitions(text: str) -> list[Definition]:
    """What a text defines, in its order."""
    with tempfile.TemporaryDirectory() as place:
        Path(place, "a.c").write_text(text, encoding="utf-8")
        (source,) = sources(Path(place), [Path("a.c")])
    found = [definition for same in source.definitions.values() for definition in same]
    return sorted(found, key=lambda definition: definition.tokens[0].begin)


def names(text: str) -> list[str]:
    """What a text defines."""
    return [definition.name for definition in definitions(text)]


def test_white_space_and_comments_do_not_count() -> None:
    assert words("a=b;") == words("a /* x */ =\n\tb ; // y")


def test_the_longest_operator_is_one_token() -> None:
    assert words("a<<=b->c++ >= d") == ["a", "<<=", "b", "->", "c", "++", ">=", "d"]


def test_numbers() -> None:
    assert words("0xffull-1.5e+3f") == ["0xffull", "-", "1.5e+3f"]


def test_strings_hide_comments_and_quotes() -> None:
    assert words(r'f("/* \" */", "//", ' + r"'\''" + ")")[2] == r'"/* \" */"'


def test_a_directive_ends_with_its_line() -> None:
    found = tokens("#define A 1 \\\n + 2\nint b;")
    marked = [token.text for token in found if token.directive]
    assert marked == ["#", "define", "A", "1", "+", "2"][:len(marked)]
    assert len(marked) == 6


def test_places_are_those_of_the_text() -> None:
    text = "a /* b */ c"
    assert [text[t.begin:t.end] for t in tokens(text)] == ["a", "c"]


def test_functions_objects_macros_and_types_are_found() -> None:
    macros, types = ["LIMIT", "TWICE"], ["struct point", "enum colour"]
    assert names(EXAMPLE) == [*macros, *types, "origin", "unnamed", "calls", "stop", "lwp_find"]


def test_a_declaration_is_no_definition() -> None:
    assert names("int f(int a); struct s; extern int x[2]; typedef int t;") == []


def test_a_definition_has_all_of_its_tokens() -> None:
    found = {d.name: [t.text for t in d.tokens] for d in definitions(EXAMPLE)}
    assert found["LIMIT"] == words("#define LIMIT 10")
    assert found["origin"][0] == "static"
    assert found["origin"][-1] == ";"
    assert found["lwp_find"][:2] == ["int", "*"]
    assert found["lwp_find"][-3:] == ["NULL", ";", "}"]


def test_a_run_of_tokens_is_found_wherever_it_occurs() -> None:
    (definition,) = definitions("int f(void) { return a + a; }")
    assert len(definition.find(["a"])) == 2
    assert len(definition.find(["a", "+"])) == 1
    assert definition.find(["b"]) == []
