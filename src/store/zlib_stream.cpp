#include "store/zlib_stream.h"

// The engine brings a compressor for gzip files, but no header for it.
namespace duckdb_miniz {
int mz_compress2(unsigned char* out, unsigned long* out_size, const unsigned char* bytes, unsigned long size,
                 int level);
unsigned long mz_compressBound(unsigned long size);
}  // namespace duckdb_miniz

namespace nl::store {
namespace {

constexpr int kLevel = 7;

}  // namespace

std::string zlib_stream(std::string_view bytes) {
  unsigned long size = duckdb_miniz::mz_compressBound(bytes.size());
  std::string out(size, '\0');
  duckdb_miniz::mz_compress2(reinterpret_cast<unsigned char*>(out.data()), &size,
                             reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), kLevel);
  out.resize(size);
  return out;
}

}  // namespace nl::store
