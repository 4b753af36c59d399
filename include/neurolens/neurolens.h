/* Markers for NeuroLens: scopes, marks and counters of a program, recorded by `neurolens record`. Tools that
   listen to NVTX or roctx get the scopes and marks, too, as ranges and marks of the same names.

   This header is all a program needs (C99, C++11; Linux). When first used it loads the library that the
   variable NEUROLENS_COLLECT of the environment names, and the tool that NVTX_INJECTION64_PATH names. If
   nothing listens, every call is a load and a branch. Any thread may call.

     C++   neurolens::Scope scope("prefill");                     // until the end of the block
           neurolens::Scope scope("prefill", {{"batch", 8}});     // with attributes
           NEUROLENS_SCOPE("decode");                             // its name is looked up once
           neurolens::mark("sampled", {{"token", 42}, {"text", "a"}});
           neurolens::counter("batch", 8);

     C     neurolens_scope scope = neurolens_begin("prefill");
           neurolens_end(scope);
           neurolens_mark("sampled", "{\"token\": 42}");
           neurolens_counter("batch", 8); */
#ifndef NEUROLENS_NEUROLENS_H
#define NEUROLENS_NEUROLENS_H

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
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
  /* Since version 2: begin with attributes, an object as JSON text; on a lane unless that is 0. */
  uint64_t (*begin_with)(uint32_t name, uint64_t lane, const char* json, size_t json_bytes);
} neurolens_api;

#define NEUROLENS_API_VERSION 2u
/* The one symbol of the library; NULL if nothing can be recorded. */
typedef const neurolens_api* (*neurolens_collect_function)(uint32_t version);
#define NEUROLENS_COLLECT_SYMBOL "neurolens_collect"

/* ---- Other tools: NVTX and roctx. They get names; attributes, counters and threads stay with the recorder.
 */

/* Attributes of an event of NVTX 3. */
typedef struct neurolens_nvtx_event {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const char* message;
} neurolens_nvtx_event;

/* A place that a tool fills in. */
typedef union neurolens_nvtx_place {
  void (*any)(void);
  void (*mark)(const char*);
  uint64_t (*start)(const char*);
  void (*end)(uint64_t);
  int (*push)(const char*);
  int (*pop)(void);
  int (*domain_push)(void*, const neurolens_nvtx_event*);
  int (*domain_pop)(void*);
  void* (*domain_create)(const char*);
} neurolens_nvtx_place;

/* Numbers of functions, of the modules CORE and CORE2 (nvtxDetail/nvtxTypes.h). */
enum { NEUROLENS_MARK = 2, NEUROLENS_START = 5, NEUROLENS_END = 7, NEUROLENS_PUSH = 9, NEUROLENS_POP = 11 };
enum { NEUROLENS_DOMAIN_PUSH = 4, NEUROLENS_DOMAIN_POP = 5, NEUROLENS_DOMAIN_CREATE = 12 };
enum { NEUROLENS_NVTX_PLACES = 16, NEUROLENS_NVTX_DOMAINS = 64 };

/* What the tools have filled in; NULL where nobody listens. */
typedef struct neurolens_tools {
  neurolens_nvtx_place core[NEUROLENS_NVTX_PLACES];
  neurolens_nvtx_place core2[NEUROLENS_NVTX_PLACES];
  int (*roctx_push)(const char*);
  int (*roctx_pop)(void);
  uint64_t (*roctx_start)(const char*);
  void (*roctx_stop)(uint64_t);
  void (*roctx_mark)(const char*);
  int domains_are_locked;
  size_t domain_count;
  struct {
    const char* name;
    void* handle;
  } domains[NEUROLENS_NVTX_DOMAINS];
} neurolens_tools;
__attribute__((weak, visibility("hidden"))) neurolens_tools neurolens_tools_state;
__attribute__((weak, visibility("hidden"))) void (**neurolens_nvtx_places[2][NEUROLENS_NVTX_PLACES])(void);

