#pragma once

#include <optional>
#include <string>

namespace dlo::cli {

/// Where the server of a data directory listens: a file beside its lock, so that commands given the
/// directory find the server that works in it. A note of a server that died is told by its pid,
/// which no longer holds the lock.
struct ServerNote {
  std::string url;
  std::string pid;
};

[[nodiscard]] std::optional<ServerNote> read_server_note(const std::string& data);

/// Writes the note and takes it away again at the end of its life. A note that cannot be written
/// costs convenience only.
class PostedNote {
 public:
  PostedNote(std::string data, const std::string& url);
  ~PostedNote();
  PostedNote(const PostedNote&) = delete;
  PostedNote& operator=(const PostedNote&) = delete;

 private:
  std::string path_;
};

}  // namespace dlo::cli
