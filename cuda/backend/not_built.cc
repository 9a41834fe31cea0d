// Instead of the backend, where the build found no CUDA.
#include <fmt/format.h>

#include "core/device/backend_registry.h"
#include "core/device/convolution_plans.h"
#include "core/device/link_probe.h"
#include "core/graph/error.h"

namespace towerflow {
namespace {

constexpr const char* kReason = "Towerflow was built without CUDA: " TOWERFLOW_CUDA_MISSING;

}  // namespace

std::shared_ptr<Backend> make_cuda_backend(const ConfigProto& config) {
  check(config.cuda);
  if (config.cuda.count == 0) return nullptr;
  throw errors::UnavailableError(fmt::format("there are no GPUs to use: {}", kReason));
}

std::vector<LinkProbe> probe_cuda_links(const ConfigProto& config, double) {
  make_cuda_backend(config);
  throw ValueError("there are no GPUs to probe");
}

std::vector<ConvolutionPlan> read_convolution_plans(const std::string& path) {
  throw errors::UnavailableError(fmt::format("'{}' cannot be read: {}", path, kReason));
}

std::string what_cuda_misses() { return kReason; }

}  // namespace towerflow
