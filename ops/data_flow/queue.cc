#include "ops/data_flow/queue.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/data_flow/queue_attrs.h"
#include "ops/family.h"

namespace towerflow {
namespace {

constexpr const char* kNoQueueGradient = "the elements were put into the queue by another run";

const QueueAttrs& queue_attrs(const Tensor& ref) { return ref.op().attrs().as<QueueAttrs>(); }

Tensor add_queue(const char* op, const std::string& name, QueueAttrs attrs, Site site) {
  if (attrs.capacity == 0 || attrs.capacity < -1) {
    throw ValueError(fmt::format("a queue of capacity {} cannot hold any element", attrs.capacity),
                     {.site = site, .op = op, .hint = "-1 sets no limit"});
  }
  if (attrs.component_types.empty()) {
    throw ValueError("a queue needs at least one component", {.site = site, .op = op});
  }
  for (std::size_t i = 0; i < attrs.shapes.size(); ++i) {
    if (attrs.shapes[i].fully_known()) continue;
    throw ValueError(
        fmt::format("All shapes must be fully defined: component {} has the shape {}", i,
                    attrs.shapes[i].text()),
        {.site = site,
         .op = op,
         .hint =
             "tensor.set_shape({..}) sets a shape that the graph cannot infer; a PaddingFIFOQueue "
             "takes components of different sizes, a queue without shapes takes any"});
  }
  const std::size_t types = attrs.component_types.size(), shapes = attrs.shapes.size();
  const Tensor ref = OpBuilder(op, name, site).attrs(std::move(attrs)).output();
  if (shapes != 0 && shapes != types) {  // TensorFlow detects this after making the node
    throw ValueError(fmt::format("Queue shapes must have the same length as dtypes, received "
                                 "len(shapes)={}, len(dtypes)={}",
                                 shapes, types),
                     {.site = site, .op = op});
  }
  return ref;
}

void queue_shape(InferenceContext& context) { context.add_output(DType::resource, Shape{}); }

void no_output(InferenceContext&) {}

void dequeue_shape(InferenceContext& context) {
  const auto& attrs = context.attrs<DequeueAttrs>();
  for (std::size_t i = 0; i < attrs.component_types.size(); ++i) {
    context.add_output(attrs.component_types[i], attrs.shape(i));
  }
}

void dequeue_many_shape(InferenceContext& context, bool count_holds) {
  const auto& attrs = context.attrs<DequeueAttrs>();
  const Array* n = context.constant(1);
  Dim rows = None;
  if (count_holds && n != nullptr && n->elements() == 1 && n->dtype() == DType::int32) {
    const std::int32_t count = n->data<std::int32_t>()[0];
    if (count >= 0) rows = Dim(count);
  }
  for (std::size_t i = 0; i < attrs.component_types.size(); ++i) {
    context.add_output(attrs.component_types[i], Shape{rows}.concatenated(attrs.shape(i)));
  }
}

}  // namespace

AttrsDef fifo_queue_attributes() {
  return attributes<QueueAttrs>()
      .without("min_after_dequeue")
      .without("seed")
      .without("seed2")
      .fixed("container", "");
}

static void register_queue_ops(OpRegistry& registry) {
  using Texts = ArgTexts;
  const auto add = [&](const char* name, Texts inputs, Texts outputs, AttrsDef attrs,
                       ShapeRule shape) {
    registry.add({.name = name,
                  .inputs = std::move(inputs),
                  .outputs = std::move(outputs),
                  .attrs = std::move(attrs),
                  .shape = std::move(shape),
                  .gradient = NoGradient{kNoQueueGradient},
                  .effect = Effect::stateful});
  };
  const auto waits = [](AttrsDef attrs) { return std::move(attrs).fixed("timeout_ms", -1); };
  const auto taken = [&] { return waits(attributes<DequeueAttrs>()); };
  const Texts queue{"handle: resource"}, counted{"handle: resource", "n: int32"};
  const Texts element{"handle: resource", "components: list(Tcomponents)"};
  const Texts components{"components: list(component_types)"};
  add("FIFOQueueV2", {}, queue, fifo_queue_attributes(), queue_shape);
  add("RandomShuffleQueueV2", {}, queue, attributes<QueueAttrs>().fixed("container", ""),
      queue_shape);
  add("QueueEnqueueV2", element, {}, waits({}), no_output);
  add("QueueEnqueueManyV2", element, {}, waits({}), no_output);
  add("QueueDequeueV2", queue, components, taken(), dequeue_shape);
  add("QueueDequeueManyV2", counted, components, taken(),
      [](InferenceContext& context) { dequeue_many_shape(context, true); });
  add("QueueDequeueUpToV2", counted, components, taken(),
      [](InferenceContext& context) { dequeue_many_shape(context, false); });
  add("QueueCloseV2", queue, {}, attributes<QueueCloseAttrs>(), no_output);
  add("QueueSizeV2", queue, {"size: int32"}, {},
      [](InferenceContext& context) { context.add_output(DType::int32, Shape{}); });
  add("QueueIsClosedV2", queue, {"is_closed: bool"}, {},
      [](InferenceContext& context) { context.add_output(DType::bool_, Shape{}); });
}

OpFamily queue_family() { return {.ops = register_queue_ops}; }

void Components::check_count(std::size_t wanted) const {
  if (size() == wanted) return;
  throw ValueError(fmt::format("the element of the queue has {} components, but {} are requested",
                               size(), wanted));
}

QueueBase QueueBase::of_ref(const Tensor& ref, Site site) {
  if (ref.op().attrs().get_if<QueueAttrs>() != nullptr) return QueueBase(ref);
  throw ValueError(fmt::format("'{}' is not a queue", ref.name()), {.site = site});
}

const std::vector<DType>& QueueBase::dtypes() const { return queue_attrs(ref_).component_types; }

std::vector<Shape> QueueBase::shapes() const {
  const QueueAttrs& attrs = queue_attrs(ref_);
  if (!attrs.shapes.empty()) return attrs.shapes;
  return std::vector<Shape>(attrs.component_types.size(), Shape::unknown());
}

std::string QueueBase::short_name() const { return name().substr(name().rfind('/') + 1); }

Operation QueueBase::enqueue(const OperandList& values, QueueOptions options, Site site) const {
  return add(values, false, options, site);
}

Operation QueueBase::enqueue_many(const OperandList& values, QueueOptions options,
                                  Site site) const {
  return add(values, true, options, site);
}

Operation QueueBase::add(const OperandList& values, bool many, const QueueOptions& options,
                         Site site) const {
  const Operand ref(ref_);
  const std::string default_name = short_name() + (many ? "_EnqueueMany" : "_enqueue");
  OpBuilder builder(many ? "QueueEnqueueManyV2" : "QueueEnqueueV2", options.name,
                    default_name.c_str(), site, {&ref});
  // Too few values make a node that fails when it runs, as in TensorFlow.
  if (values.size() > dtypes().size() || values.size() == 0) {
    throw ValueError(fmt::format("queue '{}' has {} components, but {} values are given", name(),
                                 dtypes().size(), values.size()),
                     {.site = site});
  }
  builder.input(ref, "handle");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string argument = fmt::format("component_{}", i);
    builder.input(values.items()[i], argument.c_str(), dtypes()[i]);
  }
  const std::vector<Shape> wanted = shapes();
  Dim rows = None;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Shape given = builder.tensors()[i + 1].shape();
    if (many && given.has_rank()) {
      if (given.rank() == 0) {
        throw ValueError(fmt::format("Shape {} must have rank at least 1", given.text()),
                         {.site = site});
      }
      const auto merged = Shape{rows}.merged(Shape{given[0]});
      if (!merged) {
        throw ValueError(
            fmt::format("Dimensions {} and {} are not compatible", rows.size(), given.size(0)),
            {.site = site});
      }
      rows = (*merged)[0];
      given = Shape(std::vector<Dim>(given.dims().begin() + 1, given.dims().end()));
    } else if (many) {
      continue;
    }
    if (!given.compatible(wanted[i])) {
      throw ValueError(
          fmt::format("Shapes {} and {} are incompatible", given.text(), wanted[i].text()),
          {.site = site, .hint = "the queue was made for elements of the second shape"});
    }
  }
  return builder.build();
}

