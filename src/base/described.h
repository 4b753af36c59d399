#pragma once
// Described structs: a plain struct lists its fields once, and both its JSON and its JSON Schema follow from
// that list. Code between the layers works with the struct; only the outermost layer writes JSON.
//
//   struct Share {
//     std::string name;
//     int64_t time_ns = 0;
//     static constexpr auto fields() {
//       return std::tuple{field("name", &Share::name, "of the kernel"), field("time_ns", &Share::time_ns)};
//     }
//   };
//   nlohmann::json tree = to_json_tree(share);
//   nlohmann::json schema = schema_of<Share>();
//
// Besides field(), a list may contain field_if_any(), field_maybe_endless(), field_known() and merged(). A
// struct with `kIsRow = true` is written as an array of its values. An enum is described by deriving from
// DescribedEnum:
//
//   template <> struct DescribedAs<Phase> : DescribedEnum<Phase, phase_name, 4> {};
//
// Any other type that is not a struct of fields specialises DescribedAs<T> with the same two functions. The
// templates write to an interface, so a header with such structs does not include the JSON library.

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/known.h"

namespace nl {

/// Where values go: a JSON tree today. Calls come in the order of a document.
class ValueWriter {
 public:
  virtual ~ValueWriter() = default;
  virtual void null() = 0;
  virtual void boolean(bool value) = 0;
  virtual void integer(int64_t value) = 0;
  virtual void number(double value) = 0;
  virtual void text(std::string_view value) = 0;
  virtual void tree(const nlohmann::json& value) = 0;
  virtual void begin_object() = 0;
  virtual void key(std::string_view name) = 0;
  virtual void end_object() = 0;
  virtual void begin_array() = 0;
  virtual void end_array() = 0;
};

template <class Class, class Member>
struct Field {
  using member_type = Member;
  const char* name;
  Member Class::*member;
  const char* about;
  bool is_left_out;  ///< an optional without a value: left out instead of null
};

template <class Class, class Member>
constexpr Field<Class, Member> field(const char* name, Member Class::*member, const char* about = "") {
  return {name, member, about, false};
}

/// The key is only there if the optional has a value.
template <class Class, class Member>
constexpr Field<Class, std::optional<Member>> field_if_any(const char* name,
                                                           std::optional<Member> Class::*member,
                                                           const char* about = "") {
  return {name, member, about, true};
}

/// A number that may be infinite, which JSON cannot say: it is null then. An optional without a value is left
/// out.
template <class Class, class Member>
struct EndlessField {
  const char* name;
  Member Class::*member;
  const char* about;
};

template <class Class, class Member>
constexpr EndlessField<Class, Member> field_maybe_endless(const char* name, Member Class::*member,
                                                          const char* about = "") {
  return {name, member, about};
}

/// A value, or null and beside it the key `absent_reason`.
template <class Class, class Value>
struct KnownField {
  const char* name;
  Known<Value> Class::*member;
  const char* about;
};

template <class Class, class Value>
constexpr KnownField<Class, Value> field_known(const char* name, Known<Value> Class::*member,
                                               const char* about = "") {
  return {name, member, about};
}

/// The fields of the member stand among those of the struct around it; of an optional only if it has a value.
template <class Class, class Member>
struct Merged {
  Member Class::*member;
};

template <class Class, class Member>
constexpr Merged<Class, Member> merged(Member Class::*member) {
  return {member};
}

/// How values of T are written and what schema they follow. Specialise it for types that have no fields().
template <class T, class = void>
struct DescribedAs;

template <class T>
void write_value(ValueWriter& out, const T& value) {
  DescribedAs<T>::write(out, value);
}

/// Begins the object of a schema: {"description": about, … if there is something to say.
void begin_schema(ValueWriter& out, const char* about);
/// Writes {"description": about, "type": name}.
void write_type_schema(ValueWriter& out, std::string_view name, const char* about = "");

template <>
struct DescribedAs<bool> {
  static void write(ValueWriter& out, bool value) { out.boolean(value); }
  static void schema(ValueWriter& out, const char* about) { write_type_schema(out, "boolean", about); }
};

template <class T>
struct DescribedAs<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  static void write(ValueWriter& out, T value) { out.integer(static_cast<int64_t>(value)); }
  static void schema(ValueWriter& out, const char* about) { write_type_schema(out, "integer", about); }
};

template <>
struct DescribedAs<double> {
  static void write(ValueWriter& out, double value) { out.number(value); }
  static void schema(ValueWriter& out, const char* about) { write_type_schema(out, "number", about); }
};

template <class T>
struct DescribedAs<T, std::enable_if_t<std::is_convertible_v<const T&, std::string_view> &&
                                       !std::is_same_v<T, nlohmann::json>>> {
  static void write(ValueWriter& out, const T& value) { out.text(value); }
  static void schema(ValueWriter& out, const char* about) { write_type_schema(out, "string", about); }
};

