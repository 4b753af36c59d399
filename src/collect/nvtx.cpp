// Ranges and marks of NVTX as markers. A program that uses NVTX loads the library that NVTX_INJECTION64_PATH
// names, and gives it the places of its functions to fill in (nvtx_abi.h).

#include <string.h>

#include <algorithm>
#include <string_view>

#include "collect/markers.h"
#include "collect/nvtx_abi.h"
#include "collect/process.h"
#include "neurolens/neurolens.h"

namespace nl::collect {
namespace {

using namespace nvtx;

/// What is not in a domain of the program's own.
constexpr std::string_view kDefaultDomain = "NVTX";
/// A domain whose name found no room: nothing of it can be recorded.
constexpr Handle kNoDomain = ~Handle{0};

// ---- Text

/// UTF-8 of a text of the program; what is too long for a name is cut.
class Text {
 public:
  explicit Text(const char* text) {
    if (text != nullptr) view_ = {text, strnlen(text, wire::kMaxNameBytes)};
  }
  explicit Text(const wchar_t* text) {
    for (; text != nullptr && *text != L'\0' && size_ + 4 <= sizeof bytes_; text++)
      put(static_cast<uint32_t>(*text));
    view_ = {bytes_, size_};
  }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  std::string_view view() const { return view_; }

 private:
  void put(uint32_t c) {
    if (c < 0x80) return put_byte(c);
    if (c < 0x800) {
      put_byte(0xC0 | c >> 6);
    } else {
      if (c < 0x10000) {
        put_byte(0xE0 | c >> 12);
      } else {
        put_byte(0xF0 | (c >> 18 & 7));
        put_byte(0x80 | (c >> 12 & 0x3F));
      }
      put_byte(0x80 | (c >> 6 & 0x3F));
    }
    put_byte(0x80 | (c & 0x3F));
  }
  void put_byte(uint32_t byte) { bytes_[size_++] = static_cast<char>(byte); }

  char bytes_[wire::kMaxNameBytes];
  size_t size_ = 0;
  std::string_view view_;
};

uint32_t name_in(std::string_view domain, std::string_view text) {
  return name(domain.data(), domain.size(), text.data(), text.size());
}

/// Handles of domains and of registered strings are numbers of names, which forked children share.
std::string_view domain_text(Handle domain) {
  return domain == 0 ? kDefaultDomain : name_text(static_cast<uint32_t>(domain));
}
Handle domain_of(std::string_view text) {
  const uint32_t number = name_in("", text);
  return number == 0 ? kNoDomain : number;
}

// ---- Categories

struct Category {
  Handle domain;
  uint32_t category;
  std::atomic<uint32_t> name;  ///< stored last
};
constexpr uint32_t kMaxCategories = 1024;
constinit Category categories[kMaxCategories] = {};
constinit std::atomic<uint32_t> category_count{0};

void name_category(Handle domain, uint32_t category, std::string_view text) {
  const uint32_t at = category_count.fetch_add(1, std::memory_order_relaxed);
  if (at >= kMaxCategories) return refuse_unsupported();
  categories[at].domain = domain;
  categories[at].category = category;
  categories[at].name.store(name_in("", text), std::memory_order_release);
}

/// Its text, ended by 0, in `out`; false if the program gave it no name. The last name counts.
bool category_text(Handle domain, uint32_t category, char (&out)[wire::kMaxNameBytes + 1]) {
  const uint32_t count = category_count.load(std::memory_order_relaxed);
  for (uint32_t i = count < kMaxCategories ? count : kMaxCategories; i > 0; i--) {
    const Category& known = categories[i - 1];
    const uint32_t name = known.name.load(std::memory_order_acquire);
    if (name == 0 || known.domain != domain || known.category != category) continue;
    const std::string_view text = name_text(name);
    std::copy(text.begin(), text.end(), out);
    out[text.size()] = '\0';
    return true;
  }
  return false;
}

// ---- Events

neurolens::Attribute payload_of(const Event& event) {
  switch (event.payload_type) {
    case kNatural64:
      return {"payload", static_cast<unsigned long long>(event.payload.natural64)};
    case kWhole64:
      return {"payload", static_cast<long long>(event.payload.whole64)};
    case kReal64:
      return {"payload", event.payload.real64};
    case kNatural32:
      return {"payload", event.payload.natural32};
    case kWhole32:
      return {"payload", event.payload.whole32};
    case kReal32:
      return {"payload", static_cast<double>(event.payload.real32)};
    default:
      return {"payload_left_out", true};
  }
}

/// Name and attributes of an event. Names that are new when there is little room left are no names any more,
/// but an attribute: programs put numbers into messages.
class Marker {
 public:
  Marker(Handle domain, std::string_view message) { set_name(domain, message); }
  Marker(Handle domain, const Event* event) {
    if (event == nullptr || event->size < sizeof(Event)) return;
    is_known_ = true;
    if (event->message_type == kRegistered) {
      name_ = domain == kNoDomain ? 0 : static_cast<uint32_t>(event->message.registered);
    } else if (event->message_type == kWide) {
      set_name(domain, Text(event->message.wide).view());
    } else {
      set_name(domain, Text(event->message_type == kAscii ? event->message.ascii : nullptr).view());
    }
    if (event->category != 0 || event->color_type == kArgb || event->payload_type != 0 || message_[0] != '\0')
      add_attributes(domain, *event);
  }
  Marker(const Marker&) = delete;
  Marker& operator=(const Marker&) = delete;

