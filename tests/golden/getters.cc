#include "tests/golden/getters.h"

#include "ops/math/binary.h"
#include "ops/math/l2_loss.h"

namespace towerflow::golden {

Regularizer regularizer_of(const Args& args) {
  const auto name = args.optional_text("regularizer");
  if (!name) return nullptr;
  if (*name == "none") return [](const Variable&) -> std::optional<Tensor> { return std::nullopt; };
  if (*name != "l2") throw BadProgram("no regularizer " + *name);
  return [](const Variable& v) -> std::optional<Tensor> { return 0.25 * nn::l2_loss(v); };
}

CustomGetter custom_getter_of(const Args& args) {
  const auto kind = args.optional_text("custom_getter");
  if (!kind) return nullptr;
  if (*kind == "suffixed") {
    return
        [](const VariableGetter& getter, const std::string& name, const std::optional<Shape>& shape,
           const GetVariableOptions& options) { return getter(name + "_x", shape, options); };
  }
  if (*kind != "frozen" && *kind != "found_or_made") throw BadProgram("no custom getter " + *kind);
  return
      [frozen = *kind == "frozen"](const VariableGetter& getter, const std::string& name,
                                   const std::optional<Shape>& shape, GetVariableOptions options) {
        if (frozen) {
          options.trainable = false;
        } else {
          options.reuse = AUTO_REUSE;
        }
        return getter(name, shape, options);
      };
}

}  // namespace towerflow::golden