/// Any JSON: what a source said and nobody describes. Its schema allows everything.
template <>
struct DescribedAs<nlohmann::json> {
  static void write(ValueWriter& out, const nlohmann::json& value) { out.tree(value); }
  static void schema(ValueWriter& out, const char* about) {
    begin_schema(out, about);
    out.end_object();
  }
};

template <class T>
struct DescribedAs<std::optional<T>> {
  static void write(ValueWriter& out, const std::optional<T>& value) {
    if (value)
      write_value(out, *value);
    else
      out.null();
  }
  static void schema(ValueWriter& out, const char* about) {
    begin_schema(out, about);
    out.key("anyOf");
    out.begin_array();
    DescribedAs<T>::schema(out, "");
    write_type_schema(out, "null");
    out.end_array();
    out.end_object();
  }
};

template <class T, class Allocator>
struct DescribedAs<std::vector<T, Allocator>> {
  static void write(ValueWriter& out, const std::vector<T, Allocator>& values) {
    out.begin_array();
    for (const auto& value : values) write_value<T>(out, value);
    out.end_array();
  }
  static void schema(ValueWriter& out, const char* about) {
    begin_schema(out, about);
    out.key("type");
    out.text("array");
    out.key("items");
    DescribedAs<T>::schema(out, "");
    out.end_object();
  }
};

/// An object whose keys are data.
template <class T>
struct DescribedAs<std::map<std::string, T>> {
  static void write(ValueWriter& out, const std::map<std::string, T>& values) {
    out.begin_object();
    for (const auto& [name, value] : values) {
      out.key(name);
      write_value(out, value);
    }
    out.end_object();
  }
  static void schema(ValueWriter& out, const char* about) {
    begin_schema(out, about);
    out.key("type");
    out.text("object");
    out.key("additionalProperties");
    DescribedAs<T>::schema(out, "");
    out.end_object();
  }
};

template <class T, size_t N>
struct DescribedAs<std::array<T, N>> {
  static void write(ValueWriter& out, const std::array<T, N>& values) {
    out.begin_array();
    for (const auto& value : values) write_value<T>(out, value);
    out.end_array();
  }
  static void schema(ValueWriter& out, const char* about) { DescribedAs<std::vector<T>>::schema(out, about); }
};

/// An enum whose values from 0 to `count` - 1 have names.
template <class E, std::string_view (*name)(E), size_t count>
struct DescribedEnum {
  static void write(ValueWriter& out, E value) { out.text(name(value)); }
  static void schema(ValueWriter& out, const char* about) {
    begin_schema(out, about);
    out.key("enum");
    out.begin_array();
    for (size_t i = 0; i < count; i++) out.text(name(static_cast<E>(i)));
    out.end_array();
    out.end_object();
  }
};

/// A struct, or {"absent": why there is none}.
template <class T>
struct DescribedAs<Known<T>, std::void_t<decltype(T::fields())>> {
  static void write(ValueWriter& out, const Known<T>& value) {
    if (value) return write_value(out, *value);
    out.begin_object();
    out.key("absent");
    out.text(value.reason());
    out.end_object();
  }
  static void schema(ValueWriter& out, const char* about) {
    begin_schema(out, about);
    out.key("anyOf");
    out.begin_array();
    DescribedAs<T>::schema(out, "");
    DescribedAs<AbsentValue>::schema(out, "");
    out.end_array();
    out.end_object();
  }

 private:
  struct AbsentValue {
    std::string absent;
    static constexpr auto fields() {
      return std::tuple{field("absent", &AbsentValue::absent, "why it is not known")};
    }
  };
};

template <class T>
concept DescribedRow = requires { requires T::kIsRow; };

/// Structs that list their fields.
template <class T>
struct DescribedAs<T, std::void_t<decltype(T::fields())>> {
  static void write(ValueWriter& out, const T& value) {
    if constexpr (DescribedRow<T>) {
      out.begin_array();
      each([&](const auto& field) { write_cell(out, value, field); });
      out.end_array();
    } else {
      out.begin_object();
      write_fields(out, value);
      out.end_object();
    }
  }

  static void schema(ValueWriter& out, const char* about) {
    begin_schema(out, about);
    out.key("type");
    if constexpr (DescribedRow<T>) {
      out.text("array");
      write_row_schema(out);
    } else {
      out.text("object");
      out.key("additionalProperties");
      out.boolean(false);
      out.key("required");
      out.begin_array();
      write_required(out);
      out.end_array();
      out.key("properties");
      out.begin_object();
      write_properties(out);
      out.end_object();
    }
    out.end_object();
  }

  // The parts of an object, for structs that are merged into others.
  static void write_fields(ValueWriter& out, const T& value) {
    each([&](const auto& field) { write_field(out, value, field); });
  }
  static void write_required(ValueWriter& out) {
    each([&](const auto& field) { write_required(out, field); });
  }
  static void write_properties(ValueWriter& out) {
    each([&](const auto& field) { write_property(out, field); });
  }