  /// False, and counted, if the event is of another version.
  bool is_known() const {
    if (!is_known_) refuse_unsupported();
    return is_known_;
  }
  uint32_t name() const { return name_; }
  const char* json() const { return json_; }
  size_t json_bytes() const { return json_bytes_; }

 private:
  void set_name(Handle domain, std::string_view message) {
    is_known_ = true;
    if (domain == kNoDomain) return;
    const std::string_view in = domain_text(domain);
    name_ = known_name(in, message);
    if (name_ != 0) return;
    if (!are_names_scarce()) {
      name_ = name_in(in, message);
      return;
    }
    name_ = name_in(in, "(message)");
    std::copy(message.begin(), message.end(), message_);
    message_[message.size()] = '\0';
    const neurolens::Attribute attribute("message", message_);
    keep(neurolens::AttributeText(&attribute, 1));
  }

  void add_attributes(Handle domain, const Event& event) {
    char category[wire::kMaxNameBytes + 1];
    neurolens::Attribute all[] = {{"message", message_}, {"", 0}, {"", 0}, {"", 0}};
    size_t count = message_[0] != '\0' ? 1 : 0;
    if (event.category != 0) {
      if (category_text(domain, event.category, category))
        all[count++] = {"category", category};
      else
        all[count++] = {"category", event.category};
    }
    if (event.color_type == kArgb) all[count++] = {"color", event.color};
    if (event.payload_type != 0) all[count++] = payload_of(event);
    keep(neurolens::AttributeText(all, count));
  }
  void keep(const neurolens::AttributeText& text) {
    json_bytes_ = text.size();
    memcpy(json_, text.data(), json_bytes_);
  }

  bool is_known_ = false;
  uint32_t name_ = 0;
  char message_[wire::kMaxNameBytes + 1] = {};
  char json_[sizeof(neurolens::AttributeText)];
  size_t json_bytes_ = 0;
};

// ---- What every form of a function comes to

void put_mark(const Marker& marker) {
  if (marker.is_known()) mark(marker.name(), marker.json(), marker.json_bytes());
}
uint64_t put_start(const Marker& marker) {
  return marker.is_known() ? start_range(marker.name(), marker.json(), marker.json_bytes()) : 0;
}
/// A push of an unknown version is a scope without a name, so that its pop ends nothing else.
int put_push(Handle domain, const Marker& marker) {
  return push(static_cast<uint32_t>(domain), marker.name(), marker.json(), marker.json_bytes());
}

void mark_event(const Event* event) {
  put_mark({0, event});
}
void mark_ascii(const char* message) {
  put_mark({0, Text(message).view()});
}
void mark_wide(const wchar_t* message) {
  put_mark({0, Text(message).view()});
}
uint64_t start_event(const Event* event) {
  return put_start({0, event});
}
uint64_t start_ascii(const char* message) {
  return put_start({0, Text(message).view()});
}
uint64_t start_wide(const wchar_t* message) {
  return put_start({0, Text(message).view()});
}
int push_event(const Event* event) {
  return put_push(0, {0, event});
}
int push_ascii(const char* message) {
  return put_push(0, {0, Text(message).view()});
}
int push_wide(const wchar_t* message) {
  return put_push(0, {0, Text(message).view()});
}
int pop_default() {
  return pop(0);
}
void category_ascii(uint32_t category, const char* text) {
  name_category(0, category, Text(text).view());
}
void category_wide(uint32_t category, const wchar_t* text) {
  name_category(0, category, Text(text).view());
}
void thread_ascii(uint32_t thread_id, const char* text) {
  name_thread_of(thread_id, name_in("", Text(text).view()));
}
void thread_wide(uint32_t thread_id, const wchar_t* text) {
  name_thread_of(thread_id, name_in("", Text(text).view()));
}

// ---- The same in domains

void domain_mark(Handle domain, const Event* event) {
  put_mark({domain, event});
}
uint64_t domain_start(Handle domain, const Event* event) {
  return put_start({domain, event});
}
void domain_end(Handle, uint64_t range) {
  end_range(range);
}
int domain_push(Handle domain, const Event* event) {
  return put_push(domain, {domain, event});
}
int domain_pop(Handle domain) {
  return pop(static_cast<uint32_t>(domain));
}
void domain_category_ascii(Handle domain, uint32_t category, const char* text) {
  name_category(domain, category, Text(text).view());
}
void domain_category_wide(Handle domain, uint32_t category, const wchar_t* text) {
  name_category(domain, category, Text(text).view());
}
Handle register_ascii(Handle domain, const char* text) {
  return domain == kNoDomain ? 0 : name_in(domain_text(domain), Text(text).view());
}
Handle register_wide(Handle domain, const wchar_t* text) {
  return domain == kNoDomain ? 0 : name_in(domain_text(domain), Text(text).view());
}
Handle create_ascii(const char* text) {
  return domain_of(Text(text).view());
}
Handle create_wide(const wchar_t* text) {
  return domain_of(Text(text).view());
}
void destroy(Handle) {}

// ---- Extensions

/// Binary payloads have no text of their own: the range is kept, what it carries is not.
int push_payload(Handle domain, const void*, size_t) {
  return put_push(domain, {domain, "(payload)"});
}
int pop_payload(Handle domain, const void*, size_t) {
  return pop(static_cast<uint32_t>(domain));
}
uint64_t start_payload(Handle domain, const void*, size_t) {
  return put_start({domain, "(payload)"});
}
void end_payload(Handle, uint64_t range, const void*, size_t) {
  end_range(range);
}
void mark_payload(Handle domain, const void*, size_t) {
  put_mark({domain, "(payload)"});
}
/// Some front ends ask before every range, and record nothing if the answer is 0.
uint8_t is_enabled(Handle) {
  return 1;
}

/// Stands for functions of any arguments: those that it does not look at are the caller's to remove.
void* unsupported() {
  refuse_unsupported();
  return nullptr;
}

// ---- Filling the tables

/// The places of one module.
class Places {
 public:
  Places(const CallbackTable& callbacks, Module module) {
    if (callbacks.module_functions(module, &places_, &count_) == 0) count_ = 0;
  }
  template <class F>
  void set(uint32_t number, F* function) {
    if (number < count_ && places_[number] != nullptr)
      *places_[number] = reinterpret_cast<Function>(function);
  }
  template <class F>
  void set_all(F* function) {
    for (uint32_t i = 1; i < count_; i++) set(i, function);
  }

