#include "base/described.h"

#include "base/json.h"

namespace nl {
namespace {

using nlohmann::json;

/// Builds the tree from the outside in: `open_` is the way from the root to the value being written.
class TreeWriter final : public ValueWriter {
 public:
  void null() override { put(nullptr); }
  void boolean(bool value) override { put(value); }
  void integer(int64_t value) override { put(value); }
  void number(double value) override { put(value); }
  void text(std::string_view value) override { put(value); }
  void tree(const json& value) override { put(value); }
  void begin_object() override { open_.push_back(put(json::object())); }
  void key(std::string_view name) override { key_ = name; }
  void end_object() override { open_.pop_back(); }
  void begin_array() override { open_.push_back(put(json::array())); }
  void end_array() override { open_.pop_back(); }

  json take() { return std::move(root_); }

 private:
  json* put(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    json& place = parent[key_];
    place = std::move(value);
    return &place;
  }

  json root_;
  // An array moves its values when it grows, but only while none of them is open.
  std::vector<json*> open_;
  std::string key_;
};

}  // namespace

void begin_schema(ValueWriter& out, const char* about) {
  out.begin_object();
  if (*about == '\0') return;
  out.key("description");
  out.text(about);
}

void write_type_schema(ValueWriter& out, std::string_view name, const char* about) {
  begin_schema(out, about);
  out.key("type");
  out.text(name);
  out.end_object();
}

json json_tree_of(const std::function<void(ValueWriter&)>& write) {
  TreeWriter writer;
  write(writer);
  return writer.take();
}

std::string schema_text_of(const std::function<void(ValueWriter&)>& write) {
  return json_tree_of(write).dump();
}

}  // namespace nl
