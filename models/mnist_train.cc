#include "models/mnist_train.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "core/graph/log.h"
#include "data/existing_file.h"
#include "data/file.h"
#include "data/tfrecord.h"
#include "models/mnist_summaries.h"
#include "models/run_record.h"
#include "towerflow/tf.h"
#include "train/checkpoint/bundle_reader.h"
#include "train/folder_lock.h"

namespace towerflow::models::mnist {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kSummaryEvery = 100;  // steps, as the CIFAR-10 program does

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void check(const TrainOptions& options) {
  const auto need = [](bool holds, const char* what, auto value) {
    if (!holds) throw ValueError(fmt::format("{} must be at least 1, got {}", what, value));
  };
  need(options.num_towers >= 1, "the number of towers", options.num_towers);
  need(options.batch_size >= 1, "the batch size", options.batch_size);
  need(options.num_epochs >= 1, "the number of epochs", options.num_epochs);
  need(options.reader_threads >= 1, "the number of reader threads", options.reader_threads);
  if (options.max_steps) need(*options.max_steps >= 1, "the number of steps", *options.max_steps);
  if (options.net.tb_logging && options.train_dir.empty()) {
    throw ValueError("summaries want a train_dir to be written to");
  }
  if (!(options.learning_rate > 0)) {
    throw ValueError(
        fmt::format("the learning rate must be positive, got {}", options.learning_rate));
  }
}

std::int64_t count_records(const std::string& file) {
  data::TFRecordReader reader(file);
  std::string record;
  while (reader.next(record)) {
  }
  return reader.records_read();
}

std::int64_t any_seed() { return std::random_device()() & 0x7FFFFFFFU; }

/// What a run finds in its train_dir.
struct Continued {
  std::string checkpoint{};  ///< path prefix of what it goes on from; empty when there is none
  bool replaces = false;     ///< there is one that it does not go on from
};

/// The state file while its checkpoints are being replaced: they are no longer gone on from, and
/// still to be deleted.
constexpr const char* kReplacedState = "checkpoint.replaced";

void set_aside_state(const std::string& train_dir) {
  const std::filesystem::path folder = train_dir;
  std::error_code error;
  std::filesystem::rename(folder / "checkpoint", folder / kReplacedState, error);
  if (error) raise_file_error(error.value(), "rename to", folder / kReplacedState);
}

/// What an earlier run kept, or one that was killed before it replaced that.
std::optional<tf::train::CheckpointState> listed_checkpoints(const std::string& train_dir) {
  const auto state = tf::train::get_checkpoint_state(train_dir);
  return state ? state : tf::train::get_checkpoint_state(train_dir, kReplacedState);
}

/// What is in train_dir to go on from; takes over its seed. Throws ValueError where that was
/// another kind of run.
Continued to_continue(TrainOptions& options) {
  const auto checkpoint = tf::train::latest_checkpoint(options.train_dir);
  if (!checkpoint) return {};
  if (options.restart) return {.replaces = true};
  const RunRecord record = read_run_record(options.train_dir).value_or(RunRecord{});
  const auto other = [&](const std::string& what) {
    return ValueError(fmt::format("the network in '{}' was trained {}", options.train_dir, what),
                      {.hint = "go on as it was begun, choose another --train-dir, or begin anew "
                               "with --restart"});
  };
  if (record.relu_logits != options.net.relu_logits) {
    throw other(record.relu_logits ? "with --relu-logits" : "without --relu-logits");
  }
  if (options.seed && record.seed && *options.seed != *record.seed) {
    throw other(fmt::format("from seed {}, not {}", *record.seed, *options.seed));
  }
  if (record.seed) options.seed = record.seed;
  return {.checkpoint = *checkpoint};
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  const auto file = std::filesystem::weakly_canonical(a, error);
  return !error && file == std::filesystem::weakly_canonical(b, error) && !error;
}

/// Whether a checkpoint's positions of input are places in `file`.
bool reads(const TensorBundleReader& reader, const std::vector<train::Saveable>& saveables,
           const std::string& file) {
  for (const auto& saveable : saveables) {
    const std::string next = saveable->name() + "/next";  // "file:byte" of a position
    if (!next.starts_with("_input/")) continue;
    const std::string place = reader.read(next).item<std::string>();
    if (!place.empty() && !same_file(place.substr(0, place.rfind(':')), file)) return false;
  }
  return true;
}

/// Sets variables and input to what the checkpoint holds; the variables alone where it is of other
/// input.
void restore(tf::Session& sess, const tf::train::Saver& saver, const std::string& checkpoint,
             const std::string& file) {
  const TensorBundleReader reader(checkpoint);
  const auto there = [&](const train::Saveable& saveable) {
    const auto& specs = saveable->specs();
    return std::all_of(specs.begin(), specs.end(),
                       [&](const auto& spec) { return reader.contains(spec.name); });
  };
  const auto saveables = train::VarList::all().saveables();
  const bool complete = std::all_of(saveables.begin(), saveables.end(), there);
  if (complete && reads(reader, saveables, file)) {
    saver.restore(sess, checkpoint);
    return;
  }
  log_message(
      LogLevel::warning,
      fmt::format("'{}' holds no position of this run's input ({}): the variables go on, the "
                  "input starts over",
                  checkpoint, complete ? "its data were others" : "it had fewer towers"));
  tf::train::Saver({.var_list = tf::global_variables()}).restore(sess, checkpoint);
}

/// What follows a loss that is no number is none either. Throws RuntimeError, as TensorFlow's
/// NanTensorHook (NanLossDuringTrainingError).
void check_finite(const StepReport& report, double learning_rate) {
  for (std::size_t i = 0; i < report.losses.size(); ++i) {
    const double loss = report.losses[i];
    if (std::isfinite(loss)) continue;
    throw RuntimeError(
        fmt::format("Model diverged with loss = {} in {}_{} at step {}",
                    std::isnan(loss) ? "NaN" : "infinity", kTowerName, i, report.step),
        {.hint = fmt::format("a learning rate below {}; checkpoints before this step are as they "
                             "were",
                             learning_rate)});
  }
}

/// Examples that wait in each tower's shuffle queue when training has ended.
std::vector<std::int64_t> left_over(Session& session, int num_towers) {
  std::vector<std::int64_t> counts;
  for (int i = 0; i < num_towers; ++i) {
    const Tensor size = session.graph().get_tensor_by_name(
        fmt::format("{}_{}/input/shuffle_batch/random_shuffle_queue_Size:0", kTowerName, i));
    counts.push_back(session.run(size).item<std::int32_t>());
  }
  return counts;
}

}  // namespace

