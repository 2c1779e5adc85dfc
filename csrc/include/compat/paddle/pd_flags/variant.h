/* paddle::variant before C++17: only what exported flags need. */
#ifndef PD_COMPAT_PADDLE_VARIANT_H
#define PD_COMPAT_PADDLE_VARIANT_H

#include <cstddef>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

namespace paddle {
inline namespace of_paddle_flags PD__LOCAL {

namespace pd_detail {
template <class T, class... Types>
struct index_of;
template <class T, class... Rest>
struct index_of<T, T, Rest...> : std::integral_constant<size_t, 0> {};
template <class T, class Other, class... Rest>
struct index_of<T, Other, Rest...>
    : std::integral_constant<size_t, 1 + index_of<T, Rest...>::value> {};
}  // namespace pd_detail

/* Holds one value of each type, of which one is active: they are small. */
template <class... Types>
class variant {
 public:
  variant() : index_(0), values_() {}
  template <class T, class = typename std::enable_if<!std::is_same<T, variant>::value>::type,
            size_t at = pd_detail::index_of<T, Types...>::value>
  explicit variant(const T &value) : index_(at), values_() {
    std::get<at>(values_) = value;
  }
  template <class T, class = typename std::enable_if<!std::is_same<T, variant>::value>::type,
            size_t at = pd_detail::index_of<T, Types...>::value>
  variant &operator=(const T &value) {
    std::get<at>(values_) = value;
    index_ = at;
    return *this;
  }
  size_t index() const { return index_; }

  std::tuple<Types...> &values() { return values_; }
  const std::tuple<Types...> &values() const { return values_; }

 private:
  size_t index_;
  std::tuple<Types...> values_;
};

template <class T, class... Types>
bool holds_alternative(const variant<Types...> &value) {
  return value.index() == pd_detail::index_of<T, Types...>::value;
}

template <class T, class... Types>
const T &get(const variant<Types...> &value) {
  if (!holds_alternative<T>(value)) throw std::logic_error("bad variant access");
  return std::get<pd_detail::index_of<T, Types...>::value>(value.values());
}

namespace pd_detail {
/* The result type of the call with the first type. */
template <class Visitor, class... Types>
struct result_of {
  using first = typename std::tuple_element<0, std::tuple<Types...>>::type;
  using type = decltype(std::declval<Visitor>()(std::declval<const first &>()));
};

template <size_t at, class Result, class Visitor, class... Types>
typename std::enable_if<at + 1 == sizeof...(Types), Result>::type visit_from(
    Visitor &&visitor, const variant<Types...> &value) {
  return std::forward<Visitor>(visitor)(std::get<at>(value.values()));
}
template <size_t at, class Result, class Visitor, class... Types>
typename std::enable_if<at + 1 < sizeof...(Types), Result>::type visit_from(
    Visitor &&visitor, const variant<Types...> &value) {
  if (value.index() == at) return std::forward<Visitor>(visitor)(std::get<at>(value.values()));
  return visit_from<at + 1, Result>(std::forward<Visitor>(visitor), value);
}
}  // namespace pd_detail

template <class Visitor, class... Types>
auto visit(Visitor &&visitor, const variant<Types...> &value)
    -> typename pd_detail::result_of<Visitor, Types...>::type {
  using result = typename pd_detail::result_of<Visitor, Types...>::type;
  return pd_detail::visit_from<0, result>(std::forward<Visitor>(visitor), value);
}

}  // namespace of_paddle_flags
}  // namespace paddle

#endif /* PD_COMPAT_PADDLE_VARIANT_H */
