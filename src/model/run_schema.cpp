#include "model/run_schema.h"

#include "model/run_schema_text.inc"

namespace nl::model {

const std::string& run_schema_text() {
  static const std::string text = kRunSchemaText;
  return text;
}

}  // namespace nl::model