ConfigProto session_config(int num_towers, const DeviceOptions& options) {
  ConfigProto config;
  const int wanted = options.simulated.count > 0 ? 1 : num_towers;
  config.device_count["CPU"] = options.cpus > 0 ? options.cpus : wanted;
  config.simulated = options.simulated;
  config.gpu_options.visible_device_list = options.visible;
  config.intra_op_parallelism_threads = options.threads;
  config.allow_soft_placement = true;
  config.log_device_placement = options.log_device_placement;
  return config;
}

std::string record_file(const std::string& folder, const std::string& name) {
  return data::existing_file(folder, name + ".tfrecords",
                             "`towerflow convert mnist --from IDX_DIR --to D` makes them")
      .string();
}

TrainResult train(const TrainOptions& asked,
                  const std::function<bool(const StepReport&)>& on_step) {
  check(asked);
  TrainOptions options = asked;
  const std::string file = record_file(options.data_dir, "train");
  TrainResult result;
  result.examples_per_epoch = count_records(file);
  const std::int64_t examples = result.examples_per_epoch * options.num_epochs;
  if (examples < options.batch_size) {
    throw ValueError(fmt::format("{} examples in {} epochs of '{}' do not fill one batch of {}",
                                 examples, options.num_epochs, file, options.batch_size));
  }
  const std::int64_t steps =
      std::min(examples / options.batch_size, options.max_steps.value_or(examples));
  std::optional<train::FolderLock> lock;
  Continued continued;
  if (!options.train_dir.empty()) {
    make_folder(options.train_dir);
    lock.emplace(options.train_dir);  // before anything is read that another run may change
    continued = to_continue(options);
    if (!options.seed) options.seed = any_seed();
  }

  Graph graph;
  const auto default_graph = graph.as_default();
  if (options.seed) tf::set_random_seed(*options.seed);
  Tensor rate;
  {
    const auto cpu = tf::device("/cpu:0");
    rate = tf::placeholder(tf::float32, {.shape = Shape{}, .name = "learning_rate"});
  }
  const Towers towers = build_towers(
      {.num_towers = options.num_towers, .net = options.net, .learning_rate = rate}, [&] {
        return inputs(file, {.batch_size = options.batch_size,
                             .num_epochs = options.num_epochs,
                             .num_threads = options.reader_threads});
      });
  std::optional<tf::train::Saver> saver;
  if (!options.train_dir.empty()) {
    for (const auto& position : tf::train::input_positions()) {
      tf::add_to_collection(GraphKeys::SAVEABLE_OBJECTS, position);
    }
    saver = tf::train::Saver();
    if (const auto state = listed_checkpoints(options.train_dir)) {
      saver->recover_last_checkpoints(state->all_model_checkpoint_paths);
    }
  }

  Tensor summaries;
  if (options.net.tb_logging) summaries = merged_summaries(towers, {.learning_rate = rate});

  tf::Session sess(session_config(options.num_towers, options.devices));
  sess.run(towers.init);
  if (!continued.checkpoint.empty()) {
    restore(sess, *saver, continued.checkpoint, file);
    result.continued_from = result.checkpoint = continued.checkpoint;
    // It is a float, as in the program this one is a port of.
    result.first_step = std::llround(sess.run(towers.global_step).item<float>());
    result.steps = result.first_step;
  }
  bool replaces = continued.replaces;
  const auto save = [&] {
    // What is replaced stays until here, with its record; then there is rather no checkpoint than
    // one that the record does not fit.
    if (std::exchange(replaces, false)) {
      set_aside_state(options.train_dir);
      write_run_record(options, file, result.steps);
    }
    result.checkpoint =
        saver->save(sess, options.train_dir + "/model.ckpt", {.global_step = result.steps});
    delete_file(options.train_dir + "/" + kReplacedState);  // its checkpoints are listed again
    write_run_record(options, file, result.steps);
  };
  if (saver && continued.checkpoint.empty() && !replaces) {
    write_run_record(options, file, result.steps);
  }
  std::optional<tf::summary::FileWriter> writer;
  if (options.net.tb_logging) {
    writer.emplace(options.train_dir, graph);
    writer->add_session_log({.status = tf::summary::SessionLog::START}, result.first_step);
  }
  tf::train::Coordinator coord;
  auto threads = tf::train::start_queue_runners(sess, {.coord = &coord});

  std::vector<Fetch> fetches{towers.train_op};
  fetches.insert(fetches.end(), towers.losses.begin(), towers.losses.end());
  const auto begin = Clock::now();
  double first_seconds = 0, saving = 0;
  std::int64_t saved = result.steps;
  std::exception_ptr failed_report;
  try {
    while (!coord.should_stop() && !result.stopped &&
           (!options.max_steps || result.steps < *options.max_steps)) {
      const auto start = Clock::now();
      const bool late = result.steps >= steps * 6 / 10;
      // Within the step: a run of their own would take a batch from the queues.
      const bool summarize = writer && result.steps % kSummaryEvery == 0;
      if (summarize) fetches.emplace_back(summaries);
      const std::vector<Array> values =
          sess.run(fetches, {{rate, options.learning_rate * (late ? 0.1 : 1.0)}});
      StepReport report{result.steps, steps, {}, seconds_since(start)};
      for (std::size_t i = 1; i <= towers.losses.size(); ++i) {
        report.losses.push_back(values[i].item<float>());
      }
      check_finite(report, options.learning_rate);
      if (summarize) {
        writer->add_summary(values.back(), result.steps);
        fetches.pop_back();
      }
      if (result.steps == result.first_step) first_seconds = report.seconds;
      result.loss = report.losses.back();
      ++result.steps;
      try {
        result.stopped = !on_step(report);
      } catch (...) {  // what was trained is as good as without it
        failed_report = std::current_exception();
        result.stopped = true;
      }
      if (saver && options.save_every > 0 && result.steps % options.save_every == 0) {
        const auto before = Clock::now();
        save();
        saved = result.steps;
        saving += seconds_since(before);
      }
    }
  } catch (const tf::errors::OutOfRangeError&) {
    // Every tower has read all its epochs.
  } catch (...) {
    coord.request_stop(std::current_exception());
  }
  const double seconds = seconds_since(begin) - first_seconds - saving;
  // While the input threads run: what one of them holds when it is stopped has no position.
  if (saver && saved < result.steps && !coord.should_stop()) coord.stop_on_exception(save);
  coord.request_stop();
  coord.join(threads);
  if (writer) writer->close();
  if (failed_report != nullptr) std::rethrow_exception(failed_report);

  const std::int64_t timed = std::max<std::int64_t>(result.steps - result.first_step - 1, 0);
  if (timed > 0) {
    result.examples_per_second =
        static_cast<double>(timed * options.batch_size * options.num_towers) / seconds;
  }
  result.left_over = left_over(sess, options.num_towers);
  sess.close();
  return result;
}

}  // namespace towerflow::models::mnist