/* A tool asks for the places of a module; there need not be all modules. */
__attribute__((unused, cold)) static int neurolens_nvtx_module(int module, void (****places)(void),
                                                               unsigned* count) {
  const int is_core2 = module == 5;
  if (module != 1 && !is_core2) return 0;
  neurolens_nvtx_place* const own = is_core2 ? neurolens_tools_state.core2 : neurolens_tools_state.core;
  for (int i = 1; i < NEUROLENS_NVTX_PLACES; i++) neurolens_nvtx_places[is_core2][i] = &own[i].any;
  if (places != NULL) *places = neurolens_nvtx_places[is_core2];
  if (count != NULL) *count = NEUROLENS_NVTX_PLACES;
  return 1;
}
__attribute__((unused, cold)) static void neurolens_nvtx_version(unsigned version) {
  (void)version;
}

/* The two tables by which a program with NVTX and a tool meet. */
__attribute__((unused, cold)) static const void* neurolens_nvtx_table(unsigned table) {
  static const struct {
    size_t bytes;
    int (*module)(int, void (****)(void), unsigned*);
  } callbacks = {sizeof callbacks, neurolens_nvtx_module};
  static const struct {
    size_t bytes;
    unsigned version, reserved;
    void (*set_version)(unsigned);
  } version = {sizeof version, 3, 0, neurolens_nvtx_version};
  if (table == 1) return &callbacks;
  return table == 3 ? &version : NULL;
}

/* `place`: of a pointer to a function. */
__attribute__((unused, cold)) static int neurolens_find(void* library, const char* name, void* place) {
  void* const symbol = dlsym(library, name);
  memcpy(place, &symbol, sizeof symbol);
  return symbol != NULL;
}

__attribute__((unused, cold)) static int neurolens_load_nvtx(void) {
  const char* const path = getenv(sizeof(void*) == 4 ? "NVTX_INJECTION32_PATH" : "NVTX_INJECTION64_PATH");
  void* const library = path != NULL && path[0] != '\0' ? dlopen(path, RTLD_LAZY) : NULL;
  int (*initialize)(const void* (*)(unsigned));
  /* The recorder listens to NVTX for other code: with this, too, it would have every scope twice. */
  if (library == NULL || dlsym(library, NEUROLENS_COLLECT_SYMBOL) != NULL) return 0;
  if (neurolens_find(library, "InitializeInjectionNvtx2", &initialize) && initialize(neurolens_nvtx_table))
    return 1;
  memset(neurolens_tools_state.core, 0, sizeof neurolens_tools_state.core);
  memset(neurolens_tools_state.core2, 0, sizeof neurolens_tools_state.core2);
  return 0;
}

/* Only a library that is loaded already, as rocprofv3 and frameworks for AMD do. */
__attribute__((unused, cold)) static int neurolens_load_roctx(void) {
  static const char* const names[] = {NULL, "librocprofiler-sdk-roctx.so.1", "libroctx64.so.4"};
  neurolens_tools* const tools = &neurolens_tools_state;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    void* const library = dlopen(names[i], RTLD_LAZY | (names[i] != NULL ? RTLD_NOLOAD : 0));
    if (library == NULL) continue;
    if (neurolens_find(library, "roctxRangePop", &tools->roctx_pop) &&
        neurolens_find(library, "roctxRangeStartA", &tools->roctx_start) &&
        neurolens_find(library, "roctxRangeStop", &tools->roctx_stop) &&
        neurolens_find(library, "roctxMarkA", &tools->roctx_mark) &&
        neurolens_find(library, "roctxRangePushA", &tools->roctx_push))
      return 1;
    dlclose(library);
  }
  tools->roctx_push = NULL; /* without it nothing of roctx is called */
  return 0;
}

/* NULL: the default domain. `name` stays where it is. */
__attribute__((unused, cold)) static void* neurolens_nvtx_domain(neurolens_tools* tools, const char* name) {
  void* handle = NULL;
  size_t at = 0;
  if (name[0] == '\0' || tools->core2[NEUROLENS_DOMAIN_CREATE].any == NULL) return NULL;
  while (__atomic_exchange_n(&tools->domains_are_locked, 1, __ATOMIC_ACQUIRE) != 0) sched_yield();
  while (at < tools->domain_count && strcmp(tools->domains[at].name, name) != 0) at++;
  if (at < tools->domain_count) {
    handle = tools->domains[at].handle;
  } else {
    handle = tools->core2[NEUROLENS_DOMAIN_CREATE].domain_create(name);
    if (at < NEUROLENS_NVTX_DOMAINS) {
      tools->domains[at].name = name;
      tools->domains[at].handle = handle;
      tools->domain_count++;
    }
  }
  __atomic_store_n(&tools->domains_are_locked, 0, __ATOMIC_RELEASE);
  return handle;
}

