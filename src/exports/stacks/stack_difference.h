#pragma once
// The difference of two runs as folded stacks with two sums, `stack BEFORE AFTER`, which difffolded.pl writes
// and flamegraph.pl colours: red what has grown, blue what has shrunk.

#include "exports/exporter.h"

namespace nl::exports {

/// Both runs with their windows; the text goes to `before.write`. Threads of the same name are taken
/// together, since their numbers differ between runs. The report counts the rows of both.
Result<ExportReport> write_stack_difference(const ExportCall& before, const ExportCall& after);

}  // namespace nl::exports
