#include "train/input/input_position.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "core/graph/op_builder.h"
#include "data/reader_resource.h"
#include "ops/data_flow/queue_of.h"
#include "ops/family.h"
#include "train/queue_runner.h"

namespace towerflow {
namespace {

constexpr const char* kNoPositionGradient = "an input position has no gradient";

/// Outputs of _InputPosition, and the last inputs of _SetInputPosition.
enum Part : std::size_t { kTaken, kHole, kRecords, kNamesTaken, kNext, kParts };
constexpr std::array<const char*, kParts> kPartNames = {"taken", "hole", "records", "names_taken",
                                                        "next"};

std::string text_of(const RecordPlace& place, std::uint64_t byte) {
  return place.file == nullptr ? "" : fmt::format("{}:{}", *place.file, byte);
}

struct FileAndByte {
  std::shared_ptr<const std::string> file;
  std::uint64_t byte = 0;
};

/// Parses "file:byte" as written by `text_of`.
FileAndByte parse_position(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  FileAndByte place;
  if (colon != std::string::npos && colon > 0) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, place.byte);
    if (error == std::errc{} && stop == end) {
      place.file = std::make_shared<const std::string>(text.substr(0, colon));
      return place;
    }
  }
  throw errors::DataLossError(
      fmt::format("'{}' in the checkpoint's input position is not of the form FILE:BYTE", text));
}

ReaderResource& reader_of(const LaunchArgs& args, std::size_t input) {
  auto* reader = dynamic_cast<ReaderResource*>(*args.input<Resource*>(input));
  if (reader == nullptr) throw errors::InvalidArgumentError("the resource is not a reader");
  return *reader;
}

/// Kernel of _InputPosition(queue) and _InputPosition(queue, reader, names).
class PositionKernel final : public PreparedKernel {
 public:
  explicit PositionKernel(bool by_record) : by_record_(by_record) {}
  void enqueue(towerflow::Queue&, const LaunchArgs& args) const override {
    QueueOrder::Position position = queue_of(args, 0).position();
    const bool has_hole = by_record_ && position.hole != QueueOrder::kNone;
    if (!by_record_) position.held.clear();
    *args.output<std::int64_t>(kTaken) = static_cast<std::int64_t>(position.drawn);
    *args.output<std::int64_t>(kHole) = has_hole ? static_cast<std::int64_t>(position.hole) : -1;
    *args.output<std::int64_t>(kNamesTaken) =
        by_record_ ? static_cast<std::int64_t>(position.last.files) : -1;
    *args.output<std::string>(kNext) =
        by_record_ ? text_of(position.last, position.last.end) : std::string();
    auto* records =
        static_cast<std::string*>(args.arrays->allocate(kRecords, Shape{position.held.size()}));
    for (const RecordPlace& place : position.held) {
      if (place.file == nullptr) {
        throw errors::FailedPreconditionError(
            fmt::format("queue '{}' holds an element that does not come from a record",
                        queue_of(args, 0).spec().name),
            {.hint = "only its queue runner may enqueue when its position is saved"});
      }
      *records++ = text_of(place, place.begin);
    }
  }

 private:
  bool by_record_;
};

/// Kernel of _SetInputPosition(queue[, reader, names], taken, hole, records, names_taken, next).
class SetPositionKernel final : public PreparedKernel {
 public:
  explicit SetPositionKernel(const KernelRequest& request)
      : first_(request.inputs.size() - kParts),
        records_(request.inputs[first_ + kRecords].shape.elements()) {}
  void enqueue(towerflow::Queue& queue, const LaunchArgs& args) const override {
    const bool by_record = first_ > 1;
    const std::int64_t taken = *args.input<std::int64_t>(first_ + kTaken);
    const std::int64_t names_taken = *args.input<std::int64_t>(first_ + kNamesTaken);
    const auto& next = *args.input<std::string>(first_ + kNext);
    QueueResource& target = queue_of(args, 0);
    if (taken < 0 || by_record != (names_taken >= 0) ||
        (by_record && (taken == 0) != next.empty())) {
      throw errors::DataLossError(
          fmt::format("the checkpoint's position of queue '{}' cannot be: {} elements taken, {} "
                      "file names taken, next is '{}'",
                      target.spec().name, taken, names_taken, next));
    }
    if (taken == 0) return;
    if (!by_record) {
      target.skip(static_cast<std::uint64_t>(taken));
      return;
    }
    QueueOrder::Position position{.drawn = static_cast<std::uint64_t>(taken), .held = {}};
    const std::int64_t hole = *args.input<std::int64_t>(first_ + kHole);
    if (hole >= 0) position.hole = static_cast<std::size_t>(hole);
    const auto* texts = args.input<std::string>(first_ + kRecords);
    for (std::int64_t i = 0; i < records_; ++i) {
      const auto [file, begin] = parse_position(texts[i]);
      position.held.push_back({.file = file, .begin = begin});
    }
    const auto [file, end] = parse_position(next);
    position.last = {.file = file, .end = end, .files = static_cast<std::uint64_t>(names_taken)};
    reader_of(args, 1).resume(position.held, position.last, caller_of(queue, args));
    queue_of(args, 2).skip(position.last.files);
    target.resume(std::move(position));
  }

 private:
  std::size_t first_;
  std::int64_t records_;
};

}  // namespace

