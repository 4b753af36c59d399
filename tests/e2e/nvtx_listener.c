/* A tool that listens to NVTX, by NVIDIA's own headers: a line for each call, into the file that
   LISTENER_FILE names. With -DROCTX it is a library with the functions of roctx instead. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void say(const char* what, const char* text) {
  FILE* const file = fopen(getenv("LISTENER_FILE"), "a");
  if (file == NULL) abort();
  fprintf(file, "%s %s\n", what, text);
  fclose(file);
}

#ifdef ROCTX
static uint64_t ranges = 0;
int roctxRangePushA(const char* text) {
  say("push", text);
  return 0;
}
int roctxRangePop(void) {
  say("pop", "");
  return 0;
}
uint64_t roctxRangeStartA(const char* text) {
  say("start", text);
  return ++ranges;
}
void roctxRangeStop(uint64_t range) {
  say("stop", range != 0 && range <= ranges ? "known" : "unknown");
}
void roctxMarkA(const char* text) {
  say("mark", text);
}
#else
#include <nvtx3/nvToolsExt.h>

static uint64_t ranges = 0;
static int NVTX_API push(const char* text) {
  say("push", text);
  return 0;
}
static int NVTX_API pop(void) {
  say("pop", "");
  return 0;
}
static nvtxRangeId_t NVTX_API start(const char* text) {
  say("start", text);
  return ++ranges;
}
static void NVTX_API end(nvtxRangeId_t range) {
  say("stop", range != 0 && range <= ranges ? "known" : "unknown");
}
static void NVTX_API mark(const char* text) {
  say("mark", text);
}
static nvtxDomainHandle_t NVTX_API create(const char* text) {
  say("domain", text);
  return (nvtxDomainHandle_t)(uintptr_t)0x1000;
}
static int NVTX_API push_in(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const int fine = event->size == NVTX_EVENT_ATTRIB_STRUCT_SIZE && event->version == NVTX_VERSION &&
                   event->messageType == NVTX_MESSAGE_TYPE_ASCII && domain == (void*)(uintptr_t)0x1000;
  say("push in", fine ? event->message.ascii : "something else");
  return 0;
}
static int NVTX_API pop_in(nvtxDomainHandle_t domain) {
  say("pop in", domain == (void*)(uintptr_t)0x1000 ? "" : "another domain");
  return 0;
}

NVTX_DYNAMIC_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table) {
  const NvtxExportTableCallbacks* const callbacks = table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable core, core2;
  unsigned count = 0;
  if (getenv("LISTENER_REFUSES") != NULL) return 0;
  if (callbacks == NULL || callbacks->struct_size < sizeof *callbacks) abort();
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &count) || count < NVTX_CBID_CORE_SIZE)
    abort();
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2, &count) ||
      count < NVTX_CBID_CORE2_SIZE)
    abort();
  *core[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
  *core[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
  *core[NVTX_CBID_CORE_RangeStartA] = (NvtxFunctionPointer)start;
  *core[NVTX_CBID_CORE_RangeEnd] = (NvtxFunctionPointer)end;
  *core[NVTX_CBID_CORE_MarkA] = (NvtxFunctionPointer)mark;
  *core2[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
  *core2[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push_in;
  *core2[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop_in;
  say("loaded", "");
  return 1;
}
#endif
