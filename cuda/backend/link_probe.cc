// How fast copies between GPUs are, and whether they are right.
#include "core/device/link_probe.h"

#include <memory>
#include <utility>

#include "core/device/backend_registry.h"
#include "core/graph/error.h"
#include "cuda/backend/cuda_backend.h"
#include "cuda/backend/link_test.h"

std::vector<towerflow::LinkProbe> towerflow::probe_cuda_links(const ConfigProto& config,
                                                              double seconds) {
  const auto backend = std::dynamic_pointer_cast<cuda::CudaBackend>(make_cuda_backend(config));
  if (backend == nullptr) throw ValueError("there are no GPUs to probe");
  const std::size_t bytes = std::size_t{1} << (backend->emulated() ? 18 : 26);
  std::vector<LinkProbe> probes;
  for (int i = 0; i < backend->device_count(); ++i) {
    for (int j = 0; j < backend->device_count(); ++j) {
      if (i == j) continue;
      const cuda::Device &from = *backend->device(i), &to = *backend->device(j);
      const cuda::Driver& driver = to.driver();
      const bool direct = driver.links().is_direct(from.number(), to.number());
      cuda::LinkResult found = cuda::test_link(driver, from.number(), to.number(), bytes, seconds);
      probes.push_back({.from = from.name(),
                        .to = to.name(),
                        .way = from.number() == to.number() ? "on one card"
                               : direct                     ? "between cards"
                                                            : "through the host",
                        .bytes_per_second = found.bytes_per_second,
                        .wrong = std::move(found.wrong)});
    }
  }
  return probes;
}
