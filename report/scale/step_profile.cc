#include "report/scale/step_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/graph/error.h"

namespace towerflow::report {

double StepProfile::bytes() const {
  double sum = 0;
  for (const ProfiledGradient& gradient : gradients) sum += gradient.bytes;
  return sum;
}

StepProfile StepProfile::faster(double factor) const {
  StepProfile scaled = *this;
  scaled.compute /= factor;
  for (ProfiledGradient& gradient : scaled.gradients) {
    gradient.needed /= factor;
    gradient.ready /= factor;
  }
  return scaled;
}

void check(const StepProfile& profile) {
  const auto refuse = [&](const std::string& what) {
    throw ValueError(fmt::format("profile of a step of '{}': {}", profile.name, what));
  };
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  if (!positive(profile.examples)) refuse(fmt::format("{} examples", profile.examples));
  if (!positive(profile.compute)) refuse(fmt::format("{} s of computation", profile.compute));
  if (profile.gradients.empty()) refuse("no gradients");
  double last = 0;
  for (const ProfiledGradient& gradient : profile.gradients) {
    if (!positive(gradient.bytes)) {
      refuse(fmt::format("the gradient {} has {} bytes", gradient.name, gradient.bytes));
    }
    const bool inside = gradient.needed >= 0 && gradient.needed <= gradient.ready &&
                        gradient.ready <= profile.compute * (1 + 1e-9);
    if (!inside || gradient.ready < last) {
      refuse(
          fmt::format("the gradient {} is needed at {} s and ready at {} s of {} s, after one "
                      "that is ready at {} s",
                      gradient.name, gradient.needed, gradient.ready, profile.compute, last));
    }
    last = gradient.ready;
  }
}

StepProfile profile_of_trace(const RunMetadata& step, const std::string& name, double examples) {
  StepProfile profile{.name = name, .examples = examples};
  // Only the end of an instruction counts here: its time is the distance to the end of the one
  // before it, or of a wait.
  for (const NodeStats& stats : step.nodes) {
    const bool on_device = stats.device.find("/device:SIM:") != std::string::npos;
    if (!on_device || !stats.loop.empty()) continue;
    if (stats.lane == Lane::compute && stats.kind == NodeStats::Kind::kernel) {
      profile.compute = std::max(profile.compute, stats.virtual_end);
    }
    // One element is a loss or a counter.
    if (stats.lane == Lane::download && stats.kind == NodeStats::Kind::copy && stats.bytes > 8) {
      profile.gradients.push_back({stats.node, stats.bytes, 0, stats.virtual_begin});
    }
  }
  if (profile.gradients.empty()) {
    throw ValueError(fmt::format("the traced step of '{}' sends no gradient to the host", name),
                     {.hint = "trace one tower on one simulated accelerator, with "
                              "VariableHome::host"});
  }
  for (ProfiledGradient& gradient : profile.gradients) {
    gradient.ready = std::min(gradient.ready, profile.compute);
  }
  std::stable_sort(profile.gradients.begin(), profile.gradients.end(),
                   [](const auto& a, const auto& b) { return a.ready < b.ready; });
  check(profile);
  return profile;
}

StepProfile profile_of_layers(const std::string& name, double examples, double compute,
                              const std::vector<ProfiledLayer>& layers) {
  StepProfile profile{.name = name, .examples = examples, .compute = compute};
  double all = 0;
  for (const ProfiledLayer& layer : layers) all += layer.operations;
  const double seconds = compute / (3 * all);  // of one operation
  double before = 0;
  for (const ProfiledLayer& layer : layers) {
    profile.gradients.push_back({fmt::format("layer {}", profile.gradients.size() + 1),
                                 4 * layer.elements, before * seconds,
                                 compute - 2 * before * seconds});
    before += layer.operations;
  }
  std::reverse(profile.gradients.begin(), profile.gradients.end());
  check(profile);
  return profile;
}

}  // namespace towerflow::report
