#include "models/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <random>
#include <utility>

#include "models/processes.h"
#include "models/run_record.h"
#include "models/summaries.h"
#include "parallel/device_turns.h"
#include "parallel/processes/group.h"
#include "towerflow/tf.h"

namespace towerflow::models {
namespace {

constexpr std::int64_t kSummaryEvery = 100;  // in steps, as in TensorFlow's CIFAR-10 program

void check(const TrainOptions& options) {
  const auto check_that = [](bool holds, const char* what, auto value) {
    if (!holds) throw ValueError(fmt::format("{} must be at least 1, got {}", what, value));
  };
  check_that(options.num_towers >= 1, "the number of towers", options.num_towers);
  check_that(options.batch_size >= 1, "the batch size", options.batch_size);
  check_that(options.num_epochs >= 1, "the number of epochs", options.num_epochs);
  check_that(options.reader_threads >= 1, "the number of reader threads", options.reader_threads);
  if (options.max_steps)
    check_that(*options.max_steps >= 1, "the number of steps", *options.max_steps);
  if (options.tb_logging && options.train_dir.empty()) {
    throw ValueError("summaries need a train_dir");
  }
  if (options.learning_rate && !(*options.learning_rate > 0)) {
    throw ValueError(
        fmt::format("the learning rate must be positive, got {}", *options.learning_rate));
  }
}

std::int64_t draw_seed() { return std::random_device()() & 0x7FFFFFFFU; }

/// Checks that the options match the training that is continued, and takes its seed. Throws
/// ValueError if they differ.
void check_same_training(const Model& model, TrainOptions& options) {
  const RunRecord record = read_run_record(model, options.train_dir).value_or(RunRecord{});
  const auto mismatch = [&](const std::string& what) {
    return ValueError(fmt::format("the network in '{}' was trained {}", options.train_dir, what),
                      {.hint = "continue with the same options, choose another --train-dir, or "
                               "start over with --restart"});
  };
  for (const ModelOption& option : model.options) {
    if (!option.kept) continue;
    const OptionValue& was = option_value(model, record.values, option.name);
    if (was != option_value(model, options.values, option.name)) {
      throw mismatch((was == OptionValue(false) ? "" : "with ") + option_text(option.name, was));
    }
  }
  if (options.seed && record.seed && *options.seed != *record.seed) {
    throw mismatch(fmt::format("from seed {}, not {}", *record.seed, *options.seed));
  }
  if (record.seed) options.seed = record.seed;
}

/// Writes run.json beside the checkpoints.
class RunRecorder : public tf::train::CheckpointSaverListener {
 public:
  RunRecorder(const Model& model, const TrainOptions& options, std::string file)
      : model_(model), options_(options), file_(std::move(file)) {}
  void write(std::int64_t steps) {
    write_run_record(model_, options_, file_, steps);
    written_ = true;
  }
  /// When an earlier run is replaced, its record stays until this run's first save.
  void before_save(Session&, std::int64_t steps) override {
    if (!written_) write(steps);
  }
  void after_save(Session&, std::int64_t steps) override { write(steps); }

 private:
  const Model& model_;
  const TrainOptions& options_;
  std::string file_;
  bool written_ = false;
};

/// Maps steps to stages, and the count of steps in a graph to steps.
class Stages {
 public:
  Stages(const Model& model, const OptionValues& values, std::int64_t steps,
         std::int64_t counts_per_step)
      : model_(model),
        ends_(ends_of_stages(model, values, steps)),
        steps_(steps),
        counts_per_step_(counts_per_step) {
    for (const StageInfo& stage : model.stages) {
      factors_.push_back(rate_factor(model, values, stage));
    }
  }
  std::int64_t step_of(std::int64_t global_step) const { return global_step / counts_per_step_; }
  /// Returns the index of the stage of step `step`, counted from 0.
  std::size_t at(std::int64_t step) const {
    std::size_t stage = 0;
    while (stage + 1 < ends_.size() && step >= ends_[stage]) ++stage;
    return stage;
  }
  const StageInfo& info(std::int64_t step) const { return model_.stages[at(step)]; }
  double rate_factor_at(std::int64_t step) const { return factors_[at(step)]; }
  std::int64_t steps() const { return steps_; }

