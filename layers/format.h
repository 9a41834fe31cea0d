#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/site.h"
#include "ops/nn/window_args.h"

namespace towerflow::layers {

/// Parses "channels_last" or "channels_first", in any case; returns whether channels come first.
/// Throws a ValueError that names the layer for anything else.
bool parse_channels_first(std::string text, const std::string& layer, Site site);

/// Parses "valid" or "same" in any case, or "causal" if allowed. Returns lower case. Throws
/// ValueError for anything else.
std::string parse_layer_padding(std::string text, bool causal_allowed, const std::string& layer,
                                Site site);

/// Returns `rank` sizes above 0. Throws ValueError for another number of sizes, calling them
/// `argument`, or for one that is too small.
std::vector<int> window_sizes(const nn::Extents& given, int rank, const char* argument,
                              const std::string& layer, Site site);

}  // namespace towerflow::layers
