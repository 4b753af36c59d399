/* Markers for NeuroLens: scopes, marks and counters of a program, recorded by `neurolens record`.

   This header is all a program needs (C99, C++11; Linux). When first used it loads the library that the
   variable NEUROLENS_COLLECT of the environment names; without one every call is a load and a branch. Any
   thread may call.

     C++   neurolens::Scope scope("prefill");                     // until the end of the block
           NEUROLENS_SCOPE("decode");                             // the same, its name looked up once
           neurolens::mark("sampled", {{"token", 42}, {"text", "a"}});
           neurolens::counter("batch", 8);

     C     neurolens_scope scope = neurolens_begin("prefill");
           neurolens_end(scope);
           neurolens_mark("sampled", "{\"token\": 42}");
           neurolens_counter("batch", 8); */
#ifndef NEUROLENS_NEUROLENS_H
#define NEUROLENS_NEUROLENS_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the library offers; it may have more behind the members of this version. Tokens are what begin gives
   and end wants; one that is 0 was lost. Names are numbers, 0 if there were too many. */
typedef struct neurolens_api {
  uint32_t version;
  uint32_t (*name)(const char* domain, size_t domain_bytes, const char* text, size_t text_bytes);
  uint64_t (*begin)(uint32_t name);
  void (*end)(uint64_t token, uint32_t name);
  /* Scopes of activities that take turns on a thread: each lane nests by itself. */
  uint64_t (*begin_on_lane)(uint32_t name, uint64_t lane);
  void (*end_on_lane)(uint64_t token, uint32_t name, uint64_t lane);
  void (*mark)(uint32_t name, const char* json, size_t json_bytes);
  void (*counter)(uint32_t name, double value);
  void (*name_thread)(const char* text, size_t text_bytes);
  /* Counts a scope that was entered while it was open, and so is not recorded. */
  void (*refuse_reused)(void);
} neurolens_api;

#define NEUROLENS_API_VERSION 1u
/* The one symbol of the library; NULL if nothing can be recorded. */
typedef const neurolens_api* (*neurolens_collect_function)(uint32_t version);
#define NEUROLENS_COLLECT_SYMBOL "neurolens_collect"

/* One for the whole program or library, whatever the number of files that include this. */
typedef struct neurolens_front {
  int off;
  const neurolens_api* api;
} neurolens_front;
__attribute__((weak, visibility("hidden"))) neurolens_front neurolens_front_state;

__attribute__((unused, noinline, cold)) static const neurolens_api* neurolens_load(void) {
  const char* const path = getenv("NEUROLENS_COLLECT");
  void* const library = path != NULL && path[0] != '\0' ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  void* const symbol = library != NULL ? dlsym(library, NEUROLENS_COLLECT_SYMBOL) : NULL;
  const neurolens_api* api = NULL;
  if (symbol != NULL) {
    neurolens_collect_function collect;
    memcpy(&collect, &symbol, sizeof collect);
    api = collect(NEUROLENS_API_VERSION);
  }
  if (api == NULL) __atomic_store_n(&neurolens_front_state.off, 1, __ATOMIC_RELEASE);
  __atomic_store_n(&neurolens_front_state.api, api, __ATOMIC_RELEASE);
  return api;
}

/* NULL if nothing is recorded. */
__attribute__((unused)) static inline const neurolens_api* neurolens_recording(void) {
  if (__builtin_expect(__atomic_load_n(&neurolens_front_state.off, __ATOMIC_RELAXED), 1)) return NULL;
  const neurolens_api* const api = __atomic_load_n(&neurolens_front_state.api, __ATOMIC_ACQUIRE);
  return api != NULL ? api : neurolens_load();
}

typedef struct neurolens_scope {
  uint64_t token;
  uint32_t name;
  uint32_t is_recorded;
} neurolens_scope;

