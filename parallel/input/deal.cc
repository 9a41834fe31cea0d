#include "parallel/input/deal.h"

#include <fmt/format.h>

#include <functional>

#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/shape_of.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/math/binary.h"

namespace towerflow::parallel {
namespace {

data::Dataset batched(const data::Dataset& examples, std::int64_t size, const DealOptions& options,
                      Site site) {
  const data::Dataset batches =
      examples.batch(size, {.drop_remainder = options.drop_remainder}, site);
  return options.prefetch > 0 ? batches.prefetch(options.prefetch, site) : batches;
}

/// Returns the examples of a batch that a tower gets.
Tensor share_of(const Tensor& batch, int tower, int num_towers, Dealing dealing, Site site) {
  if (num_towers == 1) return batch;
  if (dealing == Dealing::in_turn) {
    return strided_slice(batch, {tower}, {0}, {num_towers}, {.end_mask = 1}, site);
  }
  const Dim size = batch.shape()[0];
  if (size.known()) {
    const auto each = static_cast<int>(size.size() / num_towers);
    return take_range(batch, tower * each, (tower + 1) * each, site);
  }
  // The first towers read one more where the batch cannot be divided evenly.
  const Tensor count = take_index(shape(batch, {}, site), 0, site);
  const Tensor each = floordiv(count, num_towers, {}, site);
  const Tensor more = floormod(count, num_towers, {}, site);
  const auto first = [&](int of) {
    const Tensor begin = each * of;
    return stack({begin + minimum(more, of, {}, site)}, {}, site);
  };
  const Tensor begin = first(tower), end = first(tower + 1);
  return strided_slice(batch, begin, end, {1}, {}, site);
}

/// Returns the tensors of an element that an iterator returned.
std::vector<Tensor> tensors_of(const data::Element& element) {
  std::vector<Tensor> tensors;
  for (const Operand& component : element.components()) tensors.push_back(*component.tensor());
  return tensors;
}

data::Element map_components(const data::Element& element,
                             const std::function<Tensor(const Tensor&)>& function) {
  std::vector<Tensor> tensors;
  for (const Tensor& tensor : tensors_of(element)) tensors.push_back(function(tensor));
  return data::Element::of(element.structure(), tensors);
}

}  // namespace

DealtExamples deal(const data::Dataset& examples, GlobalBatch batch, int num_towers,
                   const DealOptions& options, Site site) {
  const std::vector<std::int64_t> sizes = batch.dealt_to(num_towers, site);
  if (options.drop_remainder) batch.over(num_towers, site);
  if (options.prefetch < 0) {
    throw ValueError(fmt::format("prefetch must be at least 0, got {}", options.prefetch),
                     {.site = site});
  }
  const auto cpu = device("/cpu:0", site);
  DealtExamples dealt;
  if (options.dealing == Dealing::own_shard) {
    for (int tower = 0; tower < num_towers; ++tower) {
      const std::int64_t size = std::max<std::int64_t>(sizes[static_cast<std::size_t>(tower)], 1);
      dealt.iterators.push_back(
          batched(examples.shard(num_towers, tower, site), size, options, site)
              .make_one_shot_iterator(site));
      dealt.towers.push_back(dealt.iterators.back().get_next({}, site));
    }
  } else {
    dealt.iterators.push_back(
        batched(examples, batch.examples(), options, site).make_one_shot_iterator(site));
    const data::Element step = dealt.iterators.back().get_next({}, site);
    for (int tower = 0; tower < num_towers; ++tower) {
      dealt.towers.push_back(map_components(step, [&](const Tensor& component) {
        return share_of(component, tower, num_towers, options.dealing, site);
      }));
    }
  }
  for (const data::Element& element : dealt.towers) {
    const Tensor component = tensors_of(element).front();
    dealt.counts.push_back(
        cast(take_index(shape(component, {}, site), 0, site), DType::int64, {}, site));
  }
  return dealt;
}

}  // namespace towerflow::parallel
