#pragma once
// Described structs: a plain struct lists its fields once, and from that list come both its JSON and the JSON
// Schema of it. Code between the layers works with the struct; JSON is written at the face alone.
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
// A type that is no struct of fields specialises DescribedAs<T> with the same two functions. The templates
// write to an interface, so that a header with such structs does not pull in the JSON library.

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

template <class T>
struct DescribedAs<std::vector<T>> {
  static void write(ValueWriter& out, const std::vector<T>& values) {
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

/// Structs that list their fields.
template <class T>
struct DescribedAs<T, std::void_t<decltype(T::fields())>> {
  static void write(ValueWriter& out, const T& value) {
    out.begin_object();
    std::apply([&](const auto&... each) { (write_field(out, value, each), ...); }, T::fields());
    out.end_object();
  }

  static void schema(ValueWriter& out, const char* about) {
    begin_schema(out, about);
    out.key("type");
    out.text("object");
    out.key("additionalProperties");
    out.boolean(false);
    out.key("required");
    out.begin_array();
    std::apply([&](const auto&... each) { ((each.is_left_out ? void() : out.text(each.name)), ...); },
               T::fields());
    out.end_array();
    out.key("properties");
    out.begin_object();
    std::apply([&](const auto&... each) { (write_property(out, each), ...); }, T::fields());
    out.end_object();
    out.end_object();
  }

 private:
  template <class F>
  static void write_field(ValueWriter& out, const T& value, const F& each) {
    if constexpr (requires { (value.*each.member).has_value(); }) {
      if (each.is_left_out && !(value.*each.member).has_value()) return;
    }
    out.key(each.name);
    write_value<typename F::member_type>(out, value.*each.member);
  }

  template <class F>
  static void write_property(ValueWriter& out, const F& each) {
    out.key(each.name);
    DescribedAs<typename F::member_type>::schema(out, each.about);
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

}  // namespace nl
