#include "analyze/metrics/definitions.h"

#include "analyze/counter_files.inc"
#include "analyze/hardware_files.inc"
#include "analyze/layer_files.inc"
#include "analyze/metrics/metric.h"
#include "analyze/taxonomy_files.inc"
#include "base/embedded_file.h"
#include "base/sha256.h"

namespace nl::analyze {
namespace {

void add(Sha256& hash, std::string_view text) {
  hash.update(text.data(), text.size());
  hash.update("\n", 1);
}

template <class Files>
void add_files(Sha256& hash, const Files& files) {
  for (const EmbeddedFile& file : files) {
    add(hash, file.name);
    add(hash, file.text);
  }
}

std::string compute_hash() {
  Sha256 hash;
  for (const MetricInfo& metric : all_metrics()) {
    add(hash, metric.id);
    add(hash, std::to_string(metric.version));
  }
  add_files(hash, kTaxonomyFiles);
  add_files(hash, kHardwareFiles);
  add_files(hash, kCounterFiles);
  add_files(hash, kLayerFiles);
  return hash.hex().substr(0, 12);
}

}  // namespace

std::string definitions_hash() {
  static const std::string kHash = compute_hash();
  return kHash;
}

}  // namespace nl::analyze
