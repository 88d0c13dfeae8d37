-- Pipelines, and what is known of their items (store/pipeline_store.hpp has the rules). Their texts are bytes here: nobody reads them, and a text of the server's cannot hold a NUL.

-- A removed one keeps its row without a spec: a revision of a name never comes again.
create table pipeline (
  ns_id int not null, name text collate "C" not null, revision bigint not null, changed_at bigint not null, removed boolean not null, spec bytea not null, primary key (ns_id, name));

-- The record of a job, wherever that stands; it goes with it. Whoever writes it has the job's row. changed_by: the request that did so last. came_in: the queue and stage in which it was enqueued. A change
-- stays on its page (HOT): no index mentions what it changes.
create table item (id uuid not null, ns_id int not null, came_in int not null, revision bigint not null, changed_by text not null, record bytea not null, primary key (id, ns_id))
  with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