 private:
  Function** places_ = nullptr;
  uint32_t count_ = 0;
};

void fill_core(Places places) {
  places.set(kMarkEx, mark_event);
  places.set(kMarkA, mark_ascii);
  places.set(kMarkW, mark_wide);
  places.set(kRangeStartEx, start_event);
  places.set(kRangeStartA, start_ascii);
  places.set(kRangeStartW, start_wide);
  places.set(kRangeEnd, end_range);
  places.set(kRangePushEx, push_event);
  places.set(kRangePushA, push_ascii);
  places.set(kRangePushW, push_wide);
  places.set(kRangePop, pop_default);
  places.set(kNameCategoryA, category_ascii);
  places.set(kNameCategoryW, category_wide);
  places.set(kNameOsThreadA, thread_ascii);
  places.set(kNameOsThreadW, thread_wide);
}

void fill_core2(Places places) {
  places.set(kDomainMarkEx, domain_mark);
  places.set(kDomainRangeStartEx, domain_start);
  places.set(kDomainRangeEnd, domain_end);
  places.set(kDomainRangePushEx, domain_push);
  places.set(kDomainRangePop, domain_pop);
  places.set(kDomainResourceCreate, unsupported);
  places.set(kDomainNameCategoryA, domain_category_ascii);
  places.set(kDomainNameCategoryW, domain_category_wide);
  places.set(kDomainRegisterStringA, register_ascii);
  places.set(kDomainRegisterStringW, register_wide);
  places.set(kDomainCreateA, create_ascii);
  places.set(kDomainCreateW, create_wide);
  places.set(kDomainDestroy, destroy);
}

bool can_record() {
  return start_process() || has_session();
}

}  // namespace
}  // namespace nl::collect

/// 0: NVTX is as good as not there.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    nl::collect::nvtx::GetTable get_table) {
  using namespace nl::collect;
  const auto* const callbacks = static_cast<const CallbackTable*>(get_table(kCallbackTable));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(CallbackTable) || !can_record()) return 0;
  fill_core({*callbacks, kCore});
  fill_core2({*callbacks, kCore2});
  for (const Module module : {kCuda, kOpenCl, kCudaRuntime, kSync})
    Places(*callbacks, module).set_all(unsupported);
  return 1;
}

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    nl::collect::nvtx::ExtensionModule* module) {
  using namespace nl::collect;
  if (module == nullptr || module->segment_count == 0 || !can_record()) return 0;
  const ExtensionSegment& segment = module->segments[0];
  const auto set = [&](size_t number, auto* function) {
    if (number < segment.count) segment.functions[number] = reinterpret_cast<intptr_t>(function);
  };
  if (module->module == kPayloadModule) {
    set(kMarkPayload, mark_payload);
    set(kRangePushPayload, push_payload);
    set(kRangePopPayload, pop_payload);
    set(kRangeStartPayload, start_payload);
    set(kRangeEndPayload, end_payload);
    set(kDomainIsEnabled, is_enabled);
  } else if (module->module == kCounterModule) {
    for (size_t i = kFirstCounterSample; i <= kLastCounterSample; i++) set(i, unsupported);
  }
  return 1;
}
