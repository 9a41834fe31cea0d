// Stateful ops: queues, readers, files and log messages.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "data/tfrecord.h"
#include "dataset/iterator.h"
#include "tests/ops/cases/families.h"
#include "towerflow/tf.h"
#include "train/checkpoint/save_restore.h"
#include "train/input/input_position.h"
#include "train/input/iterator_position.h"
#include "train/input/random_position.h"

namespace towerflow::testing {
namespace {

/// Returns the tensors of all steps, each of which runs after the one before, as in Python's
/// program.
CaseResults run_in_order(const std::vector<std::function<CaseResults()>>& steps) {
  std::vector<Tensor> all;
  std::vector<Operation> before;
  for (const auto& make : steps) {
    const auto after = tf::control_dependencies(before);
    const CaseResults made = make();
    for (const Tensor& one : made) {
      all.push_back(tf::identity(one));
      before.push_back(all.back().op());
    }
  }
  return all;
}

constexpr const char* kInOrder =
    "def in_order(*steps):\n"
    "  made, before = [], []\n"
    "  for step in steps:\n"
    "    with tf.control_dependencies(before):\n"
    "      some = step()\n"
    "      some = [tf.identity(one) for one in (some if isinstance(some, list) else [some])]\n"
    "    made += some\n"
    "    before += [one.op for one in some]\n"
    "  return made\n";

void add_queue_cases(std::vector<OpCase>& cases) {
  const auto queue_case = [&](const char* name, const char* python, auto make) {
    cases.push_back(
        {.name = name,
         .inputs = {random_input({4, 2})},
         .call =
             [make](In t) {
               const auto queue = make(t);
               const auto after = tf::control_dependencies({queue.enqueue_many({t.x})});
               return run_in_order({
                   [&] { return CaseResults(queue.size()); },
                   [&] { return CaseResults(queue.dequeue()[0]); },
                   [&] { return CaseResults(queue.dequeue_many(2)[0]); },
                   [&] { return CaseResults(queue.is_closed()); },
                   [&] {
                     const auto closed = tf::control_dependencies({queue.close()});
                     return CaseResults(queue.dequeue_up_to(3)[0]);
                   },
               });
             },
         .python = kInOrder + std::string("q = ") + python +
                   "\ndef closed():\n"
                   "  with tf.control_dependencies([q.close()]): return q.dequeue_up_to(3)\n"
                   "with tf.control_dependencies([q.enqueue_many([x])]):\n"
                   "  result = in_order(q.size, q.dequeue, lambda: q.dequeue_many(2), q.is_closed, "
                   "closed)",
         .gradients = CaseGradients::none});
  };
  queue_case("FIFOQueueV2", "tf.FIFOQueue(9, [dtype], [[2]])",
             [](In t) { return FIFOQueue(9, {t.dtype}, {.shapes = {{2}}}); });
  queue_case("PaddingFIFOQueueV2", "tf.PaddingFIFOQueue(9, [dtype], [[None]])",
             [](In t) { return PaddingFIFOQueue(9, {t.dtype}, {Shape{None}}); });
  cases.push_back({.name = "RandomShuffleQueueV2",
                   .inputs = {random_input({2})},
                   .call =
                       [](In t) {
                         const RandomShuffleQueue queue(9, 0, {t.dtype},
                                                        {.shapes = {{2}}, .seed = 5});
                         const auto after = tf::control_dependencies({queue.enqueue({t.x})});
                         return CaseResults(queue.dequeue()[0]);
                       },
                   .python = "q = tf.RandomShuffleQueue(9, 0, [dtype], [[2]], seed=5)\n"
                             "with tf.control_dependencies([q.enqueue([x])]):\n"
                             "  result = q.dequeue()",
                   .gradients = CaseGradients::none});
}

void add_dataset_cases(std::vector<OpCase>& cases) {
  cases.push_back({.name = "an initializable iterator",
                   .inputs = {random_input({4, 2})},
                   .call =
                       [](In t) {
                         const auto iterator =
                             data::Dataset::from_tensor_slices(t.x).make_initializable_iterator();
                         const auto after = tf::control_dependencies({iterator.initializer()});
                         const auto same = data::Iterator::from_string_handle(
                             iterator.string_handle(), iterator.element_spec());
                         return run_in_order({
                             [&] { return CaseResults(Tensor(iterator.get_next())); },
                             [&] { return CaseResults(Tensor(same.get_next())); },
                         });
                       },
                   .gradients = CaseGradients::none});
  cases.push_back({.name = "a one-shot iterator",
                   .call =
                       [](In) {
                         const auto iterator = data::Dataset::range(3).make_one_shot_iterator();
                         const train::Saveable position =
                             train::make_saveable_from_iterator(iterator);
                         const Operation restored =
                             position->restore({position->specs()[0].tensor}, Site::current());
                         const auto after = tf::control_dependencies({restored});
                         return CaseResults(tf::identity(Tensor(iterator.get_next())));
                       },
                   .dtypes = {DType::float32},
                   .gradients = CaseGradients::none});
}

/// Returns a path for a file of a case in a temporary folder of this process.
std::filesystem::path scratch(const std::string& name) {
  static const std::filesystem::path folder = [] {
    std::string made = (std::filesystem::temp_directory_path() / "op_cases_XXXXXX").string();
    if (mkdtemp(made.data()) == nullptr) throw std::runtime_error("mkdtemp: " + made);
    return std::filesystem::path(made);
  }();
  return folder / name;
}

/// Returns the first record of a file.
CaseResults first_record(const ReaderBase& reader, const std::filesystem::path& file) {
  const FIFOQueue names(1, {DType::string}, {.shapes = {Shape{}}});
  const auto after = tf::control_dependencies({names.enqueue({file.string()})});
  return tf::identity(reader.read(names).value);
}

void add_file_cases(std::vector<OpCase>& cases) {
  const auto add = [&](const char* name, std::function<CaseResults()> call) {
    cases.push_back({.name = name,
                     .call = [call = std::move(call)](In) { return call(); },
                     .dtypes = {DType::float32},
                     .gradients = CaseGradients::none});
  };
  const auto lines = [] {
    const std::filesystem::path path = scratch("lines.txt");
    std::ofstream(path) << "first\nother\n";
    return path;
  };
  add("TFRecordReaderV2", [] {
    data::TFRecordWriter writer(scratch("two.tfrecords"));
    writer.write("first");
    writer.write("other");
    writer.close();
    return first_record(TFRecordReader(), scratch("two.tfrecords"));
  });
  add("FixedLengthRecordReaderV2",
      [lines] { return first_record(FixedLengthRecordReader(6), lines()); });
  add("TextLineReaderV2", [lines] { return first_record(TextLineReader(), lines()); });
  add("WholeFileReaderV2", [lines] { return first_record(WholeFileReader(), lines()); });
  add("SaveV2", [] {
    const std::string prefix = scratch("saved").string();
    const Tensor value = tf::constant({1.5F, 2.5F});
    const auto after = tf::control_dependencies({save_v2(prefix, {"v"}, {value})});
    return CaseResults(restore_v2(prefix, {{"v", DType::float32, Shape{2}}}));
  });
  add("_InputPosition", [] {
    const FIFOQueue queue(4, {DType::float32}, {.shapes = {Shape{}}});
    train::add_queue_runner(train::QueueRunner(queue, {queue.enqueue({1.0})}));
    const train::Saveable position = train::make_saveable_from_queue(queue);
    std::vector<Tensor> values;
    for (const auto& spec : position->specs()) values.push_back(spec.tensor);
    const auto after = tf::control_dependencies({position->restore(values, Site::current())});
    return CaseResults(tf::identity(values[0]));
  });
  add("_RandomPosition", [] {
    const Tensor numbers = tf::random_uniform({2}, {.seed = 1});
    const std::vector<train::Saveable> positions = train::random_positions();
    const Tensor taken = positions.at(0)->specs()[0].tensor;
    const auto after = tf::control_dependencies({numbers, positions[0]->restore({taken}, {})});
    return CaseResults(tf::identity(taken));
  });
}

void add_message_cases(std::vector<OpCase>& cases) {
  cases.push_back({.name = "Assert",
                   .inputs = {random_input({2}, 1, 2)},
                   .call =
                       [](In t) {
                         const Operation held = tf::Assert(tf::reduce_all(t.x > 0.0), {t.x});
                         const auto after = tf::control_dependencies({held});
                         return CaseResults(tf::identity(t.x));
                       },
                   .python = "with tf.control_dependencies("
                             "[tf.Assert(tf.reduce_all(x > 0.0), [x])]):\n"
                             "  result = tf.identity(x)",
                   .other_nodes = true});
  cases.push_back(
      {.name = "DecodeRaw",
       .call = [](In t) { return tf::decode_raw(tf::constant("0123456789abcdef"), t.dtype); },
       .python = "tf.decode_raw(tf.constant('0123456789abcdef'), dtype)",
       .dtypes = {DType::int32, DType::int64, DType::uint8},
       .gradients = CaseGradients::none});
  cases.push_back(
      {.name = "ParseExampleV2",
       .call =
           [](In) {
             // features { feature { key: "n" value { int64_list { value: [7, 8] } } } }
             const std::string bytes("\x0a\x0d\x0a\x0b\x0a\x01n\x12\x06\x1a\x04\x0a\x02\x07\x08",
                                     15);
             const ParsedFeatures parsed =
                 tf::parse_single_example(bytes, {{"n", FixedLenFeature{{2}, DType::int64}}});
             return CaseResults(parsed["n"]);
           },
       .python = "tf.parse_single_example("
                 "b'\\x0a\\x0d\\x0a\\x0b\\x0a\\x01n\\x12\\x06\\x1a\\x04\\x0a\\x02\\x07\\x08', "
                 "{'n': tf.FixedLenFeature([2], tf.int64)})['n']",
       .dtypes = {DType::float32},
       .gradients = CaseGradients::none});
  cases.push_back(
      {.name = "MergeSummary",
       .inputs = {random_input({}), random_input({20})},
       .call =
           [](In t) {
             return summary::merge({summary::scalar("s", t.x), summary::histogram("h", t.y)});
           },
       .python = "tf.summary.merge("
                 "[tf.summary.scalar('s', x), tf.summary.histogram('h', y)])",
       .gradients = CaseGradients::none});
  const auto image_summary = [&](const char* name, CaseInput images, int most,
                                 std::vector<DType> dtypes) {
    cases.push_back({.name = name,
                     .inputs = {std::move(images)},
                     .call = [most](In t) { return summary::image("s", t.x, most); },
                     .python = fmt::format("tf.summary.image('s', x, {})", most),
                     .dtypes = std::move(dtypes),
                     .gradients = CaseGradients::none});
  };
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  image_summary("ImageSummary", random_input({4, 3, 2, 3}, 0, 256), 3, {DType::uint8});
  image_summary("ImageSummary of floats", random_input({2, 3, 2, 4}, 0.5, 9), 2, {DType::float32});
  image_summary("ImageSummary of signed floats", random_input({1, 4, 5, 1}, -2, 1), 1,
                {DType::float64});
  image_summary("ImageSummary of NaN", input_of({1, 2, 1, 3}, {1, kNan, 2, 0, 0.5, 4}), 3,
                {DType::float32, DType::float64});
  image_summary("ImageSummary of zeros", input_of({1, 1, 2, 1}, {0, 0}), 3,
                {DType::float32, DType::float64});
  cases.push_back({.name = "TensorSummaryV2",
                   .call =
                       [](In) {
                         return summary::text("s", constant({"a", "bc"}));
                       },
                   .python = "tf.summary.text('s', tf.constant(['a', 'bc']))",
                   .dtypes = {DType::float32},
                   .gradients = CaseGradients::none});
}

}  // namespace

void add_data_flow_cases(std::vector<OpCase>& cases) {
  add_queue_cases(cases);
  add_dataset_cases(cases);
  add_file_cases(cases);
  add_message_cases(cases);
}

}  // namespace towerflow::testing
