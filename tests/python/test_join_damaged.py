"""Modules whose record nobody's header wrote: damaged, of another version, empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from joining import LEVEL, REGISTRY, Maker, obey
from support import write

if TYPE_CHECKING:
    from pathlib import Path

# A module by hand, without a constructor: {note} leads to hand_record.
MODULE = """
#define PD_NO_MODULE_RECORD
#include <pd_flags.h>
int hand_level = 6;
int level(void);
int level(void) {{ return __atomic_load_n(&hand_level, __ATOMIC_RELAXED); }}
{definitions}
#define HIDDEN __attribute__((visibility("hidden"), aligned(8), used))
HIDDEN struct {{ pd_module_record now; void *later[4]; }} hand_record = {{{record}, {{0}}}};
HIDDEN char hand_zeros[64];
HIDDEN const char hand_constant[64] = {{1, 0, 0, 0, 48}};
__asm__(".pushsection .note.pd_flags,\\"a\\",%note\\n.balign 4\\n{note}\\n.popsection");
"""
NOTE = '.long 9, 4, 1\\n.asciz \\"pd_flags\\"\\n.balign 4\\n.long hand_record - .'
DEFINITION = """
static const pd_flag_def hand_def = {
    .size = sizeof(pd_flag_def), .line = 1, .type = PD_TYPE_int32, .kind = PD_KIND_DEFINE,
    .name = "hand_level", .cell = &hand_level, .default_value = {.i64 = 6},
    .min = {.i64 = INT32_MIN}, .max = {.i64 = INT32_MAX}};
