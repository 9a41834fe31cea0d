#include "ops/data_flow/padding_queue.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/data_flow/queue_attrs.h"
#include "ops/family.h"

namespace towerflow {
namespace {

constexpr const char* kOp = "PaddingFIFOQueueV2";

Tensor make_padding_queue(std::int64_t capacity, std::vector<DType> dtypes,
                          std::vector<Shape> shapes, const PaddingFIFOQueueOptions& options,
                          Site site) {
  for (const Shape& shape : shapes) {
    if (shape.has_rank()) continue;
    throw ValueError(fmt::format("All shapes must have a defined rank: {}", shape.text()),
                     {.site = site, .op = kOp, .hint = "only single dimensions may be unknown"});
  }
  if (dtypes.size() != shapes.size()) {
    throw ValueError(fmt::format("Shapes must be provided for all components, but received {} "
                                 "dtypes and {} shapes.",
                                 dtypes.size(), shapes.size()),
                     {.site = site, .op = kOp});
  }
  if (dtypes.empty()) {
    throw ValueError("a queue needs at least one component", {.site = site, .op = kOp});
  }
  if (capacity == 0 || capacity < -1) {
    throw ValueError(fmt::format("a queue of capacity {} cannot hold any element", capacity),
                     {.site = site, .op = kOp, .hint = "-1 sets no limit"});
  }
  return OpBuilder(kOp, options.name, "padding_fifo_queue", site, {})
      .attrs(QueueAttrs{.component_types = std::move(dtypes),
                        .shapes = std::move(shapes),
                        .capacity = capacity,
                        .shared_name = options.shared_name})
      .output();
}

}  // namespace

static void register_padding_queue_ops(OpRegistry& registry) {
  registry.add(
      {.name = kOp,
       .outputs = {"handle: resource"},
       .attrs = fifo_queue_attributes(),
       .shape = [](InferenceContext& context) { context.add_output(DType::resource, Shape{}); },
       .gradient = NoGradient{"the elements were put into the queue by another run"},
       .effect = Effect::stateful});
}

OpFamily padding_queue_family() { return {.ops = register_padding_queue_ops}; }

PaddingFIFOQueue::PaddingFIFOQueue(std::int64_t capacity, std::vector<DType> dtypes,
                                   std::vector<Shape> shapes, PaddingFIFOQueueOptions options,
                                   Site site)
    : QueueBase(make_padding_queue(capacity, std::move(dtypes), std::move(shapes), options, site)) {
}

}  // namespace towerflow
