#include "ops/array/conversions.h"

namespace towerflow {
namespace {

Tensor convert_to(const Operand& x, DType dtype, const char* default_name, CastOptions options,
                  Site site) {
  if (options.name.empty()) options.name = default_name;
  return cast(x, dtype, std::move(options), site);
}

}  // namespace

Tensor to_float(const Operand& x, CastOptions options, Site site) {
  return convert_to(x, DType::float32, "ToFloat", std::move(options), site);
}
Tensor to_double(const Operand& x, CastOptions options, Site site) {
  return convert_to(x, DType::float64, "ToDouble", std::move(options), site);
}
Tensor to_int32(const Operand& x, CastOptions options, Site site) {
  return convert_to(x, DType::int32, "ToInt32", std::move(options), site);
}
Tensor to_int64(const Operand& x, CastOptions options, Site site) {
  return convert_to(x, DType::int64, "ToInt64", std::move(options), site);
}

}  // namespace towerflow
