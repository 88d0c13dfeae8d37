#include "cli/frame/job_ids.hpp"

namespace fenceline::cli {
namespace {

constexpr std::size_t kShortLength = 8;

}  // namespace

std::string short_id(const JobId& id) {
  const std::string whole = to_string(id);
  return whole.substr(whole.size() - kShortLength);
}

Cell id_cell(const JobId& id) {
  Cell cell(to_string(id));
  cell.brief = short_id(id);
  return cell;
}

}  // namespace fenceline::cli