static void register_input_position_ops(OpRegistry& registry) {
  registry.add({.name = "_InputPosition",
                .inputs = {"resources: N * resource"},
                .outputs = {"queue: int64", "records: int64", "files: string", "record: int64",
                            "file: string"},
                .shape =
                    [](InferenceContext& context) {
                      context.add_output(DType::int64, Shape{});
                      context.add_output(DType::int64, Shape{});
                      context.add_output(DType::string, Shape{None});
                      context.add_output(DType::int64, Shape{});
                      context.add_output(DType::string, Shape{});
                    },
                .gradient = NoGradient{kNoPositionGradient},
                .effect = Effect::stateful});
  registry.add({.name = "_SetInputPosition",
                .inputs = {"resources: N * resource", "queue: int64", "records: int64",
                           "files: string", "record: int64", "file: string"},
                .shape = [](InferenceContext&) {},
                .gradient = NoGradient{kNoPositionGradient},
                .effect = Effect::stateful});
}

static void register_input_position_kernels(KernelTable& table) {
  table.add({.op = "_InputPosition",
             .label = "queue",
             .accepts = {},
             .prepare = [](const KernelRequest& request) {
               return std::make_unique<PositionKernel>(request.inputs.size() > 1);
             }});
  table.add({.op = "_SetInputPosition",
             .label = "queue",
             .accepts = {},
             .prepare = [](const KernelRequest& request) {
               return std::make_unique<SetPositionKernel>(request);
             }});
}

OpFamily input_position_family() {
  return {.ops = register_input_position_ops, .kernels = register_input_position_kernels};
}

namespace train {
namespace {

/// The nodes that a queue is filled from.
struct Source {
  std::set<const Node*> reads;     ///< ReaderReadV2
  std::set<const Node*> dequeues;  ///< of other queues
  bool one_each = true;            ///< each run of an enqueue adds one element
  bool random = false;             ///< the elements depend on random numbers
};

Source source_of(const QueueRunner& runner) {
  Source source;
  std::vector<const Node*> stack;
  std::set<const Node*> seen;
  for (const Operation& operation : runner.enqueue_ops()) {
    source.one_each = source.one_each && operation.type() == "QueueEnqueueV2";
    stack.push_back(&operation.node());
  }
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second) continue;
    if (node->op->name == "ReaderReadV2") source.reads.insert(node);
    if (node->op->name.starts_with("QueueDequeue")) source.dequeues.insert(node);
    source.random = source.random || node->op->effect == Effect::random;
    for (const Tensor& input : node->inputs) stack.push_back(&input.node());
    for (const Node* control : node->control_inputs) stack.push_back(control);
  }
  return source;
}

std::vector<QueueRunner> runners() { return get_collection<QueueRunner>(GraphKeys::QUEUE_RUNNERS); }

class QueueSaveable final : public SaveableObject {
 public:
  QueueSaveable(std::string name, std::vector<Tensor> resources, const Operation& position)
      : SaveableObject(name, specs(name, position)), resources_(std::move(resources)) {}

  Operation restore(const std::vector<Tensor>& restored, Site site) const override {
    OpBuilder builder("_SetInputPosition", "", "set_input_position", site, {});
    builder.inputs(resources_, "resources");
    builder.inputs(restored, "position");
    return builder.build();
  }

 private:
  static std::vector<SaveSpec> specs(const std::string& name, const Operation& position) {
    std::vector<SaveSpec> specs;
    for (std::size_t i = 0; i < kParts; ++i) {
      specs.push_back(
          {position.output(static_cast<int>(i)), fmt::format("{}/{}", name, kPartNames[i])});
    }
    return specs;
  }

  std::vector<Tensor> resources_;
};

}  // namespace

Saveable make_saveable_from_queue(const QueueBase& queue) {
  const auto all = runners();
  const auto feeds_queue = [&](const QueueRunner& runner) { return runner.queue() == queue; };
  const auto runner = std::find_if(all.begin(), all.end(), feeds_queue);
  if (runner == all.end()) {
    throw ValueError(fmt::format("no queue runner fills queue '{}'", queue.name()),
                     {.hint = "tf::train::add_queue_runner tells the graph of one"});
  }
  const Source source = source_of(*runner);
  std::vector<Tensor> resources{queue.queue_ref()};
  if (source.one_each && !source.random && source.reads.size() == 1 && source.dequeues.empty()) {
    const Node& read = **source.reads.begin();
    const auto shares_input = [&](const QueueRunner& other) {
      if (feeds_queue(other)) return true;
      for (const Node* node : source_of(other).reads) {
        if (node->inputs[0] == read.inputs[0] || node->inputs[1] == read.inputs[1]) return true;
      }
      return false;
    };
    // No other runner fills the queue, uses the reader or takes names from its queue.
    if (std::count_if(all.begin(), all.end(), shares_input) == 1) {
      resources.push_back(read.inputs[0]);
      resources.push_back(read.inputs[1]);
    }
  }
  OpBuilder builder("_InputPosition", "", "input_position", Site::current(), {});
  builder.inputs(resources, "resources");
  return std::make_shared<QueueSaveable>("_input/" + queue.name(), resources, builder.build());
}

std::vector<Saveable> input_positions() {
  const auto all = runners();
  std::set<const Node*> read_by_runners;  // queues
  for (const QueueRunner& runner : all) {
    const Source source = source_of(runner);
    for (const Node* read : source.reads) read_by_runners.insert(&read->inputs[1].node());
    for (const Node* dequeue : source.dequeues) read_by_runners.insert(&dequeue->inputs[0].node());
  }
  std::vector<Saveable> positions;
  std::set<const Node*> seen;
  for (const QueueRunner& runner : all) {
    const Node* node = &runner.queue().queue_ref().node();
    if (read_by_runners.contains(node) || !seen.insert(node).second) continue;
    positions.push_back(make_saveable_from_queue(runner.queue()));
  }
  return positions;
}

}  // namespace train
}  // namespace towerflow