__attribute__((unused)) static inline neurolens_scope neurolens_begin(const char* name) {
  neurolens_scope scope = {0, 0, 0};
  const neurolens_api* const api = neurolens_recording();
  if (api != NULL) {
    scope.name = api->name("", 0, name, strlen(name));
    scope.token = api->begin(scope.name);
    scope.is_recorded = 1;
  }
  return scope;
}

/* On the thread that began. */
__attribute__((unused)) static inline void neurolens_end(neurolens_scope scope) {
  if (__builtin_expect(scope.is_recorded != 0, 0)) neurolens_front_state.api->end(scope.token, scope.name);
}

/* `json`: an object of attributes, or NULL. */
__attribute__((unused)) static inline void neurolens_mark(const char* name, const char* json) {
  const neurolens_api* const api = neurolens_recording();
  if (api != NULL) api->mark(api->name("", 0, name, strlen(name)), json, json != NULL ? strlen(json) : 0);
}

__attribute__((unused)) static inline void neurolens_counter(const char* name, double value) {
  const neurolens_api* const api = neurolens_recording();
  if (api != NULL) api->counter(api->name("", 0, name, strlen(name)), value);
}

__attribute__((unused)) static inline void neurolens_name_thread(const char* name) {
  const neurolens_api* const api = neurolens_recording();
  if (api != NULL) api->name_thread(name, strlen(name));
}

#ifdef __cplusplus
}

#include <math.h>
#include <stdio.h>

#include <atomic>
#include <initializer_list>

namespace neurolens {

/// A name that is looked up once: static, at the place where it is used.
class Name {
 public:
  constexpr explicit Name(const char* text, const char* domain = "") : text_(text), domain_(domain) {}
  uint32_t id(const neurolens_api& api) {
    const uint32_t known = id_.load(std::memory_order_relaxed);
    return __builtin_expect(known != 0, 1) ? known : look_up(api);
  }

