#pragma once

#include <cstdint>
#include <string>

#include "argosy/ps/service/snapshot_file.h"

namespace argosy::ps {

// A folder of the user's in which saves are written, as one server sees it. What else lies there is
// his: only what a note or an index of ours names is removed, and of that only files that are ours.
class SaveFolder {
 public:
  // Throws io if the folder has a snapshot.json that is none of a save.
  SaveFolder(std::string directory, uint32_t server, uint32_t servers);

  // Before the first file of a save: removes what this server left of one that never counted, and
  // notes this one.
  void begin(const std::string& save);
  // From now on it counts. What the index named before goes.
  void publish(const std::string& save);
  // It will not count: what this server wrote of it goes.
  void give_up(const std::string& save) noexcept;

 private:
  void note(const std::vector<std::string>& saves) const;
  // `own`: this server's part alone, whole or not; else all parts that are whole.
  void remove_save(const std::string& save, bool own) const;

  const std::string directory_, part_, note_;
};

}  // namespace argosy::ps
