"""Two copies of the library that arrive at once: a process in which one of them is played.

The program leaves the note and the record of a copy that stands for election, before libpd_flags
in memory, as one does that another thread is just loading. libpd_flags must step back from time to
time, or both would wait for each other, and host the registry when nobody else stands.
"""

from __future__ import annotations

import sys

import pytest
from joining import REGISTRY, environment
from support import build, run, write

PROGRAM = r"""
#define _GNU_SOURCE
#define PD_NO_MODULE_RECORD
#include <pd_flags.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The copy that this program plays. */
extern pd_copy_record played_copy;
PD__HIDDEN __attribute__((used))
pd_copy_record played_copy = {PD_ABI_VERSION, sizeof(pd_copy_record), NULL, "0", 1, NULL};
PD__NOTE(NUMBER(PD_NOTE_COPY), "played_copy");

static pd_copy_record *in_notes(const char *at, const char *end) {
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    const ElfW(Nhdr) *note = (const void *)at;
    const char *name = at + sizeof *note, *body = name + ((note->n_namesz + 3) & ~3u);
    if (note->n_type == PD_NOTE_COPY && note->n_namesz == sizeof PD_NOTE_NAME &&
        !memcmp(name, PD_NOTE_NAME, sizeof PD_NOTE_NAME)) {
      return (void *)((uintptr_t)body + (uintptr_t)(intptr_t)*(const int32_t *)(const void *)body);
    }
    at = body + ((note->n_descsz + 3) & ~3u);
  }
  return NULL;
}

static int look(struct dl_phdr_info *info, size_t size, void *out) {
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    const char *start = (const char *)(info->dlpi_addr + segment->p_vaddr);
    if (segment->p_type != PT_NOTE || segment->p_align == 8) continue;
    pd_copy_record *found = in_notes(start, start + segment->p_memsz);
    if (found && found != &played_copy) *(pd_copy_record **)out = found;
  }
  return 0;
}

static void *load(void *path) { return dlopen(path, RTLD_NOW); }

static uint32_t candidate_of(pd_copy_record *copy) {
  return __atomic_load_n(&copy->candidate, __ATOMIC_SEQ_CST);
}

int main(int argc, char **argv) {
  pthread_t loader;
  void *handle;
  pd_copy_record *copy = NULL;
  alarm(240);
  if (argc != 2 || pthread_create(&loader, NULL, load, argv[1])) return 2;
  while (!copy) dl_iterate_phdr(look, &copy);
  if ((uintptr_t)copy < (uintptr_t)&played_copy) return 3; /* it would be the other one's turn */
  while (!candidate_of(copy)) continue;
  while (candidate_of(copy)) continue; /* it steps back */
  usleep(50 * 1000);
  if (__atomic_load_n(&copy->host, __ATOMIC_SEQ_CST)) return 4;
  puts("steps back");
  __atomic_store_n(&played_copy.candidate, 0, __ATOMIC_SEQ_CST);
  pthread_join(loader, &handle);
  if (!handle || !copy->host || candidate_of(copy)) return 5;
  puts("hosts");
  return 0;
}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the program reads the notes of ELF")
def test_a_copy_steps_back_for_one_that_stands_before_it_and_hosts_when_that_has_gone(tmp_path):
    source = PROGRAM.replace("NUMBER(PD_NOTE_COPY)", '"2"')
    program = build(
        tmp_path / "program",
        write(tmp_path / "program.c", source),
        flags=("-pthread", "-pie", "-fPIE", "-ldl"),
    )
    ended = run(program, REGISTRY, env=environment())
    assert ended.stdout.splitlines() == ["steps back", "hosts"]
