// The asynchronous laboratory: four workers learn the digits of samples/mnist, one of them twice as
// slow as the others. The same batches are trained synchronously, asynchronously and with bounded
// staleness; each step is written to a file, which docs/figures/async_lab.py draws.
//
// usage: async_lab [FILE.csv [STEPS]], in the root of the project; STEPS of each worker, 150
#include <towerflow/extend.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

constexpr int kWorkers = 4, kSlow = 3, kBatch = 32;
constexpr double kSeconds = 0.02;  // of a worker's step, beside the network's own time
constexpr double kRate = 0.4;

/// Seconds that a step of a worker waits: as if its accelerator computed so long.
double seconds_of(int worker) { return worker == kSlow ? 2 * kSeconds : kSeconds; }

/// Registers an op that returns its first input after as many seconds as its second one says. Its
/// place between the reads of the variables and their update makes a worker slow.
void register_wait() {
  tf::OpRegistry::global().add(
      {.name = "Wait",
       .shape = [](tf::InferenceContext& c) { c.add_output(c.dtype(0), c.shape(0)); },
       .gradient =
           [](const tf::Operation&, const std::vector<tf::OptionalGradient>& dys) {
             return std::vector<tf::OptionalGradient>{dys[0], std::nullopt};
           }});
  tf::add_cpu_kernel({.op = "Wait", .label = "sleeps", .prepare = [](const tf::KernelRequest& r) {
                        const std::size_t bytes = r.inputs[0].bytes();
                        return tf::function_kernel([bytes](const tf::LaunchArgs& args) {
                          const auto seconds = *static_cast<const float*>(args.inputs[1]);
                          std::this_thread::sleep_for(std::chrono::duration<float>(seconds));
                          std::memcpy(args.outputs[0], args.inputs[0], bytes);
                        });
                      }});
}

tf::Tensor wait(const tf::Tensor& x, const tf::Tensor& seconds,
                tf::Site site = tf::Site::current()) {
  const tf::Operand value(x, site), time(seconds, site);
  return tf::OpBuilder("Wait", "", site, {&value, &time})
      .input(value, "x")
      .input(time, "seconds")
      .output();
}

struct Digits {
  tf::Array images, labels;
};

Digits read_digits(const std::string& name) {
  tf::Graph graph;
  const auto guard = graph.as_default();
  const auto parse = [](const tf::Tensor& record) {
    auto parsed =
        tf::parse_single_example(record, {{"image_raw", tf::FixedLenFeature{{}, tf::string}},
                                          {"label", tf::FixedLenFeature{{}, tf::int64}}});
    auto pixels = tf::reshape(tf::decode_raw(parsed["image_raw"], tf::uint8), {784});
    return std::tuple(tf::cast(pixels, tf::float32) / 255.0, parsed["label"]);
  };
  const auto [images, labels] = tf::data::TFRecordDataset("samples/mnist/" + name + ".tfrecords.gz",
                                                          {.compression_type = "GZIP"})
                                    .map(parse)
                                    .batch(2000)
                                    .make_one_shot_iterator()
                                    .get_next()
                                    .unpack<2>();
  tf::Session session;
  const auto values = session.run({images, labels});
  return {values[0], values[1]};
}

/// Returns the rows of batch `index`; the digits are read again and again.
tf::Array rows(const tf::Array& all, std::int64_t index) {
  const std::int64_t count = all.shape().size(0) / kBatch,
                     width = all.elements() / all.shape().size(0);
  std::vector<tf::Dim> dims = all.shape().dims();
  dims[0] = kBatch;
  tf::Array batch(all.dtype(), tf::Shape(dims));
  std::memcpy(
      batch.raw(),
      static_cast<const char*>(all.raw()) +
          static_cast<std::size_t>(index % count * kBatch * width) * tf::dtype_size(all.dtype()),
      batch.bytes());
  return batch;
}

struct Tower {
  tf::Tensor images, labels, seconds, logits, loss;
};

Tower build_tower() {
  Tower tower;
  tower.images = tf::placeholder(tf::float32, {.shape = {tf::None, 784}});
  tower.labels = tf::placeholder(tf::int64, {.shape = {tf::None}});
  tower.seconds = tf::placeholder(tf::float32, {.shape = tf::Shape{}});
  const auto hidden = tf::layers::dense(tower.images, 64, {.activation = tf::tanh, .name = "fc"});
  tower.logits = wait(tf::layers::dense(hidden, 10, {.name = "logits"}), tower.seconds);
  tower.loss = tf::losses::sparse_softmax_cross_entropy(tower.labels, tower.logits);
  return tower;
}

class Lab {
 public:
  Lab(std::FILE* file, std::int64_t steps)
      : file_(file), steps_(steps), train_(read_digits("train")), test_(read_digits("test")) {
    std::printf("%-28s %7s %9s %14s %12s %9s\n", "", "seconds", "batches/s", "mean staleness",
                "largest", "accuracy");
  }

