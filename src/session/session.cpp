#include "session/session.hpp"

#include "fenceline/version.hpp"
#include "history/work_history.hpp"
#include "metrics/metered_store.hpp"
#include "metrics/store_sample.hpp"
#include "services/stage_store.hpp"
#include "session/measurement.hpp"
#include "traces/producer_span.hpp"

namespace fenceline {

// In the order of their dependencies: members that others use come first, and are destroyed last.
struct Session::Parts {
  Parts(Runtime& on, LogSink& to, Store& store, SessionOptions& options)
      : runtime(on),
        sink(to),
        log(options.log != nullptr ? options.log : &to),
        ns(std::move(options.ns)),
        retries(options.retries),
        backend(store),
        own_spans(std::move(options.spans)),
        spans(own_spans.get()) {}
  // Beside another one.
  explicit Parts(const Parts& like)
      : runtime(like.runtime),
        sink(like.sink),
        log(like.log),
        ns(like.ns),
        retries(like.retries),
        backend(like.backend),
        spans(like.spans),
        measurement(like.measurement) {}

  Store& recorded() const { return history ? history->store() : backend; }
  Store& counted() { return metered ? static_cast<Store&>(*metered) : recorded(); }

  // Counts begin with this one.
  void measure(MeasureOptions& options) {
    const StoreProfile profile = backend.profile();
    own_measurement = std::make_unique<Measurement>(runtime, *log,
                                                    metrics::MetricsOptions{.version = std::string(kVersion),
                                                                            .store = profile.kind,
                                                                            .guarantee = profile.guarantee,
                                                                            .queues = options.queues,
                                                                            .checks = metrics::check_names(),
                                                                            .lock_class = options.lock_class,
                                                                            .lock_names = options.lock_names});
    measurement = own_measurement.get();
    log = &measurement->sink();
    measurement->counted().answered(runtime.now());  // it was opened
  }
  void sample(MeasureOptions options) {
    store_sample.emplace(
        runtime, measurement->counted(), *metered,
        metrics::StoreSampleOptions{.ns = ns, .queues = std::move(options.queues), .more = std::move(options.more)});
    sampling = measurement->start([this] { return store_sample->take(); });
  }

  Runtime& runtime;
  LogSink& sink;
  LogSink* log;
  std::string ns;
  RetryPolicy retries;
  std::unique_ptr<Store> own_backend;
  Store& backend;
  std::unique_ptr<traces::SpanSink> own_spans;
  traces::SpanSink* spans = nullptr;
  std::unique_ptr<Measurement> own_measurement;
  Measurement* measurement = nullptr;
  std::unique_ptr<history::WorkHistory> history;
  std::optional<metrics::MeteredStore> metered;
  std::unique_ptr<StageStore> stages;
  std::optional<metrics::StoreSample> store_sample;
  Task sampling;
};

Session::Session(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

// The one place that says which is around which.
Result<Session> Session::assemble(std::unique_ptr<Parts> parts, const std::string& history) {
  if (!history.empty()) {
    Result<std::unique_ptr<history::WorkHistory>> opened =
        history::WorkHistory::open(history, parts->runtime, Log(parts->sink), parts->backend);
    if (!opened) return std::unexpected(opened.error());
    parts->history = std::move(*opened);
  }
  if (parts->measurement != nullptr)
    parts->metered.emplace(parts->runtime, parts->measurement->counted(), parts->recorded());
  parts->stages =
      std::make_unique<StageStore>(parts->runtime, parts->counted(), StageStoreOptions{.ns = parts->ns, .queues = {}});
  return Session(std::move(parts));
}

Result<Session> Session::open(Runtime& runtime, LogSink& sink, const OpenOptions& store, SessionOptions options) {
  Result<std::unique_ptr<Store>> opened = open_store(runtime, Log(sink), store);
  if (!opened) return std::unexpected(opened.error());
  return over(runtime, sink, std::move(*opened), std::move(options));
}

Result<Session> Session::over(Runtime& runtime, LogSink& sink, std::unique_ptr<Store> store, SessionOptions options) {
  Store& backend = *store;
  Result<Session> session = over(runtime, sink, backend, std::move(options));
  if (session) session->parts_->own_backend = std::move(store);
  return session;
}

Result<Session> Session::over(Runtime& runtime, LogSink& sink, Store& store, SessionOptions options) {
  const std::string history = std::move(options.history);
  std::optional<MeasureOptions> measured = std::move(options.metrics);
  auto parts = std::make_unique<Parts>(runtime, sink, store, options);
  if (measured) parts->measure(*measured);
  Result<Session> session = assemble(std::move(parts), history);
  if (session && measured && measured->samples) session->parts_->sample(std::move(*measured));
  return session;
}

Result<Session> Session::recorded_in(const std::string& file) const {
  return assemble(std::make_unique<Parts>(*parts_), file);
}

Runtime& Session::runtime() const { return parts_->runtime; }
Log Session::log() const { return Log(*parts_->log); }
const std::string& Session::ns() const { return parts_->ns; }
Store& Session::store() const { return parts_->counted(); }
StageStore& Session::stages() const { return *parts_->stages; }
Store& Session::backend() const { return parts_->backend; }
history::Recorder* Session::recorder() const { return parts_->history ? &parts_->history->recorder() : nullptr; }
traces::SpanSink* Session::spans() const { return parts_->spans; }
Measurement* Session::measurement() const { return parts_->measurement; }
RetryPolicy Session::retries() const { return parts_->retries; }

std::string Session::metrics_text() const {
  return parts_->measurement != nullptr ? parts_->measurement->text() : std::string();
}

Result<EnqueueReply> Session::enqueue(std::vector<NewJob> jobs, const std::stop_token& stop) const {
  // Once, before the first try: a repeat carries the same arguments though the pipeline was changed meanwhile, and no
  // rule of ours answers for a try that may have happened.
  for (NewJob& job : jobs) {
    Result<std::string> stage = parts_->stages->stage_of_new_job(job.queue, job.stage);
    if (!stage) return std::unexpected(stage.error());
    job.stage = std::move(*stage);
  }
  std::optional<traces::ProducerSpan> span;
  if (parts_->spans != nullptr) span = traces::ProducerSpan::begin(parts_->runtime, *parts_->spans, parts_->ns, jobs);
  Result<EnqueueReply> reply = enqueue_until_known(parts_->runtime, stop, parts_->counted(),
                                                   {.ns = parts_->ns, .jobs = std::move(jobs)}, parts_->retries);
  if (span) span->end(reply ? nullptr : &reply.error());
  return reply;
}

}  // namespace fenceline
