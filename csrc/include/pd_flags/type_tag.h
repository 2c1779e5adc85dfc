/* For macros that take a C++ type: PD__TAGGED(MY_DEFINE_, std::string) is MY_DEFINE_string.
 *
 * Pasting turns a type into PD__TAG_int32_t, which is expanded only in the next step, hence the
 * several steps. Of std::string, pasting uses the first word and leaves `::string`: PD__TAG_std
 * ends in a comma, which turns the rest into an argument that PD__TAGGED_FIRST drops. */
#ifndef PD_FLAGS_TYPE_TAG_H
#define PD_FLAGS_TYPE_TAG_H

#define PD__TAGGED(prefix, type) PD__TAGGED_SPLIT(prefix, PD__TAG_##type)
#define PD__TAGGED_SPLIT(prefix, ...) PD__TAGGED_FIRST(prefix, __VA_ARGS__, )
#define PD__TAGGED_FIRST(prefix, tag, ...) PD__TAGGED_PASTE(prefix, tag)
#define PD__TAGGED_PASTE(prefix, tag) prefix##tag
#define PD__TAG_bool bool
#define PD__TAG_int int32
#define PD__TAG_int32_t int32
#define PD__TAG_uint32_t uint32
#define PD__TAG_int64_t int64
#define PD__TAG_uint64_t uint64
#define PD__TAG_double double
#define PD__TAG_string string
#define PD__TAG_std string,

#endif /* PD_FLAGS_TYPE_TAG_H */
