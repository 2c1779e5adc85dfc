# Flags from YAML, by GNU make:
#
#   PYTHON ?= python3
#   include $(shell $(PYTHON) -m paddle_flags config --makefile)
#   $(eval $(call pd_flags_generate,flags.yaml,build/flags,--lang c))
#
# These lines generate files into build/flags whenever flags.yaml, a file that belongs to it, a
# template or an option has changed, or a generated file is missing. They define variables that
# begin with the name of the file:
#
#   flags_FILES     all generated files
#   flags_OBJECTS   the objects of the C sources, each with a rule that compiles it
#   flags_HEADERS   the headers, for the prerequisites of your own objects
#   flags_CPPFLAGS  compiler options that find the headers
#
# The third argument holds options of `python -m paddle_flags gen`.
PYTHON ?= python3

pd_flags_package   := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))..)
pd_flags_generator := $(wildcard $(addprefix $(pd_flags_package)/gen/,*.py templates/*.j2))

pd_flags_hash := \#

# The values of an option in a list of arguments: pd_flags_option,--compat,$(words).
pd_flags_option = $(patsubst $(1)=%,%,$(filter $(1)=%,$(subst $(1) ,$(1)=,$(strip $(2)))))

# The files that gen reads, for the file $(1) and the options $(3).
pd_flags_beside = $(wildcard $(basename $(1))$(2)$(suffix $(1)))
pd_flags_inputs = $(1) \
  $(or $(call pd_flags_option,--compat,$(3)),$(call pd_flags_beside,$(1),_compat)) \
  $(or $(call pd_flags_option,--versions,$(3)),$(call pd_flags_beside,$(1),_version)) \
  $(wildcard $(addsuffix /*.j2,$(call pd_flags_option,--templates,$(3))))

# The same, without characters that have a meaning in makefiles or shells.
pd_flags_plain  = $(subst $$,_,$(subst ',_,$(subst $(pd_flags_hash),_,$(strip $(1)))))
pd_flags_record = $(call pd_flags_plain,$(3) of $(call pd_flags_inputs,$(1),,$(3)))

# The list of files is a makefile: make updates it first, then reads it. The list also records its
# inputs, since make doesn't notice that one was removed. Checking once is enough: make restarts
# after it has updated the list.
define pd_flags_rules
$(4)_former_goal := $$(.DEFAULT_GOAL)

$(2)/$(4).mk: $(call pd_flags_inputs,$(1),,$(3)) $(pd_flags_generator)
	@mkdir -p $(2)
	$(PYTHON) -m paddle_flags gen $(1) -o $(2) $(3)
	@files=$$$$($(PYTHON) -m paddle_flags gen $(1) -o $(2) $(3) --list) && \
	  echo $(4)_FILES := $$$$files >$$@ && \
	  echo '$(4)_made_of := $(call pd_flags_record,$(1),,$(3))' >>$$@

include $(2)/$(4).mk

ifeq ($$(MAKE_RESTARTS),)
ifneq ($$($(4)_made_of) $$(words $$($(4)_FILES)),$(call pd_flags_record,$(1),,$(3)) $$(words $$(wildcard $$($(4)_FILES))))
$(2)/$(4).mk: pd_flags_again
endif
endif

$(4)_HEADERS  = $$(filter %.h %.hpp,$$($(4)_FILES))
$(4)_OBJECTS  = $$(patsubst %.c,%.o,$$(filter %.c,$$($(4)_FILES)))
$(4)_CPPFLAGS = -I$(2) -I$(pd_flags_package)/include

$$($(4)_OBJECTS): $(2)/%.o: $(2)/%.c $$(filter %.h,$$($(4)_FILES))
	$$(CC) $$(CPPFLAGS) $$($(4)_CPPFLAGS) $$(CFLAGS) -c $$< -o $$@

.PHONY: pd_flags_again
.DEFAULT_GOAL := $$($(4)_former_goal)
endef

pd_flags_generate = $(call pd_flags_rules,$(1),$(2),$(3),$(basename $(notdir $(1))))
