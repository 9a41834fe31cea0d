// Queues, readers, records and batches.
#include "data/file_readers.h"
#include "data/parse_example.h"
#include "data/record_reader.h"
#include "ops/data_flow/decode_raw.h"
#include "ops/data_flow/padding_queue.h"
#include "ops/data_flow/queue.h"
#include "tests/golden/handlers.h"
#include "train/input/batch.h"
#include "train/input/batch_join.h"
#include "train/input/input_producer.h"

namespace towerflow::golden {
namespace {

QueueBase queue_of(const Args& args) { return args.object_as<QueueBase>("queue"); }

std::vector<DType> dtypes(const Args& args) {
  std::vector<DType> list;
  const auto names = args.texts("dtypes");
  for (const std::string& name : *names) list.push_back(to_dtype(name));
  return list;
}

std::vector<Shape> shapes(const Args& args) {
  std::vector<Shape> list;
  if (args.value("shapes").none()) return list;
  for (const Value& item : args.list("shapes")) list.push_back(*to_shape(item));
  return list;
}

/// Returns the components to enqueue: a single value or a list.
OperandList components(const Args& args) {
  if (queue_of(args).dtypes().size() == 1 && args.value("vals").list() == nullptr) {
    return OperandList{args.operand("vals")};
  }
  std::vector<Operand> items;
  for (const Value& item : args.list("vals")) items.push_back(to_operand(item));
  return items;
}

Value components_value(const Components& components) {
  if (components.size() == 1) return components[0];
  return List(components.begin(), components.end());
}

Value fifo_queue(Interpreter&, const Args& args) {
  FIFOQueueOptions options;
  options.shapes = shapes(args);
  options.name = args.text("name");
  return Object{"FIFOQueue", QueueBase(FIFOQueue(args.integer("capacity"), dtypes(args), options))};
}

Value random_shuffle_queue(Interpreter&, const Args& args) {
  RandomShuffleQueueOptions options;
  options.shapes = shapes(args);
  options.seed = args.optional_integer("seed");
  options.name = args.text("name");
  return Object{
      "RandomShuffleQueue",
      QueueBase(RandomShuffleQueue(args.integer("capacity"), args.integer("min_after_dequeue"),
                                   dtypes(args), options))};
}

Value padding_queue(Interpreter&, const Args& args) {
  PaddingFIFOQueueOptions options;
  options.name = args.text("name");
  return Object{
      "PaddingFIFOQueue",
      QueueBase(PaddingFIFOQueue(args.integer("capacity"), dtypes(args), shapes(args), options))};
}

Value parse(Interpreter&, const Args& args) {
  Features features;
  for (const Value& feature : args.list("features")) {
    const List& row = *feature.list();
    features.emplace(*row.at(0).get_if<std::string>(),
                     FixedLenFeature{.shape = *to_shape(row.at(1)),
                                     .dtype = to_dtype(*row.at(2).get_if<std::string>())});
  }
  const ParsedFeatures parsed =
      parse_single_example(args.operand("serialized"), features, {.name = args.text("name")});
  Dict dict;
  for (const auto& [key, tensor] : parsed.tensors()) dict.emplace(key, tensor);
  return dict;
}

Value read(Interpreter&, const Args& args) {
  const auto reader = args.object_as<ReaderBase>("reader");
  const KeyValue record = reader.read(queue_of(args), {.name = args.text("name")});
  return List{record.key, record.value};
}

Value string_input_producer(Interpreter&, const Args& args) {
  train::StringInputProducerOptions options;
  options.num_epochs = args.optional_integer("num_epochs");
  options.shuffle = args.flag("shuffle", true);
  options.seed = args.optional_integer("seed");
  options.capacity = args.integer("capacity", 32);
  options.name = args.text("name");
  return Object{"FIFOQueue",
                QueueBase(train::string_input_producer(args.operand("string_tensor"), options))};
}

Value batch(Interpreter&, const Args& args) {
  train::BatchOptions options;
  options.batch_size = args.integer("batch_size");
  options.num_threads = static_cast<int>(args.integer("num_threads", 1));
  options.capacity = args.integer("capacity", 32);
  options.dynamic_pad = args.flag("dynamic_pad");
  options.allow_smaller_final_batch = args.flag("allow_smaller_final_batch");
  options.name = args.text("name");
  return components_value(train::batch(args.tensors("tensors"), options));
}

Value shuffle_batch(Interpreter&, const Args& args) {
  train::ShuffleBatchOptions options;
  options.batch_size = args.integer("batch_size");
  options.capacity = args.integer("capacity");
  options.min_after_dequeue = args.integer("min_after_dequeue");
  options.num_threads = static_cast<int>(args.integer("num_threads", 1));
  options.seed = args.optional_integer("seed");
  options.allow_smaller_final_batch = args.flag("allow_smaller_final_batch");
  options.name = args.text("name");
  return components_value(train::shuffle_batch(args.tensors("tensors"), options));
}

std::vector<std::vector<Tensor>> tensor_lists(const Args& args) {
  std::vector<std::vector<Tensor>> lists;
  for (const Value& item : args.list("tensors_list")) {
    lists.emplace_back();
    for (const Value& tensor : *item.list()) lists.back().push_back(to_tensor(tensor));
  }
  return lists;
}

Value batch_join(Interpreter&, const Args& args) {
  train::BatchJoinOptions options;
  options.batch_size = args.integer("batch_size");
  options.capacity = args.integer("capacity", 32);
  options.enqueue_many = args.flag("enqueue_many");
  options.dynamic_pad = args.flag("dynamic_pad");
  options.allow_smaller_final_batch = args.flag("allow_smaller_final_batch");
  options.name = args.text("name");
  return components_value(train::batch_join(tensor_lists(args), options));
}

Value shuffle_batch_join(Interpreter&, const Args& args) {
  train::ShuffleBatchJoinOptions options;
  options.batch_size = args.integer("batch_size");
  options.capacity = args.integer("capacity");
  options.min_after_dequeue = args.integer("min_after_dequeue");
  options.seed = args.optional_integer("seed");
  options.enqueue_many = args.flag("enqueue_many");
  options.allow_smaller_final_batch = args.flag("allow_smaller_final_batch");
  options.name = args.text("name");
  return components_value(train::shuffle_batch_join(tensor_lists(args), options));
}

/// Returns the options that the range and slice producers share.
template <class Options>
Options producer_options(const Args& args) {
  Options options;
  options.num_epochs = args.optional_integer("num_epochs");
  options.shuffle = args.flag("shuffle", true);
  options.seed = args.optional_integer("seed");
  options.capacity = args.integer("capacity", 32);
  options.name = args.text("name");
  return options;
}

Value slice_input_producer(Interpreter&, const Args& args) {
  std::vector<Operand> operands;
  for (const Value& item : args.list("tensor_list")) operands.push_back(to_operand(item));
  const Components slices = train::slice_input_producer(
      OperandList(operands), producer_options<train::SliceInputProducerOptions>(args));
  return List(slices.begin(), slices.end());
}

Value fixed_length_reader(Interpreter&, const Args& args) {
  FixedLengthRecordReaderOptions options;
  options.header_bytes = args.integer("header_bytes");
  options.footer_bytes = args.integer("footer_bytes");
  options.hop_bytes = args.integer("hop_bytes");
  options.encoding = args.text("encoding");
  options.name = args.text("name");
  return Object{"FixedLengthRecordReader",
                ReaderBase(FixedLengthRecordReader(args.integer("record_bytes"), options))};
}

void add_readers(HandlerTable& table) {
  table["TFRecordReader"] = [](Interpreter&, const Args& args) -> Value {
    return Object{"TFRecordReader", ReaderBase(TFRecordReader({.name = args.text("name")}))};
  };
  table["FixedLengthRecordReader"] = fixed_length_reader;
  table["TextLineReader"] = [](Interpreter&, const Args& args) -> Value {
    return Object{"TextLineReader",
                  ReaderBase(TextLineReader({.skip_header_lines = args.integer("skip_header_lines"),
                                             .name = args.text("name")}))};
  };
  table["WholeFileReader"] = [](Interpreter&, const Args& args) -> Value {
    return Object{"WholeFileReader", ReaderBase(WholeFileReader({.name = args.text("name")}))};
  };
  table["reader_read"] = read;
}

void add_queues(HandlerTable& table) {
  table["FIFOQueue"] = fifo_queue;
  table["RandomShuffleQueue"] = random_shuffle_queue;
  table["enqueue"] = [](Interpreter&, const Args& args) -> Value {
    return queue_of(args).enqueue(components(args), {.name = args.text("name")});
  };
  table["enqueue_many"] = [](Interpreter&, const Args& args) -> Value {
    return queue_of(args).enqueue_many(components(args), {.name = args.text("name")});
  };
  table["dequeue"] = [](Interpreter&, const Args& args) -> Value {
    return components_value(queue_of(args).dequeue({.name = args.text("name")}));
  };
  table["dequeue_many"] = [](Interpreter&, const Args& args) -> Value {
    return components_value(
        queue_of(args).dequeue_many(args.operand("n"), {.name = args.text("name")}));
  };
  table["dequeue_up_to"] = [](Interpreter&, const Args& args) -> Value {
    return components_value(
        queue_of(args).dequeue_up_to(args.operand("n"), {.name = args.text("name")}));
  };
  table["close_queue"] = [](Interpreter&, const Args& args) -> Value {
    return queue_of(args).close({.cancel_pending_enqueues = args.flag("cancel_pending_enqueues"),
                                 .name = args.text("name")});
  };
  table["queue_size"] = [](Interpreter&, const Args& args) -> Value {
    return queue_of(args).size({.name = args.text("name")});
  };
}

}  // namespace

void add_input_handlers(HandlerTable& table) {
  add_queues(table);
  add_readers(table);
  table["PaddingFIFOQueue"] = padding_queue;
  table["batch_join"] = batch_join;
  table["shuffle_batch_join"] = shuffle_batch_join;
  table["range_input_producer"] = [](Interpreter&, const Args& args) -> Value {
    return Object{"FIFOQueue", QueueBase(train::range_input_producer(
                                   args.operand("limit"),
                                   producer_options<train::RangeInputProducerOptions>(args)))};
  };
  table["slice_input_producer"] = slice_input_producer;
  table["parse_single_example"] = parse;
  table["decode_raw"] = [](Interpreter&, const Args& args) -> Value {
    DecodeRawOptions options;
    options.name = args.text("name");
    return decode_raw(args.operand("input_bytes"), args.dtype("out_type"), options);
  };
  table["string_input_producer"] = string_input_producer;
  table["batch"] = batch;
  table["shuffle_batch"] = shuffle_batch;
}

}  // namespace towerflow::golden
