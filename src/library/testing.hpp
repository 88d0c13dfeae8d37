// A client on its own SQLite file.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "fenceline/fenceline.hpp"
#include "support/results.hpp"

namespace fenceline::test {

class ClientFixture : public testing::Test {
 protected:
  ClientFixture() {
    std::string pattern = (std::filesystem::temp_directory_path() / "client-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    client.emplace(must(Client::open({.store = "sqlite:" + folder + "/client.db"})));
  }
  ~ClientFixture() override {
    client.reset();
    std::filesystem::remove_all(folder);
  }

  std::string folder;
  std::optional<Client> client;
};

}  // namespace fenceline::test
