#include "ops/onednn/version.h"

#include <fmt/format.h>

#include <oneapi/dnnl/dnnl.h>

namespace towerflow::onednn {

std::string library_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace towerflow::onednn
