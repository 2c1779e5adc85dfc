/* Which signatures are of one operation. */
#include "check.h"

static uint8_t of_two_structs[] = {PD_CODE_VOID, 32 + PD_CODE_STRUCT, 64 + PD_CODE_STRUCT, 0};
static uint8_t of_struct_and_int[] = {PD_CODE_VOID, 32 + PD_CODE_STRUCT, PD_CODE_INT32, 0};

/* Returns whether both texts, with these types, are signatures of one operation. */
static bool are_one_of(const uint8_t *types, const char *text, const char *other) {
  static char names[100][8];
  static int count;
  pd_op_signature one = {.text = text};
  pd_op *first = NULL, *second = NULL;
  snprintf(names[count], sizeof *names, "op%d", count);
  one.name = names[count++];
  memcpy(one.types, types, strlen((const char *)types));
  pd_op_signature two = one;
  two.text = other;
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_OP, .name = "native"};
  def.signature = &one;
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  def.name = "other";
  def.signature = &two;
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  CHECK_OK(pd_op_find(one.name, NULL, &first, &err));
  second = pd_op_next(first);
  pd_op_info info = {.size = sizeof info};
  if (second) CHECK_OK(pd_op_get_info(second, &info, &err));
  return !second || strcmp(info.name, one.name) != 0;
}

static bool are_one(const char *text, const char *other) {
  return are_one_of(of_two_structs, text, other);
}

TEST(a_name_that_begins_with_a_word_that_does_not_count_is_another_name) {
  static const char bytes[] = "azmAZM059_";
  char text[64], other[64];
  for (size_t i = 0; bytes[i]; i++) {
    snprintf(text, sizeof text, "void (const%c *, b *)", bytes[i]);
    snprintf(other, sizeof other, "void (%c *, b *)", bytes[i]);
    CHECK(!are_one(text, other));
  }
  CHECK(!are_one("void (xconst *, b *)", "void (x *, b *)"));
  CHECK(!are_one("void (x_struct *, b *)", "void (x_ *, b *)"));
}

TEST(words_that_do_not_count_end_at_any_other_byte) {
  CHECK(are_one("void (const::a *, b *)", "void (a *, b *)"));
  CHECK(are_one("void (const{anonymous}::a *, b *)", "void (a *, b *)"));
  CHECK(are_one("void (box<const a> *, b *)", "void (box<a> *, b *)"));
  CHECK(are_one("void (box<struct a, enum c> *, b *)", "void (box<a,c> *, b *)"));
}

TEST(every_word_that_says_only_how_a_type_is_written_is_left_out) {
  static const char *const words[] = {"const", "volatile",   "struct",       "class",
                                      "enum",  "__restrict", "__restrict__", "restrict"};
  char text[64];
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    snprintf(text, sizeof text, "void (%s a *, b * %s)", words[i], words[i]);
    CHECK(are_one(text, "void (a *, b *)"));
  }
}

TEST(colons_inside_a_name_count_and_those_before_it_do_not) {
  CHECK(are_one("void (::a *, b *)", "void (a *, b *)"));
  CHECK(!are_one("void (a::b *, c *)", "void (ab *, c *)"));
  CHECK(are_one("void (a *, ::b *)", "void (a *, b *)"));
}

TEST(a_comma_inside_of_a_template_does_not_end_the_type) {
  CHECK(!are_one("void (box<a, b> *, c *)", "void (box<a, d> *, c *)"));
  CHECK(!are_one("void (box<a<b>, c> *, d *)", "void (box<a<b>, e> *, d *)"));
  CHECK(!are_one("void (box<a, b> *, c *)", "void (box<a, b> *, d *)"));
  CHECK(are_one_of(of_struct_and_int, "void (a> *, int)", "void (a> *, int32_t)"));
  CHECK(are_one_of(of_struct_and_int, "void (box<a> *, int)", "void (box<a> *, int32_t)"));
}

TEST(pointers_are_told_apart_by_their_codes_alone) {
  CHECK(are_one("void (a *, b *)", "void (a, b**)"));
}

TEST(a_text_that_lacks_its_end_is_read_to_its_end) {
  CHECK(are_one("void (box<a *, b", "void (box<a*,b"));
  CHECK(!are_one("void (box<a *, b", "void (box<a*,c"));
}

TEST(other_types_are_told_apart_by_their_codes) {
  CHECK(are_one_of(of_struct_and_int, "void (a *, int)", "void (a *, int32_t)"));
  CHECK(!are_one_of(of_struct_and_int, "void (a *, int)", "void (b *, int)"));
}

TEST(long_names_count_to_their_end) {
  char text[700], other[700], name[301];
  memset(name, 'n', sizeof name - 1);
  name[300] = '\0';
  snprintf(text, sizeof text, "void (struct %s *, const struct %s *)", name, name);
  snprintf(other, sizeof other, "void (%s*, %s*)", name, name);
  CHECK(are_one(text, other));
  name[299] = 'm';
  snprintf(other, sizeof other, "void (%s*, %s*)", name, name);
  CHECK(!are_one(text, other));
  name[299] = 'n';
  name[0] = 'm';
  snprintf(other, sizeof other, "void (%s*, %s*)", name, name);
  CHECK(!are_one(text, other));
}

TEST(objects_of_another_language_count_as_they_are_written) {
  static const uint8_t objects[] = {PD_CODE_OBJECT, PD_CODE_OBJECT, 0};
  CHECK(are_one_of(objects, "object (str)", "object (str)"));
  CHECK(!are_one_of(objects, "object (str)", "object (const str)"));
  CHECK(!are_one_of(objects, "object (str)", "object(str)"));
}