/* A range of the thread, which nests. */
__attribute__((unused, noinline, cold)) static void neurolens_tools_push(const neurolens_tools* tools,
                                                                         void* domain, const char* name) {
  if (domain != NULL && tools->core2[NEUROLENS_DOMAIN_PUSH].any != NULL) {
    const neurolens_nvtx_event event = {3, sizeof(neurolens_nvtx_event), 0, 0, 0, 0, 0, 0, 1, name};
    tools->core2[NEUROLENS_DOMAIN_PUSH].domain_push(domain, &event);
  } else if (domain == NULL && tools->core[NEUROLENS_PUSH].any != NULL) {
    tools->core[NEUROLENS_PUSH].push(name);
  }
  if (tools->roctx_push != NULL) tools->roctx_push(name);
}

__attribute__((unused, noinline, cold)) static void neurolens_tools_pop(const neurolens_tools* tools,
                                                                        void* domain) {
  if (domain != NULL && tools->core2[NEUROLENS_DOMAIN_POP].any != NULL) {
    tools->core2[NEUROLENS_DOMAIN_POP].domain_pop(domain);
  } else if (domain == NULL && tools->core[NEUROLENS_POP].any != NULL) {
    tools->core[NEUROLENS_POP].pop();
  }
  if (tools->roctx_push != NULL) tools->roctx_pop();
}

/* A range that nests with no other: of an activity that takes turns on its thread. */
typedef struct neurolens_range {
  uint64_t nvtx, roctx;
} neurolens_range;

__attribute__((unused, noinline, cold)) static neurolens_range neurolens_tools_start(
    const neurolens_tools* tools, const char* name) {
  neurolens_range range = {0, 0};
  if (tools->core[NEUROLENS_START].any != NULL) range.nvtx = tools->core[NEUROLENS_START].start(name);
  if (tools->roctx_push != NULL) range.roctx = tools->roctx_start(name);
  return range;
}

__attribute__((unused, noinline, cold)) static void neurolens_tools_stop(const neurolens_tools* tools,
                                                                         neurolens_range range) {
  if (tools->core[NEUROLENS_END].any != NULL) tools->core[NEUROLENS_END].end(range.nvtx);
  if (tools->roctx_push != NULL) tools->roctx_stop(range.roctx);
}

__attribute__((unused, noinline, cold)) static void neurolens_tools_mark(const neurolens_tools* tools,
                                                                         const char* name) {
  if (tools->core[NEUROLENS_MARK].any != NULL) tools->core[NEUROLENS_MARK].mark(name);
  if (tools->roctx_push != NULL) tools->roctx_mark(name);
}

/* ---- Who listens */

enum { NEUROLENS_UNKNOWN, NEUROLENS_OFF, NEUROLENS_ON };

/* One for the whole program or library, whatever the number of files that include this. */
typedef struct neurolens_front {
  int state;
  const neurolens_api* api; /* NULL: nothing is recorded */
  neurolens_tools* tools;   /* NULL: no other tool */
  int* loader;              /* errno of the thread that looks who listens */
} neurolens_front;
__attribute__((weak, visibility("hidden"))) neurolens_front neurolens_front_state;

__attribute__((unused, cold)) static const neurolens_api* neurolens_load_recorder(void) {
  const char* const path = getenv("NEUROLENS_COLLECT");
  void* const library = path != NULL && path[0] != '\0' ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  const neurolens_api* api = NULL;
  neurolens_collect_function collect;
  if (library == NULL || !neurolens_find(library, NEUROLENS_COLLECT_SYMBOL, &collect)) return NULL;
  for (uint32_t version = NEUROLENS_API_VERSION; version > 0 && api == NULL; version--)
    api = collect(version);
  return api;
}