  /// Trains with one update for the mean gradient of all workers; returns the seconds.
  double synchronous() {
    tf::Graph graph;
    const auto guard = graph.as_default();
    tf::set_random_seed(1);
    tf::train::GradientDescentOptimizer opt(kRate);
    std::vector<Tower> made;
    const tf::parallel::Towers towers(opt,
                                      [&](int, const std::string&) {
                                        made.push_back(build_tower());
                                        return made.back().loss;
                                      },
                                      {.num_towers = kWorkers});
    tf::Session session({.device_count = {{"CPU", kWorkers}}, .allow_soft_placement = true});
    session.run(tf::global_variables_initializer());
    std::vector<tf::Fetch> fetches{towers.train_op};
    for (const Tower& tower : made) fetches.emplace_back(tower.loss);
    const auto start = std::chrono::steady_clock::now();
    double seconds = 0;
    for (std::int64_t step = 0; step < steps_; ++step) {
      tf::Feeds feeds;
      for (int i = 0; i < kWorkers; ++i)
        add_feeds(feeds, made[static_cast<std::size_t>(i)], i, step);
      const auto losses = session.run(fetches, feeds);
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      for (int i = 0; i < kWorkers; ++i) {
        note("synchronous", step * kWorkers + i, seconds, i, 0,
             losses[static_cast<std::size_t>(i) + 1].item<float>());
      }
    }
    report("synchronous", seconds, 0, 0, session, made.front());
    return seconds;
  }

  /// Trains with an update for each worker's gradient, which is multiplied by `factor`, or divided
  /// by its staleness; returns the seconds.
  double asynchronous(const char* name, double factor, std::optional<std::int64_t> bound,
                      bool by_staleness = false) {
    tf::Graph graph;
    const auto guard = graph.as_default();
    tf::set_random_seed(1);
    const auto global_step = tf::train::get_or_create_global_step();
    tf::train::GradientDescentOptimizer opt(kRate);
    Tower tower;
    tf::Operation train;
    {
      const auto gpu = tf::device("/gpu:0");  // worker i takes /gpu:i
      tower = build_tower();
      const auto scaled = tf::train::transform_gradients(
          by_staleness ? tf::train::GradientFunction(tf::parallel::StalenessScale(global_step))
                       : tf::parallel::scaled_gradients(factor));
      train = opt.minimize(tower.loss, {.global_step = global_step});
    }
    tf::Session session({.device_count = {{"CPU", kWorkers}}, .allow_soft_placement = true});
    session.run(tf::global_variables_initializer());
    tf::parallel::AsyncOptions options{
        .workers = kWorkers, .steps = steps_ * kWorkers, .bound = bound};
    options.feeds = [&](int worker, std::int64_t step) {
      tf::Feeds feeds;
      add_feeds(feeds, tower, worker, step);
      return feeds;
    };
    const auto steps = tf::parallel::train_async(session, {train, tower.loss}, options);
    std::int64_t sum = 0, most = 0;
    for (const auto& step : steps) {
      note(name, step.update, step.end, step.worker, step.staleness, step.values[1].item<float>());
      sum += step.staleness;
      most = std::max(most, step.staleness);
    }
    report(name, steps.back().end, static_cast<double>(sum) / static_cast<double>(steps.size()),
           most, session, tower);
    return steps.back().end;
  }

 private:
  void add_feeds(tf::Feeds& feeds, const Tower& tower, int worker, std::int64_t step) const {
    const std::int64_t batch = step * kWorkers + worker;
    feeds.push_back({tower.images, rows(train_.images, batch)});
    feeds.push_back({tower.labels, rows(train_.labels, batch)});
    feeds.push_back({tower.seconds, tf::Array::scalar(static_cast<float>(seconds_of(worker)))});
  }

  void note(const char* name, std::int64_t update, double seconds, int worker,
            std::int64_t staleness, float loss) {
    std::fprintf(file_, "%s,%lld,%.4f,%d,%lld,%.4f\n", name, static_cast<long long>(update),
                 seconds, worker, static_cast<long long>(staleness), static_cast<double>(loss));
  }

  void report(const char* name, double seconds, double mean, std::int64_t most,
              tf::Session& session, const Tower& tower) {
    const tf::Array logits = session.run(
        tower.logits, {{tower.images, test_.images}, {tower.seconds, tf::Array::scalar(0.0F)}});
    std::int64_t right = 0;
    const auto digits = test_.labels.flat<std::int64_t>();
    for (std::size_t i = 0; i < digits.size(); ++i) {
      const auto row = logits.flat<float>().subspan(10 * i, 10);
      right += std::max_element(row.begin(), row.end()) - row.begin() == digits[i];
    }
    std::printf("%-28s %7.2f %9.1f %14.2f %12lld %7.1f %%\n", name, seconds,
                static_cast<double>(steps_ * kWorkers) / seconds, mean,
                static_cast<long long>(most),
                100.0 * static_cast<double>(right) / static_cast<double>(digits.size()));
    std::fflush(stdout);
  }

  std::FILE* file_;
  std::int64_t steps_;
  Digits train_, test_;
};

}  // namespace

int main(int argc, char** argv) {
  std::FILE* file = std::fopen(argc > 1 ? argv[1] : "async_lab.csv", "w");
  if (file == nullptr) {
    std::perror("async_lab");
    return 1;
  }
  register_wait();
  std::fprintf(file, "training,update,seconds,worker,staleness,loss\n");
  Lab lab(file, argc > 2 ? std::atoll(argv[2]) : 150);
  const double synchronous = lab.synchronous();
  const double asynchronous = lab.asynchronous("asynchronous", 1.0, {});
  lab.asynchronous("asynchronous at 1/N", 1.0 / kWorkers, {});
  lab.asynchronous("asynchronous by staleness", 1.0, {}, true);
  lab.asynchronous("at most 2 ahead at 1/N", 1.0 / kWorkers, 2);
  double rate = 0;  // batches a second without waiting for each other
  for (int i = 0; i < kWorkers; ++i) rate += 1 / seconds_of(i);
  std::printf("\nasynchronous against synchronous: %.2f times as fast; by arithmetic %.2f\n",
              synchronous / asynchronous, rate / (kWorkers / seconds_of(kSlow)));
  return std::fclose(file) == 0 ? 0 : 1;
}