Components QueueBase::dequeue(QueueOptions options, Site site) const {
  const Operand ref(ref_);
  const Operation op =
      OpBuilder("QueueDequeueV2", options.name, (short_name() + "_Dequeue").c_str(), site, {&ref})
          .input(ref, "handle")
          .attrs(DequeueAttrs{dtypes(), shapes()})
          .build();
  const auto outputs = op.outputs();
  return Components(outputs.begin(), outputs.end());
}

Components QueueBase::take(const char* op, const char* suffix, const Operand& n,
                           const QueueOptions& options, Site site) const {
  const Operand ref(ref_);
  OpBuilder builder(op, options.name, (short_name() + suffix).c_str(), site, {&ref});
  builder.input(ref, "handle").input(n, "n", DType::int32).attrs(DequeueAttrs{dtypes(), shapes()});
  const Array count = constant_value(builder.tensors()[1]);
  if (!count.empty() && count.elements() == 1 && count.item<std::int32_t>() < 0) {
    throw ValueError(fmt::format("Dimension {} must be >= 0", count.item<std::int32_t>()),
                     {.site = site, .op = op});
  }
  const auto outputs = builder.build().outputs();
  return Components(outputs.begin(), outputs.end());
}

Components QueueBase::dequeue_many(const Operand& n, QueueOptions options, Site site) const {
  return take("QueueDequeueManyV2", "_DequeueMany", n, options, site);
}

