#include "ingest/formats/recording/stack_table.h"

#include <algorithm>
#include <charconv>

namespace nl::ingest {
namespace {

template <class Head>
bool take_head(std::string_view payload, Head& head) {
  if (payload.size() < sizeof head) return false;
  std::memcpy(&head, payload.data(), sizeof head);
  return true;
}

std::string hex(uint64_t value) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, 16);
  return {digits, end.ptr};
}

/// The element of that number; elements before it are made.
template <class T>
T& element(std::vector<T>& all, uint32_t number) {
  if (number >= all.size()) all.resize(number + 1);
  return all[number];
}

}  // namespace

bool StackTable::take(wire::ChunkKind kind, std::string_view payload) {
  switch (kind) {
    case wire::ChunkKind::kModules:
      return take_modules(payload);
    case wire::ChunkKind::kFrames:
      return take_frames(payload);
    case wire::ChunkKind::kFrameNames:
      return take_names(payload);
    case wire::ChunkKind::kStacks:
      return take_stacks(payload);
    default:
      return false;
  }
}

bool StackTable::keep(std::string_view text, Text& out) {
  if (texts_.size() + text.size() > kMaxTextBytes) return false;
  out = {static_cast<uint32_t>(texts_.size()), static_cast<uint32_t>(text.size())};
  texts_ += text;
  return true;
}

bool StackTable::take_modules(std::string_view payload) {
  wire::ModuleHead head;
  while (!payload.empty()) {
    if (!take_head(payload, head) || head.module >= wire::kMaxModules) return false;
    const size_t bytes = wire::padded(sizeof head + head.path_bytes + size_t{head.build_id_bytes});
    if (bytes > payload.size()) return false;
    Module& module = element(modules_, head.module);
    if (!keep(payload.substr(sizeof head, head.path_bytes), module.path) ||
        !keep(payload.substr(sizeof head + head.path_bytes, head.build_id_bytes), module.build_id))
      return false;
    payload.remove_prefix(bytes);
  }
  return true;
}

bool StackTable::take_frames(std::string_view payload) {
  wire::Frame head;
  for (; !payload.empty(); payload.remove_prefix(sizeof head)) {
    if (!take_head(payload, head) || head.frame >= wire::kMaxFrames) return false;
    Frame& frame = element(frames_, head.frame);
    frame = {head.module, true, head.address, frame.name};
  }
  return true;
}

bool StackTable::take_names(std::string_view payload) {
  wire::FrameNameHead head;
  while (!payload.empty()) {
    if (!take_head(payload, head) || head.frame >= wire::kMaxFrames) return false;
    const size_t bytes = wire::padded(sizeof head + size_t{head.name_bytes});
    if (bytes > payload.size()) return false;
    if (!keep(payload.substr(sizeof head, head.name_bytes), element(frames_, head.frame).name)) return false;
    payload.remove_prefix(bytes);
  }
  return true;
}

bool StackTable::take_stacks(std::string_view payload) {
  wire::StackHead head;
  while (!payload.empty()) {
    if (!take_head(payload, head) || head.stack >= wire::kMaxStacks || head.depth > wire::kMaxStackDepth)
      return false;
    const size_t bytes = wire::padded(sizeof head + head.depth * sizeof(uint32_t));
    if (bytes > payload.size() || stack_frames_.size() + head.depth > wire::kMaxStackFrames) return false;
    element(stacks_, head.stack) = {static_cast<uint32_t>(stack_frames_.size()), head.depth};
    const size_t first = stack_frames_.size();
    stack_frames_.resize(first + head.depth);
    if (head.depth > 0)
      std::memcpy(&stack_frames_[first], payload.data() + sizeof head, head.depth * sizeof(uint32_t));
    payload.remove_prefix(bytes);
  }
  return true;
}

// ---- Text

/// The name; else where it is: "libm.so.6+0x1f00", "[jit]".
std::string StackTable::frame_text(uint32_t number) const {
  const Frame frame = number < frames_.size() ? frames_[number] : Frame();
  if (!frame.is_defined || frame.module >= modules_.size()) return "[unknown]";
  const std::string_view path = view(modules_[frame.module].path);
  std::string text(view(frame.name));
  if (text.empty() && path.empty()) text = "[unknown]";
  if (text.empty() && path.starts_with('[')) text = path;
  if (text.empty()) text = std::string(path.substr(path.rfind('/') + 1)) + "+0x" + hex(frame.address);
  std::replace(text.begin(), text.end(), ';', ':');
  return text;
}

std::string StackTable::text(uint32_t stack) const {
  if (!has(stack)) return {};
  const auto [first, depth] = stacks_[stack];
  std::vector<std::string> frames;  // innermost first
  size_t bytes = 0;
  for (uint32_t i = 0; i < depth; i++) {
    if (bytes > kMaxStackBytes) {
      frames.emplace_back("[cut]");
      break;
    }
    frames.push_back(frame_text(stack_frames_[first + i]));
    bytes += frames.back().size() + 1;
  }
  std::string text;
  for (auto it = frames.rbegin(); it != frames.rend(); ++it) {
    if (!text.empty()) text += ';';
    text += *it;
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> StackTable::build_ids() const {
  std::vector<std::pair<std::string, std::string>> ids;
  for (const Module& module : modules_) {
    if (module.build_id.bytes == 0) continue;
    std::string id;
    for (const char c : view(module.build_id)) {
      const std::string digits = hex(static_cast<unsigned char>(c));
      id += digits.size() == 1 ? "0" + digits : digits;
    }
    ids.emplace_back(view(module.path), std::move(id));
  }
  return ids;
}

}  // namespace nl::ingest
