/* Flags as objects, of types that need no <string>. */
#include <pd_flags.hpp>
#include "export.h"

static int changed;
static pd::flag<int> level{"b_level",
                           6,
                           "How hard to try",
                           pd::range(1, 20),
                           pd::category("Numbers"),
                           pd::validate([](int v) { return v != 13; }, "a number but 13"),
                           pd::watch([] { changed++; })};
static pd::flag<float> rate{"b_rate", 0.5f, "How fast"};
static pd::flag<const char *> title{"b_title", "none", "A title"};
static pd::flag<unsigned long long> big{"b_big", ~0ull, "A big number"};
static pd::import <bool> fast{"b_fast", true};

EXPORT int number() { return level; }
EXPORT const char *text() { return title; }
EXPORT int others() { return rate == 0.5f && big == ~0ull && fast; }
EXPORT int changes() { return changed; }
EXPORT int raise() { return level.set(9).ok(); }
