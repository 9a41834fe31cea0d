#include "data/record_reader.h"

#include <fmt/format.h>

#include "core/device/cpu/cpu_backend.h"
#include "core/graph/op_builder.h"
#include "data/reader_kernel.h"
#include "data/reader_resource.h"
#include "ops/data_flow/queue_of.h"
#include "ops/data_flow/source_turns.h"
#include "ops/family.h"

namespace towerflow {
namespace {

struct ReaderAttrs {
  std::optional<data::Compression> compression;
  static constexpr auto fields =
      std::tuple{attr::field("compression_type", &ReaderAttrs::compression)};
};

class ReadKernel final : public PreparedKernel {
 public:
  explicit ReadKernel(const KernelRequest& request)
      : place_(NodeTurns::name_of(request.node)), share_(request.attributes<data::RecordShare>()) {}
  void enqueue(towerflow::Queue& queue, const LaunchArgs& args) const override {
    auto* reader = dynamic_cast<ReaderResource*>(*args.input<Resource*>(0));
    if (reader == nullptr) throw errors::InvalidArgumentError("the resource is not a reader");
    QueueResource& names = queue_of(args, 1);
    if (names.spec().dtypes != std::vector<DType>{DType::string}) {
      throw errors::InvalidArgumentError(
          fmt::format("queue '{}' does not hold file names: a reader needs one string component",
                      names.spec().name));
    }
    const QueueCaller caller = caller_of(queue, args);
    run_in_turn(args, place_, caller, [&] {
      args.run->ticket = reader->read(names, caller, share_, *args.output<std::string>(0),
                                      *args.output<std::string>(1));
    });
  }

 private:
  std::string place_;  // the name of its NodeTurns
  data::RecordShare share_;
};

constexpr const char* kNotComputed = "records are input data";

}  // namespace

static void register_record_reader_ops(OpRegistry& registry) {
  registry.add(
      {.name = "TFRecordReaderV2",
       .outputs = {"reader_handle: resource"},
       .attrs = attributes<ReaderAttrs>().fixed("container", "").fixed("shared_name", ""),
       .shape = [](InferenceContext& context) { context.add_output(DType::resource, Shape{}); },
       .gradient = NoGradient{kNotComputed},
       .effect = Effect::stateful});
  registry.add({.name = "ReaderReadV2",
                .inputs = {"reader_handle: resource", "queue_handle: resource"},
                .outputs = {"key: string", "value: string"},
                .attrs = attributes<data::RecordShare>(),
                .shape =
                    [](InferenceContext& context) {
                      context.add_output(DType::string, Shape{});
                      context.add_output(DType::string, Shape{});
                    },
                .gradient = NoGradient{kNotComputed},
                .effect = Effect::stateful});
}

static void register_record_reader_kernels(KernelTable& table) {
  table.add({.op = "TFRecordReaderV2",
             .label = "reader",
             .accepts = {},
             .prepare = [](const KernelRequest& request) {
               return std::make_unique<ReaderKernel>(
                   request, data::tfrecord_format(request.attributes<ReaderAttrs>().compression));
             }});
  table.add({.op = "ReaderReadV2",
             .label = "reader",
             .accepts = {},
             .prepare = [](const KernelRequest& request) {
               return std::make_unique<ReadKernel>(request);
             }});
}

OpFamily record_reader_family() {
  return {.ops = register_record_reader_ops, .kernels = register_record_reader_kernels};
}

TFRecordReader::TFRecordReader(RecordReaderOptions options, Site site)
    : ReaderBase(OpBuilder("TFRecordReaderV2", options.name, site)
                     .attrs(ReaderAttrs{options.compression})
                     .output()) {}

KeyValue ReaderBase::read(const QueueBase& queue, ReadOptions options, Site site) const {
  const data::RecordShare& share = options.share;
  if (share.index < 0 || share.index >= share.count) {
    throw ValueError(fmt::format("there is no share {} of {}", share.index, share.count),
                     {.site = site});
  }
  const Operand reader(ref_), names(queue.queue_ref());
  const Operation op = OpBuilder("ReaderReadV2", options.name, site, {&reader, &names})
                           .input(reader, "reader_handle")
                           .input(names, "queue_handle")
                           .attrs(share)
                           .build();
  return {op.output(0), op.output(1)};
}

}  // namespace towerflow
