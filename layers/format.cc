#include "layers/format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/graph/error.h"
#include "core/graph/graph.h"
#include "layers/training.h"

namespace towerflow::layers {
namespace {

std::string lower_case_of(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

bool parse_channels_first(std::string text, const std::string& layer, Site site) {
  text = lower_case_of(std::move(text));
  if (text == "channels_first") return true;
  if (text == "channels_last") return false;
  throw ValueError(fmt::format("The `data_format` argument must be one of \"channels_first\", "
                               "\"channels_last\". Received: {}",
                               text),
                   {.site = site, .op = layer});
}

std::string parse_layer_padding(std::string text, bool causal_allowed, const std::string& layer,
                                Site site) {
  text = lower_case_of(std::move(text));
  if (text == "valid" || text == "same" || (text == "causal" && causal_allowed)) return text;
  if (text == "causal") {
    throw ValueError("Causal padding is only supported for `Conv1D`.", {.site = site, .op = layer});
  }
  throw ValueError(fmt::format("The `padding` argument must be one of \"valid\", \"same\" (or "
                               "\"causal\", only for `Conv1D`). Received: {}",
                               text),
                   {.site = site, .op = layer});
}

std::vector<int> window_sizes(const nn::Extents& given, int rank, const char* argument,
                              const std::string& layer, Site site) {
  std::vector<int> sizes = given.values();
  if (sizes.size() == 1) sizes.resize(static_cast<std::size_t>(rank), sizes[0]);
  const bool positive = std::all_of(sizes.begin(), sizes.end(), [](int size) { return size > 0; });
  if (sizes.size() != static_cast<std::size_t>(rank) || !positive) {
    throw ValueError(fmt::format("The `{}` argument must be a tuple of {} integers above 0. "
                                 "Received: ({})",
                                 argument, rank, fmt::join(given.values(), ", ")),
                     {.site = site, .op = layer});
  }
  return sizes;
}

}  // namespace towerflow::layers

namespace towerflow::layers::types {

std::optional<bool> Training::known_value(const Tensor& training) {
  const Array known = constant_value(training);
  if (known.empty() || known.dtype() != DType::bool_ || known.elements() != 1) return std::nullopt;
  return known.data<bool>()[0];
}

}  // namespace towerflow::layers::types
