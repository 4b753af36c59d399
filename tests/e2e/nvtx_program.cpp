// A program with ranges of NVTX, compiled by test_nvtx.py against the headers of NVIDIA.
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

static nvtxEventAttributes_t event(const char* message) {
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = message;
  return event;
}

static void all_forms() {
  const int outer = nvtxRangePushA("outer");
  const int inner = nvtxRangePushW(L"inner \u00e9\U0001F600");
  const int popped = nvtxRangePop();
  std::printf("levels %d %d %d\n", outer, inner, popped);
  nvtxMarkA("marked");
  nvtxDomainHandle_t domain = nvtxDomainCreateA("model");
  nvtxDomainHandle_t other = nvtxDomainCreateW(L"other");
  std::printf("enabled %d\n", nvtxDomainIsEnabled(domain));
  nvtxDomainNameCategoryA(domain, 7, "phase");
  nvtxEventAttributes_t attributes = event(nullptr);
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "prefill");
  attributes.category = 7;
  attributes.colorType = NVTX_COLOR_ARGB;
  attributes.color = 0xFF0000FF;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  attributes.payload.dValue = 2.5;
  nvtxDomainRangePushEx(domain, &attributes);
  // domains nest by themselves
  nvtxEventAttributes_t crossing = event("crossing");
  nvtxDomainRangePushEx(other, &crossing);
  nvtxDomainRangePop(domain);
  nvtxDomainRangePop(other);
  nvtxEventAttributes_t step = event("step");
  step.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  step.payload.ullValue = 18446744073709551615ull;
  nvtxDomainMarkEx(domain, &step);
  const nvtxRangeId_t first = nvtxRangeStartA("request 1");
  const nvtxRangeId_t second = nvtxDomainRangeStartEx(domain, &step);
  std::thread ends([=] {
    nvtxNameOsThreadA(static_cast<uint32_t>(syscall(SYS_gettid)), "finisher");
    nvtxRangePushA("on finisher");
    nvtxRangePop();
    nvtxDomainRangeEnd(domain, second);
    nvtxRangeEnd(first);
  });
  ends.join();
  nvtxNameCudaStreamA(nullptr, "a stream");  // recordings have no form for it
  nvtxRangePop();
  nvtxRangePop();  // nothing is open any more
  nvtxDomainDestroy(other);
}

/// Messages with numbers in them, more than there is room for names.
static void many_messages(int count) {
  for (int i = 0; i < count; i++) {
    char message[64];
    std::snprintf(message, sizeof message, "aten::mul, seq = %d", i);
    nvtxRangePushA(message);
    nvtxRangePop();
  }
}

static void deep(int count) {
  for (int i = 0; i < count; i++) nvtxRangePushA("deep");
  for (int i = 0; i < count; i++) nvtxRangePop();
}

int main(int argc, char** argv) {
  if (argc == 1) all_forms();
  if (argc == 3 && std::strcmp(argv[1], "messages") == 0) many_messages(std::atoi(argv[2]));
  if (argc == 3 && std::strcmp(argv[1], "deep") == 0) deep(std::atoi(argv[2]));
}
