#include "analyze/names/kernel_name.h"

#include <algorithm>
#include <array>
#include <optional>

#include "analyze/names/kernel_traits.h"
#include "analyze/names/stated_name.h"
#include "base/demangle.h"

namespace nl::analyze {
namespace {

constexpr size_t kMaxFunctors = 32;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '.' || c == '~' || (c & 0x80) != 0;
}

template <size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Words of C++ that name nothing.
bool is_plain(std::string_view word) {
  static constexpr std::array<std::string_view, 13> kWords = {
      "void", "const", "unsigned", "signed", "int",      "long", "short",
      "char", "bool",  "true",     "false",  "operator", "type"};
  return (word[0] >= '0' && word[0] <= '9') || is_one_of(word, kWords);
}

/// Functions that only start what their template argument names.
bool is_wrapper(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kNames = {"Kernel", "Kernel2", "device_kernel", "kentry",
                                                             "trampoline_kernel"};
  return is_one_of(name, kNames);
}

/// enable_sm90, gfx950_t: for which device, before what is wrapped.
bool is_architecture(std::string_view name) {
  return name.starts_with("enable_sm") || name.starts_with("gfx") || name.starts_with("Sm");
}

/// Reads a demangled name in one pass: the function outside of all brackets, functors inside of <> only.
class NameReader {
 public:
  explicit NameReader(std::string_view text) : text_(text) {}

  void read(KernelName& out) {
    while (at_ < text_.size()) step();
    end_functor();
    if (function_.empty()) end_function();
    out.function = std::move(function_);
    out.functors = std::move(functors_);
  }
  bool is_cpp() const { return is_cpp_; }

 private:
  bool skip_literal(std::string_view literal) {
    if (!text_.substr(at_).starts_with(literal)) return false;
    at_ += literal.size();
    if (text_.substr(at_).starts_with("::")) at_ += 2;
    return true;
  }

  void step() {
    const char c = text_[at_];
    if (c == '(' && skip_literal("(anonymous namespace)")) return;
    if (c == '<' && skip_literal("<unnamed>")) return;
    if (is_word(c)) return take_word();
    if (c == ':' && text_.substr(at_).starts_with("::")) return take_colons();
    end_functor();
    bracket(c);
    at_++;
  }

  void bracket(char c) {
    if (c == '<' && at_ > 0 && (is_word(text_[at_ - 1]))) return open(c);
    if (c == '(' || c == '[' || c == '{') return open(c);
    if (c == '>' && !(at_ > 0 && text_[at_ - 1] == '-')) return close('<');
    if (c == ')') return close('(');
    if (c == ']') return close('[');
    if (c == '}') return close('{');
    if (c == ' ' && open_.empty()) return space();
  }

  void open(char c) {
    const bool after_name = at_ > 0 && (is_word(text_[at_ - 1]) || text_[at_ - 1] == '>');
    if (open_.empty() && after_name && (c == '(' || c == '<')) {
      is_cpp_ = true;
      if (c == '(') end_function();
    }
    open_.push_back(c);
    if (c != '<') closed_to_functors_++;
  }

  /// A closing bracket that fits no open one is text.
  void close(char c) {
    if (open_.empty() || open_.back() != c) return;
    open_.pop_back();
    if (c != '<') closed_to_functors_--;
  }

  /// Before the function: what came so far was its return type.
  void space() {
    if (!function_.empty() || text_.substr(at_).starts_with(" [") || text_.substr(at_).starts_with(" (."))
      return;
    path_.clear();
    functors_.clear();
  }

  void take_word() {
    const size_t from = at_;
    while (at_ < text_.size() && is_word(text_[at_])) at_++;
    const std::string_view word = text_.substr(from, at_ - from);
    if (word == "operator") skip_operator();
    if (open_.empty()) {
      if (function_.empty()) path_ += word;
    } else if (closed_to_functors_ == 0 && functors_.size() < kMaxFunctors) {
      functor_ += word;
    }
  }

  /// The brackets of operator() and operator<< are no brackets.
  void skip_operator() {
    size_t end = at_;
    if (end < text_.size() && text_[end] == ' ') end++;
    const std::string_view rest = text_.substr(end);
    if (rest.starts_with("()") || rest.starts_with("[]")) {
      at_ = end + 2;
      return;
    }
    while (end < text_.size() && std::string_view("<>=!+-*/%^&|").find(text_[end]) != std::string_view::npos)
      end++;
    if (end > at_ + 1 || (end > at_ && text_[at_] != ' ')) at_ = end;
  }

