/* paddle::flags::FlagRegisterer; paddle/common/flags.h includes it. */
#ifndef PD_COMPAT_PADDLE_REGISTERER_H
#define PD_COMPAT_PADDLE_REGISTERER_H

#include <pd_flags/assignable.hpp>

#include <cstdlib>
#include <iostream>
#include <string>

namespace paddle {
namespace flags {
inline namespace of_paddle_flags {

namespace pd_detail {

template <class T>
PD__LOCAL void default_to(pd_flag_def *def, const T *value) {
  pd::detail::put(def->default_value, *value);
}
PD__LOCAL inline void default_to(pd_flag_def *def, const std::string *value) {
  def->default_value.str = value->c_str();
  def->access = &pd::detail::string_access<>::value;
}

template <class T>
struct type_of : pd::detail::value_type<T> {};
template <>
struct type_of<std::string> : pd::detail::value_type<const char *> {};

}  // namespace pd_detail

/* Defines a flag at run time with your variable, which must stay valid until the process ends. The
 * macros don't need it. A definition that is refused ends the process with 255. */
class PD__LOCAL FlagRegisterer {
 public:
  template <typename T>
  FlagRegisterer(std::string name, std::string description, std::string file,
                 const T *default_value, T *value) {
    pd_flag_def def;
    pd_flag *flag = nullptr;
    pd_error err;
    T now = *value;
    pd_flag_def_init(&def, sizeof def, pd_detail::type_of<T>::type);
    def.name = name.c_str();
    def.help = description.c_str();
    def.file = file.c_str();
    def.cell = value;
    def.assignable = true;
    pd_detail::default_to(&def, default_value);
    pd_status status = pd_flag_register(&def, &flag, &err);
    if (status != PD_OK) std::cerr << "paddle flags error: " << err.message << std::endl;
    if (!flag) std::exit(-1);
    bool assigned = status == PD_OK && !same(now, *default_value) && same(*value, *default_value);
    if (assigned) *value = now;
  }

 private:
  template <class T>
  static bool same(const T &first, const T &second) {
    return !(first < second) && !(second < first);
  }
};

}  // namespace of_paddle_flags
}  // namespace flags
}  // namespace paddle

#endif /* PD_COMPAT_PADDLE_REGISTERER_H */
