#include "models/data_set.h"

#include "data/tfrecord.h"

namespace towerflow::models {

std::int64_t count_records(const std::vector<std::string>& files) {
  std::int64_t records = 0;
  for (const std::string& file : files) {
    data::TFRecordReader reader(file);
    std::string record;
    while (reader.next(record)) ++records;
  }
  return records;
}

}  // namespace towerflow::models
