#include "base/yaml.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>
#pragma GCC diagnostic pop

#include <algorithm>
#include <sstream>

namespace nl {
namespace {

constexpr size_t kMaxDepth = 16;

/// Leaves the parser from inside its callbacks.
struct Stop {
  Error error;
};

/// Builds the tree from the parser's events, so that nothing is built that is not allowed.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& name) : name_(name) {}
  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) stop(mark, "there is a second document");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, anchor, YamlNode(YamlNode::Kind::kNull));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { stop(mark, "aliases are not allowed"); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& text) override {
    if (expects_key()) return open_key(mark, text);
    add(mark, anchor, YamlNode(YamlNode::Kind::kText, 0, text));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    enter(mark, anchor, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { leave(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    enter(mark, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { leave(); }

 private:
  struct Level {
    YamlNode node;
    bool has_key = false;
  };

  [[noreturn]] void stop(const YAML::Mark& mark, const std::string& what) const {
    throw Stop{yaml_error(name_, mark.line + 1, what)};
  }
  bool expects_key() const { return !open_.empty() && open_.back().node.is_map() && !open_.back().has_key; }

  void open_key(const YAML::Mark& mark, const std::string& key) {
    Level& level = open_.back();
    if (level.node.find(key) != nullptr) stop(mark, key.substr(0, 64) + " comes twice");
    level.node.members.push_back({key, mark.line + 1});
    level.has_key = true;
  }

  void check(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) stop(mark, "anchors are not allowed");
    if (expects_key()) stop(mark, "a key must be a text");
  }

  void enter(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode::Kind kind) {
    check(mark, anchor);
    if (open_.size() == kMaxDepth) stop(mark, "nested too deeply");
    open_.push_back({YamlNode(kind, mark.line + 1)});
  }
  void leave() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    place(std::move(node));
  }

  void add(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode node) {
    check(mark, anchor);
    node.line = mark.line + 1;
    place(std::move(node));
  }
  void place(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (Level& level = open_.back(); level.node.is_list()) {
      level.node.items.push_back(std::move(node));
    } else {
      level.node.members.back().value = std::move(node);
      level.has_key = false;
    }
  }

  const std::string& name_;
  YamlNode root_;
  std::vector<Level> open_;
  int documents_ = 0;
};

}  // namespace

YamlNode::YamlNode(Kind given_kind, int given_line, std::string given_text)
    : kind(given_kind), line(given_line), text(std::move(given_text)) {}
YamlNode::YamlNode(const YamlNode&) = default;
YamlNode::YamlNode(YamlNode&&) noexcept = default;
YamlNode& YamlNode::operator=(const YamlNode&) = default;
YamlNode& YamlNode::operator=(YamlNode&&) noexcept = default;
YamlNode::~YamlNode() = default;

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto at =
      std::find_if(members.begin(), members.end(), [&](const YamlMember& m) { return m.key == key; });
  return at == members.end() ? nullptr : &at->value;
}

Error yaml_error(const std::string& name, int line, const std::string& what, const std::string& hint) {
  return {ErrorCode::kBadInput, name + ":" + std::to_string(line) + ": " + what, hint};
}

Result<YamlNode> parse_yaml(const std::string& text, const std::string& name) {
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    TreeBuilder tree(name);
    while (parser.HandleNextDocument(tree)) {
    }
    return tree.take();
  } catch (const Stop& stop) {
    return stop.error;
  } catch (const YAML::Exception& e) {
    return yaml_error(name, e.mark.line + 1, e.msg);
  }
}

}  // namespace nl