 private:
  const Model& model_;
  std::vector<double> factors_;
  std::vector<std::int64_t> ends_;
  std::int64_t steps_;
  std::int64_t counts_per_step_;
};

/// Watches a loss only during its stage: in other stages, fetching it would compute it needlessly.
class StageNanHook : public tf::train::NanTensorHook {
 public:
  StageNanHook(const Stages& stages, std::size_t stage, const Tensor& loss,
               tf::train::NanTensorOptions options)
      : NanTensorHook(loss, std::move(options)), stages_(stages), stage_(stage) {}
  tf::train::SessionRunArgs before_run(tf::train::SessionRunContext& context) override {
    watches_ = stages_.at(stages_.step_of(context.global_step())) == stage_;
    return watches_ ? NanTensorHook::before_run(context) : tf::train::SessionRunArgs{};
  }
  void after_run(tf::train::SessionRunContext& context,
                 const tf::train::SessionRunValues& values) override {
    if (watches_) NanTensorHook::after_run(context, values);
  }

 private:
  const Stages& stages_;
  std::size_t stage_;
  bool watches_ = false;
};

/// Feeds the learning rate and reports each step.
class StepHook : public tf::train::SessionRunHook {
 public:
  StepHook(const Stages& stages, const TrainingGraph& graph, std::optional<Tensor> rate,
           double learning_rate, bool mean_loss, std::int64_t steps_per_epoch, bool ends_alone,
           const std::function<bool(const StepReport&)>& on_step)
      : stages_(stages),
        graph_(graph),
        rate_(std::move(rate)),
        learning_rate_(learning_rate),
        mean_loss_(mean_loss),
        steps_per_epoch_(steps_per_epoch),
        ends_alone_(ends_alone),
        on_step_(on_step) {}

  tf::train::SessionRunArgs before_run(tf::train::SessionRunContext& context) override {
    step_ = stages_.step_of(context.global_step());
    const StageOps& stage = graph_.stages[stages_.at(step_)];
    tf::train::SessionRunArgs args{{stage.losses.begin(), stage.losses.end()}, {}};
    for (const auto& part : stage.parts) args.fetches.emplace_back(part.second);
    if (rate_) args.feed_dict = {{*rate_, learning_rate_ * stages_.rate_factor_at(step_)}};
    return args;
  }

  void after_run(tf::train::SessionRunContext& context,
                 const tf::train::SessionRunValues& values) override {
    StepReport report{.step = step_,
                      .steps = stages_.steps(),
                      .epoch = step_ / steps_per_epoch_,
                      .stage = stages_.info(step_).name,
                      .seconds = values.seconds};
    const StageOps& stage = graph_.stages[stages_.at(step_)];
    for (std::size_t i = 0; i < values.results.size(); ++i) {
      const double value = values.results[i].item<float>();
      if (i < stage.losses.size()) {
        report.losses.push_back(value);
      } else {
        report.parts.emplace_back(stage.parts[i - stage.losses.size()].first, value);
      }
    }
    if (runs++ > 0) seconds += report.seconds;
    report.loss = report.losses.back();
    if (mean_loss_) {
      report.loss = std::accumulate(report.losses.begin(), report.losses.end(), 0.) /
                    static_cast<double>(report.losses.size());
    }
    loss = report.loss;
    try {
      stopped = stopped || !on_step_(report);
    } catch (...) {  // the trained variables are valid: stop with a checkpoint, then rethrow
      failed_ = std::current_exception();
      stopped = true;
    }
    if (stopped && ends_alone_) context.request_stop();
  }