static const pd_flag_def *const hand_list[] = {0, &hand_def, 0};
"""
RECORD = "{PD_ABI_VERSION, sizeof(pd_module_record), hand_list, hand_list + 3, 0, 0}"


@pytest.fixture(scope="module")
def sound(maker: Maker) -> Path:
    return maker.plugin("sound", LEVEL)


def by_hand(
    maker: Maker, name: str, definitions: str = DEFINITION, record: str = RECORD, note: str = NOTE
) -> Path:
    text = MODULE.format(definitions=definitions, record=record, note=note)
    return maker.plugin(name, text, flags=("-Wno-missing-field-initializers", "-Wno-unused"))


def test_a_module_by_hand_joins_without_a_constructor_when_it_is_loaded_by_path(
    maker: Maker, host: Path
) -> None:
    plugin = by_hand(maker, "hand")
    said = obey(
        host, f"registry {REGISTRY}", f"load {plugin}", "set hand_level 42", f"call {plugin} level"
    )
    assert said == ["ok", "ok", "ok", "42"]


def test_a_module_joins_whose_note_was_moved_after_linking(maker: Maker, host: Path) -> None:
    # patchelf leaves the distances as they were where the note came from.
    both = NOTE.replace("9, 4", "9, 8") + "\\n.hidden __ehdr_start\\n.long __ehdr_start - ."
    for distance in ("0", "0x2000", "-0x2000"):
        moved = both.replace("- .", f"- . + {distance}")
        plugin = by_hand(maker, f"moved_{distance}".replace("-", "down_"), note=moved)
        said = obey(
            host, f"registry {REGISTRY}", f"load {plugin}", f"call {plugin} level", "modules"
        )
        assert said == ["ok", "ok", "6", "1"]


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("truncated", ".long 9, 4"),
        ("long_name", '.long 0xfffffff0, 4, 1\\n.asciz \\"pd_flags\\"\\n.balign 4\\n.long 0'),
        ("long_body", '.long 9, 0xfffffff0, 1\\n.asciz \\"pd_flags\\"\\n.balign 4\\n.long 0'),
        ("past_end", '.long 9, 400, 1\\n.asciz \\"pd_flags\\"\\n.balign 4\\n.long 0'),
        ("below", NOTE.replace("hand_record - .", "-0x70000000")),
        ("above", NOTE.replace("hand_record - .", "0x70000000")),
        ("constant", NOTE.replace("hand_record", "hand_constant")),
        ("itself", NOTE.replace("hand_record - .", "0")),
        ("odd", NOTE.replace("- .", "- . + 2")),
        ("copy_below", NOTE.replace("4, 1", "4, 2").replace("hand_record - .", "-0x70000000")),
        ("copy_odd", NOTE.replace("4, 1", "4, 2").replace("- .", "- . + 2")),
        ("copy_of_zeros", NOTE.replace("4, 1", "4, 2").replace("hand_record", "hand_zeros")),
        ("other_name", NOTE.replace("pd_flags", "pd_flagz")),
        ("other_type", NOTE.replace("4, 1", "4, 77")),
    ],
)
def test_a_damaged_note_is_passed_over_by_the_registry_and_by_other_plugins(
    maker: Maker, host: Path, sound: Path, name: str, note: str
) -> None:
    damaged = by_hand(maker, name, note=note)
    opened = f"open local {damaged}"
    registry, plugin = f"registry {REGISTRY}", f"open local {sound}"
    before = obey(host, opened, plugin, registry, f"load {damaged}", "set join_level 7", "modules")
    assert before == ["ok", "ok", "ok", "ok", "ok", "1"]
    after = obey(host, opened, registry, plugin, "set join_level 7", f"call {sound} level")
    assert after == ["ok", "ok", "ok", "ok", "7"]


@pytest.mark.parametrize("first", ["registry", "plugin"])
def test_a_record_of_another_abi_is_an_error_of_the_load(
    maker: Maker, host: Path, first: str
) -> None:
    plugin = by_hand(maker, "abi2", record=RECORD.replace("PD_ABI_VERSION", "2"))
    arrive = [f"registry {REGISTRY}"]
    arrive = [f"open local {plugin}", *arrive] if first == "plugin" else arrive
    said = obey(host, *arrive, f"load {plugin}", "get hand_level", "modules")
    assert said[len(arrive) :] == [
        f"PD_ERR_ABI: {plugin}: built for ABI version 2, expected 1",
        "PD_ERR_UNDEFINED: no flag is named 'hand_level'",
        "0",
    ]


def test_a_record_that_is_too_small_is_an_error_of_the_load(maker: Maker, host: Path) -> None:
    record = RECORD.replace("sizeof(pd_module_record)", "16")
    plugin = by_hand(maker, "small", record=record)
    said = obey(host, f"registry {REGISTRY}", f"load {plugin}")
    assert said[1].startswith(f"PD_ERR_ABI: {plugin}: its module record has 16 bytes, expected")


def test_a_record_that_is_bigger_than_ours_is_accepted(maker: Maker, host: Path) -> None:
    record = RECORD.replace("sizeof(pd_module_record)", "sizeof(pd_module_record) + 32")
    plugin = by_hand(maker, "bigger", record=record)
    said = obey(
        host, f"registry {REGISTRY}", f"load {plugin}", "set hand_level 5", f"call {plugin} level"
    )
    assert said == ["ok", "ok", "ok", "5"]


def test_a_definition_that_is_bigger_than_ours_is_accepted(maker: Maker, host: Path) -> None:
    definitions = DEFINITION.replace(
        "static const pd_flag_def hand_def = {",
        "static const struct { pd_flag_def now; long long later[3]; } hand_big = {{",
    )
    definitions = definitions.replace("INT32_MAX}};", "INT32_MAX}}, {1, 2, 3}};")
    definitions = definitions.replace("sizeof(pd_flag_def)", "sizeof(pd_flag_def) + 24")
    plugin = by_hand(maker, "bigdef", definitions.replace("&hand_def", "&hand_big.now"))
    said = obey(
        host,
        f"registry {REGISTRY}",
        f"load {plugin}",
        "set hand_level 5",
        f"call {plugin} level",
        f"unload {plugin}",
        f"load {plugin}",
        f"call {plugin} level",
    )
    assert said == ["ok", "ok", "ok", "5", "ok", "ok", "5"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("sizeof(pd_flag_def)", "48"), "PD_ERR_ABI: a definition has 48 bytes"),
        ((".type = PD_TYPE_int32", ".type = 99"), "PD_ERR_TYPE: definition of 'hand_level'"),
        ((".kind = PD_KIND_DEFINE", ".kind = 9"), "PD_ERR_ABI: definition of 'hand_level'"),
        (('.name = "hand_level"', ".name = 0"), "PD_ERR_NAME: definition: the name is NULL"),
    ],
)
def test_a_definition_that_cannot_be_understood_is_an_error_of_the_load(
    maker: Maker, host: Path, change: tuple[str, str], message: str
) -> None:
    name = "odd" + "".join(c for c in change[1] if c.isalnum())
    plugin = by_hand(maker, name, DEFINITION.replace(*change))
    said = obey(host, f"registry {REGISTRY}", f"load {plugin}", "get hand_level", "modules")
    assert said[1].startswith(message)
    assert said[2:] == ["PD_ERR_UNDEFINED: no flag is named 'hand_level'", "0"]


@pytest.mark.parametrize(
    "record",
    [
        RECORD.replace("hand_list + 3", "0").replace("hand_list", "0"),
        RECORD.replace("hand_list + 3", "hand_list"),
    ],
    ids=["null", "empty"],
)
def test_a_record_without_definitions_is_fine(maker: Maker, host: Path, record: str) -> None:
    plugin = by_hand(maker, f"none{len(record)}", record=record)
    said = obey(host, f"registry {REGISTRY}", f"load {plugin}", f"unload {plugin}", "modules")
    assert said == ["ok", "ok", "ok", "0"]


def test_an_import_without_a_cell_is_fine_also_when_its_flag_leaves(
    maker: Maker, host: Path, sound: Path
) -> None:
    definitions = DEFINITION.replace("KIND_DEFINE", "KIND_IMPORT")
    definitions = definitions.replace('"hand_level"', '"join_level"').replace("&hand_level", "0")
    plugin = by_hand(maker, "cellless", definitions)
    said = obey(
        host,
        f"registry {REGISTRY}",
        f"load {plugin}",
        f"load {sound}",
        "set join_level 5",
        f"unload {sound}",
        "modules",
    )
    assert said == ["ok", "ok", "ok", "ok", "ok", "0"]


def test_two_hundred_plugins_live_in_one_process(maker: Maker, host: Path) -> None:
    first = maker.plugin("many000", LEVEL.replace("join_", "many_000_"))
    plugins = [first]
    # One build, copied with other names in its text: the file differs in nothing else.
    for number in range(1, 200):
        copy = first.with_name(f"libmany{number:03}.so")
        copy.write_bytes(first.read_bytes().replace(b"many_000_", b"many_%03d_" % number))
        plugins.append(copy)
    half = [f"open local {p}" for p in plugins[:100]]
    rest = [f"load {p}" for p in plugins[100:]]
    sets = [f"set many_{n:03}_level {n % 100}" for n in range(200)]
    calls = [f"call {p} level" for p in plugins]
    said = obey(host, *half, f"registry {REGISTRY}", *rest, "modules", *sets, *calls)
    assert said[:201] == ["ok"] * 201
    assert said[201] == "200"
    assert said[202:] == ["ok"] * 200 + [str(n % 100) for n in range(200)]
    leave = [f"unload {p}" for p in plugins[100:]] + [f"close {p}" for p in plugins[:100]]
    said = obey(host, *half, f"registry {REGISTRY}", *rest, *leave, "modules")
    assert said == ["ok"] * 401 + ["0"]


def test_a_file_cut_short_anywhere_is_refused_or_harmless(
    maker: Maker, host: Path, sound: Path
) -> None:
    whole = sound.read_bytes()
    for length in (0, 3, 20, 63, 64, 500):
        path = maker.directory / f"cut{length}.so"
        path.write_bytes(whole[:length])
        said = obey(host, f"registry {REGISTRY}", f"load {path}", f"load {sound}")
        assert said[1].startswith("PD_ERR_LOAD: "), said
        assert said[2] == "ok"
    write(maker.directory / "text.so", "not a library\n")
    said = obey(host, f"registry {REGISTRY}", f"load {maker.directory / 'text.so'}")
    assert said[1].endswith("is not a shared library")
