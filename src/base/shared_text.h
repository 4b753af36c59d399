#pragma once
// SharedText: a text that stands in many rows and is there once. Two are equal if their texts are.

#include <memory>
#include <string>
#include <utility>

namespace nl {

class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text)  // NOLINT(google-explicit-constructor): a row is filled from a text
      : text_(std::make_shared<const std::string>(std::move(text))) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}  // NOLINT(google-explicit-constructor)

  const std::string& str() const {
    static const std::string empty;
    return text_ ? *text_ : empty;
  }
  bool operator==(const SharedText& other) const { return str() == other.str(); }

 private:
  std::shared_ptr<const std::string> text_;
};

}  // namespace nl
