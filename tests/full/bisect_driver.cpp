// bench_bisect from a file of parameters, for tests/full/bisect: prints its data as JSON.

#include <iostream>

#include "base/files.h"
#include "base/small_json.h"
#include "ops/lab/bench_bisect.h"

int main(int argc, char** argv) {
  using namespace nl;
  if (argc != 2) return 2;
  const auto text = read_file(argv[1]);
  if (!text) return 2;
  const nlohmann::json parameters = parse_small_json(*text);
  if (!parameters.is_object()) return 2;
  ops::Context context;
  const auto outcome = ops::bench_bisect(context, parameters);
  if (!outcome) {
    std::cout << nlohmann::json{{"error", error_code_name(outcome.error().code)},
                                {"message", outcome.error().message}}
              << "\n";
    return 2;
  }
  std::cout << outcome->data << "\n";
  std::cerr << ops::bench_bisect_text(*outcome, {});
  return outcome->exit_code;
}
