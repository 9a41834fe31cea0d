#include <fmt/format.h>
#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>

#include <exception>

#include "train/checkpoint/index_table.h"

namespace towerflow {
namespace {

/// Adapts an AtomicFile to LevelDB. Keeps what the file throws, since no exception may pass through
/// the library's code.
class FileAdapter : public leveldb::WritableFile {
 public:
  explicit FileAdapter(AtomicFile& file) : file_(file) {}

  leveldb::Status Append(const leveldb::Slice& data) override {
    try {
      file_.append(std::string_view(data.data(), data.size()));
      return leveldb::Status::OK();
    } catch (...) {
      error_ = std::current_exception();
      return leveldb::Status::IOError("write failed");
    }
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  AtomicFile& file_;
  std::exception_ptr error_;
};

}  // namespace

void write_index_table(AtomicFile& file, const IndexRecords& records) {
  leveldb::Options options;
  options.block_size = 256 * 1024;
  options.compression = leveldb::kNoCompression;
  FileAdapter adapter(file);
  leveldb::TableBuilder builder(options, &adapter);
  try {
    for (const auto& [key, value] : records) builder.Add(key, value);
    builder.Flush();
  } catch (...) {
    builder.Abandon();  // otherwise its destructor ends the process
    throw;
  }
  const leveldb::Status status = builder.Finish();
  adapter.rethrow();
  if (!status.ok())
    throw errors::InternalError(
        fmt::format("cannot write the table {}: {}", file.path().string(), status.ToString()));
}

}  // namespace towerflow
