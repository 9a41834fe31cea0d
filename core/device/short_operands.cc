#include "core/device/short_operands.h"

#include <algorithm>

#include "core/graph/short_float.h"
#include "core/graph/widening.h"

namespace towerflow {

bool computes_short_floats(const KernelRequest& request) {
  const auto is_short = [](const TensorDesc& desc) { return is_short_float(desc.dtype); };
  return (std::any_of(request.inputs.begin(), request.inputs.end(), is_short) ||
          std::any_of(request.outputs.begin(), request.outputs.end(), is_short)) &&
         takes_short_floats(*request.op);
}

KernelRequest widened(const KernelRequest& request) {
  KernelRequest wide = request;
  for (TensorDesc& desc : wide.inputs) desc.dtype = widened(desc.dtype);
  for (TensorDesc& desc : wide.outputs) desc.dtype = widened(desc.dtype);
  for (auto& [input, value] : wide.values) {
    if (is_short_float(value.dtype())) value = widened(value);
  }
  return wide;
}

}  // namespace towerflow
