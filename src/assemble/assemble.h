#pragma once
// Builds the derived tables of a bundle: span_tree, kernel_links, copy_links, launch_matches and clock_fits.
// They follow from the facts alone, so they may be deleted at any time and are rebuilt when they are missing.
// Row n of a derived table belongs to row n of the table it describes; only clock_fits has its own numbering.
// Memory is limited.

#include <memory>
#include <string>

#include "assemble/collector.h"
#include "base/result.h"
#include "store/engine.h"

namespace nl::store {
class OpenRun;
}

namespace nl::assemble {

/// Tree and links from what was collected while the facts were written; spans and ids are used up. Needs
/// nothing of the bundle but its place; complete_derived has to follow.
Result<void> build_collected(const std::shared_ptr<store::Engine>& engine, const std::string& bundle,
                             Collected& collected);

/// What the sources say of each other, from the written facts and what build_collected has left; ends the
/// derived tables.
Result<void> complete_derived(const std::shared_ptr<store::Engine>& engine, const std::string& bundle,
                              const Collected& collected);

/// From the written facts.
Result<void> build_from_facts(const std::shared_ptr<store::Engine>& engine, const std::string& bundle);

/// Builds the derived tables of a run if they are missing. Safe while others do the same.
Result<void> ensure_derived(store::OpenRun& run);

}  // namespace nl::assemble
