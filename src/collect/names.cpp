#include "collect/names.h"

#include <algorithm>
#include <cstring>

namespace nl::collect {
namespace {

using wire::NameTable;

uint32_t hash_of(std::string_view domain, std::string_view text) {
  uint64_t hash = domain.size() * 31 + text.size();
  for (const std::string_view part : {domain, text}) {
    size_t at = 0;
    for (; at + 8 <= part.size(); at += 8) {
      uint64_t word;
      std::memcpy(&word, part.data() + at, 8);
      hash = (hash ^ word) * 0x9E3779B97F4A7C15;
      hash ^= hash >> 29;
    }
    for (; at < part.size(); at++) hash = (hash ^ static_cast<unsigned char>(part[at])) * 0x100000001B3;
  }
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

bool is_name(const NameTable& table, uint32_t name, std::string_view domain, std::string_view text) {
  const NameTable::Entry& entry = table.entries[name];
  const std::string_view its_domain(table.text + entry.offset, entry.domain_bytes);
  const std::string_view its_text(its_domain.data() + its_domain.size(), entry.name_bytes);
  return its_domain == domain && its_text == text;
}

/// The slot that holds the name, or the free one where it belongs. There is one: half of them stay free.
uint32_t slot_of(const NameTable& table, std::string_view domain, std::string_view text, uint32_t& name) {
  uint32_t slot = hash_of(domain, text) % NameTable::kSlots;
  for (;; slot = (slot + 1) % NameTable::kSlots) {
    name = table.slots[slot].load(std::memory_order_acquire);
    if (name == 0 || is_name(table, name, domain, text)) return slot;
  }
}

}  // namespace

uint32_t find_name(const NameTable& table, std::string_view domain, std::string_view text) {
  uint32_t name = 0;
  slot_of(table, domain, text, name);
  return name;
}

uint32_t add_name(NameTable& table, std::string_view domain, std::string_view text) {
  uint32_t name = 0;
  const uint32_t slot = slot_of(table, domain, text, name);
  if (name != 0) return name;  // another thread was first
  name = table.count.load(std::memory_order_relaxed) + 1;
  const size_t bytes = domain.size() + text.size();
  if (name >= wire::kMaxNames || bytes > NameTable::kTextBytes - table.text_used) return 0;
  char* const at = table.text + table.text_used;
  std::copy(domain.begin(), domain.end(), at);  // not memcpy: an empty text may have no address
  std::copy(text.begin(), text.end(), at + domain.size());
  table.entries[name] = {table.text_used, static_cast<uint16_t>(domain.size()),
                         static_cast<uint16_t>(text.size())};
  table.text_used += static_cast<uint32_t>(bytes);
  table.count.store(name, std::memory_order_release);
  table.slots[slot].store(name, std::memory_order_release);
  return name;
}

void copy_names(const NameTable& from, NameTable& to) {
  const uint32_t count = from.count.load(std::memory_order_acquire);
  for (uint32_t name = 1; name <= count; name++) {
    const NameTable::Entry& entry = from.entries[name];
    const char* const at = from.text + entry.offset;
    add_name(to, {at, entry.domain_bytes}, {at + entry.domain_bytes, entry.name_bytes});
  }
}

}  // namespace nl::collect