  void take_colons() {
    at_ += 2;
    if (open_.empty() && function_.empty() && !path_.empty()) path_ += "::";
    if (!functor_.empty()) functor_ += "::";
  }

  void end_function() {
    if (!function_.empty()) return;
    while (path_.ends_with("::")) path_.resize(path_.size() - 2);
    function_ = std::move(path_);
    path_.clear();
  }

  void end_functor() {
    while (functor_.ends_with("::")) functor_.resize(functor_.size() - 2);
    if (!functor_.empty() && !is_plain(last_component(functor_))) functors_.push_back(functor_);
    functor_.clear();
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string open_;
  int closed_to_functors_ = 0;
  bool is_cpp_ = false;
  std::string path_;
  std::string function_;
  std::string functor_;
  std::vector<std::string> functors_;
};

/// " [clone .kd]", " (.kd)" and ".kd" mark the descriptor of an AMD kernel.
std::string_view without_suffix(std::string_view name) {
  for (const std::string_view mark : {" [clone ", " (."}) {
    const size_t at = name.rfind(mark);
    if (at != std::string_view::npos && name.size() - at <= 64) name = name.substr(0, at);
  }
  if (name.ends_with(".kd")) name.remove_suffix(3);
  return name;
}

/// "Memcpy HtoD (Pinned -> Device)" and other plain text: up to the bracket.
std::string plain_name(std::string_view text) {
  const size_t bracket = text.find(" (");
  return std::string(bracket == 0 ? text : text.substr(0, bracket));
}

/// Triton once put how it specialised each argument at the end: add_kernel_0d1d2c3de.
std::string_view without_triton_signature(std::string_view name) {
  const size_t at = name.rfind('_');
  if (at == std::string_view::npos || at + 2 >= name.size() || name[at + 1] != '0') return name;
  const std::string_view tail = name.substr(at + 1);
  const bool signature = tail.find_first_not_of("0123456789dce") == std::string_view::npos &&
                         tail.find_first_of("dc") != std::string_view::npos;
  return signature ? name.substr(0, at) : name;
}

std::string short_name_of(const KernelName& name) {
  const std::string_view last = last_component(name.function);
  if (is_wrapper(last)) {
    for (const auto& functor : name.functors) {
      const std::string_view inner = last_component(functor);
      if (!is_architecture(inner)) return std::string(inner);
    }
  }
  return std::string(without_triton_signature(last));
}

void read_names(std::string_view raw, std::string_view core, KernelName& out) {
  if (is_mangled(core)) {
    if (auto text = demangle(core)) {
      out.demangled = *text + std::string(raw.substr(core.size()));
      return NameReader(*text).read(out);
    }
    MangledNames names = names_in_mangled(core, kMaxFunctors);
    out.demangled = raw;
    out.function = std::move(names.function);
    out.functors = std::move(names.functors);
    return;
  }
  out.demangled = raw;
  NameReader reader(core);
  reader.read(out);
  if (!reader.is_cpp()) out.function = plain_name(core);
}

}  // namespace

std::string_view last_component(std::string_view qualified) {
  const size_t at = qualified.rfind("::");
  return at == std::string_view::npos ? qualified : qualified.substr(at + 2);
}

KernelName parse_kernel_name(std::string_view given) {
  const std::string_view raw = without_statement(given);
  KernelName name;
  const std::string_view core = without_suffix(raw);
  read_names(raw, core, name);
  if (name.function.empty()) name.function = core;
  name.short_name = short_name_of(name);
  name.dtype = stated(given, "dtype").value_or(stated_dtype(name));
  name.tile = stated(given, "tile").value_or(stated_tile(name));
  return name;
}

std::string kernel_label(const KernelName& name) {
  for (const std::string& functor : name.functors) {
    const std::string_view last = last_component(functor);
    const bool wraps = last.ends_with("naryFunctor") || last.starts_with("gpu_kernel");
    const bool tells =
        last.find("Functor") != std::string_view::npos || last.find("_kernel") != std::string_view::npos;
    if (tells && !wraps) return name.short_name + "<" + std::string(last) + ">";
  }
  return name.short_name;
}

}  // namespace nl::analyze
