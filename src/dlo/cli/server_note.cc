#include "dlo/cli/server_note.h"

#include <cstdio>
#include <fstream>
#include <unistd.h>
#include <utility>

namespace dlo::cli {
namespace {

constexpr const char* file_name = "/server.url";

}  // namespace

std::optional<ServerNote> read_server_note(const std::string& data) {
  std::ifstream file(data + file_name);
  ServerNote note;
  if (!std::getline(file, note.url) || !std::getline(file, note.pid)) return std::nullopt;
  return note;
}

PostedNote::PostedNote(std::string data, const std::string& url)
    : path_(std::move(data) + file_name) {
  const std::string draft = path_ + ".new";
  std::ofstream(draft, std::ios::trunc) << url << "\n" << ::getpid() << "\n";
  (void)std::rename(draft.c_str(), path_.c_str());
}

PostedNote::~PostedNote() {
  (void)std::remove(path_.c_str());
}

}  // namespace dlo::cli
