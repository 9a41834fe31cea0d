#include "models/input_position.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "data/crc32c.h"
#include "data/file.h"
#include "towerflow/tf.h"
#include "train/input/iterator_position.h"

namespace towerflow::models {

void save_position(const data::Iterator& batches, const InputOptions& options) {
  std::string input =
      fmt::format("{} for each of {} towers", options.batch_size, options.num_towers);
  for (const std::string& file : options.files) {
    const std::string content = read_file(file);
    input += fmt::format("; {} {:08x}", std::filesystem::path(file).filename().string(),
                         crc32c(std::as_bytes(std::span(content))));
  }
  tf::add_to_collection(tf::GraphKeys::SAVEABLE_OBJECTS, tf::train::make_saveable_from_iterator(
                                                             batches, {.input = std::move(input)}));
}

}  // namespace towerflow::models