 private:
  uint32_t look_up(const neurolens_api& api) {
    const uint32_t id = api.name(domain_, strlen(domain_), text_, strlen(text_));
    id_.store(id, std::memory_order_relaxed);
    return id;
  }
  const char* text_;
  const char* domain_;
  std::atomic<uint32_t> id_{0};
};

/// From its construction to its end, on one thread.
class Scope {
 public:
  explicit Scope(Name& name) {
    if (const neurolens_api* const api = neurolens_recording()) begin(*api, name.id(*api));
  }
  explicit Scope(const char* name) {
    if (const neurolens_api* const api = neurolens_recording())
      begin(*api, api->name("", 0, name, strlen(name)));
  }
  ~Scope() {
    if (__builtin_expect(api_ != nullptr, 0)) api_->end(token_, name_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  void begin(const neurolens_api& api, uint32_t name) {
    api_ = &api;
    name_ = name;
    token_ = api.begin(name);
  }
  const neurolens_api* api_ = nullptr;
  uint32_t name_ = 0;
  uint64_t token_ = 0;
};

/// A key and a number, text or truth.
class Attribute {
 public:
  Attribute(const char* key, const char* text) : key_(key), kind_(kText) { value_.text = text; }
  Attribute(const char* key, double number) : key_(key), kind_(kNumber) { value_.number = number; }
  Attribute(const char* key, bool truth) : key_(key), kind_(kTruth) { value_.truth = truth; }
  Attribute(const char* key, int number) : Attribute(key, static_cast<long long>(number)) {}
  Attribute(const char* key, unsigned number) : Attribute(key, static_cast<long long>(number)) {}
  Attribute(const char* key, long number) : Attribute(key, static_cast<long long>(number)) {}
  Attribute(const char* key, long long number) : key_(key), kind_(kWhole) { value_.whole = number; }
  Attribute(const char* key, unsigned long number)
      : Attribute(key, static_cast<unsigned long long>(number)) {}
  Attribute(const char* key, unsigned long long number) : key_(key), kind_(kNatural) {
    value_.natural = number;
  }

 private:
  friend class AttributeText;
  enum Kind { kText, kNumber, kTruth, kWhole, kNatural };
  const char* key_;
  Kind kind_;
  union {
    const char* text;
    double number;
    bool truth;
    long long whole;
    unsigned long long natural;
  } value_;
};

/// Attributes as JSON in a buffer of fixed size. Those that do not fit are left out and counted in it.
class AttributeText {
 public:
  explicit AttributeText(std::initializer_list<Attribute> attributes)
      : AttributeText(attributes.begin(), attributes.size()) {}
  AttributeText(const Attribute* attributes, size_t count) {
    if (count == 0) return;
    put('{');
    for (size_t i = 0; i < count; i++) add(attributes[i]);
    if (left_out_ != 0) {
      end_ = kBytes;
      if (size_ > 1) put(',');
      format("\"attributes_left_out\":%d", left_out_);
    }
    put('}');
  }
  const char* data() const { return text_; }
  size_t size() const { return size_; }

 private:
  static const size_t kBytes = 4096;
  static const size_t kEnding = 64;

  void add(const Attribute& attribute) {
    const size_t before = size_;
    if (size_ > 1) put(',');
    quote(attribute.key_);
    put(':');
    value(attribute);
    if (!overflow_) return;
    overflow_ = false;
    size_ = before;
    left_out_++;
  }
  void value(const Attribute& attribute) {
    switch (attribute.kind_) {
      case Attribute::kText:
        return quote(attribute.value_.text);
      case Attribute::kNumber:
        return number(attribute.value_.number);
      case Attribute::kTruth:
        return format("%s", attribute.value_.truth ? "true" : "false");
      case Attribute::kWhole:
        return format("%lld", attribute.value_.whole);
      case Attribute::kNatural:
        return format("%llu", attribute.value_.natural);
    }
  }
  void number(double number) {
    if (!isfinite(number)) return format("%s", "null");
    const size_t start = size_;
    format("%.17g", number);
    for (size_t i = start; i < size_; i++) {
      if (text_[i] == ',') text_[i] = '.';  // of the program's locale
    }
  }
  void quote(const char* text) {
    put('"');
    for (; *text != '\0' && !overflow_; text++) {
      const unsigned char c = static_cast<unsigned char>(*text);
      if (c < 0x20) {
        format("\\u%04x", static_cast<unsigned>(c));
        continue;
      }
      if (c == '"' || c == '\\') put('\\');
      put(static_cast<char>(c));
    }
    put('"');
  }
  template <class Value>
  void format(const char* form, Value value) {
    char word[40];
    const int bytes = snprintf(word, sizeof word, form, value);
    for (int i = 0; i < bytes; i++) put(word[i]);
  }
  void put(char c) {
    if (size_ < end_)
      text_[size_++] = c;
    else
      overflow_ = true;
  }
  char text_[kBytes];
  size_t size_ = 0;
  size_t end_ = kBytes - kEnding;
  bool overflow_ = false;
  int left_out_ = 0;
};

inline void mark(const char* name, std::initializer_list<Attribute> attributes = {}) {
  const neurolens_api* const api = neurolens_recording();
  if (api == nullptr) return;
  const AttributeText text(attributes);
  api->mark(api->name("", 0, name, strlen(name)), text.data(), text.size());
}

inline void counter(const char* name, double value) {
  neurolens_counter(name, value);
}

inline void name_thread(const char* name) {
  neurolens_name_thread(name);
}

}  // namespace neurolens

#define NEUROLENS_JOIN_(a, b) a##b
#define NEUROLENS_JOIN(a, b) NEUROLENS_JOIN_(a, b)
/* Until the end of the block; the name is a literal. */
#define NEUROLENS_SCOPE(name) NEUROLENS_SCOPE_IN("", name)
#define NEUROLENS_SCOPE_IN(domain, name)                                            \
  static ::neurolens::Name NEUROLENS_JOIN(neurolens_name_, __LINE__)(name, domain); \
  const ::neurolens::Scope NEUROLENS_JOIN(neurolens_scope_,                         \
                                          __LINE__)(NEUROLENS_JOIN(neurolens_name_, __LINE__))
#endif

#endif