  void end(tf::train::SessionRunContext&) override {
    if (failed_ != nullptr) std::rethrow_exception(failed_);
  }

  std::int64_t runs = 0;
  double seconds = 0;  ///< of all runs except the first
  std::optional<double> loss;
  bool stopped = false;

 private:
  const Stages& stages_;
  const TrainingGraph& graph_;
  std::optional<Tensor> rate_;
  double learning_rate_;
  bool mean_loss_;
  std::int64_t steps_per_epoch_;
  bool ends_alone_;
  std::int64_t step_ = 0;
  const std::function<bool(const StepReport&)>& on_step_;
  std::exception_ptr failed_;
};

using Hooks = std::vector<std::shared_ptr<tf::train::SessionRunHook>>;

std::vector<Tensor> summaries_of(const TrainingGraph& graph) {
  std::vector<Tensor> summaries = graph.summaries;
  if (summaries.empty()) {
    for (const StageOps& stage : graph.stages) {
      const Tensor& loss = stage.losses.back();
      summaries.push_back(tf::summary::scalar(loss.op().name(), loss));
    }
  }
  return summaries;
}

/// Returns the hooks that end the training or write summaries, and then `step_hook`, so that it is
/// not called for a step that an earlier hook rejects.
Hooks hooks_of(const Model& model, const TrainOptions& options, const TrainingGraph& graph,
               const Stages& stages, const std::optional<Tensor>& fed_rate, double learning_rate,
               const std::shared_ptr<StepHook>& step_hook) {
  Hooks hooks;
  for (std::size_t stage = 0; stage < graph.stages.size(); ++stage) {
    for (int i = 0; i < options.num_towers; ++i) {
      hooks.push_back(std::make_shared<StageNanHook>(
          stages, stage, graph.stages[stage].losses[static_cast<std::size_t>(i)],
          tf::train::NanTensorOptions{
              .what = fmt::format("{}_{}", model.tower, i),
              .hint = fmt::format("try a learning rate below {}; earlier checkpoints are unchanged",
                                  learning_rate)}));
    }
  }
  if (options.tb_logging) {
    SummaryOptions summary_options{.histograms = !graph.has_histograms};
    if (graph.learning_rate) summary_options.learning_rate = *graph.learning_rate;
    if (fed_rate) summary_options.learning_rate = *fed_rate;
    hooks.push_back(std::make_shared<tf::train::SummarySaverHook>(tf::train::SummarySaverOptions{
        .save_steps = kSummaryEvery * graph.counts_per_step,
        .output_dir = options.train_dir,
        .summary_op = merged_summaries(summaries_of(graph), graph.grads, summary_options),
        .use_step_before_run = true}));
  }
  if (options.max_steps) {
    hooks.push_back(std::make_shared<tf::train::StopAtStepHook>(
        tf::train::StopAtStepOptions{.last_step = *options.max_steps * graph.counts_per_step}));
  }
  hooks.push_back(step_hook);
  return hooks;
}

/// Returns the number of examples in each shuffle queue of the towers at the end of training, in
/// the order of the towers. (`shuffle_batch` makes the op that counts them.)
std::vector<std::int64_t> queued_examples(Session& session) {
  std::vector<std::int64_t> counts;
  for (const Operation& op : session.graph().get_operations()) {
    if (op.type() != "QueueSizeV2" || op.input(0).op().type() != "RandomShuffleQueueV2") continue;
    counts.push_back(session.run(op.output(0)).item<std::int32_t>());
  }
  return counts;
}

}  // namespace

bool has_accelerators(const DeviceOptions& options) {
  return options.simulated.count > 0 || options.cuda.count > 0;
}

ConfigProto session_config(int num_towers, const DeviceOptions& options) {
  ConfigProto config;
  const int wanted = has_accelerators(options) ? 1 : num_towers;
  config.device_count["CPU"] = options.cpus > 0 ? options.cpus : wanted;
  config.simulated = options.simulated;
  config.cuda = options.cuda;
  config.gpu_options.visible_device_list = options.visible;
  config.intra_op_parallelism_threads = options.threads;
  config.allow_soft_placement = true;
  config.log_device_placement = options.log_device_placement;
  config.passes.all_reduce = options.all_reduce;
  return config;
}

DeviceScope share_devices(int num_towers, const DeviceOptions& options) {
  Graph graph;
  const Session session(graph, session_config(num_towers, options));
  const std::vector<std::string> names = session.list_devices();
  const auto accelerators =
      static_cast<int>(std::count_if(names.begin(), names.end(), [](const std::string& name) {
        return name.find("device:CPU:") == std::string::npos;
      }));
  if (accelerators == 0 || accelerators >= num_towers) return tf::device("");
  return tf::device(parallel::devices_in_turn(accelerators));
}

std::int64_t examples_of_step(const TrainOptions& options) {
  const int processes = options.across_processes ? parallel::process_group().size() : 1;
  return options.batch_size * options.num_towers * processes;
}

std::string towers_text(const StepReport& report, int decimals) {
  const std::vector<double>& losses = report.losses;
  if (losses.size() < 2) return "";
  const auto [least, most] = std::minmax_element(losses.begin(), losses.end());
  const double mean =
      std::accumulate(losses.begin(), losses.end(), 0.) / static_cast<double>(losses.size());
  return fmt::format("; mean of {} towers {:.{}f}, from {:.{}f} to {:.{}f}", losses.size(), mean,
                     decimals, *least, decimals, *most, decimals);
}

TrainResult train(const Model& model, const TrainOptions& asked,
                  const std::function<bool(const StepReport&)>& on_step) {
  check(asked);
  TrainOptions options = asked;
  const Processes processes(options.across_processes);
  if (!processes.writes()) {
    options.train_dir.clear();
    options.save_every = 0;
    options.tb_logging = false;
  }
  const std::vector<std::string> files = model.data->files_of(options.data_dir, Part::train);
  TrainResult result;
  result.examples_per_epoch = processes.examples_each(model, files);
  const std::int64_t examples = result.examples_per_epoch * options.num_epochs;
  const std::int64_t step_size = options.batch_size * (model.one_pipeline ? options.num_towers : 1);
  if (result.examples_per_epoch == 0) {
    throw ValueError(fmt::format("'{}' holds no examples", files[0]));
  }
  if (examples < step_size) {
    throw ValueError(fmt::format("{} examples in {} epochs of '{}' do not fill one batch of {}",
                                 examples, options.num_epochs, files[0], step_size));
  }
  if (const auto staged = steps_of_stages(model, options.values)) {
    options.max_steps = std::min(*staged, options.max_steps.value_or(*staged));
  }
  const std::int64_t steps = std::min(examples / step_size, options.max_steps.value_or(examples));
  // Of processes that share the examples, some have one more.
  if (processes.several()) options.max_steps = steps;
  tf::train::TrainingFolder folder;
  if (!options.train_dir.empty()) {
    folder = {options.train_dir, {.restart = options.restart}};
    if (!folder.resumed_from().empty()) check_same_training(model, options);
    if (!options.seed) options.seed = draw_seed();
  }
  processes.require_same(fmt::format("{}, {} steps of {} towers with {} examples each", model.name,
                                     steps, options.num_towers, options.batch_size));

  Graph graph;
  const auto default_graph = graph.as_default();
  auto positions = processes.positions(folder, options.seed, options.save_every);
  const auto seed = positions ? positions->seed() : options.seed;
  if (seed) tf::set_random_seed(*seed);
  const auto averaged = processes.averaged_gradients();
  const double learning_rate = options.learning_rate.value_or(model.learning_rate);
  std::optional<Tensor> fed_rate;
  if (!model.own_schedule) {
    const auto cpu = tf::device("/cpu:0");
    fed_rate = tf::placeholder(tf::float32, {.shape = Shape{}, .name = "learning_rate"});
  }
  const auto homes = tf::variable_scope(tf::get_variable_scope(), {.home = options.devices.home});
  const auto shared = share_devices(options.num_towers, options.devices);
  const TrainingGraph built =
      model.build({.num_towers = options.num_towers,
                   .learning_rate = fed_rate ? Operand(*fed_rate) : Operand(learning_rate),
                   .batch_size = options.batch_size,
                   .examples = result.examples_per_epoch,
                   .tb_logging = options.tb_logging,
                   .values = options.values,
                   .across_processes = processes.several()},
                  [&] {
                    return model.input({.files = files,
                                        .examples = result.examples_per_epoch,
                                        .batch_size = options.batch_size,
                                        .num_towers = options.num_towers,
                                        .num_epochs = options.num_epochs,
                                        .num_threads = options.reader_threads,
                                        .share = processes.share(),
                                        .values = options.values});
                  });
  if (options.on_built && (!folder || folder.resumed_from().empty())) {
    const parallel::TowerBatch batch(options.batch_size);
    options.on_built(
        {.who_trains = who_trains(model, built),
         .batch = batch,
         .step_batch = batch.on(options.num_towers * processes.share().count),
         .epoch_examples = result.examples_per_epoch,
         .epoch_steps = parallel::GlobalBatch(step_size).steps(result.examples_per_epoch)});
  }
  const Stages stages(model, options.values, steps, built.counts_per_step);
  const auto step_hook =
      std::make_shared<StepHook>(stages, built, fed_rate, learning_rate, model.mean_loss,
                                 std::max<std::int64_t>(result.examples_per_epoch / step_size, 1),
                                 !processes.several(), on_step);
  const auto stop =
      std::make_shared<parallel::StopTogetherHook>([step_hook] { return step_hook->stopped; });
  Hooks hooks = processes.hooks(stop);
  for (auto& hook : hooks_of(model, options, built, stages, fed_rate, learning_rate, step_hook)) {
    hooks.push_back(std::move(hook));
  }
  std::optional<Operation> init_op;
  if (positions) {
    init_op = positions->take(files);
    if (auto gather = positions->hook(built.counts_per_step)) hooks.push_back(std::move(gather));
    if (folder) folder.use(tf::train::Saver());
  }
  const auto record = std::make_shared<RunRecorder>(model, options, files[0]);
  tf::train::MonitoredTrainingSession sess(
      {.checkpoint_dir = folder,
       .hooks = std::move(hooks),
       .save_checkpoint_steps = options.save_every * built.counts_per_step,
       .saver_listeners = {record},
       .save_summaries_steps = 0,
       .log_step_count_steps = 0,
       .config = session_config(options.num_towers, options.devices),
       .init_op = init_op,
       .global_step = built.global_step,
       .input_files = files});
  result.first_step = stages.step_of(sess.global_step());
  if (folder) {
    result.resumed_from = folder.resumed_from();
    if (result.resumed_from.empty() && !folder.replaces()) record->write(sess.global_step());
  }
  // Ends at the latest when a tower has read all its epochs.
  tf::with(sess, [&](auto&) {
    while (!sess.should_stop()) {
      const std::int64_t step = stages.step_of(sess.global_step());
      sess.run(built.stages[stages.at(step)].train_op);
    }
  });

  result.global_step = sess.global_step();
  result.steps = stages.step_of(result.global_step);
  result.stopped = step_hook->stopped || stop->asked();
  result.loss = step_hook->loss;
  if (folder) result.checkpoint = folder.checkpoint();
  if (step_hook->runs > 1) {
    result.examples_per_second =
        static_cast<double>((step_hook->runs - 1) * examples_of_step(options)) / step_hook->seconds;
  }
  if (!model.one_pipeline) {
    result.left_over = queued_examples(sess.raw_session());
  }
  return result;
}

}  // namespace towerflow::models