 private:
  template <class Fn>
  static void each(Fn&& fn) {
    std::apply([&](const auto&... fields) { (fn(fields), ...); }, T::fields());
  }

  template <class C, class M>
  static void write_cell(ValueWriter& out, const T& value, const Field<C, M>& field) {
    write_value<M>(out, value.*field.member);
  }

  template <class C, class M>
  static void write_field(ValueWriter& out, const T& value, const Field<C, M>& field) {
    if constexpr (requires { (value.*field.member).has_value(); }) {
      if (field.is_left_out && !(value.*field.member).has_value()) return;
    }
    out.key(field.name);
    write_value<M>(out, value.*field.member);
  }
  template <class C, class M>
  static void write_field(ValueWriter& out, const T& value, const EndlessField<C, M>& field) {
    const std::optional<double> number = value.*field.member;
    if (!number) return;
    out.key(field.name);
    std::isfinite(*number) ? out.number(*number) : out.null();
  }
  template <class C, class V>
  static void write_field(ValueWriter& out, const T& value, const KnownField<C, V>& field) {
    const Known<V>& known = value.*field.member;
    out.key(field.name);
    if (known) return write_value(out, *known);
    out.null();
    out.key("absent_reason");
    out.text(known.reason());
  }
  template <class C, class M>
  static void write_field(ValueWriter& out, const T& value, const Merged<C, M>& field) {
    DescribedAs<M>::write_fields(out, value.*field.member);
  }
  template <class C, class M>
  static void write_field(ValueWriter& out, const T& value, const Merged<C, std::optional<M>>& field) {
    if (const auto& inner = value.*field.member) DescribedAs<M>::write_fields(out, *inner);
  }

  template <class C, class M>
  static void write_required(ValueWriter& out, const Field<C, M>& field) {
    if (!field.is_left_out) out.text(field.name);
  }
  template <class C, class M>
  static void write_required(ValueWriter& out, const EndlessField<C, M>& field) {
    if (std::is_same_v<M, double>) out.text(field.name);
  }
  template <class C, class V>
  static void write_required(ValueWriter& out, const KnownField<C, V>& field) {
    out.text(field.name);
  }
  template <class C, class M>
  static void write_required(ValueWriter& out, const Merged<C, M>&) {
    DescribedAs<M>::write_required(out);
  }
  template <class C, class M>
  static void write_required(ValueWriter&, const Merged<C, std::optional<M>>&) {}

  template <class C, class M>
  static void write_property(ValueWriter& out, const Field<C, M>& field) {
    out.key(field.name);
    if constexpr (requires {
                    typename M::value_type;
                    requires std::is_same_v<M, std::optional<typename M::value_type>>;
                  }) {
      if (field.is_left_out) return DescribedAs<typename M::value_type>::schema(out, field.about);
    }
    DescribedAs<M>::schema(out, field.about);
  }
  template <class C, class M>
  static void write_property(ValueWriter& out, const EndlessField<C, M>& field) {
    out.key(field.name);
    DescribedAs<std::optional<double>>::schema(out, field.about);
  }
  template <class C, class V>
  static void write_property(ValueWriter& out, const KnownField<C, V>& field) {
    out.key(field.name);
    DescribedAs<std::optional<V>>::schema(out, field.about);
    out.key("absent_reason");
    write_type_schema(out, "string", "why there is no value");
  }
  template <class C, class M>
  static void write_property(ValueWriter& out, const Merged<C, M>&) {
    DescribedAs<M>::write_properties(out);
  }
  template <class C, class M>
  static void write_property(ValueWriter& out, const Merged<C, std::optional<M>>&) {
    DescribedAs<M>::write_properties(out);
  }

  static void write_row_schema(ValueWriter& out) {
    std::string names;
    int64_t count = 0;
    each([&](const auto& field) {
      names += (count++ == 0 ? "in this order: " : ", ") + std::string(field.name);
    });
    for (const char* limit : {"minItems", "maxItems"}) {
      out.key(limit);
      out.integer(count);
    }
    out.key("items");
    begin_schema(out, names.c_str());
    out.end_object();
  }
};

/// What `write` says, as a tree. Who calls this, or the two below, includes base/json.h.
nlohmann::json json_tree_of(const std::function<void(ValueWriter&)>& write);

template <class T>
auto to_json_tree(const T& value) {
  return json_tree_of([&](ValueWriter& out) { write_value(out, value); });
}

/// The JSON Schema that to_json_tree of every T follows.
template <class T>
auto schema_of() {
  return json_tree_of([](ValueWriter& out) { DescribedAs<T>::schema(out, ""); });
}

/// The text of that schema, made when it is first asked for.
std::string schema_text_of(const std::function<void(ValueWriter&)>& write);

template <class T>
std::string_view schema_text() {
  static const std::string kText = schema_text_of([](ValueWriter& out) { DescribedAs<T>::schema(out, ""); });
  return kText;
}

}  // namespace nl
