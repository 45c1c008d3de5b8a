-- Tasks, their attempts, dependencies and history. A column is what is searched; the record itself is JSON: `spec`, which
-- rarely changes, and `state`, which each step writes. Both are blobs, so that damaged ones can still be read and set
-- aside. Texts with lone surrogates (bytes that are not UTF-8) are blobs in columns, and escapes in JSON.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value
) WITHOUT ROWID;

CREATE TABLE leader (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    epoch INTEGER NOT NULL,
    holder TEXT,
    since REAL
);
INSERT INTO leader (only, epoch) VALUES (1, 0);

CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,
    status TEXT NOT NULL,
    live INTEGER NOT NULL,
    leaving INTEGER NOT NULL,
    seq REAL NOT NULL,
    finished_at REAL,
    state BLOB NOT NULL,
    pool TEXT NOT NULL,
    priority INTEGER NOT NULL,
    name TEXT NOT NULL,
    key TEXT,
    tags TEXT,
    keep_s REAL,
    fingerprint TEXT,
    batch INTEGER,
    env INTEGER,
    spec BLOB NOT NULL
);
-- `live` says in one cheap comparison what status says: an IN list would be built anew for every row written.
CREATE INDEX tasks_live ON tasks (status, pool, priority, seq) WHERE live = 1;
CREATE INDEX tasks_final ON tasks (id, status, pool) WHERE live = 0;
CREATE INDEX tasks_ended ON tasks (finished_at, id, status) WHERE live = 0;
CREATE INDEX tasks_leaving ON tasks (id) WHERE leaving = 1;
CREATE INDEX tasks_kept ON tasks (id) WHERE keep_s IS NOT NULL;
CREATE INDEX tasks_key ON tasks (key) WHERE key IS NOT NULL;
CREATE INDEX tasks_fingerprint ON tasks (fingerprint) WHERE fingerprint IS NOT NULL;
CREATE INDEX tasks_env ON tasks (env) WHERE env IS NOT NULL;

-- What could not be decoded, kept for rescue; the task itself was rewritten as failed.
CREATE TABLE set_aside (
    task INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    reason TEXT NOT NULL,
    state BLOB,
    spec BLOB
);

CREATE TABLE attempts (
    task INTEGER NOT NULL,
    number INTEGER NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (task, number)
) WITHOUT ROWID;

-- Dependencies, kept when they are closed (open = 0) until the task goes. target 0: an awaited key; awaited '': a task.
CREATE TABLE edges (
    task INTEGER NOT NULL,
    target INTEGER NOT NULL,
    awaited TEXT NOT NULL,
    condition TEXT NOT NULL,
    awaited_until REAL,
    open INTEGER NOT NULL,
    PRIMARY KEY (task, target, awaited, condition)
) WITHOUT ROWID;
CREATE INDEX edges_target ON edges (target) WHERE target <> 0;

CREATE TABLE batches (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    record BLOB NOT NULL
);

CREATE TABLE envs (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    content BLOB
);

CREATE TABLE stdins (
    task INTEGER PRIMARY KEY,
    content BLOB NOT NULL
);

CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    task INTEGER,
    record BLOB NOT NULL
);
CREATE INDEX events_task ON events (task) WHERE task IS NOT NULL;

CREATE TABLE pools (
    name TEXT PRIMARY KEY,
    state BLOB NOT NULL
) WITHOUT ROWID;
