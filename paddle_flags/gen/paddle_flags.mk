# Flags from YAML, by GNU make:
#
#   include $(shell $(PYTHON) -m paddle_flags config --makefile)
#   $(eval $(call pd_flags_generate,flags.yaml,build/flags,--lang c))
#
# generates into build/flags whenever flags.yaml, or a file that belongs to it, has
# changed, and gives, by the name of the file,
#
#   flags_FILES     all that is generated
#   flags_OBJECTS   the objects of the sources, with a rule that compiles each
#   flags_HEADERS   what those who include them depend on
#   flags_CPPFLAGS  options for the compiler, to find them
#
# The third argument has options of `python -m paddle_flags gen`.
PYTHON ?= python3

pd_flags_package   := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))..)
pd_flags_generator := $(wildcard $(addprefix $(pd_flags_package)/gen/,*.py templates/*.j2))

# The list of files is a makefile: make renews it first, then reads it.
define pd_flags_rules
$(2)/$(4).mk: $(1) $(wildcard $(basename $(1))_compat$(suffix $(1)) $(basename $(1))_version$(suffix $(1))) $(pd_flags_generator)
	@mkdir -p $(2)
	$(PYTHON) -m paddle_flags gen $(1) -o $(2) $(3)
	@files=$$$$($(PYTHON) -m paddle_flags gen $(1) -o $(2) $(3) --list) && \
	  echo $(4)_FILES := $$$$files >$$@

include $(2)/$(4).mk

$(4)_HEADERS  = $$(filter %.h %.hpp,$$($(4)_FILES))
$(4)_OBJECTS  = $$(patsubst %.c,%.o,$$(filter %.c,$$($(4)_FILES)))
$(4)_CPPFLAGS = -I$(2) -I$(pd_flags_package)/include

$$($(4)_OBJECTS): $(2)/%.o: $(2)/%.c $$(filter %.h,$$($(4)_FILES))
	$$(CC) $$(CPPFLAGS) $$($(4)_CPPFLAGS) $$(CFLAGS) -c $$< -o $$@
endef

pd_flags_generate = $(call pd_flags_rules,$(1),$(2),$(3),$(basename $(notdir $(1))))