/* Once; other threads wait for it. A signal handler of the thread that looks sets no marker. */
__attribute__((unused, noinline, cold)) static const neurolens_front* neurolens_load(void) {
  neurolens_front* const front = &neurolens_front_state;
  int* loader = NULL;
  if (!__atomic_compare_exchange_n(&front->loader, &loader, &errno, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    int state = NEUROLENS_UNKNOWN;
    for (int i = 0; i < 1000000 && state == NEUROLENS_UNKNOWN && loader != &errno; i++) {
      sched_yield();
      state = __atomic_load_n(&front->state, __ATOMIC_ACQUIRE);
    }
    return state == NEUROLENS_ON ? front : NULL;
  }
  const int saved = errno;
  front->api = neurolens_load_recorder();
  const int has_nvtx = neurolens_load_nvtx();
  const int has_tools = neurolens_load_roctx() || has_nvtx;
  front->tools = has_tools ? &neurolens_tools_state : NULL;
  const int state = front->api != NULL || has_tools ? NEUROLENS_ON : NEUROLENS_OFF;
  __atomic_store_n(&front->state, state, __ATOMIC_RELEASE);
  errno = saved;
  return state == NEUROLENS_ON ? front : NULL;
}

/* NULL if nobody listens. */
__attribute__((unused)) static inline const neurolens_front* neurolens_listening(void) {
  const int state = __atomic_load_n(&neurolens_front_state.state, __ATOMIC_RELAXED);
  if (__builtin_expect(state == NEUROLENS_OFF, 1)) return NULL;
  if (state != NEUROLENS_ON) return neurolens_load();
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return &neurolens_front_state;
}

/* NULL if nothing is recorded. */
__attribute__((unused)) static inline const neurolens_api* neurolens_recording(void) {
  const neurolens_front* const front = neurolens_listening();
  return front != NULL ? front->api : NULL;
}

/* With attributes where the recorder knows them. */
__attribute__((unused)) static inline uint64_t neurolens_begin_with(const neurolens_api* api, uint32_t name,
                                                                    uint64_t lane, const char* json,
                                                                    size_t json_bytes) {
  if (json_bytes > 0 && api->version >= 2) return api->begin_with(name, lane, json, json_bytes);
  return lane == 0 ? api->begin(name) : api->begin_on_lane(name, lane);
}

/* ---- Markers in C */

typedef struct neurolens_scope {
  uint64_t token;
  uint32_t name;
  uint32_t is_open; /* somebody has heard of it */
} neurolens_scope;

/* `json`: an object of attributes, or NULL. */
__attribute__((unused)) static inline neurolens_scope neurolens_begin_attributed(const char* name,
                                                                                 const char* json) {
  neurolens_scope scope = {0, 0, 0};
  const neurolens_front* const front = neurolens_listening();
  if (front == NULL) return scope;
  scope.is_open = 1;
  if (front->api != NULL) {
    scope.name = front->api->name("", 0, name, strlen(name));
    scope.token = neurolens_begin_with(front->api, scope.name, 0, json, json != NULL ? strlen(json) : 0);
  }
  if (front->tools != NULL) neurolens_tools_push(front->tools, NULL, name);
  return scope;
}

__attribute__((unused)) static inline neurolens_scope neurolens_begin(const char* name) {
  return neurolens_begin_attributed(name, NULL);
}

/* On the thread that began. */
__attribute__((unused)) static inline void neurolens_end(neurolens_scope scope) {
  if (__builtin_expect(scope.is_open == 0, 1)) return;
  const neurolens_front* const front = &neurolens_front_state;
  if (front->tools != NULL) neurolens_tools_pop(front->tools, NULL);
  if (front->api != NULL) front->api->end(scope.token, scope.name);
}

__attribute__((unused)) static inline void neurolens_mark_bytes(const char* name, const char* json,
                                                                size_t json_bytes) {
  const neurolens_front* const front = neurolens_listening();
  if (front == NULL) return;
  if (front->api != NULL) front->api->mark(front->api->name("", 0, name, strlen(name)), json, json_bytes);
  if (front->tools != NULL) neurolens_tools_mark(front->tools, name);
}

/* `json`: an object of attributes, or NULL. */
__attribute__((unused)) static inline void neurolens_mark(const char* name, const char* json) {
  neurolens_mark_bytes(name, json, json != NULL ? strlen(json) : 0);
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

/* For the little that a scope does while nobody listens. */
#define NEUROLENS_INLINE inline __attribute__((always_inline))

namespace neurolens {

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

/// A name that is looked up once: static, at the place where it is used.
class Name {
 public:
  constexpr explicit Name(const char* text, const char* domain = "") : text_(text), domain_(domain) {}
  uint32_t id(const neurolens_api& api) {
    const uint32_t known = id_.load(std::memory_order_relaxed);
    return __builtin_expect(known != 0, 1) ? known : look_up(api);
  }
  /// The domain of NVTX.
  void* nvtx_domain(neurolens_tools& tools) {
    if (domain_[0] == '\0') return nullptr;
    void* known = nvtx_domain_.load(std::memory_order_acquire);
    if (known == nullptr)
      nvtx_domain_.store(known = neurolens_nvtx_domain(&tools, domain_), std::memory_order_release);
    return known;
  }
  const char* text() const { return text_; }

 private:
  uint32_t look_up(const neurolens_api& api) {
    const uint32_t id = api.name(domain_, strlen(domain_), text_, strlen(text_));
    id_.store(id, std::memory_order_relaxed);
    return id;
  }
  const char* text_;
  const char* domain_;
  std::atomic<uint32_t> id_{0};
  std::atomic<void*> nvtx_domain_{nullptr};
};

/// From its construction to its end, on one thread.
class Scope {
 public:
  NEUROLENS_INLINE explicit Scope(Name& name) {
    if (const neurolens_front* const front = neurolens_listening()) begin(*front, name);
  }
  NEUROLENS_INLINE explicit Scope(const char* name) {
    if (const neurolens_front* const front = neurolens_listening()) begin(*front, name, nullptr, 0);
  }
  NEUROLENS_INLINE Scope(const char* name, std::initializer_list<Attribute> attributes) {
    if (const neurolens_front* const front = neurolens_listening()) begin(*front, name, attributes);
  }
  NEUROLENS_INLINE ~Scope() {
    if (__builtin_expect(front_ != nullptr, 0)) end();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  NEUROLENS_INLINE void begin(const neurolens_front& front, Name& name) {
    front_ = &front;
    name_ = front.api != nullptr ? name.id(*front.api) : 0;
    token_ = front.api != nullptr ? front.api->begin(name_) : 0;
    nvtx_domain_ = front.tools != nullptr ? name.nvtx_domain(*front.tools) : nullptr;
    if (front.tools != nullptr) neurolens_tools_push(front.tools, nvtx_domain_, name.text());
  }
  NEUROLENS_INLINE void begin(const neurolens_front& front, const char* name, const char* json,
                              size_t json_bytes) {
    front_ = &front;
    name_ = front.api != nullptr ? front.api->name("", 0, name, strlen(name)) : 0;
    token_ = front.api != nullptr ? neurolens_begin_with(front.api, name_, 0, json, json_bytes) : 0;
    nvtx_domain_ = nullptr;
    if (front.tools != nullptr) neurolens_tools_push(front.tools, nullptr, name);
  }
  __attribute__((noinline, cold)) void begin(const neurolens_front& front, const char* name,
                                             std::initializer_list<Attribute> attributes) {
    const AttributeText text(attributes);
    begin(front, name, text.data(), text.size());
  }
  NEUROLENS_INLINE void end() const {
    if (front_->tools != nullptr) neurolens_tools_pop(front_->tools, nvtx_domain_);
    if (front_->api != nullptr) front_->api->end(token_, name_);
  }
  const neurolens_front* front_ = nullptr; /* without one the others are not looked at */
  uint32_t name_;
  uint64_t token_;
  void* nvtx_domain_;
};

inline void mark(const char* name, std::initializer_list<Attribute> attributes = {}) {
  if (neurolens_listening() == nullptr) return;
  const AttributeText text(attributes);
  neurolens_mark_bytes(name, text.data(), text.size());
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
