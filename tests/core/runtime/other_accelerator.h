// A second kind of accelerator, whose kernels a test can remove.
#pragma once

#include <doctest/doctest.h>

#include <set>

#include "core/device/backend_registry.h"
#include "core/device/sim/sim_backend.h"

namespace towerflow::testing {

/// Ops that the accelerators of kind OTHER have no kernel for.
inline std::set<std::string> missing_kernels;

class OtherBackend final : public SimBackend {
 public:
  explicit OtherBackend(int count) : SimBackend({.count = count, .latency = 0, .jitter = 20e-6}) {}
  const char* type() const override { return "OTHER"; }
  const char* kind() const override { return "another accelerator"; }
  MemorySpace space(int device) const override { return 1000 + static_cast<MemorySpace>(device); }
  const KernelEntry* find_kernel(const KernelRequest& request) const override {
    return missing_kernels.contains(request.op->name) ? nullptr : SimBackend::find_kernel(request);
  }
};

inline ConfigProto with_other_accelerators(int count, bool soft = true) {
  static const bool added = [] {
    add_backend({"OTHER", [](const ConfigProto& config) -> std::shared_ptr<Backend> {
                   const auto wanted = config.device_count.find("OTHER");
                   if (wanted == config.device_count.end()) return nullptr;
                   return std::make_shared<OtherBackend>(wanted->second);
                 }});
    return true;
  }();
  REQUIRE(added);
  return {.device_count = {{"OTHER", count}}, .allow_soft_placement = soft};
}

}  // namespace towerflow::testing
