// `towerflow bench records`: reads and parses TFRecords through the graph, without a training step.
#include "tools/bench.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "models/digits.h"
#include "report/quantile.h"
#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/options.h"
#include "tools/sample_dir.h"
#include "tools/serve.h"
#include "towerflow/towerflow.h"

namespace towerflow::tools {
namespace {

constexpr const char* kRecordsHelp =
    "Reads MNIST's Examples again and again: a queue of file names, TFRecordReader.read,\n"
    "parse_single_example, decode_raw, and a queue that gives batches, filled by queue runners, "
    "as\n"
    "the input of training is, but without scaling and shuffling. Prints the median rate of the\n"
    "windows.\n"
    "\n"
    "Example: towerflow bench records --data-dir data --batch-size 64";

struct RecordsArguments {
  std::string data_dir = sample_dir(models::kDigits);
  std::int64_t batch_size = 128, reader_threads = 1, windows = 11, batches = 200;
  bool serve = false, json = false;
};

class RecordsBench {
 public:
  explicit RecordsBench(const RecordsArguments& arguments) : batch_size_(arguments.batch_size) {
    const auto as_default = graph_.as_default();
    const std::vector<std::string> files =
        models::kDigits.files_of(arguments.data_dir, models::Part::train);
    const FIFOQueue names = train::string_input_producer(files, {.shuffle = false});
    const TFRecordReader reader;
    const auto [key, serialized] = reader.read(names);
    const auto features =
        parse_single_example(serialized, {{"image_raw", FixedLenFeature{{}, DType::string}},
                                          {"label", FixedLenFeature{{}, DType::int64}}});
    Tensor image = decode_raw(features["image_raw"], DType::uint8);
    image.set_shape({784});
    const Tensor label = cast(features["label"], DType::int32);
    const auto batch =
        train::batch({image, label}, {.batch_size = batch_size_,
                                      .num_threads = static_cast<int>(arguments.reader_threads),
                                      .capacity = 4 * batch_size_});
    session_ = std::make_unique<Session>(graph_);
    next_ = session_->make_callable({batch[0], batch[1]});
    threads_ = train::start_queue_runners(*session_, {.coord = &coordinator_});
    window(1);
  }

  ~RecordsBench() {
    coordinator_.request_stop();
    session_->close();  // wakes blocked threads
  }
  RecordsBench(const RecordsBench&) = delete;
  RecordsBench& operator=(const RecordsBench&) = delete;

  /// Returns examples per second over a number of batches.
  double window(std::int64_t batches) {
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < batches; ++i) next_();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return static_cast<double>(batches * batch_size_) / took.count();
  }

 private:
  std::int64_t batch_size_;
  Graph graph_;
  std::unique_ptr<Session> session_;
  Callable next_;
  train::Coordinator coordinator_;
  std::vector<train::Thread> threads_;
};

std::string rate_json(double rate) {
  nlohmann::ordered_json line;
  line["examples_per_second"] = rate;
  return json_line(line);
}

void bench_records(const RecordsArguments& arguments) {
  RecordsBench bench(arguments);
  if (arguments.serve) {
    return serve("batches", [&](std::int64_t batches) { return rate_json(bench.window(batches)); });
  }
  std::vector<double> rates;
  for (std::int64_t i = 0; i < arguments.windows; ++i) {
    rates.push_back(bench.window(arguments.batches));
  }
  const double median = report::quantile(rates, 0.5);
  fmt::print(
      "reading and parsing by {} thread{}: {:.0f} examples/s ({:.0f} to {:.0f} in the middle half "
      "of {} windows of {} batches of {})\n",
      arguments.reader_threads, arguments.reader_threads == 1 ? "" : "s", median,
      report::quantile(rates, 0.25), report::quantile(rates, 0.75), arguments.windows,
      arguments.batches, arguments.batch_size);
  if (arguments.json) fmt::print("{}\n", rate_json(median));
}

}  // namespace

void add_bench_records(CLI::App& parent) {
  CLI::App& app = add_subcommand(
      parent, "records", "reading and parsing of TFRecords through the graph", kRecordsHelp);
  const auto arguments = std::make_shared<RecordsArguments>();
  add_text(app, "--data-dir", arguments->data_dir, "folder with train.tfrecords[.gz]");
  add_integer(app, "--batch-size", arguments->batch_size, "examples of a batch");
  add_integer(app, "--reader-threads", arguments->reader_threads, "threads that read and parse",
              {.least = 1, .most = 64});
  add_integer(app, "--windows", arguments->windows, "timed windows");
  add_integer(app, "--batches", arguments->batches, "batches a window");
  add_flag(app, "--serve", arguments->serve,
           "time a window when told to on standard input: a number of batches a line");
  add_json(app, arguments->json);
  set_action(app, [arguments] { bench_records(*arguments); });
}

}  // namespace towerflow::tools
