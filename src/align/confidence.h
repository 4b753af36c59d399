#pragma once
// How certain a match is. It depends on what agrees between the two nodes, on how well their neighbours
// agree, and on whether the surroundings could be matched in another way that is just as good.

#include "align/links.h"

namespace nl::align {

/// What is known of the ordered match of each of a, if it has one.
struct Support {
  PagedVector<float> unambiguous;   ///< chance that a gap nearby was not elsewhere among equal nodes
  PagedVector<uint8_t> neighbours;  ///< of the kReach nodes on each side: those that are matched alongside
};
inline constexpr uint32_t kReach = 4;

Support support_of(const Side& a, const Side& b, const Links& links);

float confidence_in_order(const Features& a, const Features& b, float unambiguous, uint8_t neighbours);
float confidence_renamed(float points);
float confidence_moved(bool in_stretch);
float confidence_merged(float points);

}  // namespace nl::align
