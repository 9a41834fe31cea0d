#include "layers/slim/regularizers.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/math/add_n.h"
#include "ops/math/binary.h"
#include "ops/math/l2_loss.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"

namespace towerflow::slim {
namespace {

/// Returns scale * penalty(weights), with the nodes in a scope of their own.
template <class Penalty>
WeightRegularizer scaled_penalty(double scale, std::string scope, Penalty penalty, Site site) {
  if (!(scale >= 0.0)) {
    throw ValueError(fmt::format("Setting a scale less than 0 on a regularizer: {:g}.", scale),
                     {.site = site, .op = scope});
  }
  if (scale == 0.0) {
    return [](const Operand&) { return std::optional<Tensor>(); };
  }
  return [=](const Operand& weights) -> std::optional<Tensor> {
    const NameScope names(graph_of(weights), scope, site);
    const DType dtype =
        weights.any_tensor() != nullptr ? weights.any_tensor()->dtype() : DType::float32;
    const Tensor factor =
        convert_to_tensor(Operand(scale, site), {.dtype = dtype, .name = "scale"}, site);
    const Tensor loss = penalty(weights);
    return multiply(Operand(factor, site), Operand(loss, site), {.name = names.name()}, site);
  };
}

std::string scope_or(const RegularizerOptions& options, const char* name) {
  return options.scope.empty() ? name : options.scope;
}

}  // namespace

WeightRegularizer l1_regularizer(double scale, RegularizerOptions options, Site site) {
  return scaled_penalty(
      scale, scope_or(options, "l1_regularizer"),
      [site](const Operand& weights) {
        const Tensor sizes = towerflow::abs(weights, {}, site);
        return reduce_sum(Operand(sizes, site), {}, site);
      },
      site);
}

WeightRegularizer l2_regularizer(double scale, RegularizerOptions options, Site site) {
  return scaled_penalty(
      scale, scope_or(options, "l2_regularizer"),
      [site](const Operand& weights) { return nn::l2_loss(weights, {}, site); }, site);
}

WeightRegularizer l1_l2_regularizer(double scale_l1, double scale_l2, RegularizerOptions options,
                                    Site site) {
  options.scope = scope_or(options, "l1_l2_regularizer");
  if (scale_l1 == 0.0) return l2_regularizer(scale_l2, std::move(options), site);
  if (scale_l2 == 0.0) return l1_regularizer(scale_l1, std::move(options), site);
  return sum_regularizer({l1_regularizer(scale_l1, {}, site), l2_regularizer(scale_l2, {}, site)},
                         std::move(options), site);
}

WeightRegularizer sum_regularizer(std::vector<WeightRegularizer> regularizer_list,
                                  RegularizerOptions options, Site site) {
  std::erase_if(regularizer_list, [](const WeightRegularizer& one) { return one == nullptr; });
  if (regularizer_list.empty()) return {};
  return [list = std::move(regularizer_list), scope = scope_or(options, "sum_regularizer"),
          site](const Operand& weights) -> std::optional<Tensor> {
    const NameScope names(graph_of(weights), scope, site);
    std::vector<Operand> losses;
    for (const WeightRegularizer& regularizer : list) {
      if (const std::optional<Tensor> loss = regularizer(weights)) losses.emplace_back(*loss, site);
    }
    if (losses.empty()) return std::nullopt;
    return add_n(losses, {.name = names.name()}, site);
  };
}

}  // namespace towerflow::slim
