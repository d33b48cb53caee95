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

  // Before the first file of a save: removes what this server left unfinished, and notes this one.
  void begin(const std::string& save);
  // From now on it counts. What the index named before goes, and what never counted. Throws io if
  // other servers write into this folder too and a part of theirs is missing.
  void publish(const std::string& save);
  // This server will not publish it. Its part goes, unless it is finished: another server may yet
  // publish the save. A finished one goes with the next save that counts.
  void give_up(const std::string& save) noexcept;

 private:
  void check_whole(const std::string& save) const;
  // Parts that are whole, of all servers; and what this server has not finished.
  void remove_save(const std::string& save) const;
  void remove_unfinished(const std::string& save) const;

  const std::string directory_;
  const uint32_t servers_;
  const std::string part_, note_;
};

}  // namespace argosy::ps