Components QueueBase::dequeue_up_to(const Operand& n, QueueOptions options, Site site) const {
  return take("QueueDequeueUpToV2", "_DequeueUpTo", n, options, site);
}

Operation QueueBase::close(CloseOptions options, Site site) const {
  const Operand ref(ref_);
  return OpBuilder("QueueCloseV2", options.name, (short_name() + "_Close").c_str(), site, {&ref})
      .input(ref, "handle")
      .attrs(QueueCloseAttrs{options.cancel_pending_enqueues})
      .build();
}

Tensor QueueBase::size(QueueOptions options, Site site) const {
  const Operand ref(ref_);
  return OpBuilder("QueueSizeV2", options.name, (short_name() + "_Size").c_str(), site, {&ref})
      .input(ref, "handle")
      .output();
}

Tensor QueueBase::is_closed(QueueOptions options, Site site) const {
  const Operand ref(ref_);
  return OpBuilder("QueueIsClosedV2", options.name, (short_name() + "_Is_Closed").c_str(), site,
                   {&ref})
      .input(ref, "handle")
      .output();
}

FIFOQueue::FIFOQueue(std::int64_t capacity, std::vector<DType> dtypes, FIFOQueueOptions options,
                     Site site)
    : QueueBase([&] {
        // TensorFlow makes only this kind of queue on the CPU and outside control dependencies.
        const auto no_control = control_dependencies(std::nullopt);
        const auto cpu = device("CPU");
        return add_queue("FIFOQueueV2", options.name.empty() ? "fifo_queue" : options.name,
                         {.component_types = std::move(dtypes),
                          .shapes = std::move(options.shapes),
                          .capacity = capacity,
                          .shared_name = options.shared_name},
                         site);
      }()) {}

RandomShuffleQueue::RandomShuffleQueue(std::int64_t capacity, std::int64_t min_after_dequeue,
                                       std::vector<DType> dtypes, RandomShuffleQueueOptions options,
                                       Site site)
    : QueueBase([&] {
        Graph& graph = get_default_graph();
        return add_queue("RandomShuffleQueueV2",
                         options.name.empty() ? "random_shuffle_queue" : options.name,
                         {.component_types = std::move(dtypes),
                          .shapes = std::move(options.shapes),
                          .capacity = capacity,
                          .min_after_dequeue = min_after_dequeue,
                          .seeds = random::get_seed(graph.seed, options.seed, graph.next_op_seed),
                          .shared_name = options.shared_name},
                         site);
      }()) {}

}  // namespace towerflow
