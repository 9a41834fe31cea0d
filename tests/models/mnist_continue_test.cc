// MNIST from files: a run that is stopped and resumed at random steps, with other numbers of reader
// threads and on a busy machine, ends with the same files as an uninterrupted run.
#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <random>
#include <thread>

#include "data/file.h"
#include "data/tfrecord.h"
#include "models/models.h"
#include "models/training.h"
#include "tests/data/support.h"
#include "tests/support/data_dir.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

/// Threads that compute at random times and so delay all other threads randomly.
class Noise {
 public:
  Noise() {
    for (unsigned i = 0; i < 3; ++i) threads_.emplace_back([this, i] { keep_core_busy(i); });
  }
  ~Noise() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void keep_core_busy(unsigned seed) const {
    std::mt19937 generator(seed);
    while (!stop_) {
      std::this_thread::sleep_for(std::chrono::microseconds(generator() % 2000));
      const auto end =
          std::chrono::steady_clock::now() + std::chrono::microseconds(generator() % 1000);
      while (std::chrono::steady_clock::now() < end) {
      }
    }
  }

  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

/// Writes the first `count` training digits of the sample to a file.
void write_digits(const std::filesystem::path& folder, int count) {
  data::TFRecordReader sample(test::source_root() / "samples/mnist/train.tfrecords.gz");
  data::TFRecordWriter writer(folder / "train.tfrecords");
  std::string record;
  for (int i = 0; i < count && sample.next(record); ++i) writer.write(record);
  writer.close();
}

std::string bytes_of(const std::string& checkpoint) {
  constexpr std::size_t kMost = 1 << 27;
  return read_file(checkpoint + ".index", kMost) +
         read_file(checkpoint + ".data-00000-of-00001", kMost);
}

}  // namespace

TEST_CASE("mnist: stopped at 50 random steps and continued, the files are those of one run") {
  const ScratchFolder folder;
  write_digits(folder / "", 300);
  const auto train = [&](const char* name, int threads, std::int64_t stop_after) {
    models::TrainOptions options{.data_dir = (folder / "").string(),
                                 .num_towers = 2,
                                 .batch_size = 4,
                                 .num_epochs = 1,
                                 .train_dir = (folder / name).string(),
                                 .seed = 3,
                                 .reader_threads = threads};
    options.devices.threads = 2;
    return models::train(models::mnist::kModel, options,
                         [&](const models::StepReport&) { return --stop_after != 0; });
  };
  const models::TrainResult whole = train("whole", 1, -1);
  REQUIRE(whole.steps == 75);
  CHECK_FALSE(whole.stopped);
  const std::string expected = bytes_of(whole.checkpoint);

  const Noise noise;
  std::mt19937 generator(4);
  int stops = 0;
  for (const int threads : {1, 2, 8}) {
    CAPTURE(threads);
    const std::string name = "stopped" + std::to_string(threads);
    models::TrainResult result;
    do {
      result = train(name.c_str(), threads, 1 + static_cast<std::int64_t>(generator() % 7));
      stops += result.stopped ? 1 : 0;
    } while (result.stopped);
    CHECK(result.steps == whole.steps);
    CHECK(bytes_of(result.checkpoint) == expected);
  }
  CHECK(stops >= 50);
}
